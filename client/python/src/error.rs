//! Converts the library's errors into exceptions of `z3950._errors`. Panics are also converted, so that a program that
//! catches `z3950.Error` can continue.

use std::any::Any;
use std::error::Error as _;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::PyString;
use z3950::error::Cause;
use z3950::profile::ProfileError;
use z3950::{Diagnostics, Error as Failure};

use crate::exit::calling;

import_exception!(z3950._errors, Error);
import_exception!(z3950._errors, NoMatch);
import_exception!(z3950._errors, Ambiguous);
import_exception!(z3950._errors, Diagnostic);
import_exception!(z3950._errors, DamagedRecord);
import_exception!(z3950._errors, Unavailable);
import_exception!(z3950._errors, Timeout);
import_exception!(z3950._errors, BadUrl);
import_exception!(z3950._errors, BadQuery);

/// Creates the exception object for `error` immediately, because its class has an `__init__`. Otherwise, PyO3 would
/// call `__init__` after the native function has returned, when the thread is no longer kept away from an interpreter
/// that is exiting.
pub(crate) fn made(error: PyErr) -> PyErr {
    Python::attach(|py| {
        calling(py, || error.value(py));
    });
    error
}

/// Returns the exception for an error. Its message contains the messages of the error and its causes.
pub(crate) fn to_python(error: &Failure) -> PyErr {
    in_words(error, chain(error))
}

/// Returns the exception for an error. If the target is unavailable, the message begins with its name, because there
/// may be several targets.
pub(crate) fn to_python_about(target: &str, error: &Failure) -> PyErr {
    let words = chain(error);
    match error {
        Failure::Unavailable { .. } | Failure::ProtocolClosed { .. } | Failure::Ended { .. } => {
            in_words(error, format!("{target}: {words}"))
        }
        _ => in_words(error, words),
    }
}

/// Returns the exception for an error, with this message and with attributes that help a program to decide how to
/// react.
fn in_words(error: &Failure, words: String) -> PyErr {
    let raised = exception(error, words);
    Python::attach(|py| {
        let value = calling(py, || raised.value(py));
        if !value.is_instance_of::<Error>() {
            return;
        }
        for (name, answer) in [
            ("is_timeout", error.is_timeout()),
            ("is_connect", error.is_connect()),
            ("is_transient", error.is_transient()),
            ("is_connection_lost", error.is_connection_lost()),
        ] {
            if let Err(error) = value.setattr(name, answer) {
                error.write_unraisable(py, None);
            }
        }
    });
    raised
}

fn exception(error: &Failure, words: String) -> PyErr {
    match error {
        Failure::NoMatch => NoMatch::new_err(words),
        Failure::Ambiguous { hits, .. } => Ambiguous::new_err((words, *hits)),
        Failure::Refused { diagnostics, .. } => refused(words, diagnostics),
        Failure::InitRejected(rejected) => refused(words, &rejected.diagnostics),
        Failure::Unavailable {
            cause: Cause::Timeout(_) | Cause::Deadline | Cause::SessionsInUse(_),
            ..
        } => Timeout::new_err(words),
        Failure::Unavailable { .. } | Failure::ProtocolClosed { .. } | Failure::Ended { .. } => {
            Unavailable::new_err(words)
        }
        Failure::Url(error) => BadUrl::new_err((words, error.offset())),
        // An invalid targets file says nothing about the target, so the error is not `BadUrl`.
        Failure::Target(error) if !matches!(**error, ProfileError::Target(_)) => {
            Error::new_err(words)
        }
        Failure::Target(_) | Failure::Build(_) | Failure::Plan(_) | Failure::PortRefused(_) => {
            BadUrl::new_err(words)
        }
        Failure::Query(error) => BadQuery::new_err((words, error.offset)),
        Failure::Term(_) | Failure::Identifier(_) | Failure::NotOneTerm => BadQuery::new_err(words),
        Failure::ForeignResultSet => PyValueError::new_err(words),
        _ => Error::new_err(words),
    }
}

fn refused(words: String, diagnostics: &Diagnostics) -> PyErr {
    let addinfo = diagnostics.addinfo().map(|addinfo| addinfo.into_owned());
    Diagnostic::new_err((words, diagnostics.condition(), addinfo))
}

fn chain(error: &Failure) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        // "Connection refused (os error 111)" adds nothing to "connection refused", so it is not repeated.
        let plain = said.split(" (os error").next().unwrap_or_default();
        if !words.ends_with(&plain.to_lowercase()) {
            words = format!("{words}: {said}");
        }
        cause = inner.source();
    }
    words
}

/// Returns the result of `work`, and converts a panic into an `Error`. PyO3 would convert it into an exception that
/// `except Exception` does not catch.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Returns the exception for a panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
    Error::new_err(format!("internal error: {}", words.unwrap_or("a panic")))
}

/// Returns the `repr` of a string, in quotation marks. The thread must hold the GIL.
pub(crate) fn quoted(text: &str) -> String {
    let shown = Python::attach(|py| Ok::<_, PyErr>(PyString::new(py, text).repr()?.to_string()));
    shown.unwrap_or_else(|_| text.to_owned())
}

/// Returns the exception for a file that could not be opened. It contains the file's name. If a signal handler raised
/// an exception, returns that exception.
pub(crate) fn of_file(py: Python<'_>, path: &Path, error: io::Error) -> PyErr {
    let Some(code) = error.raw_os_error() else {
        return error.into();
    };
    let words = py
        .import("os")
        .and_then(|os| os.call_method1("strerror", (code,)));
    match words {
        Ok(words) => PyOSError::new_err((code, words.unbind(), path.as_os_str().to_owned())),
        Err(_) => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}

/// Returns the exception for a value that is not one of the expected ones.
pub(crate) fn unknown(value: &str, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{} is not {expected}", quoted(value)))
}
