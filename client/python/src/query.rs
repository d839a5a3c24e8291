//! Queries, which are built from parts or parsed from a language that is named and never guessed.

use std::hash::{Hash, Hasher};
use std::ops::{BitAnd, BitOr, Sub};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use z3950::asn1::apdu::MAX_RPN_DEPTH;
use z3950::{Query as Meant, QueryError};

use crate::error::{BadQuery, guarded};

/// A query: one term in one index, or several queries joined by `&` (and), `|` (or) and `-` (and not), at most 1000 times.
///
/// The language of a text is never guessed: choose `words`, `pqf`, `cql` or `ccl`. `str()` returns PQF.
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
#[derive(PartialEq)]
pub(crate) struct Query {
    pub(crate) meant: Meant,
    /// The number of operators; at most [`MAX_RPN_DEPTH`] if queries were joined, because the operators may all be on one path.
    operators: usize,
}

#[pymethods]
impl Query {
    /// Creates a query for a term in any index.
    #[staticmethod]
    fn any(term: &str) -> Self {
        Meant::any(term).into()
    }

    /// Creates a query for a title.
    #[staticmethod]
    fn title(term: &str) -> Self {
        Meant::title(term).into()
    }

    /// Creates a query for an author.
    #[staticmethod]
    fn author(term: &str) -> Self {
        Meant::author(term).into()
    }

    /// Creates a query for a subject heading.
    #[staticmethod]
    fn subject(term: &str) -> Self {
        Meant::subject(term).into()
    }

    /// Creates a query for an ISBN as given; `lookup` also tries its other forms.
    #[staticmethod]
    fn isbn(term: &str) -> Self {
        Meant::isbn(term).into()
    }

    /// Creates a query for an ISSN as given.
    #[staticmethod]
    fn issn(term: &str) -> Self {
        Meant::issn(term).into()
    }

    /// Creates a query for a Library of Congress control number as given.
    #[staticmethod]
    fn lccn(term: &str) -> Self {
        Meant::lccn(term).into()
    }

    /// Creates a query for a record's identifier in its database, as in RFC 2056.
    #[staticmethod]
    fn docid(term: &str) -> Self {
        Meant::docid(term).into()
    }

    /// Creates a query for a date of publication.
    #[staticmethod]
    fn date(term: &str) -> Self {
        Meant::date(term).into()
    }

    /// Creates a query for a publisher.
    #[staticmethod]
    fn publisher(term: &str) -> Self {
        Meant::publisher(term).into()
    }

    /// Creates a query for one term in a named index: `title` or `ti`, `author` or `au`, `callnumber` and so on.
    #[staticmethod]
    fn index(name: &str, term: &str) -> PyResult<Self> {
        read(|| Meant::index(name, term))
    }

    /// Creates a query for one term with Bib-1 attributes, each given by a type and a value.
    ///
    /// >>> from z3950 import Query
    /// >>> str(Query.attributes([(1, 4), (5, 1)], "war"))
    /// '@attr 5=1 @attr 1=4 war'
    #[staticmethod]
    fn attributes(attributes: Vec<(i64, i64)>, term: &str) -> Self {
        Meant::attributes(attributes, term).into()
    }

    /// Parses words that must all occur, with optional index names: `ti:"war and peace" au:tolstoy`.
    #[staticmethod]
    fn words(text: &str) -> PyResult<Self> {
        read(|| Meant::words(text))
    }

    /// Parses PQF, the prefix notation of YAZ: `@and @attr 1=4 war @attr 1=1003 tolstoy`.
    #[staticmethod]
    fn pqf(text: &str) -> PyResult<Self> {
        read(|| Meant::pqf(text))
    }

    /// Parses CQL: `dc.title="war and peace" and dc.creator=tolstoy`. `search` sorts by the keys after `sortby`.
    #[staticmethod]
    fn cql(text: &str) -> PyResult<Self> {
        read(|| Meant::cql(text))
    }

    /// Parses CCL (ISO 8777): `ti=(war and peace) and au=tolstoy`.
    #[staticmethod]
    fn ccl(text: &str) -> PyResult<Self> {
        read(|| Meant::ccl(text))
    }

    fn __and__(&self, other: &Self) -> PyResult<Self> {
        self.joined(other, Meant::bitand)
    }

    fn __or__(&self, other: &Self) -> PyResult<Self> {
        self.joined(other, Meant::bitor)
    }

    fn __sub__(&self, other: &Self) -> PyResult<Self> {
        self.joined(other, Meant::sub)
    }

    /// Raises an exception, because Python's `and` and `or` would drop one of two queries.
    fn __bool__(&self) -> PyResult<bool> {
        let words =
            "a query is neither true nor false: join queries by &, | and -, not by and, or and not";
        Err(PyTypeError::new_err(words))
    }

    fn __str__(&self) -> String {
        self.meant.to_string()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.meant.to_string().into_pyobject(py)?;
        Ok(format!("Query.pqf({})", text.repr()?))
    }
}

impl Query {
    fn joined(&self, other: &Self, join: fn(Meant, Meant) -> Meant) -> PyResult<Self> {
        let operators = self.operators.saturating_add(other.operators) + 1;
        if operators > MAX_RPN_DEPTH {
            let words = format!("more than {MAX_RPN_DEPTH} operators in a query");
            return Err(BadQuery::new_err(words));
        }
        Ok(Self {
            meant: join(self.meant.clone(), other.meant.clone()),
            operators,
        })
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
        Self { meant, operators }
    }
}

fn read(parse: impl FnOnce() -> Result<Meant, QueryError>) -> PyResult<Query> {
    guarded(|| match parse() {
        Ok(query) => Ok(query.into()),
        Err(error) => Err(BadQuery::new_err((error.to_string(), error.offset))),
    })
}
