//! A server for a backend in Python. It runs in a separate thread until it is stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use pyo3::prelude::*;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use z3950_server::tls::Tls;
use z3950_server::{Limits, Offer, Server as Listener, Target};

use crate::backend::PythonBackend;
use crate::error::{Error, guarded};
use crate::exit::detached;
use crate::pem::ListenerPem;
use crate::process::Local;
use crate::request::SIGNAL_TICK;

/// A running server for a backend.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Service {
    running: Local<Mutex<Option<Running>>>,
    address: SocketAddr,
}

struct Running {
    stop: oneshot::Sender<()>,
    /// A channel that never carries a message. It closes when the server has ended.
    ended: Receiver<()>,
    thread: JoinHandle<()>,
}

#[pymethods]
impl Service {
    #[new]
    fn new(
        py: Python<'_>,
        adapter: &Bound<'_, PyAny>,
        host: String,
        port: u16,
        tls: Option<ListenerPem>,
    ) -> PyResult<Self> {
        let tls = tls.map(|pem| pem.tls(py)).transpose()?;
        let mut offer = Offer::default();
        offer.implementation_name = Some("z3950 for Python".to_owned());
        let backend = PythonBackend::new(adapter)?;
        let logins = backend.logins(py)?;
        let mut target = Target::new(Arc::new(backend), Limits::default()).with_offer(offer);
        if let Some(logins) = logins {
            target = target.with_authenticate(logins);
        }
        let started = detached(py, || guarded(|| Ok(start(target, host, port, tls)?)))?;
        let (address, running) = started;
        Ok(Self {
            running: Local::new(Mutex::new(Some(running))),
            address,
        })
    }

    /// The address on which the server listens, in the form `HOST:PORT`.
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Waits a short time for the server to end, and returns whether it has ended.
    fn wait(&self, py: Python<'_>) -> PyResult<bool> {
        let running = self.running.get()?;
        Ok(detached(py, || {
            let running = running.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = |running: &Running| running.ended.recv_timeout(SIGNAL_TICK);
            running.as_ref().map(wait) != Some(Err(RecvTimeoutError::Timeout))
        }))
    }

    /// Stops the server. Calls to the backend that are in progress continue, but this method does not wait for them.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let Some(running) = self.running.here() else {
            return Ok(());
        };
        let ended = detached(py, || {
            let running = running
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            running.map_or(Ok(()), |Running { stop, thread, .. }| {
                drop(stop);
                thread.join()
            })
        });
        ended.map_err(|_| Error::new_err("the server has failed"))
    }
}

/// Starts a server on an address of this host, with TLS if `tls` is given. Returns the address and the running server.
fn start(
    target: Target,
    host: String,
    port: u16,
    tls: Option<Tls>,
) -> io::Result<(SocketAddr, Running)> {
    let (stop, stopped) = oneshot::channel::<()>();
    let (tell_bound, bound) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let run = move || {
        runtime.block_on(async {
            let (server, address) = (Listener::new(target), (host, port));
            let server = match tls {
                Some(tls) => server.and_bind_tls(address, tls).await,
                None => server.and_bind(address).await,
            };
            let address = |server: &Listener| server.local_addrs().first().copied();
            // Sending cannot fail, because the receiver is waiting for this message.
            match server {
                Err(error) => drop(tell_bound.send(Err(error))),
                Ok(server) => {
                    let address = address(&server).ok_or(io::ErrorKind::AddrNotAvailable.into());
                    drop(tell_bound.send(address));
                    server.run(async { drop(stopped.await) }).await;
                }
            }
        });
        // A call to the backend may never return, so do not wait for it.
        runtime.shutdown_background();
        drop(end);
    };
    let thread = thread::Builder::new()
        .name("z3950 server".to_owned())
        .spawn(run)?;
    let address = bound.recv().map_err(io::Error::other)??;
    Ok((
        address,
        Running {
            stop,
            ended,
            thread,
        },
    ))
}
