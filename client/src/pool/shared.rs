//! Sessions whose operations go side by side (concurrentOperations, Z39.50-2003 §3.5), or are sent ahead: as many users at once
//! as operations may be in progress, each with a result set of its own.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard};
use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use super::{Key, Lease, Pool, Replaceable, Server, lock, repeated};
use crate::error::{Cause, Error};
use crate::protocol::service::DEFAULT_RESULT_SET;
use crate::protocol::session::{Reconnect, Session, SessionOptions};
use crate::target::Endpoint;
use crate::target::profile::TargetLimits;
use crate::transport::connect::BoxFuture;

/// The sessions with a server that others may join.
#[derive(Default)]
pub(super) struct SharedSessions {
    list: Mutex<Vec<Weak<SharedSession>>>,
    /// Notified when a place becomes free.
    freed: Notify,
}

/// A session with several users.
struct SharedSession {
    key: Key,
    server: Arc<Server>,
    /// The session in use.
    current: tokio::sync::Mutex<Lease>,
    /// How many users it may have.
    places: usize,
    /// Whether requests are sent ahead of answers, although the server does not carry out operations side by side.
    is_pipelined: bool,
    /// Whether the server has failed at several requests in progress, so that they are made one at a time.
    has_tripped: AtomicBool,
    /// Whether records lack the docid by which they are found, so that they cannot be told from those of other requests.
    hides_docids: AtomicBool,
    /// Locked for reading by requests that may be made at the same time, for writing by one that is made alone.
    gate: RwLock<()>,
    /// The names of the result sets that nobody uses: a free place each.
    free: Mutex<Vec<InternationalString>>,
    /// How many users have joined the first one, counting those that left.
    joined: AtomicUsize,
}

/// A place in a session, which others may use at the same time. When the last user drops its place, the session goes back to the
/// pool like a [`Lease`].
pub struct SharedLease {
    session: Arc<SharedSession>,
    result_set: InternationalString,
}

impl Pool {
    /// See [`Client::share`](crate::Client::share).
    pub(crate) async fn share(
        self: &Arc<Self>,
        endpoint: &Endpoint,
        proxy: Option<&str>,
        options: &SessionOptions,
        limits: &TargetLimits,
    ) -> Result<SharedLease, Error> {
        let server = self.server(endpoint);
        let key = Key::new(endpoint, proxy, options);
        let place = async {
            tokio::select! {
                biased;
                permit = server.enter(limits.sessions, options.timeouts) => permit.map(Ok),
                joined = server.join(&key) => Ok(Err(joined)),
            }
        };
        match place.await? {
            Ok(permit) => {
                let lease = self.lease_with(permit, endpoint, proxy, options, limits);
                Ok(share(server, key, lease.await?))
            }
            Err(joined) => Ok(joined),
        }
    }
}

/// Lets others join a session with several operations in progress, if result sets have names.
fn share(server: Arc<Server>, key: Key, lease: Lease) -> SharedLease {
    let options = lease.server_info().options;
    let places = match options.contains(Options::NAMED_RESULT_SETS) {
        true => lease.max_in_progress(),
        false => 1,
    };
    let free = (1..places)
        .rev()
        .map(|number| number.to_string().as_str().into());
    let session = Arc::new(SharedSession {
        key,
        server,
        current: tokio::sync::Mutex::new(lease),
        places,
        is_pipelined: places > 1 && !options.contains(Options::CONCURRENT_OPERATIONS),
        has_tripped: AtomicBool::default(),
        hides_docids: AtomicBool::default(),
        gate: RwLock::default(),
        free: Mutex::new(free.collect()),
        joined: AtomicUsize::default(),
    });
    if places > 1 {
        let shared = &session.server.shared;
        lock(&shared.list).push(Arc::downgrade(&session));
        shared.freed.notify_waiters();
    }
    SharedLease {
        session,
        result_set: DEFAULT_RESULT_SET.into(),
    }
}

impl Server {
    /// Waits for a free place in a session.
    async fn join(&self, key: &Key) -> SharedLease {
        loop {
            let freed = self.shared.freed.notified();
            if let Some(lease) = self.shared.free_place(key) {
                return lease;
            }
            freed.await;
        }
    }
}

impl SharedSessions {
    fn free_place(&self, key: &Key) -> Option<SharedLease> {
        let mut list = lock(&self.list);
        list.retain(|session| session.strong_count() > 0);
        let mut sessions = list.iter().filter_map(Weak::upgrade);
        sessions.find_map(|session| {
            let result_set = match session.key == *key {
                true => lock(&session.free).pop()?,
                false => return None,
            };
            session.joined.fetch_add(1, Ordering::AcqRel);
            Some(SharedLease {
                session,
                result_set,
            })
        })
    }
}

impl SharedLease {
    /// The name of the result set that belongs to this place.
    pub fn result_set(&self) -> &InternationalString {
        &self.result_set
    }

    /// Makes a request that changes nothing outside of the own result set: see [`Lease::read`]. After a second loss it is repeated
    /// while no other user makes a request, so that only its own can end the session.
    ///
    /// # Errors
    /// Those of [`Lease::run`].
    pub async fn read<T, F>(&self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let is_alone = self.session.has_tripped.load(Ordering::Acquire);
        self.request(is_alone, request).await
    }

    /// Like [`read`](Self::read), while no other user makes a request, so that the answer cannot be that to another one.
    ///
    /// # Errors
    /// Those of [`Lease::run`].
    pub async fn read_alone<T, F>(&self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.request(true, request).await
    }

    async fn request<T, F>(
        &self,
        is_alone: bool,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut turn = SharedRequest::begin(&self.session, is_alone).await;
        let session = self.session.now().await?;
        repeated(&mut turn, session, None, request).await
    }

