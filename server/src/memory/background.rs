//! Runs long work on threads other than those that serve connections. Jobs take turns (see `turns`) and use all processors but
//! one. Work is cancelled when its caller drops the answer.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::{fmt, thread};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use super::turns::{JobCounts, Ticket, Turns};
use crate::backend::{Answer, Caller, ready};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::headroom::{self, HeadroomProbe};
use crate::lock::lock;

/// Runs long work on other threads.
#[derive(Clone)]
pub(super) struct Background {
    queue: Arc<Mutex<Queue>>,
    /// The permits for changes. A change holds a permit while it is made and while it waits for other changes.
    changes: Arc<Semaphore>,
    /// The function that measures the remaining memory.
    probe: Option<HeadroomProbe>,
}

struct Queue {
    turns: Turns,
    /// For each waiting job, the sender that notifies it when it may run.
    waiting: HashMap<Ticket, oneshot::Sender<()>>,
}

/// A job's permission to run for the rest of its time slice. Dropping the value returns the permission.
pub(super) struct TimeSlice {
    background: Background,
    ticket: Ticket,
    /// Set when the caller has dropped the answer.
    is_cancelled: Arc<AtomicBool>,
    /// The number of units of work left in the slice.
    left: u64,
}

/// The number of units of work in a time slice, after which other jobs may run first; a slice takes about 10 ms.
const SLICE: u64 = 200_000;
/// The maximum number of changes that are being made or waiting; each needs a thread.
const MOST_CHANGES: usize = 32;

impl Background {
    /// Creates an executor that leaves one processor to the threads that serve connections, if there are several processors. Long
    /// work is stopped when the reserve of memory would be used (see [`Headroom::reserve`]).
    ///
    /// [`Headroom::reserve`]: crate::headroom::Headroom::reserve
    pub(super) fn new(probe: Option<HeadroomProbe>) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            probe,
            ..Self::with_places(processors.saturating_sub(1).max(1))
        }
    }

    fn with_places(places: usize) -> Self {
        let queue = Queue {
            turns: Turns::new(places),
            waiting: HashMap::new(),
        };
        Self {
            queue: Arc::new(Mutex::new(queue)),
            changes: Arc::new(Semaphore::new(MOST_CHANGES)),
            probe: None,
        }
    }

    /// Runs work and returns its result: on another thread if there is a runtime, otherwise on this thread. Dropping the answer
    /// cancels the work.
    pub(super) fn answer<'a, T: Send + 'static>(
        &self,
        caller: Caller,
        work: impl FnOnce(Option<TimeSlice>) -> Result<T, Diagnostic> + Send + 'static,
    ) -> Answer<'a, T> {
        let Ok(runtime) = Handle::try_current() else {
            return ready(work(None));
        };
        let background = self.clone();
        Box::pin(async move {
            let (turn, its_turn) = background.enter(caller);
            let _cancel = CancelOnDrop {
                background,
                ticket: turn.ticket,
                is_cancelled: Arc::clone(&turn.is_cancelled),
            };
            its_turn.await.map_err(|_| lost())?;
            let task = runtime.spawn_blocking(move || work(Some(turn)));
            task.await.unwrap_or_else(|_| Err(lost()))
        })
    }

    /// Runs a change and returns its result. A change that has begun is not interrupted. Changes do not take turns with other
    /// jobs, because changes are made one after the other anyway.
    pub(super) fn change<'a, T: Send + 'static>(
        &self,
        change: impl FnOnce() -> Result<T, Diagnostic> + Send + 'static,
    ) -> Answer<'a, T> {
        let Ok(runtime) = Handle::try_current() else {
            return ready(change());
        };
        let changes = Arc::clone(&self.changes);
        Box::pin(async move {
            let permit = changes.acquire_owned().await.map_err(|_| lost())?;
            let task = runtime.spawn_blocking(move || {
                let answer = change();
                drop(permit);
                answer
            });
            task.await.unwrap_or_else(|_| Err(lost()))
        })
    }

    pub(super) fn counts(&self) -> JobCounts {
        lock(&self.queue).turns.counts()
    }

    /// Adds a job; the receiver is notified when the job may run.
    fn enter(&self, caller: Caller) -> (TimeSlice, oneshot::Receiver<()>) {
        let (tell, told) = oneshot::channel();
        let mut queue = lock(&self.queue);
        let ticket = queue.turns.enter(caller);
        queue.waiting.insert(ticket, tell);
        queue.go_on();
        let turn = TimeSlice {
            background: self.clone(),
            ticket,
            is_cancelled: Arc::default(),
            left: SLICE,
        };
        (turn, told)
    }
}

fn lost() -> Diagnostic {
    diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, "")
}

impl Queue {
    /// Starts waiting jobs in the order of their turns, as long as the limit permits.
    fn go_on(&mut self) {
        while let Some(next) = self.turns.next() {
            // Sending fails if the job has been dropped, and a dropped job removes itself from the queue.
            let _ = self.waiting.remove(&next).map(|tell| tell.send(()));
        }
    }
}

impl TimeSlice {
    /// Counts units of work. At the end of a slice, blocks while other jobs run. Returns false if the work should stop, because
    /// it was cancelled or memory is short.
    pub(super) fn spend(&mut self, units: u64) -> bool {
        if let Some(left) = self.left.checked_sub(units) {
            self.left = left;
            return !self.is_cancelled.load(Ordering::Relaxed);
        }
        self.left = SLICE;
        let headroom = headroom::now(self.background.probe);
        if headroom.is_some_and(|headroom| headroom.spare() == 0) {
            return false;
        }
        let told = {
            let mut queue = lock(&self.background.queue);
            // A cancelled job is woken under this lock, so the flag is checked under the same lock; otherwise a wake-up could be
            // missed.
            if self.is_cancelled.load(Ordering::Relaxed) {
                return false;
            }
            let (tell, told) = oneshot::channel();
            queue.waiting.insert(self.ticket, tell);
            queue.turns.pause(self.ticket, 1 + units / SLICE);
            queue.go_on();
            told
        };
        told.blocking_recv().is_ok()
    }
}

