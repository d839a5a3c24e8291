//! ZOOM's ResultSet: the records found by a search, which can be read one by one or in ranges.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokio::sync::RwLock;
use z3950::{Error as Failure, SortKey};
use z3950_asn1::apdu::StringOrNumeric;
use z3950_asn1::format::sources::SearchSources;

use crate::error::to_python;
use crate::open::Open;
use crate::process::Local;
use crate::record::Received;
use crate::request::Request;
use crate::text::text_of_term;
use crate::values::SearchSource;

/// The number of records that are fetched at a time if a program reads records one by one and in order.
const PAGE: u64 = 20;

/// The state that all requests for a result set share.
pub(crate) struct Held {
    pub(crate) set: RwLock<z3950::ResultSet>,
    open: Arc<Open>,
    /// The records that [`ResultSet::record`] fetched most recently. They are replaced only while the set is locked, so
    /// that they match the order of the set.
    page: Mutex<Vec<z3950::Record>>,
}

/// The result set of a search. The Python class `ResultSet` wraps it.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct ResultSet {
    held: Local<Arc<Held>>,
    #[pyo3(get)]
    count: u64,
    #[pyo3(get)]
    is_estimate: bool,
    /// The facets: the name of each, and its terms with the number of records that contain them.
    #[pyo3(get)]
    facets: Vec<(String, Vec<(String, i64)>)>,
    found: SearchSources,
}

impl ResultSet {
    pub(crate) fn new(open: Arc<Open>, set: z3950::ResultSet) -> Self {
        Self {
            count: set.count(),
            is_estimate: set.is_estimate(),
            facets: facets_of(&set),
            found: set.sources(),
            held: Local::new(Arc::new(Held {
                set: RwLock::new(set),
                open,
                page: Mutex::default(),
            })),
        }
    }

    /// Returns the shared state of the set. Fails if the connection is closed.
    pub(crate) fn shared(&self) -> PyResult<Arc<Held>> {
        let held = self.held.get()?;
        held.open.handle()?;
        Ok(Arc::clone(held))
    }
}

impl Held {
    /// Returns the record at a position; `None` if the server had estimated more records than there are.
    ///
    /// A record that was fetched recently is not fetched again. If the record after the most recently fetched ones is
    /// requested, a complete page of records is fetched.
    async fn record(&self, position: u64) -> Result<Option<z3950::Record>, Failure> {
        let set = self.set.read().await;
        let count = {
            let page = self.page();
            let mut records = page.iter();
            if let Some(record) = records.find(|record| record.position() == Some(position)) {
                return Ok(Some(record.clone()));
            }
            let last = page.last().and_then(z3950::Record::position);
            if last.is_some_and(|last| last.saturating_add(1) == position) {
                PAGE
            } else {
                1
            }
        };
        let mut records = set.range(position..position.saturating_add(count));
        let Some(record) = records.next().await.transpose()? else {
            return Ok(None);
        };
        let mut page = vec![record.clone()];
        // If a later record fails, the page ends before it, because its error is raised only when that record is read.
        while let Some(Ok(record)) = records.next().await {
            page.push(record);
        }
        *self.page() = page;
        Ok(Some(record))
    }

    fn page(&self) -> MutexGuard<'_, Vec<z3950::Record>> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the facets of a search, each with the name under which it was requested.
fn facets_of(set: &z3950::ResultSet) -> Vec<(String, Vec<(String, i64)>)> {
    let fields = set
        .found()
        .facets()
        .unwrap_or_default()
        .0
        .into_iter()
        .filter_map(|field| {
            let name = match field.field()? {
                StringOrNumeric::String(name) => name.to_string_lossy().into_owned(),
                StringOrNumeric::Numeric(number) => number.to_string(),
            };
            let terms = field
                .terms
                .unwrap_or_default()
                .into_iter()
                .map(|term| (text_of_term(&term.term), term.count));
            Some((name, terms.collect()))
        });
    fields.collect()
}

#[pymethods]
impl ResultSet {
    /// The sources of the records.
    #[getter]
    fn sources(&self) -> Vec<SearchSource> {
        self.found.sources.iter().map(SearchSource::from).collect()
    }

    /// The server's remarks about the search.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.found.remarks.clone()
    }

    /// Fetches the record at a 1-based position. A loop over positions makes one request for each page.
    fn record(&self, position: u64) -> PyResult<Request> {
        let held = self.shared()?;
        Ok(Request::new(async move {
            Ok(held.record(position).await?.map(Received))
        }))
    }

    /// Fetches `count` records, beginning at the 1-based position `first`. The result may contain an exception in place
    /// of a record.
    fn range(&self, first: u64, count: u64) -> PyResult<Request> {
        let held = self.shared()?;
        Ok(Request::new(async move {
            let set = held.set.read().await;
            let end = first.saturating_add(count);
            let records = set.range(first..end);
            Ok(Slots(StreamExt::collect(records).await))
        }))
    }

    /// Sorts the records on the server.
    fn sort(&self, keys: Vec<String>) -> PyResult<Request> {
        let keys: Vec<_> = keys
            .iter()
            .map(|key| key.parse::<SortKey>())
            .collect::<Result<_, _>>()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let held = self.shared()?;
        Ok(Request::new(async move {
            let mut set = held.set.write().await;
            held.page().clear();
            set.sort(&keys).await
        }))
    }
}

/// Records, or errors in their place.
struct Slots(Vec<Result<z3950::Record, Failure>>);

impl<'py> IntoPyObject<'py> for Slots {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let slots = PyList::empty(py);
        for slot in self.0 {
            let slot = match slot {
                Ok(record) => Received(record).into_pyobject(py),
                Err(error) => Err(to_python(&error)),
            };
            match slot {
                Ok(record) => slots.append(record)?,
                Err(error) => slots.append(error)?,
            }
        }
        Ok(slots)
    }
}
