//! The sessions with a server that are not in use. They are kept for the next user, and closed after a time set in the
//! options.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{Key, lock};
use crate::protocol::session::Session;

/// The sessions with a server that are not in use.
#[derive(Default)]
pub(super) struct IdleSessions(Mutex<IdleState>);

#[derive(Default)]
struct IdleState {
    /// The sessions, beginning with the least recently used one.
    sessions: Vec<IdleSession>,
    /// Whether a task is running that closes sessions when their idle time has passed.
    is_swept: bool,
}

struct IdleSession {
    key: Key,
    session: Session,
    /// The time at which the session is closed, or `None` if its idle time is not limited.
    until: Option<Instant>,
}

impl IdleSessions {
    /// Returns the state, after removing sessions that have ended.
    fn open(&self) -> MutexGuard<'_, IdleState> {
        let mut state = lock(&self.0);
        state.sessions.retain(|idle| idle.session.is_open());
        state
    }

    /// Removes and returns an open session with this key. Only sessions whose task runs in the caller's runtime are
    /// returned, because another runtime may end or stop at any moment.
    pub(super) fn take(&self, key: &Key) -> Option<Session> {
        let mut state = self.open();
        let mut sessions = state.sessions.iter();
        let index = sessions.rposition(|idle| idle.session.is_in_runtime() && idle.key == *key)?;
        Some(state.sessions.remove(index).session)
    }

    /// Keeps a session, unless `limit` sessions are already kept. If `time` is given, the session is closed after that
    /// time.
    pub(super) fn put(
        self: &Arc<Self>,
        key: Key,
        session: Session,
        time: Option<Duration>,
        limit: usize,
    ) {
        let mut state = self.open();
        if state.sessions.len() >= limit.max(1) {
            return;
        }
        let until = time.and_then(|time| Instant::now().checked_add(time));
        let runtime = session.runtime().clone();
        state.sessions.push(IdleSession {
            key,
            session,
            until,
        });
        let begins = until.is_some() && !state.is_swept;
        state.is_swept |= begins;
        drop(state);
        if begins {
            // A lease may be dropped outside any runtime, so the task runs in the session's runtime.
            let idle = Arc::clone(self);
            let is_done = false;
            runtime.spawn(sweep(Sweep { idle, is_done }));
        }
    }

    /// Removes and returns the least recently used sessions, so that at most `most` sessions remain.
    pub(super) fn surplus(&self, most: usize) -> Vec<Session> {
        let mut state = lock(&self.0);
        let excess = state.sessions.len().saturating_sub(most);
        let excess = state.sessions.drain(..excess);
        excess.map(|idle| idle.session).collect()
    }

    /// Returns whether there are no open sessions.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.open().sessions.len()
    }

    /// Removes and returns the sessions whose idle time has passed. Also returns the time at which the next session
    /// must be closed, or `None` if no session must be closed.
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

/// The state of the task that closes sessions after their idle time. If the task is dropped because its runtime has
/// ended, a new task starts when the next session is kept.
struct Sweep {
    idle: Arc<IdleSessions>,
    is_done: bool,
}

impl Drop for Sweep {
    fn drop(&mut self) {
        if !self.is_done {
            lock(&self.idle.0).is_swept = false;
        }
    }
}

/// Closes each session when its idle time has passed, until no session remains.
async fn sweep(mut sweep: Sweep) {
    loop {
        let (expired, next) = sweep.idle.expired();
        for expired in expired {
            // An error means that the session has already ended.
            let _ = expired.session.close_now().await;
        }
        match next {
            Some(next) => sleep_until(next).await,
            None => {
                sweep.is_done = true;
                return;
            }
        }
    }
}
