//! Sessions kept open between uses, for RFC 2056 §3 and §4 allow to use one again for the same host and port, and how
//! many of them a server is asked to bear at once. A session of the pool belongs to one user at a time.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use z3950_asn1::codec;

use crate::pace::Clock;
use crate::profile::Profile;
use crate::session::{Session, SessionOptions, WeakSession};
use crate::target::Endpoint;

/// How many sessions with one server are open at once where nothing else is known.
const MAX_SESSIONS: usize = 16;

/// How much a server is asked to bear by the sessions that are lent: see [`Client::lease`](crate::Client::lease). Those
/// opened for session URLs keep the pause, but do not count; those of [`Client::connect`](crate::Client::connect) do neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetLimits {
    /// Sessions open at once; 16. There is always one.
    pub sessions: usize,
    /// The least time between two requests, whatever session they are made in; none.
    pub pause: Duration,
}

impl Default for TargetLimits {
    fn default() -> Self {
        Self {
            sessions: MAX_SESSIONS,
            pause: Duration::ZERO,
        }
    }
}

impl From<&Profile> for TargetLimits {
    fn from(profile: &Profile) -> Self {
        let default = Self::default();
        Self {
            sessions: profile.sessions.unwrap_or(default.sessions),
            pause: profile.pause.unwrap_or(default.pause),
        }
    }
}

/// What two sessions must agree in to stand for each other: canonical endpoint, the way there, all that Init says,
/// credentials above all, and how this side works in them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    endpoint: Endpoint,
    proxy: Option<String>,
    /// The encoded InitializeRequest.
    init: Vec<u8>,
    max_operations: usize,
    max_pipelined: usize,
    cancels_dropped: bool,
    /// Who answers the server's questions, by address: whoever keeps a session keeps them too.
    access_control: Option<usize>,
    resource_control: Option<usize>,
}

impl Key {
    pub(crate) fn new(endpoint: &Endpoint, proxy: Option<&str>, options: &SessionOptions) -> Self {
        let init = codec::encode(&options.init.request().into());
        let access_control = options.access_control.as_ref();
        let resource_control = options.resource_control.as_ref();
        Self {
            endpoint: endpoint.clone(),
            proxy: proxy.map(str::to_owned),
            // An Init that does not encode opens no session, so nothing is ever kept under its key.
            init: init.unwrap_or_default(),
            max_operations: options.max_operations,
            max_pipelined: options.max_pipelined,
            cancels_dropped: options.cancels_dropped,
            access_control: access_control.map(|answers| Arc::as_ptr(answers).addr()),
            resource_control: resource_control.map(|answers| Arc::as_ptr(answers).addr()),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.endpoint, f)
    }
}

/// Sessions kept open, and who uses how many.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    servers: Mutex<HashMap<Endpoint, Arc<Server>>>,
    /// Opened for a session URL, and in the hands of whoever did so.
    opened: Mutex<HashMap<Key, WeakSession>>,
}

impl Pool {
    /// What there is of sessions with a server.
    pub(crate) fn server(&self, endpoint: &Endpoint) -> Arc<Server> {
        let mut servers = lock(&self.servers);
        if let Some(server) = servers.get(endpoint) {
            return Arc::clone(server);
        }
        // Nobody would miss these.
        servers.retain(|_, server| Arc::strong_count(server) > 1 || !server.is_forgettable());
        Arc::clone(servers.entry(endpoint.clone()).or_default())
    }

    /// How many servers are remembered.
    #[cfg(test)]
    pub(crate) fn servers(&self) -> usize {
        lock(&self.servers).len()
    }

    /// The session opened for a session URL, if it is still open.
    pub(crate) fn opened(&self, key: &Key) -> Option<Session> {
        lock(&self.opened).get(key)?.upgrade()
    }

    /// Remembers a session opened for a session URL.
    pub(crate) fn remember(&self, key: Key, session: &Session) {
        let mut opened = lock(&self.opened);
        opened.retain(|_, session| session.upgrade().is_some());
        opened.insert(key, session.downgrade());
    }

    /// Takes out all sessions that nobody uses, and those opened for session URLs.
    pub(crate) fn drain(&self) -> Vec<Session> {
        let servers: Vec<_> = lock(&self.servers).values().cloned().collect();
        let idle = servers.iter().flat_map(|server| server.take_idle());
        let opened = std::mem::take(&mut *lock(&self.opened));
        let opened = opened.into_values().filter_map(|session| session.upgrade());
        idle.chain(opened).collect()
    }
}

/// The sessions with one server.
#[derive(Debug)]
pub(crate) struct Server {
    /// When it may be asked again.
    pub(crate) clock: Arc<Clock>,
    /// Nobody uses these now; the one used last comes last.
    idle: Mutex<Vec<(Key, Session)>>,
    /// Whoever holds it is the next to get a place.
    turn: tokio::sync::Mutex<()>,
    /// How many places are taken.
    taken: watch::Sender<usize>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            clock: Arc::default(),
            idle: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            taken: watch::Sender::new(0),
        }
    }
}

/// The right to use one session with a server, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Server>);

impl Server {
    /// Waits until fewer than `limit` places are taken, first come, first served, and takes one.
    pub(crate) async fn enter(self: &Arc<Self>, limit: usize) -> Place {
        let _turn = self.turn.lock().await;
        let mut taken = self.taken.subscribe();
        // The sender is our own and does not go away.
        let _ = taken.wait_for(|taken| *taken < limit.max(1)).await;
        self.taken.send_modify(|taken| *taken += 1);
        Place(Arc::clone(self))
    }

    /// An idle session that is still open, to be used by the caller alone.
    pub(crate) fn take(&self, key: &Key) -> Option<Session> {
        let mut idle = lock(&self.idle);
        idle.retain(|(_, session)| session.is_open());
        let index = idle.iter().rposition(|(other, _)| other == key)?;
        Some(idle.remove(index).1)
    }

    /// Keeps a session for later, unless `limit` are kept already.
    pub(crate) fn put(&self, key: Key, session: Session, limit: usize) {
        let mut idle = lock(&self.idle);
        idle.retain(|(_, session)| session.is_open());
        if idle.len() < limit.max(1) {
            idle.push((key, session));
        }
    }

    /// Takes out the idle sessions, longest unused first, that are too many for another one to be opened.
    pub(crate) fn make_room(&self, limit: usize) -> Vec<Session> {
        let mut idle = lock(&self.idle);
        let open = self.taken.borrow().saturating_add(idle.len());
        let excess = open.saturating_sub(limit.max(1)).min(idle.len());
        idle.drain(..excess).map(|(_, session)| session).collect()
    }

    fn take_idle(&self) -> Vec<Session> {
        let idle = std::mem::take(&mut *lock(&self.idle));
        idle.into_iter().map(|(_, session)| session).collect()
    }

    fn is_forgettable(&self) -> bool {
        let mut idle = lock(&self.idle);
        idle.retain(|(_, session)| session.is_open());
        // Sessions out of the pool keep the pause too.
        idle.is_empty() && Arc::strong_count(&self.clock) == 1 && self.clock.is_due()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0
            .taken
            .send_modify(|taken| *taken = taken.saturating_sub(1));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
