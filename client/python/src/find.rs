//! Searches and lookups at one or more targets. A program needs no connection object for them. A search returns its
//! events as they arrive, and a lookup returns its answer.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tokio::sync::Mutex;
use z3950::find::{Event as FindEvent, Events as Stream, SearchTarget, Wanted};
use z3950::lookup::Preferences;
use z3950::plan::Fallback;
use z3950::{Client, Error as Failure, RecordForm};
use z3950_marc::charset::Charset;

use crate::answer::{Found, Looked};
use crate::error::to_python;
use crate::event::Arrived;
use crate::options::Options;
use crate::process::{Local, shared};
use crate::query::Query;
use crate::request::Request;
use crate::text::text_of;

/// An object from which Python requests the events of a search one at a time.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Events(Local<Arc<Mutex<Option<Finding>>>>);

/// A search in progress, with the names of its targets and the character sets of their records.
struct Finding {
    names: Vec<String>,
    charsets: Vec<Option<Charset>>,
    events: Stream,
}

impl Finding {
    /// Begins a search. Returns `None` if there are no targets.
    fn new(
        clients: &[Client],
        names: Vec<String>,
        wanted: Wanted,
    ) -> Result<Option<Self>, Failure> {
        let targets = clients
            .iter()
            .zip(&names)
            .map(|(client, name)| client.target(name))
            .collect::<Result<Vec<SearchTarget>, _>>()?;
        let profiles = targets.iter().map(|target| &target.target.profile);
        let charsets = profiles.map(|profile| profile.record_charset).collect();
        Ok(clients.first().map(|client| Self {
            names,
            charsets,
            events: client.find(targets, wanted),
        }))
    }

    fn charset(&self, target: usize) -> Option<Charset> {
        self.charsets.get(target).copied().flatten()
    }
}

#[pymethods]
impl Events {
    /// Waits for the next event. The result is `None` after the last event.
    fn next(&self) -> PyResult<Request> {
        let finding = Arc::clone(self.0.get()?);
        Ok(Request::new(async move {
            let mut finding = finding.lock().await;
            let Some(finding) = finding.as_mut() else {
                return Ok(None);
            };
            let event = finding.events.next().await;
            Ok(event.map(|event| {
                let target = target_of(&event);
                Arrived {
                    target: target.and_then(|target| finding.names.get(target).cloned()),
                    charset: target.and_then(|target| finding.charset(target)),
                    event,
                }
            }))
        }))
    }

    /// Ends the search, and returns its sessions to the pool. In a child of the process that began the search, this
    /// does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(finding) = self.0.here() else {
            return Ok(());
        };
        let shared = shared(py)?;
        let _runtime = shared.runtime.enter();
        match finding.try_lock() {
            Ok(mut finding) => drop(finding.take()),
            Err(_) => {
                // A cancelled request still holds the lock, so a task waits for the lock and then ends the search.
                let finding = Arc::clone(finding);
                shared
                    .runtime
                    .spawn(async move { drop(finding.lock().await.take()) });
            }
        }
        Ok(())
    }
}

/// Returns the index of the target to which an event belongs; `None` if it belongs to none.
fn target_of(event: &FindEvent) -> Option<usize> {
    match event {
        FindEvent::Asked { target }
        | FindEvent::Again { target, .. }
        | FindEvent::Unlike { target, .. }
        | FindEvent::Unsorted { target, .. }
        | FindEvent::Record { target, .. }
        | FindEvent::Done { target, .. } => Some(*target),
        FindEvent::Found(found) => Some(found.target),
        FindEvent::Best(best) => Some(best.target),
        _ => None,
    }
}

