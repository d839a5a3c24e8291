//! Sessions that are used for several requests. They are kept open, leased to one or several users, and counted for
//! each server. RFC 2056 §3 and §4 allow the reuse of a session for the same host and port.

mod demand;
mod idle;
mod lease;
mod opener;

use std::collections::HashMap;
use std::ops::Add;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, watch};
use z3950_asn1::apdu::IdAuthentication;
use z3950_asn1::codec;

pub use self::demand::SessionDemand;
use self::demand::{SessionsWanted, WaitingUser};
use self::idle::IdleSessions;
pub use self::lease::Lease;
use self::lease::LentSession;
use self::opener::Opener;
use crate::error::{Error, Phase};
use crate::pace::Clock;
use crate::protocol::session::{Session, SessionOptions, WeakSession};
use crate::target::Endpoint;
use crate::target::profile::{Credentials, SruOptions, TargetLimits};
use crate::transport::connect::Connect;
use crate::transport::{Routes, Timeouts};

/// The sessions of a client, the routes to servers, and the passwords used in Init.
#[derive(Default)]
pub(crate) struct Pool {
    routes: Routes,
    servers: Mutex<HashMap<Endpoint, Arc<Server>>>,
    /// The sessions opened for session URLs. They are weak references, because only the callers keep the sessions open.
    opened: Mutex<HashMap<Key, WeakSession>>,
    secrets: Mutex<HashMap<Credentials, IdAuthentication>>,
}

impl Pool {
    pub(crate) fn new(routes: Routes) -> Self {
        Self {
            routes,
            ..Self::default()
        }
    }

    /// Returns the routes to servers.
    #[cfg(feature = "sru")]
    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Opens a session. If Init is rejected, the stored password is removed, so that the user can correct a mistyped
    /// password.
    pub(crate) async fn connect(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
    ) -> Result<Session, Error> {
        #[cfg(feature = "sru")]
        if endpoint.is_sru() {
            return Session::over_sru(endpoint, proxy, &self.routes, options).await;
        }
        let connector = self.connector(endpoint, proxy)?;
        let (host, port) = (endpoint.host(), endpoint.port());
        let session = Session::connect(&host, port, &*connector, options).await;
        if let (Err(Error::InitRejected(_)), Some(refused)) =
            (&session, &options.init.id_authentication)
        {
            lock(&self.secrets).retain(|_, known| known != refused);
        }
        session
    }

    /// Returns a connector; see [`Client::connector`](crate::Client::connector).
    pub(crate) fn connector(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
    ) -> Result<Arc<dyn Connect>, Error> {
        let connector = self.routes.to(endpoint, proxy);
        connector.map_err(|error| Error::Route(Arc::new(error)))
    }

    /// Leases a session to the caller: an idle session that was opened with the same options, or a new session, which
    /// is opened through `proxy` if it is given.
    ///
    /// If the maximum number of sessions, `limits.sessions`, is in use, the call waits until one is returned. Callers
    /// are served in the order in which they called, and wait within the limits `session` and `deadline` of
    /// `options.timeouts`. If sessions may be shared, the wait also ends when a place in a shared session becomes free.
    /// A caller that holds one lease while it waits for another may deadlock. Requests in all sessions with the server
    /// are at least `limits.pause` apart.
    ///
    /// # Errors
    /// The errors of [`Client::connect`](crate::Client::connect), and an error in phase Connect if the wait reaches its
    /// limit.
    pub(crate) async fn lend(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: SessionOptions,
        limits: &TargetLimits,
        sharing: Sharing,
    ) -> Result<Lease, Error> {
        let server = self.server(endpoint);
        let key = Key::new(endpoint, proxy, &options);
        let permit = tokio::select! {
            biased;
            permit = server.enter(limits.sessions, options.timeouts) => permit?,
            joined = server.shared.join(&key), if sharing == Sharing::WithOthers => return Ok(joined),
        };
        let opener = Opener::new(self, server, key, options, limits);
        let (session, is_reused) = match opener.take_idle() {
            Some(session) => (session, true),
            None => (opener.open().await?, false),
        };
        Ok(Lease::new(opener, session, is_reused, sharing, permit))
    }

