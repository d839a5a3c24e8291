//! The least time between two requests to a server, over all sessions: some servers ask for it, and many block clients that are
//! too fast. Z39.50-2003 has no such limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// When the next request may be sent to a server, shared by all sessions with it.
#[derive(Debug, Default)]
pub struct Clock(Mutex<Option<Instant>>);

impl Clock {
    /// Whether a request may be sent now.
    pub fn is_due(&self) -> bool {
        // The lock is held while waiting.
        let next = self.0.try_lock();
        next.is_ok_and(|next| next.is_none_or(|next| next <= Instant::now()))
    }
}

/// The pause between requests, over all sessions that share a clock.
#[derive(Debug, Clone)]
pub struct Pace {
    clock: Arc<Clock>,
    pause: Duration,
}

impl Pace {
    /// `None` for a pause of zero.
    pub fn new(clock: &Arc<Clock>, pause: Duration) -> Option<Self> {
        (!pause.is_zero()).then(|| Self {
            clock: Arc::clone(clock),
            pause,
        })
    }

    /// Waits until a request may be sent, first come, first served. Dropping the future passes the turn on.
    pub async fn wait(&self) {
        let mut next = self.clock.0.lock().await;
        if let Some(at) = *next {
            sleep_until(at).await;
        }
        *next = Instant::now().checked_add(self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    #[tokio::test(start_paused = true)]
    async fn requests_keep_their_distance() {
        let seconds = Duration::from_secs;
        for (pauses, went) in [
            (&[2, 2, 2][..], &[0, 2, 4][..]),
            // Each pause counts from its own request.
            (&[1, 3, 1], &[0, 1, 4]),
            (&[0, 0], &[0, 0]),
        ] {
            let clock = Arc::default();
            let begun = Instant::now();
            let requests = pauses.iter().map(|pause| {
                let pace = Pace::new(&clock, seconds(*pause));
                async move {
                    if let Some(pace) = pace {
                        pace.wait().await;
                    }
                    begun.elapsed().as_secs()
                }
            });
            assert_eq!(join_all(requests).await, went, "{pauses:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_request_does_not_delay_others() {
        let clock = Arc::default();
        let pace = Pace::new(&clock, Duration::from_secs(10)).expect("a pause");
        let begun = Instant::now();
        assert!(clock.is_due());
        pace.wait().await;
        assert!(!clock.is_due());
        let given_up = tokio::time::timeout(Duration::from_secs(1), pace.wait()).await;
        assert!(given_up.is_err());
        pace.wait().await;
        assert_eq!(begun.elapsed().as_secs(), 10);
    }
}
