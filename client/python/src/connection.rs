//! ZOOM's Connection, and the functions that do not need a connection.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use pythonize::pythonize;
use z3950::profile::Origin;
use z3950::service::explain::ExplainOptions;
use z3950::service::extended::Order;
use z3950::service::scan::ScanOptions;
use z3950::{Connection as Handle, Error as Failure, RecordForm};
use z3950_asn1::describe::Describe;
use z3950_asn1::es::item_order::Contact;
use z3950_asn1::es::update::Action;
use z3950_asn1::format::facets::{FacetField, FacetList};

use crate::answer::{Found, Looked};
use crate::error::{Error, quoted, to_python};
use crate::find::identifier_of;
use crate::open::Open;
use crate::options::Options;
use crate::process::{Local, shared};
use crate::query::Query;
use crate::record::{Received, Record};
use crate::request::Request;
use crate::result_set::ResultSet;
use crate::text::Text;
use crate::values::{Description, ScanTerm, Target, TaskResult};

/// A connection to a target. The Python class `Connection` wraps it.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Connection(Local<Arc<Open>>);

impl Connection {
    fn handle(&self) -> PyResult<Handle> {
        self.0.get()?.handle()
    }
}

/// Connects to a target.
#[pyfunction]
pub(crate) fn connect(py: Python<'_>, target: Text<'_>, options: &Options) -> PyResult<Request> {
    let target = target.to_owned();
    let (client, form) = (options.client(py, &target)?, options.form.clone());
    options.check_tls(py, &[&target])?;
    Ok(Request::about(target.clone(), async move {
        let handle = client.connect(target).await?.with_form(form);
        let is_closed = Arc::default();
        Ok(Connection(Local::new(Arc::new(Open { handle, is_closed }))))
    }))
}

/// Retrieves the record named by a retrieval URL.
#[pyfunction]
pub(crate) fn get(py: Python<'_>, url: Text<'_>, options: &Options) -> PyResult<Request> {
    if options.form != RecordForm::default() {
        return Err(PyTypeError::new_err(
            "the URL names the form of the record, as in ?id7;esn=F;rs=marc; get takes no options for it",
        ));
    }
    let url = url.to_owned();
    let client = options.client(py, &url)?;
    options.check_tls(py, &[&url])?;
    Ok(Request::about(url.clone(), async move {
        client.get(url).await.map(Received)
    }))
}

/// Raises an exception if one of the arguments is not a valid target, or if the options cannot be applied to the
/// targets.
#[pyfunction]
pub(crate) fn check_targets(
    py: Python<'_>,
    targets: Vec<String>,
    options: &Options,
) -> PyResult<()> {
    for target in &targets {
        let client = options.client(py, target)?;
        let resolved = client.profiles().resolve(target);
        resolved.map_err(|error| to_python(&Failure::Target(Arc::new(error))))?;
    }
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    options.check_tls(py, &targets)
}

/// Returns the named targets: those that are built in, and those in the user's `targets.toml`.
#[pyfunction]
pub(crate) fn targets(py: Python<'_>) -> PyResult<Vec<Target>> {
    let shared = shared(py)?;
    let profiles = shared.usual_client(py)?.profiles().iter();
    let targets = profiles.map(|(name, entry)| {
        let profile = &entry.profile;
        Target {
            name: name.to_owned(),
            title: profile.title.clone(),
            address: profile.endpoint().to_string(),
            databases: profile.databases.clone(),
            note: profile.note.clone(),
            is_built_in: entry.origin == Origin::BuiltIn,
        }
    });
    Ok(targets.collect())
}

#[pymethods]
impl Connection {
    #[getter]
    fn target(&self) -> PyResult<String> {
        let open = self.0.get()?;
        let target = open.handle.target();
        let databases = target.databases();
        let names: Vec<_> = databases
            .iter()
            .map(|name| name.0.to_string_lossy())
            .collect();
        Ok(format!("{}/{}", target.endpoint, names.join("+")))
    }

    /// Whether the connection can no longer be used. This is also the case in a child of the process that opened it.
    #[getter]
    fn is_closed(&self) -> bool {
        let open = self.0.here();
        open.is_none_or(|open| open.is_closed.load(Ordering::Acquire))
    }

    /// Returns the same connection with a limit for the duration of each call, in seconds.
    fn within(&self, seconds: f64) -> PyResult<Self> {
        let limit = Duration::try_from_secs_f64(seconds).ok();
        let limit = limit.filter(|limit| !limit.is_zero()).ok_or_else(|| {
            PyValueError::new_err(format!(
                "the limit is a number of seconds above 0, not {seconds}"
            ))
        })?;
        let open = self.0.get()?;
        Ok(Self(Local::new(Arc::new(Open {
            handle: open.handle.within(limit),
            is_closed: Arc::clone(&open.is_closed),
        }))))
    }

