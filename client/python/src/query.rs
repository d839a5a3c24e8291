//! Queries, which are either built from parts or parsed from text in a query language that the program names.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::{BitAnd, BitOr, Sub};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pythonize::depythonize;
use serde::{Deserialize, Serialize};
use z3950::{Query as Meant, QueryError};
use z3950_asn1::apdu::{
    AttributeValue, AttributesPlusTerm, MAX_RPN_DEPTH, Operand, Operator, RpnQuery, RpnStructure,
    StringOrNumeric,
};
use z3950_asn1::bib1::attributes::USE;
use z3950_asn1::query::names::TABLE;

use crate::error::{BadQuery, guarded, made};
use crate::pickled::{Pickled, Reduced, reduced};
use crate::text::Text;
use crate::text::text_of_term;

/// A query: one term in one index, or several queries joined by `&` (and), `|` (or) and `-` (and not), at most 1000 times.
///
/// The query language is never guessed from the text. Choose `words`, `pqf`, `cql` or `ccl`. `str()` returns PQF.
///
/// >>> from z3950 import Query
/// >>> query = Query.title("war and peace") & Query.author("tolstoy")
/// >>> str(query)
/// '@and @attr 1=4 "war and peace" @attr 1=1003 tolstoy'
/// >>> query == Query.words('ti:"war and peace" au:tolstoy')
/// True
/// >>> Query.index("tilte", "emma")
/// Traceback (most recent call last):
/// z3950.BadQuery: no index is called "tilte"; did you mean "title"?
#[pyclass(frozen, eq, hash, module = "z3950")]
pub(crate) struct Query {
    pub(crate) meant: Meant,
    /// The CQL queries from which this query was built, and the operators that join them; `None` for other queries.
    /// They are stored because PQF cannot express their text and sort keys.
    steps: Option<Vec<Step>>,
    /// The number of operators. A query made by joining others has at most [`MAX_RPN_DEPTH`], because all operators may
    /// be on one path of the tree.
    operators: usize,
}

/// A step in constructing a query: an operand, or an operator that joins the two most recent results.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Step {
    Pqf(String),
    Cql(String),
    And,
    Or,
    Not,
}

#[pymethods]
impl Query {
    /// Creates a query for a term in any index.
    #[staticmethod]
    fn any(term: Text<'_>) -> Self {
        Meant::any(&*term).into()
    }

    /// Creates a query for a title.
    #[staticmethod]
    fn title(term: Text<'_>) -> Self {
        Meant::title(&*term).into()
    }

    /// Creates a query for an author.
    #[staticmethod]
    fn author(term: Text<'_>) -> Self {
        Meant::author(&*term).into()
    }

    /// Creates a query for a subject heading.
    #[staticmethod]
    fn subject(term: Text<'_>) -> Self {
        Meant::subject(&*term).into()
    }

    /// Creates a query for an ISBN as given; `lookup` also tries its other notations.
    #[staticmethod]
    fn isbn(term: Text<'_>) -> Self {
        Meant::isbn(&*term).into()
    }

    /// Creates a query for an ISSN as given.
    #[staticmethod]
    fn issn(term: Text<'_>) -> Self {
        Meant::issn(&*term).into()
    }

    /// Creates a query for a Library of Congress control number as given.
    #[staticmethod]
    fn lccn(term: Text<'_>) -> Self {
        Meant::lccn(&*term).into()
    }

    /// Creates a query for a record's identifier in its database, as in RFC 2056.
    #[staticmethod]
    fn docid(term: Text<'_>) -> Self {
        Meant::docid(&*term).into()
    }

    /// Creates a query for a date of publication.
    #[staticmethod]
    fn date(term: Text<'_>) -> Self {
        Meant::date(&*term).into()
    }

    /// Creates a query for a publisher.
    #[staticmethod]
    fn publisher(term: Text<'_>) -> Self {
        Meant::publisher(&*term).into()
    }

    /// Creates a query for one term in a named index: `title` or `ti`, `author` or `au`, `callnumber` and so on.
    #[staticmethod]
    fn index(name: Text<'_>, term: Text<'_>) -> PyResult<Self> {
        read(|| Meant::index(&name, &*term))
    }

