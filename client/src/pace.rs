//! The minimum time between two requests to a server, over all sessions. Some servers ask for such pauses, and many
//! block clients that send requests too fast. Z39.50-2003 defines no such limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::target::profile::MAX_PAUSE;

/// The time at which the next request may be sent to a server. All sessions with the server share it.
#[derive(Debug, Default)]
pub struct Clock {
    /// The earliest time of the next request, according to the pauses between requests.
    next: tokio::sync::Mutex<Option<Instant>>,
    /// The time until which the server has asked the client to wait.
    held: Mutex<Option<Instant>>,
}

impl Clock {
    /// Returns whether a request may be sent now.
    pub fn is_due(&self) -> bool {
        // If the lock is held, a request is already waiting, so no other request is due.
        let next = self.next.try_lock();
        let is_over = |at: &Option<Instant>| at.is_none_or(|at| at <= Instant::now());
        next.is_ok_and(|next| is_over(&next)) && is_over(&self.held())
    }

    fn held(&self) -> Option<Instant> {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The minimum pause between requests, which all sessions with the same clock share.
#[derive(Debug, Clone)]
pub struct Pace {
    clock: Arc<Clock>,
    pause: Duration,
}

impl Pace {
    /// Creates a pace with this pause between requests. Returns `None` if the pause is zero.
    pub fn new(clock: &Arc<Clock>, pause: Duration) -> Option<Self> {
        (!pause.is_zero()).then(|| Self::with_pause(clock, pause))
    }

    /// Creates a pace whose pause may be zero, for servers that may ask the client to wait.
    pub(crate) fn with_pause(clock: &Arc<Clock>, pause: Duration) -> Self {
        Self {
            clock: Arc::clone(clock),
            pause,
        }
    }

    /// Waits until a request may be sent. Requests are sent in the order in which they began to wait. If the future is
    /// dropped, the next request no longer waits for it.
    pub async fn wait(&self) {
        let mut next = self.clock.next.lock().await;
        while let Some(at) = (*next).max(self.clock.held())
            && at > Instant::now()
        {
            sleep_until(at).await;
        }
        *next = Instant::now().checked_add(self.pause);
    }

    /// Delays all requests by this time, which the server asked for, but at most by [`MAX_PAUSE`].
    pub(crate) fn hold(&self, wait: Duration) {
        let until = Instant::now().checked_add(wait.min(MAX_PAUSE));
        let mut held = self
            .clock
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held = (*held).max(until);
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
            // Each pause begins when its own request is sent.
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

    #[tokio::test(start_paused = true)]
    async fn a_server_can_ask_for_a_pause_of_at_most_an_hour() {
        for (asked, went) in [(0, 0), (30, 30), (3600, 3600), (3601, 3600)] {
            let clock = Arc::default();
            let pace = Pace::with_pause(&clock, Duration::ZERO);
            let begun = Instant::now();
            pace.wait().await;
            // One request is already waiting when the server asks for a pause, and a second request is made later.
            let waiting = pace.wait();
            pace.hold(Duration::from_secs(asked));
            pace.hold(Duration::ZERO);
            assert_eq!(clock.is_due(), asked == 0);
            waiting.await;
            pace.wait().await;
            assert_eq!(begun.elapsed().as_secs(), went);
        }
    }
}
