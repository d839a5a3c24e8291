#![forbid(unsafe_code)]
//! The native part of the Python package `z3950`. It makes values of the library `z3950` available to Python classes,
//! and requests that these classes wait for. The classes for users are in `python/z3950`, which also has the
//! documentation of each part.
//!
//! | file | holds |
//! |---|---|
//! | `process` | the runtime and the client of a process; values that cannot be used after a fork |
//! | `request` | a request in progress, for which a thread waits or which is reported to asyncio |
//! | `error` | the library's errors and panics as Python exceptions |
//! | `options` | the options of `connect` |
//! | `connection`, `result_set` | ZOOM's objects |
//! | `query`, `record`, `url` | queries, records and URLs as values |
//! | `files` | reading and converting files of records |
//! | `server` | a server for tests |

mod connection;
mod error;
mod files;
mod options;
mod process;
mod query;
mod record;
mod request;
mod result_set;
mod server;
mod url;

use pyo3::prelude::*;

#[pymodule]
mod _z3950 {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::connection::{Connection, ScanTerm, Target, TaskResult};
    #[pymodule_export]
    use crate::connection::{check_target, connect, get, lookup, remark, targets};
    #[pymodule_export]
    use crate::files::{Converter, Reader};
    #[pymodule_export]
    use crate::options::Options;
    #[pymodule_export]
    use crate::query::Query;
    #[pymodule_export]
    use crate::record::{Holding, Record};
    #[pymodule_export]
    use crate::request::{Request, Started};
    #[pymodule_export]
    use crate::result_set::ResultSet;
    #[pymodule_export]
    use crate::server::Server;
    #[pymodule_export]
    use crate::url::{FoundUrl, Url, extract, parse};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
