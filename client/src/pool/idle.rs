//! The sessions with a server that nobody uses: kept for the next user, and given up after a time if the options say so.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use super::{Key, lock};
use crate::protocol::session::Session;

/// The idle sessions with a server.
#[derive(Default)]
pub(super) struct IdleSessions(Mutex<IdleState>);

#[derive(Default)]
struct IdleState {
    /// Least recently used first.
    sessions: Vec<IdleSession>,
    /// Whether a task gives up sessions when their time is over.
    is_swept: bool,
}

struct IdleSession {
    key: Key,
    session: Session,
    /// When it is given up; `None` for never.
    until: Option<Instant>,
}

impl IdleSessions {
    /// Those that are still open.
    fn open(&self) -> MutexGuard<'_, IdleState> {
        let mut state = lock(&self.0);
        state.sessions.retain(|idle| idle.session.is_open());
        state
    }

    /// Takes out one that is still open.
    pub(super) fn take(&self, key: &Key) -> Option<Session> {
        let mut state = self.open();
        let index = state.sessions.iter().rposition(|idle| idle.key == *key)?;
        Some(state.sessions.remove(index).session)
    }

    /// Keeps a session, for a time if one is given with the runtime that has it, unless `limit` are kept already.
    pub(super) fn put(
        self: &Arc<Self>,
        key: Key,
        session: Session,
        time: Option<(&Handle, Duration)>,
        limit: usize,
    ) {
        let mut state = self.open();
        if state.sessions.len() >= limit.max(1) {
            return;
        }
        let end =
            time.and_then(|(runtime, time)| Some((runtime, Instant::now().checked_add(time)?)));
        state.sessions.push(IdleSession {
            key,
            session,
            until: end.map(|(_, until)| until),
        });
        if let Some((runtime, _)) = end.filter(|_| !state.is_swept) {
            state.is_swept = true;
            runtime.spawn(sweep(Arc::clone(self)));
        }
    }

    /// Takes out the least recently used ones that must go so that no more than `most` are left.
    pub(super) fn surplus(&self, most: usize) -> Vec<Session> {
        let mut state = lock(&self.0);
        let excess = state.sessions.len().saturating_sub(most);
        let excess = state.sessions.drain(..excess);
        excess.map(|idle| idle.session).collect()
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open().sessions.is_empty()
    }

    /// Takes out those whose time is over; when the next one's is, if there is one.
    fn expired(&self) -> (Vec<IdleSession>, Option<Instant>) {
        let now = Instant::now();
        let mut state = self.open();
        let is_over = |idle: &mut IdleSession| idle.until.is_some_and(|until| until <= now);
        let expired = state.sessions.extract_if(.., is_over).collect();
        let next = state.sessions.iter().filter_map(|idle| idle.until).min();
        state.is_swept = next.is_some();
        (expired, next)
    }
}

/// Gives up sessions when their time is over, until none is left.
async fn sweep(idle: Arc<IdleSessions>) {
    loop {
        let (expired, next) = idle.expired();
        for expired in expired {
            // Errors: a session that has ended need not be closed.
            let _ = expired.session.close_now().await;
        }
        match next {
            Some(next) => sleep_until(next).await,
            None => return,
        }
    }
}
