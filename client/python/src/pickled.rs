//! Values that can be pickled and copied. Their state is of dicts, lists, bytes and strings; `restored` makes a value of it again.

use pyo3::IntoPyObjectExt;
use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

use crate::query::Query;
use crate::record::Record;
use crate::url::{FoundUrl, Url};
use crate::values::{Description, Holding, ScanTerm, SearchSource, Target, TaskResult};

/// What `__reduce__` returns: the function that makes the value again, and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyAny>));

/// Returns how to make a value again from its state.
pub(crate) fn reduced<'py, T: PyClass>(
    py: Python<'py>,
    state: &impl Serialize,
) -> PyResult<Reduced<'py>> {
    let name = py.get_type::<T>().name()?.to_string();
    let restored = py.import("z3950._z3950")?.getattr("restored")?;
    Ok((restored, (name, pythonize(py, state)?)))
}

/// Makes a value of a class from its state.
#[pyfunction]
pub(crate) fn restored(kind: &str, state: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = state.py();
    match kind {
        "Description" => depythonize::<Description>(state)?.into_py_any(py),
        "FoundUrl" => depythonize::<FoundUrl>(state)?.into_py_any(py),
        "Holding" => depythonize::<Holding>(state)?.into_py_any(py),
        "Query" => Query::restored(&depythonize::<Vec<_>>(state)?)?.into_py_any(py),
        "Record" => Record::restored(depythonize(state)?)?.into_py_any(py),
        "ScanTerm" => depythonize::<ScanTerm>(state)?.into_py_any(py),
        "SearchSource" => depythonize::<SearchSource>(state)?.into_py_any(py),
        "Target" => depythonize::<Target>(state)?.into_py_any(py),
        "TaskResult" => depythonize::<TaskResult>(state)?.into_py_any(py),
        "Url" => Url::restored(state.extract()?)?.into_py_any(py),
        _ => Err(PyValueError::new_err(format!("{kind} cannot be restored"))),
    }
}
