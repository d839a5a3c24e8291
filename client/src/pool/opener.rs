//! Opens sessions with the same options for the pool, and keeps them for the next user.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{Key, Pool, Server};
use crate::error::{Error, Phase};
use crate::pace::Pace;
use crate::protocol::session::{Session, SessionOptions};
use crate::target::profile::TargetLimits;
use crate::transport::connect::BoxFuture;

/// Opens sessions with one server, always with the same options.
pub(super) struct Opener {
    pool: Arc<Pool>,
    pub(super) server: Arc<Server>,
    pub(super) key: Key,
    options: SessionOptions,
    max_sessions: usize,
    pace: Option<Pace>,
}

impl Opener {
    pub(super) fn new(
        pool: &Arc<Pool>,
        server: Arc<Server>,
        key: Key,
        options: SessionOptions,
        limits: &TargetLimits,
    ) -> Self {
        let pace = if key.endpoint.is_sru() {
            Some(Pace::with_pause(&server.clock, limits.pause))
        } else {
            Pace::new(&server.clock, limits.pause)
        };
        Self {
            pool: Arc::clone(pool),
            server,
            key,
            options,
            max_sessions: limits.sessions,
            pace,
        }
    }

    /// Returns the number of times that a request may be sent again; see [`SessionOptions::max_repeats`].
    pub(super) fn max_repeats(&self) -> usize {
        self.options.max_repeats
    }

    /// Takes an idle session from the pool, if there is one.
    pub(super) fn take_idle(&self) -> Option<Session> {
        let session = self.server.idle.take(&self.key)?;
        self.server.note_answer();
        let session = session.with_timeouts(self.options.timeouts);
        Some(session.with_pace(self.pace.clone()))
    }

    /// Opens a session, and closes idle sessions that exceed the limit. The future is boxed, because it is rarely
    /// needed and would enlarge every future that may call this function.
    pub(super) fn open(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(self.open_now())
    }

    async fn open_now(&self) -> Result<Session, Error> {
        let surplus = self.server.take_surplus(self.max_sessions);
        // An error means that the session has already ended.
        let _ = join_all(surplus.iter().map(Session::close)).await;
        if let Some(pace) = &self.pace {
            let limit = self.options.timeouts.to_deadline();
            limit.hold(Phase::Connect, pace.wait()).await?;
        }
        let (key, options) = (&self.key, &self.options);
        let session = self
            .pool
            .connect(&key.endpoint, key.proxy.as_deref(), options);
        Ok(session.await?.with_pace(self.pace.clone()))
    }

    /// Keeps a session in the pool for the next user.
    pub(super) fn keep(&self, session: Session) {
        let (idle, time) = (&self.server.idle, self.options.idle_time);
        idle.put(self.key.clone(), session, time, self.max_sessions);
    }
}