    /// Creates a query for one term with Bib-1 attributes, each given by a type and a value.
    ///
    /// >>> from z3950 import Query
    /// >>> str(Query.attributes([(1, 4), (5, 1)], "war"))
    /// '@attr 5=1 @attr 1=4 war'
    #[staticmethod]
    fn attributes(attributes: Vec<(i64, i64)>, term: Text<'_>) -> Self {
        Meant::attributes(attributes, &*term).into()
    }

    /// Parses words that must all occur, with optional index names: `ti:"war and peace" au:tolstoy`.
    #[staticmethod]
    fn words(text: Text<'_>) -> PyResult<Self> {
        read(|| Meant::words(&text))
    }

    /// Parses PQF, YAZ's prefix query format: `@and @attr 1=4 war @attr 1=1003 tolstoy`.
    #[staticmethod]
    fn pqf(text: Text<'_>) -> PyResult<Self> {
        read(|| Meant::pqf(&text))
    }

    /// Parses CQL: `dc.title="war and peace" and dc.creator=tolstoy`. `search` sorts the result by the keys after
    /// `sortby`.
    #[staticmethod]
    fn cql(text: Text<'_>) -> PyResult<Self> {
        let steps = Some(vec![Step::Cql(text.to_owned())]);
        let query = read(|| Meant::cql(&text))?;
        Ok(Self { steps, ..query })
    }

    /// Parses CCL (ISO 8777): `ti=(war and peace) and au=tolstoy`.
    #[staticmethod]
    fn ccl(text: Text<'_>) -> PyResult<Self> {
        read(|| Meant::ccl(&text))
    }

    /// The operator that joins the two `operands`: `and`, `or`, `not` or `prox`; `None` for a query with one term.
    #[getter]
    fn operator(&self) -> Option<&'static str> {
        match &self.meant.as_rpn().rpn {
            RpnStructure::Op(_) => None,
            RpnStructure::RpnRpnOp(joined) => Some(match joined.op {
                Operator::And => "and",
                Operator::Or => "or",
                Operator::AndNot => "not",
                Operator::Prox(_) => "prox",
            }),
        }
    }

    /// The two queries that the operator joins; empty for a query with one term.
    #[getter]
    fn operands(&self) -> Vec<Self> {
        let query = self.meant.as_rpn();
        let part = |rpn: &RpnStructure| {
            let (attribute_set, rpn) = (query.attribute_set, rpn.clone());
            Self::from(Meant::from(RpnQuery { attribute_set, rpn }))
        };
        match &query.rpn {
            RpnStructure::Op(_) => Vec::new(),
            RpnStructure::RpnRpnOp(joined) => vec![part(&joined.rpn1), part(&joined.rpn2)],
        }
    }

    /// The term, if the query has only one.
    #[getter]
    fn term(&self) -> Option<String> {
        Some(text_of_term(&self.operand()?.term))
    }

    /// The attributes, by their types, if the query has only one term: `{1: 4, 5: 1}` is a title with right truncation.
    #[getter]
    fn attribute_values(&self) -> HashMap<i64, AttributeOf> {
        let attributes = self
            .operand()
            .map(|operand| &operand.attributes)
            .into_iter()
            .flatten();
        let values = attributes.filter_map(|attribute| {
            let value = match &attribute.attribute_value {
                AttributeValue::Numeric(number) => AttributeOf::Number(*number),
                AttributeValue::Complex(complex) => match complex.list.first()? {
                    StringOrNumeric::String(name) => {
                        AttributeOf::Name(name.to_string_lossy().into_owned())
                    }
                    StringOrNumeric::Numeric(number) => AttributeOf::Number(*number),
                },
            };
            Some((attribute.attribute_type, value))
        });
        values.collect()
    }

    /// The name of the index that a query with one term searches, such as `title`; `any` if the query names no index,
    /// and `None` if the index has no name.
    #[getter]
    fn index_name(&self) -> Option<&'static str> {
        self.operand()?;
        match self.attribute_values().remove(&USE) {
            None => Some("any"),
            Some(AttributeOf::Name(_)) => None,
            Some(AttributeOf::Number(number)) => {
                let mut known = TABLE.iter();
                let known = known.find(|known| known.use_value == number);
                known.map(|known| known.name)
            }
        }
    }

    fn __and__(&self, other: &Self) -> PyResult<Self> {
        self.joined(other, Step::And)
    }

    fn __or__(&self, other: &Self) -> PyResult<Self> {
        self.joined(other, Step::Or)
    }

    fn __sub__(&self, other: &Self) -> PyResult<Self> {
        self.joined(other, Step::Not)
    }

    /// Raises an exception, because Python's `and` and `or` would silently drop one of the two queries.
    fn __bool__(&self) -> PyResult<bool> {
        let words =
            "a query is neither true nor false: join queries by &, | and -, not by and, or and not";
        Err(PyTypeError::new_err(words))
    }

    fn __str__(&self) -> String {
        self.meant.to_string()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, &self.steps())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.meant.to_string().into_pyobject(py)?;
        Ok(format!("Query.pqf({})", text.repr()?))
    }
}

