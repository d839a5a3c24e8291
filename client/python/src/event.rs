//! The events of a search.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use z3950::find::Event as FindEvent;
use z3950_marc::charset::Charset;

use crate::error::{Error, to_python_about};
use crate::record::Received;

/// An event of a search, as yielded by `find`. The attributes that do not apply to its `kind` are `None`.
#[pyclass(frozen, get_all, module = "z3950")]
#[derive(Default)]
pub(crate) struct Event {
    /// `asked` (a search will be sent), `again` (another search follows, because of the `reason`), `unlike` (a search by title found
    /// only other publications), `unsorted` (the records could not be sorted), `found` (a search was answered), `record`, `best` (the best
    /// record was chosen and comes next), `done` (the search at one target has ended) or `ended` (always the last event).
    kind: String,
    /// The target, as given.
    target: Option<String>,
    /// The number of matching records.
    hits: Option<u64>,
    /// The search in words, if it is not the first one, such as `ISBN with right truncation`. For `again`, how the next
    /// search differs from the original one.
    step: Option<String>,
    /// The query that was sent, as PQF, for `found`. `None` if the query was sent as it was passed.
    query: Option<String>,
    /// The reason why another search follows.
    reason: Option<String>,
    /// Which of several records was chosen, and why.
    choice: Option<String>,
    /// The record, for `record`.
    record: Option<Py<PyAny>>,
    /// The exception in place of a record, or the reason why a target did not answer.
    error: Option<Py<PyAny>>,
    /// How the search ended: `delivered`, `ambiguous`, `no match`, `search refused`, `unavailable` and so on.
    outcome: Option<String>,
}

/// An event from the library, which is converted to an [`Event`], with the name of its target and the character set of
/// the target's records.
pub(crate) struct Arrived {
    pub(crate) event: FindEvent,
    pub(crate) target: Option<String>,
    pub(crate) charset: Option<Charset>,
}

impl<'py> IntoPyObject<'py> for Arrived {
    type Target = Event;
    type Output = Bound<'py, Event>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let about = self.target.clone().unwrap_or_default();
        let raised = |error: &z3950::Error| {
            let error = to_python_about(&about, error);
            error.into_value(py).into_any()
        };
        let of_kind = |kind: &str| Event {
            kind: kind.to_owned(),
            target: self.target.clone(),
            ..Event::default()
        };
        let event = match self.event {
            FindEvent::Asked { .. } => of_kind("asked"),
            FindEvent::Again { reason, step, .. } => Event {
                reason: Some(reason),
                step: Some(step),
                ..of_kind("again")
            },
            FindEvent::Unlike {
                hits, step_name, ..
            } => Event {
                hits: Some(hits),
                step: Some(step_name),
                ..of_kind("unlike")
            },
            FindEvent::Unsorted { error, .. } => Event {
                error: Some(raised(&error)),
                ..of_kind("unsorted")
            },
            FindEvent::Found(found) => Event {
                hits: Some(found.matching()),
                step: found.step_name.clone().or_else(|| found.step.clone()),
                query: Some(found.query.clone()).filter(|query| !query.is_empty()),
                choice: found.by_title.as_ref().map(|found| found.choice.clone()),
                ..of_kind("found")
            },
            FindEvent::Record {
                position, record, ..
            } => {
                let record = z3950::Record::of(record, Some(position));
                let (record, error) = match record {
                    Ok(record) => received(py, record.with_charset(self.charset))?,
                    Err(error) => (None, Some(raised(&error))),
                };
                Event {
                    record,
                    error,
                    ..of_kind("record")
                }
            }
            FindEvent::Done { error, .. } => Event {
                error: error.as_ref().map(raised),
                ..of_kind("done")
            },
            FindEvent::Best(best) => Event {
                hits: Some(best.hits),
                choice: Some(best.choice),
                ..of_kind("best")
            },
            FindEvent::Ended(ending) => Event {
                target: ending.target,
                hits: ending.hits,
                step: ending.step_name.or(ending.step),
                choice: ending.choice,
                outcome: Some(ending.outcome.to_string()),
                ..of_kind("ended")
            },
            // The library may add other kinds of events later.
            _ => of_kind("other"),
        };
        Bound::new(py, event)
    }
}

/// A record or the exception in its place; the other value is `None`.
type Slot = (Option<Py<PyAny>>, Option<Py<PyAny>>);

/// Returns a record from a server or, if the record is damaged, an exception.
fn received(py: Python<'_>, record: z3950::Record) -> PyResult<Slot> {
    match Received(record).into_pyobject(py) {
        Ok(record) => Ok((Some(record.into_any().unbind()), None)),
        Err(error) if error.is_instance_of::<Error>(py) => {
            Ok((None, Some(error.into_value(py).into_any())))
        }
        Err(error) => Err(error),
    }
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (kind, target=None, hits=None, step=None, query=None, reason=None, choice=None, record=None, error=None, outcome=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        kind: String,
        target: Option<String>,
        hits: Option<u64>,
        step: Option<String>,
        query: Option<String>,
        reason: Option<String>,
        choice: Option<String>,
        record: Option<Py<PyAny>>,
        error: Option<Py<PyAny>>,
        outcome: Option<String>,
    ) -> Self {
        Self {
            kind,
            target,
            hits,
            step,
            query,
            reason,
            choice,
            record,
            error,
            outcome,
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut words = vec![self.kind.clone()];
        words.extend(self.target.as_ref().map(|target| format!("at {target}")));
        words.extend(self.hits.map(|hits| match hits {
            1 => "1 hit".to_owned(),
            _ => format!("{hits} hits"),
        }));
        let texts = [&self.outcome, &self.step, &self.reason, &self.choice];
        words.extend(texts.into_iter().flatten().cloned());
        for value in [&self.record, &self.error].into_iter().flatten() {
            words.push(value.bind(py).repr()?.to_string());
        }
        Ok(format!("<Event {}>", words.join(", ")))
    }

    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let event = this.get();
        let state = (
            &event.kind,
            &event.target,
            event.hits,
            &event.step,
            &event.query,
            &event.reason,
            &event.choice,
            &event.record,
            &event.error,
            &event.outcome,
        );
        Ok((this.get_type().into_any(), state.into_pyobject(this.py())?))
    }

    /// Visits the error, because the frames of its traceback may refer to the event.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.error)?;
        visit.call(&self.record)
    }
}