    /// Makes a request for what a record is to contain, and again alone if `is_foreign` says that it does not, since a server that
    /// confuses referenceIds answers with the record of another user. If even then records do not contain their docids, the
    /// requests for docids are made alone from then on.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub(crate) async fn read_own<T, F>(
        &self,
        is_of_docid: bool,
        is_foreign: impl Fn(&T) -> bool,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let SharedSession {
            places,
            is_pipelined,
            hides_docids,
            ..
        } = &*self.session;
        // Pipelined requests are answered in order, so only numbers that records usually contain are worth another request.
        let is_checked = *places > 1 && !(is_of_docid && *is_pipelined);
        if is_checked && is_of_docid && hides_docids.load(Ordering::Acquire) {
            return self.read_alone(request).await;
        }
        // Without other users, the answer can be to no other request.
        let joined = || self.session.joined.load(Ordering::Acquire);
        let (had_others, before) = (lock(&self.session.free).len() + 1 < *places, joined());
        let found = self.read(&request).await?;
        let is_sole = !had_others && joined() == before;
        if !is_checked || is_sole || !is_foreign(&found) {
            return Ok(found);
        }
        let again = self.read_alone(&request).await?;
        match is_foreign(&again) {
            true if is_of_docid => hides_docids.store(true, Ordering::Release),
            true => {}
            false => self.distrust(),
        }
        Ok(again)
    }

    /// Whether the session may have other users.
    pub fn has_others(&self) -> bool {
        self.session.places > 1
    }

    /// Makes the requests of all users one at a time from now on, because the server confuses them.
    pub fn distrust(&self) {
        self.session.distrust();
    }

    /// Returns the session that replaces a lost one, for all its users: see
    /// [`PagerOptions::reconnect`](crate::pager::PagerOptions::reconnect).
    pub fn reconnect(&self) -> Arc<dyn Reconnect> {
        Arc::clone(&self.session) as Arc<dyn Reconnect>
    }
}

/// A request of a user, which keeps those that have to be alone from beginning.
struct SharedRequest<'a> {
    session: &'a SharedSession,
    together: Option<RwLockReadGuard<'a, ()>>,
    /// Held to be alone.
    alone: Option<RwLockWriteGuard<'a, ()>>,
    losses: usize,
    /// Whether its own answer was wrong.
    has_failed_alone: bool,
}

impl<'a> SharedRequest<'a> {
    async fn begin(session: &'a SharedSession, is_alone: bool) -> Self {
        let mut request = Self {
            session,
            together: None,
            alone: None,
            losses: 0,
            has_failed_alone: false,
        };
        match is_alone {
            true => request.alone = Some(session.gate.write().await),
            false => request.together = Some(session.gate.read().await),
        }
        request
    }
}

impl Replaceable for SharedRequest<'_> {
    fn server(&self) -> &Server {
        &self.session.server
    }

    fn is_by_others(&self, error: &Error) -> bool {
        match error {
            // The session may be out of step since earlier answers; a new one is not.
            Error::ProtocolError { fault, .. } if self.session.places > 1 => {
                !self.has_failed_alone && fault.is_of_answer()
            }
            _ if self.alone.is_some() => false,
            Error::Ended { .. } => true,
            Error::Unavailable { cause, .. } => match cause {
                Cause::AnotherAnswer(_) => true,
                // An answer before its own did not come.
                Cause::Timeout(_) => self.session.is_pipelined,
                _ => false,
            },
            _ => false,
        }
    }

    async fn replace(&mut self, lost: &Session, error: &Error) -> Result<Session, Error> {
        self.losses += 1;
        self.has_failed_alone |= matches!(error, Error::ProtocolError { .. });
        let is_pipelined = self.session.is_pipelined;
        if is_pipelined && !self.session.has_tripped.swap(true, Ordering::AcqRel) {
            tracing::warn!("session lost with requests sent ahead; sending one at a time");
        }
        if error.is_of_reference_id() {
            self.session.distrust();
        }
        // Alone, only its own answer can be wrong.
        let is_suspect = matches!(
            error,
            Error::Unavailable {
                cause: Cause::AnotherAnswer(_),
                ..
            }
        );
        let has_to = is_pipelined || is_suspect || error.is_of_reference_id() || self.losses > 1;
        if has_to && self.alone.is_none() {
            self.together = None;
            self.alone = Some(self.session.gate.write().await);
        }
        self.session.other_than(lost).await
    }
}

impl SharedSession {
    /// Makes requests one at a time from now on.
    fn distrust(&self) {
        if !self.has_tripped.swap(true, Ordering::AcqRel) {
            tracing::warn!("the server confuses requests in progress; sending one at a time");
        }
    }

    /// The session in use; opens another if it has ended.
    async fn now(&self) -> Result<Session, Error> {
        let mut current = self.current.lock().await;
        if !current.is_open() {
            current.renew().await?;
        }
        Ok(Session::clone(&current))
    }

    /// The session in place of a lost one; opens it unless another user has, or that has ended too.
    async fn other_than(&self, lost: &Session) -> Result<Session, Error> {
        let mut current = self.current.lock().await;
        if current.is_same(lost) || !current.is_open() {
            current.renew().await?;
        }
        Ok(Session::clone(&current))
    }
}

impl Reconnect for SharedSession {
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(self.now())
    }
}

impl Drop for SharedLease {
    fn drop(&mut self) {
        let name = std::mem::take(&mut self.result_set);
        lock(&self.session.free).push(name);
        self.session.server.shared.freed.notify_waiters();
    }
}

impl fmt::Debug for SharedLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLease")
            .field("endpoint", &self.session.key.endpoint)
            .field("result_set", &self.result_set)
            .finish_non_exhaustive()
    }
}
