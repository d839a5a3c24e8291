//! A leased session. It has one user or, if several requests may be in progress, as many users as requests. Several
//! requests may be in progress if the server performs them concurrently (concurrentOperations, Z39.50-2003 §3.5), or if
//! the client sends requests before earlier ones are answered. Each user has a separate result set.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use super::opener::Opener;
use super::{Key, Permit, SessionDemand, Sharing, lock};
use crate::error::{Cause, Error};
use crate::protocol::service::DEFAULT_RESULT_SET;
use crate::protocol::session::{Reconnect, Repeat, Session};
use crate::transport::connect::BoxFuture;

/// The maximum number of sessions that may be lost during one request, for whatever reason.
const MAX_LOSSES: usize = 4;

/// The right to use a session. When its last user drops it, the session returns to the pool. It is closed instead if it
/// has ended, if another handle to it exists, or if one of its requests has not been answered.
pub struct Lease {
    session: Arc<LentSession>,
    /// The number of the user's place in the session. The first user has place 0.
    place: usize,
    result_set: InternationalString,
}

/// A leased session and its users.
pub(super) struct LentSession {
    opener: Opener,
    /// The session in use, which may have replaced a lost one.
    current: Mutex<Session>,
    /// The lock that is held while a session is opened to replace a lost one.
    renewal: tokio::sync::Mutex<()>,
    /// Whether the session had been used before it was leased.
    is_reused: bool,
    sharing: Sharing,
    /// The maximum number of users at the same time.
    places: usize,
    /// Whether requests are sent before earlier ones are answered, although the server does not perform operations
    /// concurrently.
    is_pipelined: bool,
    /// Whether the server has given wrong answers while several requests were in progress, so that only one request is
    /// made at a time.
    has_tripped: AtomicBool,
    /// Whether the server's records lack the docid by which they were found, so that a record returned for another
    /// request cannot be recognised.
    hides_docids: AtomicBool,
    /// The lock that is held for reading by requests that may be made concurrently, and for writing by a request that
    /// must be made alone.
    gate: RwLock<()>,
    /// The numbers of the free places.
    free: Mutex<Vec<usize>>,
    /// The number of users that have joined since the lease began, including those that have left.
    joined: AtomicUsize,
    _permit: Permit,
}

impl Lease {
    /// Leases a session that the opener has opened. If the session has places for more users, which requires named
    /// result sets, other users may join.
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