impl Drop for TimeSlice {
    fn drop(&mut self) {
        let mut queue = lock(&self.background.queue);
        queue.waiting.remove(&self.ticket);
        queue.turns.leave(self.ticket);
        queue.go_on();
    }
}

impl fmt::Debug for TimeSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ticket.fmt(f)
    }
}

/// Cancels a job when dropped, and wakes the job if it is waiting.
struct CancelOnDrop {
    background: Background,
    ticket: Ticket,
    is_cancelled: Arc<AtomicBool>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        lock(&self.background.queue).waiting.remove(&self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::headroom::Headroom;

    /// Checks that a job starts, and runs until it is cancelled.
    async fn check_cancelled(background: &Background, others: &mut Answer<'static, ()>) {
        let (begun, has_begun) = oneshot::channel();
        let (ended, has_ended) = mpsc::channel();
        let answer: Answer<'_, ()> = background.answer(Caller::new(), move |turn| {
            let mut turn = turn.expect("a runtime");
            let _ = begun.send(());
            while turn.spend(1000) {}
            let _ = ended.send(());
            Ok(())
        });
        tokio::select! {
            biased;
            _ = answer => panic!("it does not end by itself"),
            _ = others => panic!("nor do the others"),
            begun = has_begun => begun.expect("it begins"),
        }
        assert_eq!(has_ended.recv(), Ok(()));
    }

    #[tokio::test]
    async fn work_is_cancelled_when_its_answer_is_dropped() {
        let background = Background::with_places(1);
        let mut never: Answer<'static, ()> = Box::pin(std::future::pending());
        check_cancelled(&background, &mut never).await;
        assert_eq!(lock(&background.queue).turns.next(), None);
    }

    #[tokio::test]
    async fn work_ends_when_memory_is_short() {
        fn left(left: u64) -> Option<Headroom> {
            let limit = 1 << 30;
            Some(Headroom { left, limit })
        }
        let probes: [(HeadroomProbe, bool); 3] = [
            (|| left((64 << 20) + 1), true),
            (|| left(64 << 20), false),
            (|| None, true),
        ];
        for (probe, goes_on) in probes {
            let background = Background::new(Some(probe));
            let answer = background.answer(Caller::new(), |turn| {
                let mut turn = turn.expect("a runtime");
                Ok((turn.spend(SLICE), turn.spend(1)))
            });
            assert_eq!(answer.await, Ok((true, goes_on)));
        }
    }

    #[tokio::test]
    async fn work_begins_while_other_work_is_in_progress() {
        let background = Background::with_places(1);
        let mut endless: Answer<'static, ()> = background.answer(Caller::new(), |turn| {
            let mut turn = turn.expect("a runtime");
            while turn.spend(1000) {}
            Ok(())
        });
        for _ in 0..3 {
            check_cancelled(&background, &mut endless).await;
        }
    }

    #[tokio::test]
    async fn work_that_waits_is_cancelled_when_its_answer_is_dropped() {
        let background = Background::with_places(1);
        let caller = Caller::new();
        let (go, wait) = mpsc::channel::<()>();
        let first: Answer<'static, ()> = background.answer(caller.clone(), move |_| {
            let _ = wait.recv();
            Ok(())
        });
        let mut first = tokio::spawn(first);
        let second: Answer<'static, ()> =
            background.answer(caller, |_| panic!("a second job of the same caller"));
        tokio::select! {
            biased;
            _ = second => panic!("the second waits"),
            _ = &mut first => panic!("the first waits"),
            () = tokio::task::yield_now() => {}
        }
        drop(go);
        assert_eq!(first.await.expect("no panic"), Ok(()));
        assert!(lock(&background.queue).waiting.is_empty());
    }

    #[tokio::test]
    async fn a_panic_frees_the_place() {
        let background = Background::with_places(1);
        let broken: Answer<'static, ()> = background.answer(Caller::new(), |_| panic!("expected"));
        assert!(broken.await.is_err());
        let sound = background.answer(Caller::new(), |_| Ok(()));
        assert_eq!(sound.await, Ok(()));
    }

    #[tokio::test]
    async fn changes_at_once_are_limited() {
        let background = Background::with_places(1);
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let change = || {
            let wait = Arc::clone(&wait);
            background.change(move || {
                let _ = lock(&wait).recv();
                Ok(())
            })
        };
        let mut changes: Vec<_> = (0..=MOST_CHANGES).map(|_| change()).collect();
        for change in &mut changes {
            let waker = std::task::Waker::noop();
            let polled = change
                .as_mut()
                .poll(&mut std::task::Context::from_waker(waker));
            assert!(polled.is_pending());
        }
        assert_eq!(background.changes.available_permits(), 0);
        drop(go);
        for change in changes {
            assert_eq!(change.await, Ok(()));
        }
        assert_eq!(background.changes.available_permits(), MOST_CHANGES);
    }

    #[test]
    fn without_a_runtime_the_answer_is_ready_at_once() {
        let answer = Background::new(None).answer(Caller::new(), |turn| Ok(turn.is_none()));
        assert_eq!(crate::requests::now(answer), Ok(true));
    }
}
