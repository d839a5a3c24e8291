//! Data about servers and from servers, as Python classes with attributes: terms, targets, copies, sources and
//! descriptions.

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use z3950::sru::SruDescription;
use z3950_asn1::apdu::OperationStatus;
use z3950_asn1::format::sources::SearchSource as Reported;
use z3950_asn1::sru::zeerex::{ZeeRexIndex, ZeeRexMap};

use crate::pickled::{OwnState, Reduced, reduced};

/// A term in an index, with the number of records that contain it.
#[pyclass(frozen, get_all, eq, hash, module = "z3950")]
#[derive(Deserialize, Hash, PartialEq, Serialize)]
pub(crate) struct ScanTerm {
    /// The term in the form for searching.
    pub(crate) term: String,
    /// The term in the form for display.
    pub(crate) display: String,
    /// The number of records that contain the term; `None` if the server does not report it.
    pub(crate) count: Option<u64>,
}

impl OwnState for ScanTerm {}

#[pymethods]
impl ScanTerm {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self)
    }

    fn __str__(&self) -> &str {
        &self.display
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let term = self.term.as_str().into_pyobject(py)?;
        let count = self
            .count
            .map_or("unknown".to_owned(), |count| count.to_string());
        Ok(format!("<ScanTerm {} ({count})>", term.repr()?))
    }
}

/// A target that has a name: built in, or from the user's `targets.toml`.
#[pyclass(frozen, get_all, eq, hash, module = "z3950")]
#[derive(Deserialize, Hash, PartialEq, Serialize)]
pub(crate) struct Target {
    /// The name, which `connect` accepts.
    pub(crate) name: String,
    /// The title of the catalogue.
    pub(crate) title: Option<String>,
    /// The address of the server.
    pub(crate) address: String,
    /// The databases that are searched by default.
    pub(crate) databases: Vec<String>,
    /// A note for users.
    pub(crate) note: Option<String>,
    /// Whether the target is built in, and not from `targets.toml`.
    pub(crate) is_built_in: bool,
}

impl OwnState for Target {}

#[pymethods]
impl Target {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self)
    }

    fn __str__(&self) -> &str {
        &self.name
    }

    fn __repr__(&self) -> String {
        let databases = self.databases.join("+");
        format!("<Target {} ({}/{databases})>", self.name, self.address)
    }
}

/// The result of an update or an order. The status is `done` or `accepted`; a failure raises a `Diagnostic`.
#[pyclass(frozen, get_all, eq, hash, module = "z3950")]
#[derive(Deserialize, Hash, PartialEq, Serialize)]
pub(crate) struct TaskResult {
    /// The status: `done` or `accepted`.
    pub(crate) status: String,
}

impl TaskResult {
    pub(crate) fn of(status: OperationStatus) -> Self {
        Self {
            status: match status {
                OperationStatus::DONE => "done".to_owned(),
                _ => "accepted".to_owned(),
            },
        }
    }
}

impl OwnState for TaskResult {}

#[pymethods]
impl TaskResult {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self)
    }

    fn __repr__(&self) -> String {
        format!("<TaskResult {}>", self.status)
    }
}

/// A copy that a library holds. Attributes that the record does not contain are `None`.
#[pyclass(frozen, get_all, eq, hash, module = "z3950")]
#[derive(Deserialize, Hash, PartialEq, Serialize)]
pub(crate) struct Holding {
    /// The code or name of the library.
    library: Option<String>,
    /// The branch or collection.
    location: Option<String>,
    /// The shelving location.
    shelving_location: Option<String>,
    /// The item's temporary location.
    temporary_location: Option<String>,
    /// The call number.
    call_number: Option<String>,
    /// The volume or issue of the item, or all volumes at the location.
    volume: Option<String>,
    /// The number of the copy.
    copy: Option<String>,
    /// The number of the item, such as its barcode.
    item_id: Option<String>,
    /// Whether the item can be borrowed now.
    available: Option<bool>,
    /// The date on which the item is due back, as written by the server.
    due: Option<String>,
    /// Whether a reader is waiting for the item.
    on_hold: Option<bool>,
    /// The number of readers who are waiting for the item.
    holds: Option<u32>,
    /// The status, as written by the server.
    status: Option<String>,
    /// The restrictions on loans.
    restrictions: Option<String>,
    /// The public note.
    note: Option<String>,
}