    /// Joins a session as another user. Returns `None` if the session was opened with options other than those in
    /// `key`, if it runs in another runtime, or if no place in it is free.
    pub(super) fn join(session: Arc<LentSession>, key: &Key) -> Option<Self> {
        // A session in another runtime is not joined, because that runtime may end at any moment.
        if session.opener.key != *key || !session.current().is_in_runtime() {
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

    /// Returns the session in use. The returned handle must be dropped before the lease.
    pub fn session(&self) -> Session {
        self.session.current()
    }

    /// Returns the name of this user's result set.
    pub fn result_set(&self) -> &InternationalString {
        &self.result_set
    }

    /// Makes a request while no other user makes one.
    ///
    /// If the session is lost, for example because the server closed it while it was idle, and `repeat` allows it, the
    /// request is repeated in a new session up to [`SessionOptions::max_repeats`] times. By default, it is repeated
    /// once, and only if the server had answered other requests in the lost session, because otherwise the request
    /// itself may be the reason for the loss. If nothing was sent, the request is always made in a new session. The
    /// handle passed to `request` must be dropped before the lease.
    ///
    /// [`SessionOptions::max_repeats`]: crate::SessionOptions::max_repeats
    ///
    /// # Errors
    /// The error from the last request, or from opening a session for it.
    pub async fn run<T, F>(
        &self,
        repeat: Repeat,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let turn = LentRequest::begin(&self.session, true).await;
        turn.carry_out(self.session(), repeat, request).await
    }

    /// Makes a request that changes nothing except the user's own result set. If the session is lost, the request is
    /// repeated as in [`run`](Self::run), and also if other users made requests in the lost session. The last attempt,
    /// and any attempt after a second loss, is made while no other user makes a request, so that no other request can
    /// end the session.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
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
        turn.carry_out(session, Repeat::IfLost, request).await
    }

    /// Makes a request whose record should contain certain data. `is_foreign` returns whether the record lacks the
    /// data. If so, the request is repeated while no other user makes one, because a server that confuses referenceIds
    /// may have returned the record for another user's request. If the record still lacks its docid, all later requests
    /// for docids are made alone.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
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
        // In a shared session, a request is repeated if its answer lacks the number that was looked up. Records often
        // lack their docid, so docids are not checked if requests are pipelined, in which case the server answers them
        // in order.
        let is_checked = *places > 1 && !(is_of_docid && *is_pipelined);
        if is_checked && is_of_docid && hides_docids.load(Ordering::Acquire) {
            return self.read_when(true, request).await;
        }
        // If the session had no other users, the answer cannot belong to another user's request.
        let joined = || self.session.joined.load(Ordering::Acquire);
        let (had_others, before) = (self.session.is_crowded(), joined());
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

    /// Returns an object that replaces a lost session for all its users as long as the lease exists; see
    /// [`PagerOptions::reconnect`](crate::pager::PagerOptions::reconnect).
    pub fn reconnect(&self) -> Arc<dyn Reconnect> {
        Arc::new(Replacement(Arc::downgrade(&self.session)))
    }

    /// Returns whether the session has other users, so that dropping the lease would not free the session.
    pub(crate) fn has_others(&self) -> bool {
        self.session.is_crowded()
    }

    /// Returns the demand for sessions with the server.
    pub(crate) fn demand(&self) -> SessionDemand {
        SessionDemand(Arc::clone(&self.session.opener.server))
    }

    /// Returns whether the session had been used before it was leased, so that the server may have closed it since
    /// then.
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

    /// Returns the session, or opens another session if it has ended.
    async fn open(&self) -> Result<Session, Error> {
        let session = self.current();
        if session.is_open() {
            return Ok(session);
        }
        self.other_than(&session).await
    }

    /// Returns the session that replaces a lost one. A new session is opened, unless another user has already opened
    /// one that is still open. The new session runs in the caller's runtime, so it does not end with another runtime.
    async fn other_than(&self, lost: &Session) -> Result<Session, Error> {
        let _renewal = self.renewal.lock().await;
        let session = self.current();
        if session.is_open() && session.is_in_runtime() && !session.is_same(lost) {
            return Ok(session);
        }
        let session = self.opener.open().await?;
        *lock(&self.current) = session.clone();
        Ok(session)
    }

    /// Returns whether the session has more than one user.
    fn is_crowded(&self) -> bool {
        lock(&self.free).len() + 1 < self.places
    }

    /// Makes requests one at a time from now on, because the server confuses the answers to several requests.
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

/// Replaces a lost session, as long as its lease exists.
struct Replacement(Weak<LentSession>);

impl Reconnect for Replacement {
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        Box::pin(async {
            let lent = self.0.upgrade().ok_or(Error::Ended { cause: None })?;
            let session = lent.current();
            if session.is_open() && session.is_in_runtime() {
                return Ok(session);
            }
            lent.other_than(&session).await
        })
    }
}

/// A user's request. While this value exists, no request that must be made alone can begin.
struct LentRequest<'a> {
    session: &'a LentSession,
    together: Option<RwLockReadGuard<'a, ()>>,
    /// The lock that is held if the request is made alone.
    alone: Option<RwLockWriteGuard<'a, ()>>,
    losses: usize,
    /// The number of times that the request was sent again after the server had ended the session.
    repeats: usize,
    /// Whether the request has failed although it was made alone.
    has_failed_alone: bool,
}

