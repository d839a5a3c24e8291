#![forbid(unsafe_code)]
//! The native part of the Python package `z3950`. It provides the library's values, and requests whose results the
//! Python classes await. The public classes are defined and documented in `python/z3950`.
//!
//! | file | holds |
//! |---|---|
//! | `process` | the runtime and the client of a process; values that cannot be used after a fork |
//! | `exit` | keeps threads away from Python while it exits |
//! | `request` | a request in progress, for which a thread waits or which asyncio awaits |
//! | `error` | the library's errors as Python exceptions; panics as exceptions |
//! | `options` | the options of `connect` |
//! | `way`, `pem` | how servers are reached; certificates and keys in PEM |
//! | `connection`, `open`, `result_set` | ZOOM's objects, and what they share |
//! | `find` | searches at several targets, without a connection |
//! | `answer`, `event`, `query`, `record`, `url`, `values` | values |
//! | `text` | text arguments, tags, and terms as text |
//! | `pickled` | values as the state that `pickle` writes |
//! | `marc`, `decoded`, `tag` | MARC records with numbered fields, and their conversion to UTF-8 |
//! | `files`, `written` | record files, read and converted |
//! | `server` | the server used in tests |
//! | `calls` | the calls to backends in progress |
//! | `backend`, `service` | a server with a backend in Python |

mod answer;
mod backend;
mod calls;
mod connection;
mod decoded;
mod error;
mod event;
mod exit;
mod files;
mod find;
mod marc;
mod open;
mod options;
mod pem;
mod pickled;
mod process;
mod query;
mod record;
mod request;
mod result_set;
mod server;
mod service;
mod text;
mod url;
mod values;
mod way;
mod written;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// The allocator of the native code. Python's objects are allocated by Python.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[pymodule]
mod _z3950 {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answer::Answer;
    #[pymodule_export]
    use crate::calls::end_calls;
    #[pymodule_export]
    use crate::connection::Connection;
    #[pymodule_export]
    use crate::connection::{check_targets, connect, get, targets};
    #[pymodule_export]
    use crate::event::Event;
    #[pymodule_export]
    use crate::files::{Converter, Reader};
    #[pymodule_export]
    use crate::find::{Events, find, lookup};
    #[pymodule_export]
    use crate::options::Options;
    #[pymodule_export]
    use crate::pickled::restored;
    #[pymodule_export]
    use crate::query::Query;
    #[pymodule_export]
    use crate::record::{Field, Record};
    #[pymodule_export]
    use crate::request::{Request, Started};
    #[pymodule_export]
    use crate::result_set::ResultSet;
    #[pymodule_export]
    use crate::server::Server;
    #[pymodule_export]
    use crate::service::Service;
    #[pymodule_export]
    use crate::url::{FoundUrl, Url, extract, parse};
    #[pymodule_export]
    use crate::values::{Description, Holding, ScanTerm, SearchSource, Target, TaskResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        crate::process::register(py)?;
        let kinds = crate::pickled::Kinds::default();
        kinds
            .with::<Description>(py)?
            .with::<FoundUrl>(py)?
            .with::<Holding>(py)?
            .with::<Query>(py)?
            .with::<Record>(py)?
            .with::<ScanTerm>(py)?
            .with::<SearchSource>(py)?
            .with::<Target>(py)?
            .with::<TaskResult>(py)?
            .with::<Url>(py)?
            .register();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
