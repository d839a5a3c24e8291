//! The demand for sessions with a server when the maximum number of sessions is in use. A user whose session is idle
//! can see that others are waiting, and give up the session.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use super::Server;

/// The number of waiting users, and the number of sessions that have been promised to them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionsWanted {
    waiting: usize,
    promised: usize,
}

/// The demand for sessions with a server, by all users of a client's pool. A user with an idle session can give it up
/// if others are waiting.
#[derive(Clone)]
pub struct SessionDemand(pub(crate) Arc<Server>);

impl SessionDemand {
    /// Returns whether at least one waiting user has not been promised a session.
    pub fn is_open(&self) -> bool {
        self.0.demand.borrow().is_open()
    }

    /// Waits until at least one waiting user has not been promised a session.
    pub async fn opened(&self) {
        let mut demand = self.0.demand.subscribe();
        // Waiting fails only if the sender is dropped, but `self` owns the sender, so the result is ignored.
        let _ = demand.wait_for(SessionsWanted::is_open).await;
    }

    /// Promises the caller's session to a waiting user, after which the caller must drop the session. Returns `false`
    /// if no user needs it any more.
    pub fn promise(&self) -> bool {
        self.0.demand.send_if_modified(|demand| {
            let is_open = demand.is_open();
            demand.promised += usize::from(is_open);
            is_open
        })
    }

    /// Returns whether any user is waiting.
    pub fn is_crowded(&self) -> bool {
        self.0.demand.borrow().waiting > 0
    }
}

impl fmt::Debug for SessionDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.demand.borrow().fmt(f)
    }
}

impl SessionsWanted {
    pub(super) fn waiting(self) -> usize {
        self.waiting
    }

    fn is_open(&self) -> bool {
        self.waiting > self.promised
    }
}

/// A guard that counts a user as waiting until it is dropped.
pub(super) struct WaitingUser<'a>(&'a watch::Sender<SessionsWanted>);

impl<'a> WaitingUser<'a> {
    pub(super) fn at(demand: &'a watch::Sender<SessionsWanted>) -> Self {
        demand.send_modify(|demand| demand.waiting += 1);
        Self(demand)
    }
}

impl Drop for WaitingUser<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|demand| {
            demand.waiting = demand.waiting.saturating_sub(1);
            demand.promised = demand.promised.saturating_sub(1);
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::transport::Timeouts;

    #[tokio::test]
    async fn as_many_sessions_are_promised_as_are_needed() {
        let server = Arc::new(Server::default());
        let demand = SessionDemand(Arc::clone(&server));
        let enter = || server.enter(1, Timeouts::default());
        let permit = enter().await;
        assert!(!demand.is_open() && !demand.is_crowded() && !demand.promise());
        let mut first = Box::pin(enter());
        let mut second = Box::pin(enter());
        assert!(demand.opened().now_or_never().is_none());
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        demand.opened().await;
        assert!(demand.promise() && demand.is_open());
        assert!(demand.promise() && !demand.is_open());
        assert!(!demand.promise(), "only two wait");
        drop(permit);
        let permit = first.await;
        assert!(demand.is_crowded() && !demand.is_open());
        drop(second);
        assert!(!demand.is_crowded() && !demand.promise());
        drop(permit);
        let free = enter().now_or_never();
        assert!(free.is_some() && !demand.is_crowded());
    }
}
