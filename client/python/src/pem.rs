//! Certificates and keys in PEM (RFC 7468), which a program passes as the path of a file or as the PEM itself. The PEM
//! must not appear in any message.

use std::io;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use z3950::error::{PemPlace, TlsError};
use z3950_server::tls::{ClientCertificates, Tls, TlsError as ListenerError};

use crate::error::{Error, of_file};
use crate::exit::calling;

/// The text with which every certificate or key in PEM begins.
const BEGIN: &str = "-----BEGIN";

/// PEM in a file or in memory.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Pem {
    File(PathBuf),
    Text(Vec<u8>),
}

impl<'py> FromPyObject<'_, 'py> for Pem {
    type Error = PyErr;

    /// Converts bytes, or a str that contains PEM, to PEM in memory, and any other str or path to the name of a file.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(octets) = given.cast::<PyBytes>() {
            return Ok(Self::Text(octets.as_bytes().to_vec()));
        }
        if let Ok(text) = given.cast::<PyString>()
            && let Ok(text) = text.to_cow()
            && text.contains(BEGIN)
        {
            return Ok(Self::Text(text.as_bytes().to_vec()));
        }
        let path = calling(given.py(), || given.extract::<PathBuf>())
            .map_err(|_| PyTypeError::new_err("PEM is bytes, a str, or the path of a file"))?;
        // The text may be a private key, and an error about a file with that name would reveal the key.
        let text = path.to_string_lossy();
        if text.contains(BEGIN) || text.contains(char::is_control) {
            let words = format!("this is no path of a file, and PEM is a str with {BEGIN} in it");
            return Err(PyValueError::new_err(words));
        }
        Ok(Self::File(path))
    }
}

impl From<Pem> for z3950::Pem {
    fn from(pem: Pem) -> Self {
        match pem {
            Pem::File(path) => Self::File(path),
            Pem::Text(octets) => Self::Text(octets),
        }
    }
}

impl Pem {
    fn read(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        match self {
            Self::Text(octets) => Ok(octets.clone()),
            Self::File(path) => std::fs::read(path).map_err(|error| of_file(py, path, error)),
        }
    }
}

/// Returns the exception for a file that cannot be read. The exception contains the name of the file.
fn unreadable(py: Python<'_>, path: &Path, error: io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(_) => of_file(py, path, error),
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}

/// Returns the exception for PEM that a client cannot use. If a file cannot be read, this is an `OSError`.
pub(crate) fn unusable(py: Python<'_>, error: TlsError) -> PyErr {
    match error {
        TlsError::Read {
            pem: PemPlace::File(path),
            source,
            ..
        } => unreadable(py, &path, source),
        error => Error::new_err(in_words(&error)),
    }
}

fn in_words(error: &dyn std::error::Error) -> String {
    let cause = error.source();
    let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

/// The certificate and the key of a TLS listener, and the authorities that issue client certificates, if the listener
/// requires them.
pub(crate) struct ListenerPem(Pem, Pem, Option<Pem>);

impl<'py> FromPyObject<'_, 'py> for ListenerPem {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        type Given<'py> = Bound<'py, PyAny>;
        let (certificate, key, clients): (Given<'py>, Given<'py>, Option<Given<'py>>) =
            given.extract()?;
        let clients = clients.map(|clients| clients.extract());
        Ok(Self(
            certificate.extract()?,
            key.extract()?,
            clients.transpose()?,
        ))
    }
}

impl ListenerPem {
    /// Returns the settings of the listener.
    ///
    /// # Errors
    /// Fails with an `OSError` if a file cannot be read, and with a `ValueError` if the PEM cannot be used.
    pub(crate) fn tls(&self, py: Python<'_>) -> PyResult<Tls> {
        let Self(certificate, key, clients) = self;
        let clients = match clients {
            Some(pem) => ClientCertificates::Required(pem.read(py)?),
            None => ClientCertificates::default(),
        };
        let tls = match (certificate, key) {
            // With paths, error messages name the faulty file.
            (Pem::File(certificate), Pem::File(key)) => Tls::load(certificate, key, &clients),
            _ => Tls::from_pem(&certificate.read(py)?, &key.read(py)?, &clients),
        };
        tls.map_err(|error| match error {
            ListenerError::Read { path, source } => unreadable(py, &path, source),
            error => PyValueError::new_err(in_words(&error)),
        })
    }
}
