//! A test server that runs inside the process of a test.

use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::pythonize;
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{MarcRecord, iso2709};
use z3950_server::access::{Access, User};
use z3950_server::fault::Rule;
use z3950_server::imitate::Imitated;
use z3950_server::testing::{TestServer, TranscriptEntry, record};

use crate::backend::PythonBackend;
use crate::error::{Error, guarded, panicked, quoted};
use crate::exit::detached;
use crate::pem::ListenerPem;
use crate::process::Local;
use crate::request::SIGNAL_TICK;

/// A server on a free port of 127.0.0.1. It runs until it is stopped.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Server(Local<Mutex<State>>);

enum State {
    Running(Box<TestServer>),
    /// The server has stopped. The value contains the APDUs that it sent and received.
    Stopped(Vec<TranscriptEntry>),
}

/// The records for a test, given in any form of MARC, or as the control number and the title of one record.
#[derive(FromPyObject)]
enum Given {
    Octets(Vec<u8>),
    Short(String, String),
}

impl Given {
    /// Returns the records, after checking that the server can store them.
    fn records(self) -> PyResult<Vec<MarcRecord>> {
        let records = self.read()?;
        for record in &records {
            iso2709::encode(record).map_err(|error| {
                PyValueError::new_err(format!("the server cannot have this record: {error}"))
            })?;
        }
        Ok(records)
    }

    fn read(self) -> PyResult<Vec<MarcRecord>> {
        let octets = match self {
            Self::Short(number, title) => return Ok(vec![record(&number, &title)]),
            Self::Octets(octets) => octets,
        };
        let reader = RecordReader::guessing(octets.as_slice(), InputForm::Marc)?;
        let records = reader.map(|found| {
            let damaged = |damage| {
                PyValueError::new_err(format!("a record for the server is damaged: {damage}"))
            };
            found?.record.map_err(damaged)
        });
        records.collect()
    }
}

#[pymethods]
impl Server {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        databases: Vec<(String, Vec<Given>)>,
        faults: Vec<String>,
        imitate: Option<&str>,
        recorded: Option<PathBuf>,
        backend: Option<&Bound<'_, PyAny>>,
        tls: Option<ListenerPem>,
        users: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let mut builder = TestServer::builder();
        if let Some(tls) = tls {
            builder = builder.tls(tls.tls(py)?);
        }
        if !users.is_empty() {
            let users = users.into_iter().map(|(name, password)| {
                let mut user = User::default();
                (user.name, user.password) = (name, Some(password));
                user
            });
            let mut access = Access::default();
            access.users = users.collect();
            builder = builder.access(access);
        }
        for fault in faults {
            let rule = fault.parse::<Rule>();
            rule.map_err(|error| PyValueError::new_err(format!("{}: {error}", quoted(&fault))))?;
            builder = builder.rule(&fault);
        }
        let is_demo = databases.is_empty() && imitate.is_none() && backend.is_none();
        if let Some(adapter) = backend {
            let backend = PythonBackend::new(adapter)?;
            if let Some(logins) = backend.logins(py)? {
                builder = builder.authenticate(logins);
            }
            builder = builder.backend(Arc::new(backend));
        }
        if let Some(name) = imitate {
            let imitated = name.parse::<Imitated>();
            builder = builder
                .imitate(imitated.map_err(|error| PyValueError::new_err(error.to_string()))?);
        }
        let mut named = Vec::new();
        for (name, given) in databases {
            let records = given.into_iter().map(Given::records);
            named.push((name, records.collect::<PyResult<Vec<_>>>()?.concat()));
        }
        // The server's builder panics if it cannot continue, so this function is called through `guarded`.
        let start = move || {
            if let Some(path) = recorded {
                return TestServer::try_recorded(path).map_err(unrecorded);
            }
            for (name, records) in named {
                builder = builder.database(&name, records);
            }
            Ok(if is_demo {
                builder.demo().start()
            } else {
                builder.start()
            })
        };
        let server = guarded(|| detached(py, start))?;
        Ok(Self(Local::new(Mutex::new(State::Running(Box::new(
            server,
        ))))))
    }

    /// The address of the server, in the form `127.0.0.1:PORT`.
    #[getter]
    fn address(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |server| server.addr().to_string())
    }

    /// The address of the server for TLS, in the form `127.0.0.1:PORT`.
    ///
    /// # Errors
    /// Fails if the server has no certificate.
    #[getter]
    fn tls_address(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |server| server.addr_tls().to_string())
    }

    /// Returns the APDUs in all sessions so far, in the format of the lines of a recording.
    #[getter]
    fn apdus<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let said = self.look(py, |state| {
            let entries = match state {
                State::Running(server) => &server.transcript(),
                State::Stopped(entries) => entries,
            };
            let lines = entries.iter().map(TranscriptEntry::to_json);
            Ok(lines.collect::<Vec<_>>())
        })?;
        Ok(pythonize(py, &said)?)
    }

    /// Waits a short time for an APDU with this name. Returns whether such an APDU has been received or sent.
    fn wait_for(&self, py: Python<'_>, apdu: &str) -> PyResult<bool> {
        let has_come = |said: &[TranscriptEntry]| said.iter().any(|entry| entry.name() == apdu);
        self.view(py, |server| {
            server.wait_at_most(SIGNAL_TICK, has_come).is_some()
        })
    }

    /// Stops the server, and returns the rules that have not applied to any request. In a child process, this does
    /// nothing, because the server is not running there.
    ///
    /// # Errors
    /// Fails if one of the sessions panicked, or if the recording could not be written.
    fn stop(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let Some(slot) = self.0.here() else {
            return Ok(Vec::new());
        };
        let stop = || {
            let mut state = slot.lock().unwrap_or_else(PoisonError::into_inner);
            state.stop()
        };
        match guarded(|| detached(py, stop))? {
            (Some(panic), _) => Err(panicked(&panic)),
            (None, unfired) => Ok(unfired),
        }
    }
}

