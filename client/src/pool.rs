//! Sessions kept open between URLs, for RFC 2056 §3 and §4 allow to use one again for the same host and port.
//! A session of the pool belongs to one retrieval at a time: the result set `default` cannot be shared.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use z3950_asn1::codec;

use crate::plan::Plan;
use crate::session::{Session, WeakSession};
use crate::target::Endpoint;

/// The most idle sessions kept for one key; as many as are used at the same time come back.
const MAX_IDLE: usize = 16;

/// What two sessions must agree in to stand for each other: canonical endpoint and all that Init says,
/// credentials above all.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    endpoint: Endpoint,
    /// The encoded InitializeRequest.
    init: Vec<u8>,
}

impl Key {
    pub(crate) fn of(plan: &Plan) -> Self {
        let init = codec::encode(&plan.init_request().into());
        // An Init that does not encode opens no session, so nothing is ever kept under its key.
        Self {
            endpoint: Endpoint::Tcp(plan.host().clone(), plan.port()),
            init: init.unwrap_or_default(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.endpoint, f)
    }
}

/// Sessions kept open.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Nobody uses these now.
    idle: HashMap<Key, Vec<Session>>,
    /// Opened for a session URL, and in the hands of whoever did so.
    opened: HashMap<Key, WeakSession>,
}

impl Pool {
    /// An idle session that is still open, to be used by the caller alone.
    pub(crate) fn take(&self, key: &Key) -> Option<Session> {
        let mut kept = self.kept();
        let idle = kept.idle.get_mut(key)?;
        let mut found = None;
        while found.is_none()
            && let Some(session) = idle.pop()
        {
            found = Some(session).filter(Session::is_open);
        }
        if idle.is_empty() {
            kept.idle.remove(key);
        }
        found
    }

    /// Keeps a session for later; gives back the one that is not kept, to be closed.
    pub(crate) fn put(&self, key: Key, session: Session) -> Option<Session> {
        let mut kept = self.kept();
        let idle = kept.idle.entry(key).or_default();
        idle.retain(Session::is_open);
        if idle.len() >= MAX_IDLE {
            return Some(session);
        }
        idle.push(session);
        None
    }

    /// The session opened for a session URL, if it is still open.
    pub(crate) fn opened(&self, key: &Key) -> Option<Session> {
        self.kept().opened.get(key)?.upgrade()
    }

    /// Remembers a session opened for a session URL.
    pub(crate) fn remember(&self, key: Key, session: &Session) {
        let mut kept = self.kept();
        kept.opened.retain(|_, session| session.upgrade().is_some());
        kept.opened.insert(key, session.downgrade());
    }

    /// Takes all sessions out.
    pub(crate) fn drain(&self) -> Vec<Session> {
        let Kept { idle, opened } = std::mem::take(&mut *self.kept());
        let opened = opened.into_values().filter_map(|session| session.upgrade());
        idle.into_values().flatten().chain(opened).collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