impl<'a> LentRequest<'a> {
    async fn begin(session: &'a LentSession, is_alone: bool) -> Self {
        let mut request = Self {
            session,
            together: None,
            alone: None,
            losses: 0,
            repeats: 0,
            has_failed_alone: false,
        };
        if is_alone {
            request.alone = Some(session.gate.write().await);
        } else {
            request.together = Some(session.gate.read().await);
        }
        request
    }

    /// Makes a request, and repeats it in a new session if the session is lost, `repeat` allows it, and the request is
    /// probably not the reason for the loss.
    async fn carry_out<T, F>(
        mut self,
        mut session: Session,
        repeat: Repeat,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        loop {
            let was_used = session.has_answered();
            let error = match request(session.clone()).await {
                Ok(found) => {
                    self.session.opener.server.note_answer();
                    return Ok(found);
                }
                Err(error) => error,
            };
            let is_sole = self.alone.is_some() || !self.session.is_crowded();
            if is_sole && !self.session.current().is_same(&session) {
                // The request has already replaced the session and was repeated in the new session, which counts as a repeat.
                self.repeats += 1;
            }
            let is_repeated =
                self.is_by_others(&error) || self.is_by_server(&error, repeat, was_used);
            if self.losses == MAX_LOSSES || !is_repeated {
                return Err(error);
            }
            tracing::info!(%error, "session lost, opening another");
            session = self.replace(&session, &error).await?;
        }
    }

    /// Returns whether to repeat a request that failed with this error, because the server probably ended the session
    /// for a reason other than the request. If so, counts the repetition. `was_used` says whether the server had
    /// answered other requests in the session.
    fn is_by_server(&mut self, error: &Error, repeat: Repeat, was_used: bool) -> bool {
        if !repeat.allows(error) {
            return false;
        }
        if error.is_not_by_request() {
            return true;
        }
        let opener = &self.session.opener;
        // Over SRU, the HTTP client already sends a request again if its connection was lost, so one repeat fewer is
        // allowed here.
        let is_sent_again = usize::from(opener.key.endpoint.is_sru());
        let max = opener.max_repeats().saturating_sub(is_sent_again);
        // A caller who allows several repeats makes many requests, so a server that has answered any of them is known to work.
        let is_known = max > 1 && (self.repeats > 0 || opener.server.has_answered());
        let is_allowed =
            was_used || is_known || (self.alone.is_none() && self.session.is_crowded());
        if !is_allowed || self.repeats >= max {
            return false;
        }
        self.repeats += 1;
        true
    }

    /// Returns whether this error may have been caused by another user's request.
    fn is_by_others(&self, error: &Error) -> bool {
        match error {
            // Earlier answers may have put the shared session out of sync, so the request is repeated in a new session.
            Error::ProtocolError { fault, .. } if self.session.places > 1 => {
                !self.has_failed_alone && fault.is_of_answer()
            }
            _ if self.alone.is_some() => false,
            Error::Ended { .. } => true,
            Error::Unavailable { cause, .. } => match cause {
                Cause::AnotherAnswer(_) => true,
                // In a pipelined session, a missing answer to an earlier request delays all later answers.
                Cause::Timeout(_) => self.session.is_pipelined,
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns a session to replace the session that was lost with this error.
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
        // The answer may belong to another request, so the request is repeated alone. Any answer then belongs to this
        // request.
        let is_suspect = matches!(
            error,
            Error::Unavailable {
                cause: Cause::AnotherAnswer(_),
                ..
            }
        );
        let is_last = self.repeats >= self.session.opener.max_repeats() || self.losses > 1;
        let has_to = is_pipelined || is_suspect || error.is_of_reference_id() || is_last;
        if has_to && self.alone.is_none() {
            self.together = None;
            self.alone = Some(self.session.gate.write().await);
        }
        self.session.other_than(lost).await
    }
}
