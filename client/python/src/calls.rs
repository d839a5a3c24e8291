//! Keeps track of the calls to backends that are in progress. When Python exits, it waits for them, for a limited time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::exit::detached;
use crate::process::Local;
use crate::request::SIGNAL_TICK;

/// The calls to backends that are in progress.
#[derive(Default)]
pub(crate) struct Calls {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    count: usize,
    is_closed: bool,
}

/// The calls in this process. Calls made by the parent process are not included, because they do not end in this
/// process. The mutex is locked only by threads that hold the GIL, so that no other thread has locked it at the time of
/// a fork.
static CALLS: Mutex<Option<Local<Arc<Calls>>>> = Mutex::new(None);

impl Calls {
    /// Returns the calls in this process.
    pub(crate) fn here(_: Python<'_>) -> Arc<Self> {
        let mut slot = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = slot.as_ref().and_then(Local::here) {
            return Arc::clone(calls);
        }
        let calls = Arc::new(Self::default());
        *slot = Some(Local::new(Arc::clone(&calls)));
        calls
    }

    /// Records the start of a call. Returns `None` if Python is exiting.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Call> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        state.count += 1;
        Some(Call(Arc::clone(self)))
    }

    /// Prevents further calls from beginning.
    fn close(&self) {
        self.state().is_closed = true;
    }

    /// Waits until all calls have ended, but at most for `limit`. Returns whether they have ended.
    fn wait(&self, limit: Duration) -> bool {
        let is_busy = |state: &mut State| state.count > 0;
        let waited = self.ended.wait_timeout_while(self.state(), limit, is_busy);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.count == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in progress.
pub(crate) struct Call(Arc<Calls>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.state().count -= 1;
        self.0.ended.notify_all();
    }
}

/// Prevents further calls to a backend from beginning, and waits at most this many seconds for those in progress.
/// Returns whether they have ended.
#[pyfunction]
pub(crate) fn end_calls(py: Python<'_>, seconds: f64) -> PyResult<bool> {
    let calls = Calls::here(py);
    calls.close();
    let limit = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let begun = Instant::now();
    loop {
        let left = limit.saturating_sub(begun.elapsed());
        let have_ended = detached(py, || calls.wait(left.min(SIGNAL_TICK)));
        if have_ended || left.is_zero() {
            return Ok(have_ended);
        }
        py.check_signals()?;
    }
}
