//! Values that can be pickled and copied. Their state consists of dicts, lists, bytes and strings, from which
//! `restored` recreates the value.

use std::collections::HashMap;
use std::sync::OnceLock;

use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, PyTypeInfo};
use pythonize::{depythonize, pythonize};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The return value of `__reduce__`: the function that restores the value, and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyAny>));

/// A class whose values can be pickled.
pub(crate) trait Pickled: PyClass + PyTypeInfo {
    /// Restores a value from its state.
    fn restored(state: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>>;
}

/// A class whose values serde serializes directly, without a separate type for their state.
pub(crate) trait OwnState:
    PyClass + PyTypeInfo + DeserializeOwned + for<'py> IntoPyObjectExt<'py>
{
}

impl<T: OwnState> Pickled for T {
    fn restored(state: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        depythonize::<T>(state)?.into_py_any(state.py())
    }
}

/// A function that restores a value of a class from its state.
type Restore = fn(&Bound<'_, PyAny>) -> PyResult<Py<PyAny>>;

/// The classes whose values can be pickled, by name.
static KINDS: OnceLock<HashMap<String, Restore>> = OnceLock::new();

/// The classes of a module whose values can be pickled, to be registered for [`restored`].
#[derive(Default)]
pub(crate) struct Kinds(HashMap<String, Restore>);

impl Kinds {
    /// Adds a class of the module.
    pub(crate) fn with<T: Pickled>(mut self, py: Python<'_>) -> PyResult<Self> {
        self.0.insert(name_of::<T>(py)?, T::restored);
        Ok(self)
    }

    /// Registers the classes for [`restored`].
    pub(crate) fn register(self) {
        // An error means that the module has been imported again, and the same classes are already registered.
        let _ = KINDS.set(self.0);
    }
}

fn name_of<T: PyTypeInfo>(py: Python<'_>) -> PyResult<String> {
    Ok(py.get_type::<T>().name()?.to_string())
}

/// Returns the function and the arguments that restore a value.
pub(crate) fn reduced<'py, T: Pickled>(
    py: Python<'py>,
    state: &impl Serialize,
) -> PyResult<Reduced<'py>> {
    let restored = py.import("z3950._z3950")?.getattr("restored")?;
    Ok((restored, (name_of::<T>(py)?, pythonize(py, state)?)))
}

/// Restores a value from its state, given the name of its class.
#[pyfunction]
pub(crate) fn restored(kind: &str, state: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let restore = KINDS.get().and_then(|kinds| kinds.get(kind));
    let restore =
        restore.ok_or_else(|| PyValueError::new_err(format!("{kind} cannot be restored")))?;
    restore(state)
}