/// Begins a search at one or more targets. Nothing is sent before the first event is requested.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub(crate) fn find(
    py: Python<'_>,
    targets: Vec<String>,
    what: &Bound<'_, PyAny>,
    options: &Options,
    fallback: bool,
    best: bool,
    all_targets: bool,
    count: u64,
) -> PyResult<Events> {
    let wanted = match what.cast::<Query>() {
        Ok(_) if best => {
            let words = "best=True is for identifiers: the records of a query are not alike";
            return Err(PyValueError::new_err(words));
        }
        Ok(query) => Wanted::query(query.get().meant.clone()),
        Err(_) => Wanted::identifier(&identifier_of(what)?).map_err(|error| to_python(&error))?,
    };
    let mut wanted = wanted_as(wanted.count(count), options.form.clone(), fallback, best);
    wanted.all_targets = all_targets;
    let clients = clients(py, &targets, options)?;
    let finding = Finding::new(&clients, targets, wanted).map_err(|error| to_python(&error))?;
    Ok(Events(Local::new(Arc::new(Mutex::new(finding)))))
}

/// Returns the client for each target.
fn clients(py: Python<'_>, targets: &[String], options: &Options) -> PyResult<Vec<Client>> {
    let clients = targets.iter().map(|target| options.client(py, target));
    clients.collect()
}

/// Applies the options for the form of records, fallbacks and the best record to a request.
fn wanted_as(mut wanted: Wanted, form: RecordForm, fallback: bool, best: bool) -> Wanted {
    wanted.form = form;
    if fallback {
        wanted.fallback = Fallback::ALL;
    }
    wanted.best = best.then(Preferences::default);
    wanted
}

/// Looks up an identifier at one or more targets. The sessions used for this are then returned to the pool.
#[pyfunction]
#[pyo3(signature = (targets, identifier, options, fallback=false, best=false, all_targets=false))]
pub(crate) fn lookup(
    py: Python<'_>,
    targets: Vec<String>,
    identifier: &Bound<'_, PyAny>,
    options: &Options,
    fallback: bool,
    best: bool,
    all_targets: bool,
) -> PyResult<Request> {
    let about = targets.join(" or ");
    let identifier = identifier_of(identifier)?;
    let clients = clients(py, &targets, options)?;
    let form = options.form.clone();
    Ok(Request::about(about, async move {
        let wanted = Wanted::identifier(&identifier)?.count(SHOWN);
        let mut wanted = wanted_as(wanted, form, fallback, best);
        wanted.all_targets = all_targets;
        let found = match Finding::new(&clients, targets, wanted)? {
            Some(finding) => answer_of(finding).await?,
            None => None,
        };
        Ok(Looked { identifier, found })
    }))
}

/// Returns the text of an identifier.
pub(crate) fn identifier_of(identifier: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(text_of(identifier, "an identifier is a str")?.into_owned())
}

/// The maximum number of records that a lookup returns.
const SHOWN: u64 = 20;

/// Waits for the result of a lookup at several targets. Fails if no record was found and one of the targets did not
/// answer.
async fn answer_of(mut finding: Finding) -> Result<Option<Found>, Failure> {
    let mut queries = vec![None; finding.names.len()];
    let mut records = Vec::new();
    let mut failure = None;
    while let Some(event) = finding.events.next().await {
        match event {
            FindEvent::Found(found) => {
                if let Some(query) = queries.get_mut(found.target) {
                    *query = Some(found.query.clone());
                }
            }
            FindEvent::Record {
                target,
                position,
                record,
            } => {
                let charset = finding.charset(target);
                let record = z3950::Record::of(record, Some(position));
                records.push(record.map(|record| record.with_charset(charset)));
            }
            FindEvent::Ended(ending) => {
                let mut names = finding.names.iter();
                let taken = names.position(|name| Some(name) == ending.target.as_ref());
                let query = taken.and_then(|index| queries.get_mut(index)?.take());
                if let Some(query) = query {
                    return Ok(Some(Found {
                        query,
                        hits: ending.hits.unwrap_or_default(),
                        records,
                        target: ending.target,
                        choice: ending.choice,
                    }));
                }
                failure = ending.failed.into_iter().next();
            }
            _ => {}
        }
    }
    match failure {
        Some((_, error)) => Err(error),
        None => Ok(None),
    }
}