impl Server {
    /// Releases the GIL and calls `look` with the state of the server. Returns its result.
    fn look<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&State) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let slot = self.0.get()?;
        detached(py, || {
            let state = slot.lock().unwrap_or_else(PoisonError::into_inner);
            guarded(|| look(&state))
        })
    }

    /// Releases the GIL and calls `look` with the running server. Returns its result. Fails if the server has stopped.
    fn view<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&TestServer) -> T + Send,
    ) -> PyResult<T> {
        self.look(py, |state| match state {
            State::Running(server) => Ok(look(server)),
            State::Stopped(_) => Err(Error::new_err("the server has been stopped")),
        })
    }
}

impl State {
    /// Stops the server, and returns the first panic in a session, and the rules that have not applied to any request.
    ///
    /// # Errors
    /// Fails if the recording could not be written.
    fn stop(&mut self) -> PyResult<(Option<String>, Vec<String>)> {
        let Self::Running(server) = mem::replace(self, Self::Stopped(Vec::new())) else {
            return Ok((None, Vec::new()));
        };
        let report = server.stop_and_report();
        *self = Self::Stopped(report.transcript);
        let summary = report.summary.map_err(unrecorded)?;
        Ok((summary.first_panic, report.unfired_rules))
    }
}

impl Drop for Server {
    /// Stops the server without reporting panics in sessions or rules that never applied. A test that should fail
    /// because of them must stop the server explicitly. If the recording cannot be written, the error is reported like
    /// an exception in a Python finalizer.
    fn drop(&mut self) {
        if let Some(slot) = self.0.here() {
            let mut state = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = guarded(|| state.stop()) {
                Python::try_attach(|py| error.write_unraisable(py, None));
            }
        }
    }
}

/// Returns the exception for a recording that cannot be read or written.
fn unrecorded(error: io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::InvalidData => PyValueError::new_err(error.to_string()),
        _ => error.into(),
    }
}
