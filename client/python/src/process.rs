//! The runtime and the clients for all requests in a process, and values that can be used only in the process that
//! created them.
//!
//! The runtime has no thread of its own. Instead, it is driven by a thread that waits for a request; if several threads
//! wait, they take turns. A separate thread is started only for requests that must continue while no thread waits: for
//! requests from asyncio, and for lookups that run in parallel.

use std::collections::HashMap;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use z3950::{Client, ClientOptions};

use crate::error::{Error, to_python};
use crate::exit::{detached, keep_away};
use crate::way::Way;

/// The state shared by all requests in a process.
pub(crate) struct Shared {
    pub(crate) runtime: Runtime,
    /// The client that reaches servers as configured in the user's environment. `others` contains the clients that
    /// reach them in other ways.
    client: OnceLock<Client>,
    others: Mutex<HashMap<Way, Client>>,
    driver: Mutex<Option<Driver>>,
}

/// The thread that drives the runtime while no other thread is waiting.
struct Driver {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// The state of this process; see [`shared`]. The mutex is locked only by threads that hold the GIL, so that no other
/// thread has locked it at the time of a fork.
static SHARED: Mutex<Option<Local<Arc<Shared>>>> = Mutex::new(None);

/// Returns the shared state of this process. A child process has its own state.
pub(crate) fn shared(py: Python<'_>) -> PyResult<Arc<Shared>> {
    shared_in(py, Process::current())
}

/// Returns the shared state of this process. `process` must be the current process.
pub(crate) fn shared_in(_: Python<'_>, process: Process) -> PyResult<Arc<Shared>> {
    let mut slot = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = slot.as_ref().and_then(|shared| shared.here_in(process)) {
        return Ok(Arc::clone(shared));
    }
    let shared = Arc::new(Shared {
        runtime: Builder::new_current_thread().enable_all().build()?,
        client: OnceLock::new(),
        others: Mutex::default(),
        driver: Mutex::new(None),
    });
    *slot = Some(Local::new(Arc::clone(&shared)));
    Ok(shared)
}

impl Shared {
    /// Returns the client for a way of reaching servers, with the user's targets. Its sessions are shared by all connections
    /// until Python exits.
    pub(crate) fn client(&self, py: Python<'_>, way: &Way) -> PyResult<Client> {
        let usual = self.usual_client(py)?;
        if way.is_usual() {
            return Ok(usual.clone());
        }
        // The GIL is held, so no other thread can create the same client meanwhile.
        if let Some(client) = self.others().get(way) {
            return Ok(client.clone());
        }
        let client = Client::with_routes(ClientOptions::default(), way.routes(py)?);
        let client = client.with_profiles(usual.profiles().clone());
        self.others().insert(way.clone(), client.clone());
        Ok(client)
    }

    fn others(&self) -> MutexGuard<'_, HashMap<Way, Client>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the client that reaches servers as configured in the user's environment.
    pub(crate) fn usual_client(&self, _: Python<'_>) -> PyResult<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::from_user_config().map_err(|error| to_python(&error))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Starts the thread that lets requests make progress while no other thread waits, until Python exits. This function never
    /// releases the GIL, so no other thread can hold the lock.
    pub(crate) fn drive(self: &Arc<Self>, _: Python<'_>) -> PyResult<()> {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        if driver.is_none() {
            let (stop, stopped) = oneshot::channel();
            let shared = Arc::clone(self);
            let run = move || drop(shared.runtime.block_on(stopped));
            let thread = thread::Builder::new().name("z3950".to_owned()).spawn(run)?;
            *driver = Some(Driver { stop, thread });
        }
        Ok(())
    }

    fn take_driver(&self) -> Option<Driver> {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        driver.take()
    }
}

/// If this process has made requests, closes the unused sessions and ends the thread that drives the runtime.
fn close(py: Python<'_>) {
    let slot = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = slot.as_ref().and_then(Local::here).cloned();
    drop(slot);
    let Some(shared) = shared else {
        return;
    };
    detached(py, || {
        let others: Vec<Client> = shared.others().values().cloned().collect();
        for client in others.iter().chain(shared.client.get()) {
            shared.runtime.block_on(client.close_all());
        }
        if let Some(Driver { stop, thread }) = shared.take_driver() {
            drop(stop);
            // A panic in the thread was already reported when it happened.
            let _ = thread.join();
        }
    });
}

/// Prepares for the end of the interpreter: keeps other threads away from Python, and closes the sessions.
#[pyfunction]
fn end(py: Python<'_>) {
    keep_away(py);
    close(py);
}

/// Registers [`end`] so that Python calls it when it exits.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let end = wrap_pyfunction!(end, py)?;
    py.import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}

/// The identifier of a process. Determining it takes a system call, so a function that needs it several times
/// determines it only once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// Returns the identifier of the current process.
    pub(crate) fn current() -> Self {
        Self(process::id())
    }
}

/// A value that can be used only in the process that created it, because it involves open sockets. In a child process,
/// the value is neither used nor dropped, because both processes share the sockets and their registrations with the
/// runtime's poller.
pub(crate) struct Local<T> {
    value: Option<T>,
    process: Process,
}

impl<T> Local<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Some(value),
            process: Process::current(),
        }
    }

    /// Returns the value; `None` in a child of the process that created it.
    pub(crate) fn here(&self) -> Option<&T> {
        self.here_in(Process::current())
    }

    /// Returns the value; `None` if another process created it. `process` must be the current process.
    pub(crate) fn here_in(&self, process: Process) -> Option<&T> {
        self.value.as_ref().filter(|_| self.process == process)
    }

    /// Returns the value itself and drops the wrapper. `process` must be the current process.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
    pub(crate) fn take_in(mut self, process: Process) -> PyResult<T> {
        let value = self.value.take_if(|_| self.process == process);
        value.ok_or_else(of_parent)
    }

    /// Returns the value.
    ///
    /// # Errors
    /// Fails in a child of the process that created the value.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.here().ok_or_else(of_parent)
    }

    /// Returns the value so that it can be changed.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
    pub(crate) fn get_mut(&mut self) -> PyResult<&mut T> {
        let is_here = self.process == Process::current();
        let value = self.value.as_mut().filter(|_| is_here);
        value.ok_or_else(of_parent)
    }
}

fn of_parent() -> PyErr {
    Error::new_err(
        "this was opened before a fork and belongs to the parent process: connect again in the child",
    )
}

impl<T> Drop for Local<T> {
    fn drop(&mut self) {
        if self.value.is_some() && self.process != Process::current() {
            std::mem::forget(self.value.take());
        }
    }
}
