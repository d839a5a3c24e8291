//! The answer to the lookup of an identifier.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use z3950::lookup::Identifier;

use crate::error::{Error, to_python};
use crate::record::Received;

/// The answer to the lookup of an identifier. It is true if a record was found.
#[pyclass(frozen, get_all, module = "z3950")]
pub(crate) struct Answer {
    /// Which of several records was chosen, and why, if only the best record was requested.
    choice: Option<String>,
    /// The reason why there is no answer, or why a record is missing.
    error: Option<Py<PyAny>>,
    /// The number of matching records.
    hits: u64,
    /// The identifier, as given.
    identifier: String,
    /// A doubt about the identifier, such as a wrong check digit, or an unknown prefix.
    note: Option<String>,
    /// The query that found the records, as PQF.
    query: Option<String>,
    /// The first records found, at most 20, or only the best record if that was requested.
    records: Py<PyList>,
    /// The name of the target that has the record, if there are several targets.
    target: Option<String>,
}

/// The result of a lookup, which is converted to an [`Answer`].
pub(crate) struct Looked {
    pub(crate) identifier: String,
    pub(crate) found: Option<Found>,
}

/// The records found by a lookup, with an error in place of any record that could not be returned, and the search that
/// found them.
pub(crate) struct Found {
    pub(crate) query: String,
    pub(crate) hits: u64,
    pub(crate) records: Vec<Result<z3950::Record, z3950::Error>>,
    pub(crate) target: Option<String>,
    pub(crate) choice: Option<String>,
}

/// The query, the hits, the records and exceptions, the target and the choice, as stored by `pickle`.
type State<'py> = (
    Option<String>,
    u64,
    Vec<Bound<'py, PyAny>>,
    Option<String>,
    Option<String>,
);

impl<'py> IntoPyObject<'py> for Looked {
    type Target = Answer;
    type Output = Bound<'py, Answer>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let Self { identifier, found } = self;
        let records = PyList::empty(py);
        let mut answer = Answer {
            choice: None,
            error: None,
            hits: 0,
            note: None,
            identifier,
            query: None,
            records: records.clone().unbind(),
            target: None,
        };
        if let Some(found) = found {
            for record in found.records {
                let record = match record {
                    Ok(record) => Received(record).into_pyobject(py),
                    Err(error) => Err(to_python(&error)),
                };
                match record {
                    Ok(record) => records.append(record)?,
                    Err(error) if error.is_instance_of::<Error>(py) => {
                        let error = error.into_value(py).into_any();
                        answer.error.get_or_insert(error);
                    }
                    Err(error) => return Err(error),
                }
            }
            answer.hits = found.hits;
            answer.query = Some(found.query);
            answer.target = found.target;
            answer.choice = found.choice;
        }
        answer.note = remark(&answer.identifier, answer.hits > 0);
        Bound::new(py, answer)
    }
}

/// Returns a doubt about an identifier, such as a wrong check digit. If there is none and nothing was found, returns a
/// hint about the reason, if any.
fn remark(identifier: &str, is_found: bool) -> Option<String> {
    // Text that is not an identifier is refused elsewhere, with an error that states the reason.
    let identifier = identifier.parse::<Identifier>().ok()?;
    let hint = || identifier.hint().filter(|_| !is_found);
    identifier.doubt().or_else(hint)
}

#[pymethods]
impl Answer {
    #[new]
    #[pyo3(signature = (identifier, found=None, error=None))]
    fn new(
        py: Python<'_>,
        identifier: String,
        found: Option<State<'_>>,
        error: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (query, hits, records, target, choice) = found.unwrap_or_default();
        Ok(Self {
            note: remark(&identifier, hits > 0),
            choice,
            error,
            hits,
            identifier,
            query,
            records: PyList::new(py, records)?.unbind(),
            target,
        })
    }

    fn __bool__(&self, py: Python<'_>) -> bool {
        !self.records.bind(py).is_empty()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let identifier = PyString::new(py, &self.identifier).repr()?;
        let outcome = match &self.error {
            Some(error) if !self.__bool__(py) => error.bind(py).str()?.to_string(),
            _ if self.hits == 1 => "1 hit".to_owned(),
            _ => format!("{} hits", self.hits),
        };
        let note = self.note.as_ref();
        let note = note.map_or_else(String::new, |note| format!("; {note}"));
        Ok(format!("<Answer {identifier}: {outcome}{note}>"))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, answer) = (slf.py(), slf.get());
        let found = (
            &answer.query,
            answer.hits,
            &answer.records,
            &answer.target,
            &answer.choice,
        );
        let state = (&answer.identifier, found, &answer.error).into_pyobject(py)?;
        Ok((slf.get_type().into_any(), state))
    }

    /// Visits the error, because the frames of its traceback may refer to the answer.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.error)?;
        visit.call(&self.records)
    }
}