    /// Returns the entry for a server. If there is none, creates it and removes the entries for servers without
    /// sessions.
    pub(crate) fn server(&self, endpoint: &Endpoint) -> Arc<Server> {
        let mut servers = lock(&self.servers);
        if let Some(server) = servers.get(endpoint) {
            return Arc::clone(server);
        }
        servers.retain(|_, server| Arc::strong_count(server) > 1 || !server.is_forgettable());
        Arc::clone(servers.entry(endpoint.clone()).or_default())
    }

    #[cfg(test)]
    pub(crate) fn servers(&self) -> usize {
        lock(&self.servers).len()
    }

    /// Returns the session that was opened for a session URL with this key, or `None` if it has ended.
    pub(crate) fn opened(&self, key: &Key) -> Option<Session> {
        lock(&self.opened).get(key)?.upgrade()
    }

    /// Stores a session opened for a session URL.
    pub(crate) fn remember(&self, key: Key, session: &Session) {
        let mut opened = lock(&self.opened);
        opened.retain(|_, session| session.upgrade().is_some());
        opened.insert(key, session.downgrade());
    }

    /// Returns the stored password for these credentials, if there is one.
    pub(crate) fn secret(&self, credentials: &Credentials) -> Option<IdAuthentication> {
        lock(&self.secrets).get(credentials).cloned()
    }

    /// Stores a password, so that it need not be obtained again.
    pub(crate) fn keep_secret(&self, credentials: &Credentials, secret: &IdAuthentication) {
        lock(&self.secrets).insert(credentials.clone(), secret.clone());
    }

    /// Removes and returns all idle sessions and all sessions opened for session URLs.
    pub(crate) fn drain(&self) -> Vec<Session> {
        let servers: Vec<_> = lock(&self.servers).values().cloned().collect();
        let idle = servers.iter().flat_map(|server| server.idle.surplus(0));
        let opened = std::mem::take(&mut *lock(&self.opened));
        let opened = opened.into_values().filter_map(|session| session.upgrade());
        idle.chain(opened).collect()
    }
}

/// Whether a leased session has one user or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    Alone,
    /// The session has one user while the limits allow further sessions. After that, several users share it.
    WithOthers,
}

/// The values that must be the same for two sessions to be interchangeable: the canonical endpoint, the proxy, the
/// complete Init request including credentials, and the options of the client.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    endpoint: Endpoint,
    proxy: Option<String>,
    /// The encoded Init request, including credentials.
    init: Vec<u8>,
    max_operations: usize,
    max_pipelined: usize,
    cancels_dropped: bool,
    /// The address of the access control handler. It identifies the handler, because a session keeps its handler alive.
    access_control: Option<usize>,
    resource_control: Option<usize>,
    sru: SruOptions,
}

impl Key {
    pub(crate) fn new(endpoint: &Endpoint, proxy: Option<&str>, options: &SessionOptions) -> Self {
        let init = codec::encode(&options.init.clone().into());
        let access_control = options.access_control.as_ref();
        let resource_control = options.resource_control.as_ref();
        Self {
            endpoint: endpoint.clone(),
            proxy: proxy.map(str::to_owned),
            // An Init that cannot be encoded never opens a session, so an empty key does not match any session.
            init: init.unwrap_or_default(),
            max_operations: options.max_operations,
            max_pipelined: options.max_pipelined,
            cancels_dropped: options.cancels_dropped,
            access_control: access_control.map(|answers| Arc::as_ptr(answers).addr()),
            resource_control: resource_control.map(|answers| Arc::as_ptr(answers).addr()),
            sru: options.sru.clone(),
        }
    }
}

/// The sessions with one server, and the state that they share.
pub(crate) struct Server {
    pub(crate) clock: Arc<Clock>,
    idle: Arc<IdleSessions>,
    /// The lock held while waiting for a permit, so that permits are given first come, first served.
    turn: tokio::sync::Mutex<()>,
    /// The number of permits in use.
    taken: watch::Sender<usize>,
    demand: watch::Sender<SessionsWanted>,
    shared: SharedSessions,
    /// Whether the server has answered any request.
    has_answered: AtomicBool,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            clock: Arc::default(),
            idle: Arc::default(),
            turn: tokio::sync::Mutex::default(),
            taken: watch::Sender::new(0),
            demand: watch::Sender::default(),
            shared: SharedSessions::default(),
            has_answered: AtomicBool::default(),
        }
    }
}

