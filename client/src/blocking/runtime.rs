//! The thread that drives the sessions of a client. Callers in other threads block until their results are available.

use std::io;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::unconstrained;

use crate::error::{Cause, Error, Phase};

/// The runtime of a client. Its thread starts with the first request, and ends with the last user of the runtime.
#[derive(Debug, Default)]
pub(super) struct Runtime(OnceLock<Result<Driver, Arc<io::Error>>>);

#[derive(Debug)]
struct Driver {
    handle: Handle,
    /// A channel that never carries a message. Dropping the sender ends the thread.
    _running: oneshot::Sender<()>,
}

impl Runtime {
    /// Blocks until `work` has ended, and returns its result. `work` may use the runtime.
    ///
    /// # Errors
    /// [`Error::Unavailable`], if the thread cannot be started.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let started = self.0.get_or_init(|| start().map_err(Arc::new));
        let driver = started.as_ref().map_err(|error| Error::Unavailable {
            phase: Phase::Connect,
            cause: Cause::Other(Arc::clone(error)),
        })?;
        let _entered = driver.handle.enter();
        Ok(wait(work))
    }

    /// Blocks until `work`, which may fail, has ended, and returns its result.
    ///
    /// # Errors
    /// The error from the work, and the errors of [`wait`](Self::wait).
    pub(super) fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.wait(work)?
    }
}

fn start() -> io::Result<Driver> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (running, ended) = oneshot::channel::<()>();
    let drive = move || {
        // An error means that the runtime has no more users.
        let _ = runtime.block_on(ended);
        // Do not wait for a host name that is still being resolved.
        runtime.shutdown_background();
    };
    thread::Builder::new().name("z3950".into()).spawn(drive)?;
    Ok(Driver {
        handle,
        _running: running,
    })
}

/// Polls `work` in the calling thread until it has ended. Unlike [`Handle::block_on`], it does not panic in
/// asynchronous code. It disables tokio's cooperative budget for `work`, because a calling task, which is blocked,
/// could never yield.
fn wait<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(unconstrained(work));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = work.as_mut().poll(&mut context) {
            return result;
        }
        thread::park();
    }
}

/// Wakes a thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}
