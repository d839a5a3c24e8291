//! The state of an open connection, which is shared with its result sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use z3950::Connection as Handle;

use crate::error::Error;

/// An open connection. Its result sets share it.
pub(crate) struct Open {
    pub(crate) handle: Handle,
    pub(crate) is_closed: Arc<AtomicBool>,
}

impl Open {
    /// Returns the library's handle to the connection.
    ///
    /// # Errors
    /// Fails if the connection has been closed.
    pub(crate) fn handle(&self) -> PyResult<Handle> {
        if self.is_closed.load(Ordering::Acquire) {
            Err(Error::new_err("the connection is closed"))
        } else {
            Ok(self.handle.clone())
        }
    }
}
