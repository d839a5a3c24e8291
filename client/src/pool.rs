//! Sessions that outlive a request: kept open, lent to one user at a time, and counted per server.
//! RFC 2056 §3 and §4 allow the reuse of a session for the same host and port.

mod demand;
mod idle;
mod repeat;
mod shared;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::watch;
use z3950_asn1::apdu::IdAuthentication;
use z3950_asn1::codec;

pub use self::demand::SessionDemand;
use self::demand::{SessionsWanted, WaitingUser};
use self::idle::IdleSessions;
use self::repeat::{Replaceable, repeated};
pub use self::shared::SharedLease;
use self::shared::SharedSessions;
use crate::error::{Cause, Error, Phase};
use crate::pace::{Clock, Pace};
use crate::protocol::session::{Reconnect, Repeat, Session, SessionOptions, WeakSession};
use crate::target::Endpoint;
use crate::target::profile::{Credentials, SruOptions, TargetLimits};
use crate::transport::connect::{BoxFuture, Connect};
use crate::transport::{Routes, Timeouts};

/// The sessions of a client, the routes that lead to servers, and the passwords used at Init.
#[derive(Default)]
pub(crate) struct Pool {
    routes: Routes,
    servers: Mutex<HashMap<Endpoint, Arc<Server>>>,
    /// Opened for a session URL; the caller holds the session.
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

    /// The routes to servers.
    #[cfg(feature = "sru")]
    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Opens a session. A rejected Init forgets the password, so that a mistyped one is asked for again.
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

    /// See [`Client::connector`](crate::Client::connector).
    pub(crate) fn connector(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&str>,
    ) -> Result<Arc<dyn Connect>, Error> {
        let connector = self.routes.to(endpoint, proxy);
        connector.map_err(|error| Error::Unavailable {
            phase: Phase::Connect,
            cause: Cause::Other(Arc::new(io::Error::other(error))),
        })
    }

    /// See [`Client::lease`](crate::Client::lease).
    pub(crate) async fn lease(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
        limits: &TargetLimits,
    ) -> Result<Lease, Error> {
        let server = self.server(endpoint);
        let permit = server.enter(limits.sessions, options.timeouts).await?;
        self.lease_with(permit, endpoint, proxy, options, limits)
            .await
    }

    async fn lease_with(
        self: &Arc<Self>,
        permit: Permit,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
        limits: &TargetLimits,
    ) -> Result<Lease, Error> {
        let server = Arc::clone(&permit.0);
        let opener = Arc::new(Opener {
            pool: Arc::clone(self),
            server: Arc::clone(&server),
            options: options.clone(),
            max_sessions: limits.sessions,
            pace: match endpoint.is_sru() {
                true => Some(Pace::with_pause(&server.clock, limits.pause)),
                false => Pace::new(&server.clock, limits.pause),
            },
            key: Key::new(endpoint, proxy, options),
            runtime: Handle::try_current().ok(),
            opened: Mutex::default(),
        });
        let idle = server.idle.take(&opener.key);
        if idle.is_some() {
            server.note_answer();
        }
        Ok(Lease {
            is_reused: idle.is_some(),
            session: match idle {
                Some(session) => session
                    .with_timeouts(options.timeouts)
                    .with_pace(opener.pace.clone()),
                None => opener.open().await?,
            },
            opener,
            _permit: permit,
        })
    }

    /// The sessions with one server. Servers without any are forgotten.
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

    /// The password that was obtained before for these credentials.
    pub(crate) fn secret(&self, credentials: &Credentials) -> Option<IdAuthentication> {
        lock(&self.secrets).get(credentials).cloned()
    }

    /// Remembers a password.
    pub(crate) fn keep_secret(&self, credentials: &Credentials, secret: &IdAuthentication) {
        lock(&self.secrets).insert(credentials.clone(), secret.clone());
    }

    /// Takes out all idle sessions and those opened for session URLs.
    pub(crate) fn drain(&self) -> Vec<Session> {
        let servers: Vec<_> = lock(&self.servers).values().cloned().collect();
        let idle = servers.iter().flat_map(|server| server.idle.surplus(0));
        let opened = std::mem::take(&mut *lock(&self.opened));
        let opened = opened.into_values().filter_map(|session| session.upgrade());
        idle.chain(opened).collect()
    }
}

/// A session for one user alone. When dropped, it goes back to the pool, unless the session has ended, another handle on it
/// exists, or one of its requests has no answer; then it is closed.
pub struct Lease {
    session: Session,
    is_reused: bool,
    opener: Arc<Opener>,
    _permit: Permit,
}

/// Opens sessions like the one lent.
struct Opener {
    pool: Arc<Pool>,
    server: Arc<Server>,
    options: SessionOptions,
    max_sessions: usize,
    pace: Option<Pace>,
    key: Key,
    /// The runtime of the sessions, since a lease may be dropped outside of it.
    runtime: Option<Handle>,
    /// Those opened, some of which a pager has.
    opened: Mutex<Vec<WeakSession>>,
}

