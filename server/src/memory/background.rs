//! Runs long work off the threads that serve connections, on at most one thread per processor. Work is cancelled when
//! its caller is gone.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::backend::{Answer, ready};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// Runs long work.
#[derive(Debug)]
pub(super) struct Background {
    /// A permit for each piece of work that may run at the same time.
    permits: Arc<Semaphore>,
}

/// Set when nobody waits for the work any more. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub(super) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    pub(super) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets the flag when it is dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl Default for Background {
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            permits: Arc::new(Semaphore::new(processors)),
        }
    }
}

impl Background {
    /// The answer of some work, done on another thread if there is a runtime. Dropping the answer cancels the work.
    pub(super) fn answer<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelFlag) -> Result<T, Diagnostic> + Send + 'static,
    ) -> Answer<'a, T> {
        let stop = CancelFlag::default();
        let Ok(runtime) = Handle::try_current() else {
            return ready(work(&stop));
        };
        let permits = Arc::clone(&self.permits);
        Box::pin(async move {
            let cancel = CancelOnDrop(stop);
            let lost = || diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, "");
            let permit = permits.acquire_owned().await.map_err(|_| lost())?;
            let stop = cancel.0.clone();
            let task = runtime.spawn_blocking(move || {
                let answer = work(&stop);
                drop(permit);
                answer
            });
            task.await.unwrap_or_else(|_| Err(lost()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn work_is_cancelled_when_its_answer_is_dropped() {
        let background = Background::default();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = mpsc::channel();
        let answer: Answer<'_, ()> = background.answer(move |stop| {
            let _ = begun.send(());
            while !stop.is_cancelled() {
                thread::yield_now();
            }
            let _ = ended.send(());
            Ok(())
        });
        tokio::select! {
            biased;
            _ = answer => panic!("it does not end by itself"),
            begun = has_begun => begun.expect("it begins"),
        }
        assert_eq!(has_ended.recv(), Ok(()));
    }

    #[tokio::test]
    async fn work_runs_on_at_most_one_thread_per_processor() {
        let background = Background::default();
        let processors = background.permits.available_permits();
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let going = |answer: &mut Answer<'static, ()>| {
            let waker = std::task::Waker::noop();
            let polled = answer
                .as_mut()
                .poll(&mut std::task::Context::from_waker(waker));
            assert!(polled.is_pending());
        };
        let mut answers: Vec<Answer<'static, ()>> = (0..=processors)
            .map(|_| {
                let wait = Arc::clone(&wait);
                background.answer(move |_| {
                    let _ = wait.lock().map(|wait| wait.recv());
                    Ok(())
                })
            })
            .collect();
        answers.iter_mut().for_each(going);
        assert_eq!(background.permits.available_permits(), 0);
        drop(go);
        for answer in answers {
            answer.await.expect("an answer");
        }
        assert_eq!(background.permits.available_permits(), processors);
    }

    #[test]
    fn without_a_runtime_the_answer_is_ready_at_once() {
        let answer =
            crate::requests::now(Background::default().answer(|stop| Ok(stop.is_cancelled())));
        assert_eq!(answer, Ok(false));
    }
}