/// The right to have one session with a server. Dropping it makes the right available to the next user.
pub(crate) struct Permit(Arc<Server>);

impl Server {
    /// Waits until fewer than `limit` sessions are in use, and returns a permit.
    ///
    /// # Errors
    /// An error in phase Connect if the wait reaches the deadline or [`Timeouts::session`]. That timeout starts when
    /// all earlier waiters have received their permits.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        limit: usize,
        timeouts: Timeouts,
    ) -> Result<Permit, Error> {
        let is_free = |taken: &usize| *taken < limit.max(1);
        if let Ok(_turn) = self.turn.try_lock()
            && is_free(&self.taken.borrow())
        {
            return Ok(self.admit());
        }
        let _user = WaitingUser::at(&self.demand);
        let turn = timeouts.to_deadline();
        let _turn = turn.hold(Phase::Connect, self.turn.lock()).await?;
        let mut taken = self.taken.subscribe();
        let freed = timeouts.to_session();
        // Waiting fails only if the sender is dropped, but `self` owns the sender, so the result is ignored.
        let _ = freed.hold(Phase::Connect, taken.wait_for(is_free)).await?;
        Ok(self.admit())
    }

    fn admit(self: &Arc<Self>) -> Permit {
        self.taken.send_modify(|taken| *taken += 1);
        Permit(Arc::clone(self))
    }

    fn note_answer(&self) {
        self.has_answered.store(true, Ordering::Release);
    }

    fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Acquire)
    }

    /// Removes and returns the idle sessions that must be closed before another session is opened, least recently used
    /// first.
    pub(crate) fn take_surplus(&self, limit: usize) -> Vec<Session> {
        let taken = *self.taken.borrow();
        self.idle.surplus(limit.max(1).saturating_sub(taken))
    }

    fn is_forgettable(&self) -> bool {
        // Sessions outside the pool share the clock, so the server is forgotten only after they are dropped.
        self.idle.is_empty() && Arc::strong_count(&self.clock) == 1 && self.clock.is_due()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0
            .taken
            .send_modify(|taken| *taken = taken.saturating_sub(1));
    }
}

/// The sessions that other users may join.
#[derive(Default)]
struct SharedSessions {
    list: Mutex<Vec<Weak<LentSession>>>,
    /// Notifies waiting users that a place in a shared session has become free.
    freed: Notify,
}

impl SharedSessions {
    /// Allows other users to join a session.
    fn offer(&self, session: &Arc<LentSession>) {
        let mut list = lock(&self.list);
        list.retain(|session| session.strong_count() > 0);
        list.push(Arc::downgrade(session));
        drop(list);
        self.notify();
    }

    /// Notifies waiting users that a place is free.
    fn notify(&self) {
        self.freed.notify_waiters();
    }

    /// Waits for a free place in a session.
    async fn join(&self, key: &Key) -> Lease {
        loop {
            let freed = self.freed.notified();
            if let Some(lease) = self.free_place(key) {
                return lease;
            }
            freed.await;
        }
    }

    fn free_place(&self, key: &Key) -> Option<Lease> {
        let list = lock(&self.list);
        let mut sessions = list.iter().filter_map(Weak::upgrade);
        sessions.find_map(|session| Lease::join(session, key))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many sessions a client has, and how many users are waiting, at one moment.
///
/// Sessions opened for session URLs or by [`Client::session`](crate::Client::session) are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatus {
    /// The sessions leased to connections and requests, including sessions that are still being opened.
    pub in_use: usize,
    /// The open sessions that are kept for the next user.
    pub idle: usize,
    /// The number of users that wait for a session, because the maximum number of sessions for the target is in use.
    pub waiting: usize,
}

impl Add for PoolStatus {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            in_use: self.in_use + other.in_use,
            idle: self.idle + other.idle,
            waiting: self.waiting + other.waiting,
        }
    }
}

impl Pool {
    /// Returns the totals for all servers.
    pub(crate) fn status(&self) -> PoolStatus {
        let servers = lock(&self.servers);
        let each = servers.values().map(|server| server.status());
        each.fold(PoolStatus::default(), Add::add)
    }
}

impl Server {
    fn status(&self) -> PoolStatus {
        PoolStatus {
            in_use: *self.taken.borrow(),
            idle: self.idle.len(),
            waiting: self.demand.borrow().waiting(),
        }
    }
}
