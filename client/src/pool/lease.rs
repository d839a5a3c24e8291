//! A session that is lent: to one user alone, or to as many at once as operations may be in progress, side by side
//! (concurrentOperations, Z39.50-2003 §3.5) or sent ahead, each with a result set of its own.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use super::opener::Opener;
use super::{Key, Permit, Server, Sharing, lock};
use crate::error::{Cause, Error};
use crate::protocol::service::DEFAULT_RESULT_SET;
use crate::protocol::session::{Reconnect, Repeat, Session};
use crate::transport::connect::BoxFuture;

/// How often a request is made again.
const MAX_REPEATS: usize = 4;

/// The right to use a session. When its last user drops it, the session goes back to the pool, unless it has ended, another handle on it
/// exists, or one of its requests has no answer; then it is closed.
pub struct Lease {
    session: Arc<LentSession>,
    /// The number of its place; the first user has 0.
    place: usize,
    result_set: InternationalString,
}

/// A session with its users.
pub(super) struct LentSession {
    opener: Opener,
    /// The session in use.
    current: Mutex<Session>,
    /// Held while another one is opened in its place.
    renewal: tokio::sync::Mutex<()>,
    /// Whether it was used before it was lent.
    is_reused: bool,
    sharing: Sharing,
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
    /// The numbers of the places that nobody has.
    free: Mutex<Vec<usize>>,
    /// How many users have joined the first one, counting those that left.
    joined: AtomicUsize,
    _permit: Permit,
}

impl Lease {
    /// Lends a session of this opener. Others may join it if it has places for them, which it has if result sets have names.
    pub(super) fn new(
        opener: Opener,
        session: Session,
        is_reused: bool,
        sharing: Sharing,
        permit: Permit,
    ) -> Self {
        let options = session.server_info().options;
        let has_places =
            sharing == Sharing::WithOthers && options.contains(Options::NAMED_RESULT_SETS);
        let places = if has_places {
            session.max_in_progress()
        } else {
            1
        };
        let session = Arc::new(LentSession {
            opener,
            current: Mutex::new(session),
            renewal: tokio::sync::Mutex::default(),
            is_reused,
            sharing,
            places,
            is_pipelined: places > 1 && !options.contains(Options::CONCURRENT_OPERATIONS),
            has_tripped: AtomicBool::default(),
            hides_docids: AtomicBool::default(),
            gate: RwLock::default(),
            free: Mutex::new((1..places).rev().collect()),
            joined: AtomicUsize::default(),
            _permit: permit,
        });
        if places > 1 {
            session.opener.server.shared.offer(&session);
        }
        Self {
            session,
            place: 0,
            result_set: DEFAULT_RESULT_SET.into(),
        }
    }

    /// A place in a session with these options, if one is free.
    pub(super) fn join(session: Arc<LentSession>, key: &Key) -> Option<Self> {
        if session.opener.key != *key {
            return None;
        }
        let place = lock(&session.free).pop()?;
        session.joined.fetch_add(1, Ordering::AcqRel);
        Some(Self {
            result_set: match place {
                0 => DEFAULT_RESULT_SET.into(),
                number => number.to_string().as_str().into(),
            },
            session,
            place,
        })
    }

    /// The session in use. The handle must not outlive the lease.
    pub fn session(&self) -> Session {
        self.session.current()
    }

    /// The name of the result set that belongs to this user.
    pub fn result_set(&self) -> &InternationalString {
        &self.result_set
    }

    /// Makes a request while no other user makes one. If the session was lost, for instance dropped by the server while idle, and
    /// `repeat` allows it, the request is made again in a new session, up to four times. The handle passed to `request` must not
    /// outlive the lease.
    ///
    /// # Errors
    /// Those of the last request, or of opening the session for it.
    pub async fn run<T, F>(
        &self,
        repeat: Repeat,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let turn = LentRequest::begin(&self.session, true).await;
        turn.carry_out(self.session(), Some(repeat), request).await
    }