impl Opener {
    async fn open(&self) -> Result<Session, Error> {
        let surplus = self.server.make_room(self.max_sessions);
        // Errors: a session that has ended need not be closed.
        let _ = join_all(surplus.iter().map(Session::close)).await;
        if let Some(pace) = &self.pace {
            let limit = self.options.timeouts.to_deadline();
            limit.hold(Phase::Connect, pace.wait()).await?;
        }
        let (key, options) = (&self.key, &self.options);
        let session = self
            .pool
            .connect(&key.endpoint, key.proxy.as_deref(), options);
        let session = session.await?.with_pace(self.pace.clone());
        let mut opened = lock(&self.opened);
        opened.retain(|session| session.upgrade().is_some());
        opened.push(session.downgrade());
        Ok(session)
    }
}

impl Reconnect for Opener {
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(self.open())
    }
}

impl Lease {
    /// Makes a request. If the session was lost, for instance dropped by the server while idle, and `repeat` allows it,
    /// the request is made again in a new session, up to four times. The handle passed to `request` must not outlive the lease.
    ///
    /// # Errors
    /// Those of the last request, or of opening the session for it.
    pub async fn run<T, F>(
        &mut self,
        repeat: Repeat,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let session = self.session.clone();
        repeated(self, session, Some(repeat), request).await
    }

    /// Like [`run`](Self::run), for requests that change nothing: repeated after any loss if the server has answered others, but
    /// otherwise only if nothing was sent, since the request may be what the server fails at.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub async fn read<T, F>(&mut self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let session = self.session.clone();
        repeated(self, session, None, request).await
    }

    /// Replaces the session by a new one; the old one is closed if it has not ended.
    ///
    /// # Errors
    /// Those of [`Client::connect`](crate::Client::connect).
    pub async fn renew(&mut self) -> Result<(), Error> {
        self.session = self.opener.open().await?;
        self.is_reused = false;
        Ok(())
    }

    /// Opens sessions like this one when it is lost, under the same permit: see
    /// [`PagerOptions::reconnect`](crate::pager::PagerOptions::reconnect).
    pub fn reconnect(&self) -> Arc<dyn Reconnect> {
        Arc::clone(&self.opener) as Arc<dyn Reconnect>
    }

    /// Whether the session was used before, so that the server may have dropped it meanwhile.
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Closes the session instead of keeping it, and those that [`reconnect`](Self::reconnect) has opened.
    pub async fn close(self) {
        let opened = std::mem::take(&mut *lock(&self.opener.opened));
        let opened = opened.iter().filter_map(WeakSession::upgrade);
        let sessions: Vec<_> = opened.chain([self.session.clone()]).collect();
        // Errors: a session that has ended need not be closed.
        let _ = join_all(sessions.iter().map(Session::close)).await;
    }

    /// Whether the session can be lent to another user afterwards.
    pub(crate) fn is_fit(&self) -> bool {
        self.session.is_at_rest()
    }
}

impl Replaceable for Lease {
    fn server(&self) -> &Server {
        &self.opener.server
    }

    fn is_by_others(&self, _: &Error) -> bool {
        false
    }

    async fn replace(&mut self, _: &Session, _: &Error) -> Result<Session, Error> {
        self.renew().await?;
        Ok(self.session.clone())
    }
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_fit() {
            let Opener {
                server,
                options,
                max_sessions,
                key,
                runtime,
                ..
            } = &*self.opener;
            let (key, session) = (key.clone(), self.session.clone());
            let time = runtime.as_ref().zip(options.idle_time);
            server.idle.put(key, session, time, *max_sessions);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("endpoint", &self.opener.key.endpoint)
            .field("is_reused", &self.is_reused)
            .finish_non_exhaustive()
    }
}

/// What two sessions must have in common to be interchangeable: canonical endpoint, proxy, the whole Init including
/// credentials, and the options of this side.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    endpoint: Endpoint,
    proxy: Option<String>,
    /// The encoded InitializeRequest.
    init: Vec<u8>,
    max_operations: usize,
    max_pipelined: usize,
    cancels_dropped: bool,
    /// The address of the handler, which a session keeps alive.
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
            // An Init that does not encode opens no session, so no session has this key.
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

/// The sessions with one server.
pub(crate) struct Server {
    pub(crate) clock: Arc<Clock>,
    idle: Arc<IdleSessions>,
    /// Held while waiting for a permit: first come, first served.
    turn: tokio::sync::Mutex<()>,
    /// The number of permits given out.
    taken: watch::Sender<usize>,
    demand: watch::Sender<SessionsWanted>,
    shared: SharedSessions,
    /// Whether it has answered a request.
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

/// The right to one session with a server.
pub(crate) struct Permit(Arc<Server>);

impl Server {
    /// Waits until fewer than `limit` sessions are in use.
    ///
    /// # Errors
    /// In phase Connect: [`Timeouts::session`], from when those that waited before have theirs, or the deadline.
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
        // Errors within: the sender was dropped, but `self` owns it.
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

    /// Takes out as many idle sessions, longest unused first, as must go before another one is opened.
    pub(crate) fn make_room(&self, limit: usize) -> Vec<Session> {
        let taken = *self.taken.borrow();
        self.idle.surplus(limit.max(1).saturating_sub(taken))
    }

    fn is_forgettable(&self) -> bool {
        // Sessions outside the pool share the clock.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
