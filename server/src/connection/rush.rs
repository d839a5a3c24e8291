//! Sessions that are all busy at once: there each lets the others that have been asked be served before its answer is
//! written. Then answers leave in bursts, and clients on the other side, which would be woken up for each of a few
//! answers, are woken up once for many.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

/// All sessions of a server: how many answers they have given.
#[derive(Debug, Default)]
pub(crate) struct Rush {
    answers: AtomicU64,
}

/// One session among them: how many answers there were when it gave its last, or began.
#[derive(Debug)]
pub(super) struct Turn {
    last: u64,
}

/// Answers of others since the session's last that make a rush. With fewer, clients that wait for their answers would
/// have nothing to do meanwhile.
const MANY: u64 = 32;

impl Rush {
    /// The turn of a session that begins.
    pub(super) fn turn(&self) -> Turn {
        let last = self.answers.load(Ordering::Relaxed);
        Turn { last }
    }
}

impl Turn {
    /// Counts an answer; in a rush, waits until the tasks that are ready have run.
    pub(super) async fn give_way(&mut self, rush: &Rush) {
        let before = rush.answers.fetch_add(1, Ordering::Relaxed);
        let others = before.saturating_sub(self.last);
        self.last = before.saturating_add(1);
        if others >= MANY {
            back_of_the_queue().await;
        }
    }
}

/// Puts the task behind those that are ready. Unlike `tokio::task::yield_now`, this does not ask the system for events first.
async fn back_of_the_queue() {
    let mut been = false;
    poll_fn(|context| {
        if std::mem::replace(&mut been, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn gives_way_only_among_many() {
        for (others, waits) in [
            (0, false),
            (1, false),
            (31, false),
            (32, true),
            (1000, true),
        ] {
            let rush = Rush::default();
            let mut turn = rush.turn();
            for _ in 0..others {
                rush.turn().give_way(&rush).await;
            }
            let mut answer = Box::pin(turn.give_way(&rush));
            assert_eq!(answer.as_mut().now_or_never().is_none(), waits, "{others}");
        }
    }

    #[tokio::test]
    async fn those_that_are_ready_go_first() {
        let rush = Rush::default();
        let mut turn = rush.turn();
        rush.answers.store(MANY, Ordering::Relaxed);
        let (tell, told) = std::sync::mpsc::channel();
        let other = tell.clone();
        let ready = tokio::spawn(async move { other.send("the other") });
        turn.give_way(&rush).await;
        tell.send("the session").expect("somebody listens");
        ready.await.expect("no panic").expect("somebody listens");
        assert_eq!(
            told.try_iter().collect::<Vec<_>>(),
            ["the other", "the session"]
        );
    }
}