/// The value of an attribute.
#[derive(IntoPyObject)]
pub(crate) enum AttributeOf {
    Number(i64),
    Name(String),
}

impl Query {
    fn operand(&self) -> Option<&AttributesPlusTerm> {
        match &self.meant.as_rpn().rpn {
            RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => Some(operand),
            _ => None,
        }
    }

    fn joined(&self, other: &Self, join: Step) -> PyResult<Self> {
        let operators = self.operators.saturating_add(other.operators) + 1;
        if operators > MAX_RPN_DEPTH {
            let words = format!("more than {MAX_RPN_DEPTH} operators in a query");
            return Err(made(BadQuery::new_err(words)));
        }
        let (left, right) = (self.meant.clone(), other.meant.clone());
        let meant = match join {
            Step::Or => left.bitor(right),
            Step::Not => left.sub(right),
            _ => left.bitand(right),
        };
        let steps = self.steps.as_ref().or(other.steps.as_ref());
        let steps = steps.map(|_| [self.steps(), other.steps(), vec![join]].concat());
        Ok(Self {
            meant,
            steps,
            operators,
        })
    }

    fn steps(&self) -> Vec<Step> {
        let as_pqf = || vec![Step::Pqf(self.meant.to_string())];
        self.steps.clone().unwrap_or_else(as_pqf)
    }

    /// Restores a query from the steps of its construction.
    fn of_steps(steps: &[Step]) -> PyResult<Self> {
        let missing = || PyValueError::new_err("these steps make no query");
        let mut made: Vec<Self> = Vec::new();
        for step in steps {
            let query = match step {
                Step::Pqf(text) => Self::pqf(text.as_str().into())?,
                Step::Cql(text) => Self::cql(text.as_str().into())?,
                join => {
                    let (right, left) = (made.pop(), made.pop());
                    let (left, right) = (left.ok_or_else(missing)?, right.ok_or_else(missing)?);
                    left.joined(&right, join.clone())?
                }
            };
            made.push(query);
        }
        made.pop().filter(|_| made.is_empty()).ok_or_else(missing)
    }
}

impl Pickled for Query {
    fn restored(state: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::of_steps(&depythonize::<Vec<_>>(state)?)?.into_py_any(state.py())
    }
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        self.meant == other.meant
    }
}

impl Hash for Query {
    /// Hashes the query as text, because equal queries have the same text.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meant.to_string().hash(state);
    }
}

impl From<Meant> for Query {
    fn from(meant: Meant) -> Self {
        // There is one operator fewer than there are operands.
        let operators = meant.as_rpn().rpn.operands().skip(1).count();
        Self {
            meant,
            steps: None,
            operators,
        }
    }
}

fn read(parse: impl FnOnce() -> Result<Meant, QueryError>) -> PyResult<Query> {
    guarded(|| match parse() {
        Ok(query) => Ok(query.into()),
        Err(error) => Err(made(BadQuery::new_err((error.to_string(), error.offset)))),
    })
}
