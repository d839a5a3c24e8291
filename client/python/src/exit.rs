//! Keeps other threads out of the Python interpreter while it exits. Python terminates a thread that acquires the GIL
//! while the interpreter is shutting down, and this would abort the process if native code was on the thread's stack.
//! With this module, such a thread waits for the end of the process instead.
//!
//! All native code must use these functions to release the GIL, to acquire it, and to call Python code. This includes
//! short calls, because the interpreter may make the thread release the GIL at any instruction, and the thread must
//! then acquire it again.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;

/// The thread in which Python is exiting; empty before that.
static EXITING: OnceLock<ThreadId> = OnceLock::new();

/// The number of threads that are acquiring the GIL for native code, or running Python code that native code has
/// called.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is one of the threads counted in [`INSIDE`].
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The number of times that the exiting thread checks whether any threads are still counted in [`INSIDE`]. It sleeps
/// between the checks. A thread that is still inside after all checks is waiting for something, such as data from a
/// pipe, and will still be waiting when the process ends. A time limit alone would not be sufficient on a busy machine:
/// the exiting thread also acquires and releases the GIL each time, so that threads that run Python code can continue.
const LOOKS: usize = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// Sets whether this thread is counted in [`INSIDE`], and returns whether it was counted before.
fn set_inside(inside: bool) -> bool {
    let before = IS_INSIDE.replace(inside);
    match (before, inside) {
        (false, true) => INSIDE.fetch_add(1, Ordering::SeqCst),
        (true, false) => INSIDE.fetch_sub(1, Ordering::SeqCst),
        _ => 0,
    };
    before
}

/// Returns whether Python is exiting in another thread. The calling thread must be counted in [`INSIDE`]. Then, if the
/// exit begins just after this check, the exiting thread waits for the calling thread.
fn exits_elsewhere() -> bool {
    let exiting = EXITING.get();
    exiting.is_some_and(|exiting| *exiting != thread::current().id())
}

/// Blocks until the process ends.
fn park() -> ! {
    set_inside(false);
    loop {
        thread::park();
    }
}

/// A guard that counts the current thread in [`INSIDE`]. Dropping it restores the previous state.
struct Inside {
    before: bool,
}

impl Inside {
    fn new() -> Self {
        Self {
            before: set_inside(true),
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        set_inside(self.before);
    }
}

/// Runs `work` without the GIL, and then acquires the GIL again.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let before = set_inside(false);
    let done = py.detach(|| {
        let done = catch_unwind(AssertUnwindSafe(work));
        set_inside(true);
        if exits_elsewhere() {
            park();
        }
        done
    });
    set_inside(before);
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Acquires the GIL in a thread that does not hold it, and runs `work`.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _inside = Inside::new();
    if exits_elsewhere() {
        park();
    }
    Python::attach(work)
}

/// Runs `work`, which calls Python code, in a thread that holds the GIL.
pub(crate) fn calling<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let _inside = Inside::new();
    if exits_elsewhere() {
        py.detach(|| park());
    }
    work()
}

/// Prepares for the end of the interpreter: from now on, other threads are kept away from Python.
pub(crate) fn keep_away(py: Python<'_>) {
    let _ = EXITING.set(thread::current().id());
    for _ in 0..LOOKS {
        py.detach(|| thread::sleep(PAUSE));
        if INSIDE.load(Ordering::SeqCst) == 0 {
            break;
        }
    }
}
