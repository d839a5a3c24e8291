//! Requests, each of which is a future whose result Python waits for. A waiting thread releases the GIL but still
//! handles signals. With asyncio, no thread waits; a callback is called when the result is available. If the result is
//! no longer needed, the request is cancelled, but its session stays open.
//!
//! At first, a waiting thread polls the work itself, which is fastest. After one tick, the work becomes a task of the
//! runtime, which any waiting thread can drive. This is necessary because a signal handler, which runs between two
//! ticks, may make a request that waits for this one.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use z3950::Error as Failure;

use crate::error::{Error, guarded, panicked, to_python, to_python_about};
use crate::exit::detached;
use crate::process::{Local, Process, Shared, shared_in};

/// The maximum time that passes before a waiting thread notices a signal. Signals do not wake the runtime, because only
/// Python may handle them.
pub(crate) const SIGNAL_TICK: Duration = Duration::from_millis(50);

/// A function that converts the result into a Python object. It is called with the GIL held.
type Reply = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;
type ReplyFuture = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// A request. Its result can be taken only once.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Request(Mutex<Option<Local<ReplyFuture>>>);

impl Request {
    pub(crate) fn new<T>(work: impl Future<Output = Result<T, Failure>> + Send + 'static) -> Self
    where
        T: for<'py> IntoPyObjectExt<'py> + Send + 'static,
    {
        Self::with(work, |error| to_python(&error))
    }

    /// Creates a request that must not be repeated in another session. Data that the server has already sent is read
    /// first. Otherwise, the request might be sent in a session that the server closed while no thread was driving the
    /// runtime.
    pub(crate) fn once<T>(work: impl Future<Output = Result<T, Failure>> + Send + 'static) -> Self
    where
        T: for<'py> IntoPyObjectExt<'py> + Send + 'static,
    {
        Self::new(async {
            // The work runs in a task, so that the thread that drives the runtime first checks for received octets, and other
            // tasks can read them.
            let task = AbortOnDropHandle::new(tokio::spawn(async {
                yield_now().await;
                work.await
            }));
            task.await
                .unwrap_or_else(|ended| match ended.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(_) => Err(Failure::ended()),
                })
        })
    }

    /// Creates a request to a target. Its errors name the target.
    pub(crate) fn about<T>(
        target: String,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Self
    where
        T: for<'py> IntoPyObjectExt<'py> + Send + 'static,
    {
        Self::with(work, move |error| to_python_about(&target, &error))
    }

    fn with<T>(
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
        to_python: impl FnOnce(Failure) -> PyErr + Send + 'static,
    ) -> Self
    where
        T: for<'py> IntoPyObjectExt<'py> + Send + 'static,
    {
        let work = AssertUnwindSafe(work)
            .catch_unwind()
            .map(move |done| -> Reply {
                match done {
                    Ok(Ok(value)) => Box::new(|py| value.into_py_any(py)),
                    Ok(Err(error)) => Box::new(move |_| Err(to_python(error))),
                    Err(panic) => Box::new(move |_| Err(panicked(&*panic))),
                }
            });
        Self::of(Box::pin(work))
    }

    fn of(work: ReplyFuture) -> Self {
        Self(Mutex::new(Some(Local::new(work))))
    }

    fn take(&self, process: Process) -> PyResult<ReplyFuture> {
        let mut work = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let work = work.take();
        work.ok_or_else(|| Error::new_err("the result of this request was taken before"))?
            .take_in(process)
    }
}

/// Converts the work to a task, which is cancelled when the returned future is dropped.
fn begun(work: ReplyFuture, shared: &Shared) -> ReplyFuture {
    let work = AbortOnDropHandle::new(shared.runtime.spawn(work));
    Box::pin(work.map(|ended| -> Reply {
        match ended {
            Ok(reply) => reply,
            Err(error) => Box::new(move |_| Err(Error::new_err(error.to_string()))),
        }
    }))
}

/// Lets the work proceed for at most one tick. Returns its result, or `None` if it has not ended yet.
fn tick(py: Python<'_>, shared: &Shared, work: &mut ReplyFuture) -> PyResult<Option<Reply>> {
    let step = || {
        let tick = async { timeout(SIGNAL_TICK, work).await };
        shared.runtime.block_on(tick).ok()
    };
    guarded(|| Ok(detached(py, step)))
}

#[pymethods]
impl Request {
    /// Waits for the result.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let process = Process::current();
        let shared = shared_in(py, process)?;
        let mut work = self.take(process)?;
        if let Some(reply) = tick(py, &shared, &mut work)? {
            return guarded(|| reply(py));
        }
        let mut work = Local::new(begun(work, &shared));
        loop {
            py.check_signals()?;
            // A signal handler may have forked the process, so `get_mut` checks that this is still the same process.
            if let Some(reply) = tick(py, &shared, work.get_mut()?)? {
                return guarded(|| reply(py));
            }
        }
    }

    /// Begins the work. It then continues even while no thread waits for it, so that it can end before its time limit.
    fn spawn(&self, py: Python<'_>) -> PyResult<Self> {
        let process = Process::current();
        let shared = shared_in(py, process)?;
        shared.drive(py)?;
        Ok(Self::of(begun(self.take(process)?, &shared)))
    }

    /// Begins the work. When the work has ended, another thread calls `done(result, error)`.
    fn start(&self, py: Python<'_>, done: Py<PyAny>) -> PyResult<Started> {
        let process = Process::current();
        let work = self.take(process)?;
        let shared = shared_in(py, process)?;
        shared.drive(py)?;
        let task = shared.runtime.spawn(async move {
            let reply = work.await;
            // If the interpreter has ended, `done` cannot be called.
            Python::try_attach(|py| {
                let called = match guarded(|| reply(py)) {
                    Ok(result) => done.call1(py, (result, py.None())),
                    Err(error) => done.call1(py, (py.None(), error)),
                };
                if let Err(error) = called {
                    error.write_unraisable(py, None);
                }
            });
        });
        Ok(Started(Local::new(task.abort_handle())))
    }
}

/// A request that has been started, and can be cancelled.
#[pyclass(frozen, module = "z3950._z3950")]
pub(crate) struct Started(Local<AbortHandle>);

#[pymethods]
impl Started {
    /// Cancels the request, unless it has ended or belongs to the parent process.
    fn cancel(&self) {
        if let Some(task) = self.0.here() {
            task.abort();
        }
    }
}
