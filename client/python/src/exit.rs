//! Keeps threads away from Python when it exits. A thread that takes the GIL, or runs Python code that native code has called, while
//! the interpreter ends would abort the process: instead, it waits for the end of the process.
//!
//! All native code goes through these functions to release the GIL and to take it, and to call a program's Python code for long.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The thread in which Python exits, once it does.
static EXITING: OnceLock<ThreadId> = OnceLock::new();

/// The number of threads that are taking the GIL or running a program's code.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// How long Python's exit waits for these threads. One that takes longer is waiting for something, such as the octets of a pipe, and
/// is still waiting when the process ends.
const PATIENCE: Duration = Duration::from_millis(200);

/// How often Python's exit looks whether these threads have ended.
const STEP: Duration = Duration::from_millis(1);

/// A thread that is taking the GIL or running a program's code.
struct Entered;

impl Entered {
    /// Returns nothing if Python exits in another thread.
    fn new() -> Option<Self> {
        ENTERED.fetch_add(1, Ordering::SeqCst);
        let entered = Self;
        let exiting = EXITING.get();
        exiting
            .is_none_or(|exiting| *exiting == thread::current().id())
            .then_some(entered)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for the end of the process.
fn park() -> ! {
    loop {
        thread::park();
    }
}

/// Does the work without the GIL, and takes the GIL again.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let (done, entered) = py.detach(|| {
        let done = catch_unwind(AssertUnwindSafe(work));
        (done, Entered::new().unwrap_or_else(|| park()))
    });
    drop(entered);
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Does the work with the GIL, in a thread that is without it.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _entered = Entered::new().unwrap_or_else(|| park());
    Python::attach(work)
}

/// Does the work, which calls a program's code, in a thread that has the GIL.
pub(crate) fn calling<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let _entered = Entered::new().unwrap_or_else(|| py.detach(|| park()));
    work()
}

/// Prepares for the end of the interpreter: from now on, other threads stay away from Python.
pub(crate) fn keep_away(py: Python<'_>) {
    let _ = EXITING.set(thread::current().id());
    py.detach(|| {
        let limit = Instant::now() + PATIENCE;
        while ENTERED.load(Ordering::SeqCst) > 0 && Instant::now() < limit {
            thread::sleep(STEP);
        }
    });
}