impl From<z3950::Holding> for Holding {
    fn from(holding: z3950::Holding) -> Self {
        Self {
            library: holding.library,
            location: holding.location,
            shelving_location: holding.shelving_location,
            temporary_location: holding.temporary_location,
            call_number: holding.call_number,
            volume: holding.volume,
            copy: holding.copy,
            item_id: holding.item_id,
            available: holding.available,
            due: holding.due,
            on_hold: holding.on_hold,
            holds: holding.holds,
            status: holding.status,
            restrictions: holding.restrictions,
            note: holding.note,
        }
    }
}

impl OwnState for Holding {}

#[pymethods]
impl Holding {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self)
    }

    fn __repr__(&self) -> String {
        let available = match self.available {
            Some(true) => "available",
            Some(false) => "not available",
            None => "availability unknown",
        };
        let places = [&self.library, &self.location, &self.call_number];
        let places: Vec<&str> = places.into_iter().flatten().map(String::as_str).collect();
        format!("<Holding {} ({available})>", places.join(", "))
    }
}

/// A source of the records that a search found, such as one of the catalogues to which the server forwarded the search.
#[pyclass(frozen, get_all, eq, hash, module = "z3950")]
#[derive(Deserialize, Hash, PartialEq, Serialize)]
pub(crate) struct SearchSource {
    /// The name of the source, which is the `database` of its records.
    name: String,
    /// The number of records that the source found; `None` if it is unknown.
    hits: Option<u64>,
    /// The reason why the source did not answer; `None` if it did.
    error: Option<String>,
}

impl From<&Reported> for SearchSource {
    fn from(source: &Reported) -> Self {
        Self {
            name: source.name.clone(),
            hits: source.records,
            error: source.failed(),
        }
    }
}

impl OwnState for SearchSource {}

#[pymethods]
impl SearchSource {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self)
    }

    fn __repr__(&self) -> String {
        let found = match (&self.error, self.hits) {
            (Some(error), _) => error.clone(),
            (None, Some(hits)) => hits.to_string(),
            (None, None) => "unknown".to_owned(),
        };
        format!("<SearchSource {} ({found})>", self.name)
    }
}

/// A database, as described by its SRU server. Parts that the server leaves out are empty or `None`.
#[pyclass(frozen, get_all, eq, hash, module = "z3950")]
#[derive(Deserialize, Hash, PartialEq, Serialize)]
pub(crate) struct Description {
    /// The title of the database.
    title: String,
    /// A description of the database.
    description: String,
    /// The host of the server.
    host: String,
    /// The port of the server.
    port: Option<u16>,
    /// The name of the database: the path of its URL.
    database: String,
    /// The highest version of SRU that the server supports.
    version: String,
    /// The number of records in the database.
    records: Option<u64>,
    /// The indexes for `Query.cql`, such as `dc.title`.
    indexes: Vec<String>,
    /// The record schemas, such as `marcxml`.
    schemas: Vec<String>,
    /// The description in XML, as sent by the server.
    xml: String,
}

impl From<SruDescription> for Description {
    fn from(found: SruDescription) -> Self {
        let zeerex = found.zeerex;
        let schemas = zeerex.schemas.into_iter().map(|schema| {
            if schema.name.is_empty() {
                schema.identifier
            } else {
                schema.name
            }
        });
        Self {
            title: zeerex.database.title,
            description: zeerex.database.description,
            host: zeerex.server.host,
            port: zeerex.server.port,
            database: zeerex.server.database,
            version: zeerex.server.version,
            records: zeerex.server.records,
            indexes: zeerex.indexes.iter().flat_map(names_of).collect(),
            schemas: schemas.collect(),
            xml: String::from_utf8_lossy(&found.xml).into_owned(),
        }
    }
}

/// Returns the CQL names of an index.
fn names_of(index: &ZeeRexIndex) -> Vec<String> {
    let names = index.maps.iter().filter_map(|map| match map {
        ZeeRexMap::Name { set, name } if set.is_empty() => Some(name.clone()),
        ZeeRexMap::Name { set, name } => Some(format!("{set}.{name}")),
        _ => None,
    });
    names.collect()
}

impl OwnState for Description {}

#[pymethods]
impl Description {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self)
    }

    fn __repr__(&self) -> String {
        format!("<Description {} ({:?})>", self.database, self.title)
    }
}