    /// Makes a request that changes nothing outside of the own result set: repeated after any loss if the server has answered others,
    /// but otherwise only if nothing was sent, since the request may be what the server fails at. After a second loss it is repeated
    /// while no other user makes a request, so that only its own can end the session.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub async fn read<T, F>(&self, request: impl Fn(Session) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let is_alone = self.session.sharing == Sharing::Alone
            || self.session.has_tripped.load(Ordering::Acquire);
        self.read_when(is_alone, request).await
    }

    async fn read_when<T, F>(
        &self,
        is_alone: bool,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let turn = LentRequest::begin(&self.session, is_alone).await;
        let session = self.session.open().await?;
        turn.carry_out(session, None, request).await
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
        let LentSession {
            places,
            is_pipelined,
            hides_docids,
            ..
        } = &*self.session;
        // Pipelined requests are answered in order, so only numbers that records usually contain are worth another request.
        let is_checked = *places > 1 && !(is_of_docid && *is_pipelined);
        if is_checked && is_of_docid && hides_docids.load(Ordering::Acquire) {
            return self.read_when(true, request).await;
        }
        // Without other users, the answer can be to no other request.
        let joined = || self.session.joined.load(Ordering::Acquire);
        let (had_others, before) = (lock(&self.session.free).len() + 1 < *places, joined());
        let found = self.read(&request).await?;
        let is_sole = !had_others && joined() == before;
        if !is_checked || is_sole || !is_foreign(&found) {
            return Ok(found);
        }
        let again = self.read_when(true, &request).await?;
        if !is_foreign(&again) {
            self.session.distrust();
        } else if is_of_docid {
            hides_docids.store(true, Ordering::Release);
        }
        Ok(again)
    }

    /// Returns the session that replaces a lost one, for all its users and while it is lent: see
    /// [`PagerOptions::reconnect`](crate::pager::PagerOptions::reconnect).
    pub fn reconnect(&self) -> Arc<dyn Reconnect> {
        Arc::new(Replacement(Arc::downgrade(&self.session)))
    }

    /// Whether the session was used before it was lent, so that the server may have dropped it meanwhile.
    pub fn is_reused(&self) -> bool {
        self.session.is_reused
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock(&self.session.free).push(self.place);
        self.session.opener.server.shared.notify();
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("endpoint", &self.session.opener.key.endpoint)
            .field("result_set", &self.result_set)
            .field("is_reused", &self.session.is_reused)
            .finish_non_exhaustive()
    }
}

impl LentSession {
    fn current(&self) -> Session {
        lock(&self.current).clone()
    }

    /// The session in use; opens another if it has ended.
    async fn open(&self) -> Result<Session, Error> {
        let session = self.current();
        if session.is_open() {
            return Ok(session);
        }
        self.other_than(&session).await
    }

    /// The session in place of a lost one; opens it unless another user has, or that has ended too.
    async fn other_than(&self, lost: &Session) -> Result<Session, Error> {
        let _renewal = self.renewal.lock().await;
        let session = self.current();
        if session.is_open() && !session.is_same(lost) {
            return Ok(session);
        }
        let session = self.opener.open().await?;
        *lock(&self.current) = session.clone();
        Ok(session)
    }

    /// Makes requests one at a time from now on, because the server confuses them.
    fn distrust(&self) {
        if !self.has_tripped.swap(true, Ordering::AcqRel) {
            tracing::warn!("the server confuses requests in progress; sending one at a time");
        }
    }
}

impl Drop for LentSession {
    fn drop(&mut self) {
        if let Ok(session) = self.current.get_mut()
            && session.is_at_rest()
        {
            self.opener.keep(session.clone());
        }
    }
}

/// The replacement of a lost session, as long as that is lent.
struct Replacement(Weak<LentSession>);

impl Reconnect for Replacement {
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(async {
            let session = self.0.upgrade().ok_or(Error::Ended { cause: None })?;
            session.open().await
        })
    }
}

/// A request of a user, which keeps those that have to be alone from beginning.
struct LentRequest<'a> {
    session: &'a LentSession,
    together: Option<RwLockReadGuard<'a, ()>>,
    /// Held to be alone.
    alone: Option<RwLockWriteGuard<'a, ()>>,
    losses: usize,
    /// Whether its own answer was wrong.
    has_failed_alone: bool,
}

impl<'a> LentRequest<'a> {
    async fn begin(session: &'a LentSession, is_alone: bool) -> Self {
        let mut request = Self {
            session,
            together: None,
            alone: None,
            losses: 0,
            has_failed_alone: false,
        };
        if is_alone {
            request.alone = Some(session.gate.write().await);
        } else {
            request.together = Some(session.gate.read().await);
        }
        request
    }

    /// Makes a request, and again after the session was lost if `repeat` allows it. Without `repeat`, a request that changes nothing
    /// is repeated after any loss if the server has answered others, so that the request is not what it fails at.
    async fn carry_out<T, F>(
        mut self,
        mut session: Session,
        repeat: Option<Repeat>,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let server: &Server = &self.session.opener.server;
        let mut repeats = 0;
        loop {
            let error = match request(session.clone()).await {
                Ok(found) => {
                    server.note_answer();
                    return Ok(found);
                }
                Err(error) => error,
            };
            let default = if repeats > 0 || server.has_answered() {
                Repeat::IfLost
            } else {
                Repeat::IfUnsent
            };
            let allowed = repeat.unwrap_or(default).allows(&error);
            if repeats == MAX_REPEATS || !(allowed || self.is_by_others(&error)) {
                return Err(error);
            }
            repeats += 1;
            tracing::info!(%error, "session lost, opening another");
            session = self.replace(&session, &error).await?;
        }
    }

    /// Whether this error may come from a request of another user.
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

    /// The session in place of one that was lost with this error.
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