    fn search(&self, query: &Query, first: u64, facets: Vec<(String, i64)>) -> PyResult<Request> {
        let (open, query) = (Arc::clone(self.0.get()?), query.meant.clone());
        let facets = facets
            .iter()
            .map(|(name, limit)| FacetField::request(name, *limit));
        let handle = open.handle()?.with_facets(FacetList(facets.collect()));
        Ok(Request::new(async move {
            let hits = handle.search_first(query, first).await?;
            Ok(ResultSet::new(open, hits))
        }))
    }

    fn scan(&self, query: &Query, size: u64, position: u64) -> PyResult<Request> {
        let (handle, query) = (self.handle()?, query.meant.clone());
        let mut options = ScanOptions::default();
        options.number_of_terms = size;
        options.preferred_position = Some(position);
        Ok(Request::new(async move {
            let terms = handle.scan_with(query, options).await?;
            let terms = terms.terms().iter().map(|term| ScanTerm {
                term: term.term.clone(),
                display: term.display.clone().unwrap_or_else(|| term.term.clone()),
                count: term.count,
            });
            Ok(terms.collect::<Vec<_>>())
        }))
    }

    fn get(&self, docid: Vec<u8>) -> PyResult<Request> {
        let handle = self.handle()?;
        Ok(Request::new(async move {
            handle.get(docid).await.map(Received)
        }))
    }

    fn lookup(&self, identifier: &Bound<'_, PyAny>) -> PyResult<Request> {
        let (identifier, handle) = (identifier_of(identifier)?, self.handle()?);
        Ok(Request::new(async move {
            let found = handle.lookup(&identifier).await?;
            let found = found.map(|found| Found {
                query: found.query,
                hits: found.hits,
                records: found.records,
                target: None,
                choice: None,
            });
            Ok(Looked { identifier, found })
        }))
    }

    fn update(&self, action: Text<'_>, records: Vec<PyRef<'_, Record>>) -> PyResult<Request> {
        let action = match &*action {
            "insert" => Action::RECORD_INSERT,
            "replace" => Action::RECORD_REPLACE,
            "delete" => Action::RECORD_DELETE,
            _ => {
                let words = format!("{} is neither insert, replace nor delete", quoted(&action));
                return Err(PyValueError::new_err(words));
            }
        };
        let records: Option<Vec<_>> = records.iter().map(|record| record.as_marc()).collect();
        let records = records.ok_or_else(|| Error::new_err("only MARC records can be updated"))?;
        let handle = self.handle()?;
        Ok(Request::once(async move {
            let records = records.iter().map(|record| &**record);
            let done = handle.update(action, records).await?;
            Ok(TaskResult::of(done.status))
        }))
    }

    fn order(
        &self,
        hits: &ResultSet,
        position: u64,
        name: Option<Text<'_>>,
        phone: Option<Text<'_>>,
        email: Option<Text<'_>>,
    ) -> PyResult<Request> {
        let (handle, hits) = (self.handle()?, hits.shared()?);
        let mut order = Order::default();
        if name.is_some() || phone.is_some() || email.is_some() {
            order.contact = Some(Contact {
                name: name.as_deref().map(Into::into),
                phone: phone.as_deref().map(Into::into),
                email: email.as_deref().map(Into::into),
            });
        }
        Ok(Request::once(async move {
            let hits = hits.set.read().await;
            let done = handle.order(&hits, position, order).await?;
            Ok(TaskResult::of(done.status))
        }))
    }

    fn explain(&self, category: Text<'_>) -> PyResult<Request> {
        let handle = self.handle()?;
        let mut options = ExplainOptions::default();
        options.category = category.to_owned();
        Ok(Request::new(async move {
            if handle.target().endpoint.is_sru() {
                let description = handle.describe().await?;
                return Ok(Explained::Sru(description.into()));
            }
            let found = handle.explain(&options).await?;
            let records = found.records.iter();
            Ok(Explained::Records(
                records.map(|record| record.describe().to_json()).collect(),
            ))
        }))
    }

    fn close(&self) -> Request {
        // In a child process there is nothing to close: the session belongs to the parent.
        let open = self.0.here();
        let open = open.filter(|open| !open.is_closed.swap(true, Ordering::AcqRel));
        let handle = open.map(|open| open.handle.clone());
        Request::new(async move {
            if let Some(handle) = handle {
                // An error means that the session has ended anyway.
                let _ = handle.close().await;
            }
            Ok(())
        })
    }
}

/// A server's description of itself: for SRU, the description of a database, and otherwise Explain records in JSON.
enum Explained {
    Sru(Description),
    Records(Vec<serde_json::Value>),
}

impl<'py> IntoPyObject<'py> for Explained {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(match self {
            Self::Sru(description) => PyList::new(py, [description])?.into_any(),
            Self::Records(records) => pythonize(py, &records)?,
        })
    }
}
