//! The session for a search, which is leased from the pool or already open, and the result set found in it.

use std::future::pending;
use std::iter::{from_fn, once};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::sleep;
use z3950_asn1::apdu::DiagRec;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::wanted::SearchTarget;
use crate::client::Client;
use crate::connection::inner::{Inner, Name};
use crate::error::Error;
use crate::lookup::{Identifier, Kind, has_identifier};
use crate::pool::{Lease, SessionDemand};
use crate::protocol::pager::{Cursor, Pager};
use crate::protocol::service::ResultRecord;
use crate::protocol::session::{Reconnect, Repeat, Session};
use crate::transport::timeouts::Limit;

/// The source from which a search leases its session.
#[derive(Clone, Copy)]
pub(crate) enum Lender<'a> {
    Client(&'a Client),
    /// A connection, used only for lookups of identifiers, because their records are read in a single request.
    Connection(&'a Arc<Inner>),
}

/// A session that is leased for one search at a time.
pub(super) enum LeasedSession {
    /// A share of a session from the client's pool.
    Pool(Lease),
    /// The session of a connection, with a name that no other result set uses.
    Connection(Arc<Inner>, Name),
    /// An open session, which the caller reopens if it is lost, and the name for the result set.
    Open(Session, InternationalString),
}

impl Lender<'_> {
    /// Returns the open session in `place`, if there is one. Otherwise, leases a session with the target from this
    /// source.
    ///
    /// # Errors
    /// The errors of [`Client::share`].
    pub(super) async fn lend(self, place: &SearchTarget) -> Result<LeasedSession, Error> {
        if let Some((session, name)) = &place.session {
            return Ok(LeasedSession::Open(session.clone(), name.clone()));
        }
        match self {
            Self::Client(client) => {
                let lease = Box::pin(client.share(&place.target, place.init.clone()));
                Ok(LeasedSession::Pool(lease.await?))
            }
            Self::Connection(connection) => {
                let name = connection.names.take();
                Ok(LeasedSession::Connection(Arc::clone(connection), name))
            }
        }
    }
}

impl Lender<'_> {
    /// Returns the time limit for a search that begins now. For a connection, this is no limit, because the connection
    /// enforces its own.
    pub(super) fn to_search(self) -> Limit {
        match self {
            Self::Client(client) => client.options().timeouts.to_call(),
            Self::Connection(_) => Limit::none(),
        }
    }
}

impl LeasedSession {
    /// Returns the name for a result set.
    pub(super) fn result_set(&self) -> InternationalString {
        match self {
            Self::Pool(lease) => lease.result_set().clone(),
            Self::Connection(_, name) => name.name(),
            Self::Open(_, name) => name.clone(),
        }
    }

    /// Returns the means to reconnect if the session is lost; `None` if the session cannot be replaced.
    pub(super) fn reconnect(&self) -> Option<Arc<dyn Reconnect>> {
        match self {
            Self::Pool(lease) => Some(lease.reconnect()),
            Self::Connection(connection, _) => Some(Arc::clone(&connection.reconnect)),
            Self::Open(..) => None,
        }
    }

    /// Makes a request that changes nothing. If the server has dropped a session from the pool, the request is repeated
    /// in a new session. If a record lacks the identifier that is looked up, the server may have confused referenceIds
    /// and sent the response to another user's request. The request is then repeated at a time when no other user's
    /// request is in progress.
    pub(super) async fn read<F>(
        &self,
        identifier: Option<&Identifier>,
        request: impl Fn(Session) -> F,
    ) -> Result<FoundSet, Error>
    where
        F: Future<Output = Result<FoundSet, Error>>,
    {
        match (self, identifier) {
            (Self::Open(session, _), _) => request(session.clone()).await,
            (Self::Connection(connection, name), _) => {
                // A search also deletes the set that another user of this connection made with the same name.
                let mut guard = name.lock().await;
                guard.take();
                connection.run(Repeat::IfLost, request).await
            }
            // Without the boxes, this future would be twice as large, even if it searches over a connection.
            (Self::Pool(lease), None) => Box::pin(lease.read(request)).await,
            (Self::Pool(lease), Some(identifier)) => {
                let is_of_docid = identifier.kind == Kind::Docid;
                let is_foreign = |set: &FoundSet| set.lacks(identifier);
                Box::pin(lease.read_own(is_of_docid, is_foreign, request)).await
            }
        }
    }
}

/// A result set, with the records read so far.
pub(super) struct FoundSet {
    /// The pager. It is boxed because several futures contain a set, and would be large otherwise.
    pub(super) pager: Box<Pager>,
    pub(super) records: Vec<ResultRecord>,
    /// The reason why there are no further records.
    pub(super) failure: Option<Error>,
    /// The reason why the set could not be sorted.
    pub(super) unsorted: Option<Error>,
}

impl FoundSet {
    pub(super) fn count(&self) -> Option<u64> {
        self.pager.found().count()
    }

    /// Returns the diagnostic in place of the first record.
    pub(super) fn first_refused(&self) -> Option<&DiagRec> {
        match self.records.first()? {
            ResultRecord::Diagnostic { diagnostic, .. } => Some(diagnostic),
            ResultRecord::Record { .. } => None,
        }
    }

    /// Returns whether at least one of the records does not contain the identifier by which it was found.
    fn lacks(&self, identifier: &Identifier) -> bool {
        self.records.iter().any(|record| match record {
            ResultRecord::Record { external, .. } => !has_identifier(external, identifier),
            ResultRecord::Diagnostic { .. } => false,
        })
    }
}

/// The next records for a query: those that have been received, and the result set with the records after them.
pub(super) struct NextRecords {
    received: Vec<ResultRecord>,
    source: Option<Source>,
    /// The record syntax that was requested last.
    pub(super) record_syntax: Option<Oid>,
    /// The reason why there are no further records.
    pub(super) error: Option<Error>,
}

/// A result set from which further records are wanted. The pager is dropped before the lease, because a session returns to the pool
/// only after all other handles to it have been dropped.
struct Source {
    cursor: Cursor,
    pager: Box<Pager>,
    leased: LeasedSession,
}

impl NextRecords {
    /// Returns `count` records of a set from the 1-based position `start`. If all of them arrived with the response to the
    /// search, the session is released.
    pub(super) async fn new(set: FoundSet, leased: LeasedSession, start: u64, count: u64) -> Self {
        let pager = set.pager;
        let last = start.saturating_sub(1).saturating_add(count);
        let are_received = count == 0 || last <= pager.piggybacked();
        let mut next = Self {
            received: Vec::new(),
            record_syntax: pager.record_syntax(),
            error: None,
            source: Some(Source {
                cursor: Cursor::new(pager.found(), start, count),
                pager,
                leased,
            }),
        };
        if are_received {
            next.fetch().await;
        }
        next
    }

    /// Returns whether there are no further records.
    pub(super) fn is_empty(&self) -> bool {
        self.received.is_empty() && self.source.is_none()
    }

    /// Returns the records that have been received, or requests some if there are none.
    pub(super) async fn receive(&mut self) -> Vec<ResultRecord> {
        if self.received.is_empty() {
            self.fetch().await;
        }
        std::mem::take(&mut self.received)
    }

    /// Receives the records of one response. After the last record, releases the session.
    async fn fetch(&mut self) {
        let Some(Source { cursor, pager, .. }) = &mut self.source else {
            return;
        };
        match cursor.next(pager).await {
            Some(Ok(first)) => {
                let others = from_fn(|| cursor.buffered());
                self.received = once(first).chain(others).collect();
            }
            Some(Err(error)) => self.error = Some(error),
            None => {}
        }
        self.record_syntax = pager.record_syntax();
        if self.received.is_empty() || cursor.is_at_end() {
            self.source = None;
        }
    }
}

/// How long the reader of the events may take to continue before its session can be given to another user.
const PATIENCE: Duration = Duration::from_millis(500);

/// The next records for a query, which wait for the reader of the events, and the session from which they are read. The
/// reader can give the session up.
#[derive(Default)]
pub(super) struct HeldRecords(Mutex<HeldState>);

#[derive(Default)]
struct HeldState {
    records: Option<Box<NextRecords>>,
    /// Whether the reader has given the session up.
    is_released: bool,
}

impl HeldState {
    /// Returns the lease of the session, if the session belongs to the pool.
    fn lease(&self) -> Option<&Lease> {
        match &self.records.as_ref()?.source.as_ref()?.leased {
            LeasedSession::Pool(lease) => Some(lease),
            LeasedSession::Connection(..) | LeasedSession::Open(..) => None,
        }
    }
}

impl HeldRecords {
    pub(super) fn hold(&self, records: NextRecords) {
        *self.lock() = HeldState {
            records: Some(Box::new(records)),
            is_released: false,
        };
    }

    /// Takes the records, unless the session was given up.
    pub(super) fn take(&self) -> Option<NextRecords> {
        self.lock().records.take().map(|held| *held)
    }

    /// Gives the session up at the reader's request, and drops the records.
    pub(super) fn release(&self) {
        *self.lock() = HeldState {
            records: None,
            is_released: true,
        };
    }

    /// Returns whether the reader has given the session up.
    pub(super) fn is_released(&self) -> bool {
        self.lock().is_released
    }

    /// Waits until another user needs the session, and then gives it up. To continue afterwards, the search must be repeated,
    /// which costs a round trip, so the reader is given some time first.
    pub(super) async fn release_on_demand(&self) {
        let Some(demand) = self.demand() else {
            return pending().await;
        };
        sleep(PATIENCE).await;
        loop {
            demand.opened().await;
            let mut held = self.lock();
            let can_release = match held.lease() {
                None => true,
                // Others still use the session, so it cannot be promised to the waiting user yet. The last of them
                // promises it.
                Some(lease) if lease.has_others() => demand.is_open(),
                Some(_) => demand.promise(),
            };
            if can_release {
                held.records = None;
                return;
            }
        }
    }

    /// Returns the demand for the session, if the session belongs to the pool.
    fn demand(&self) -> Option<SessionDemand> {
        self.lock().lease().map(Lease::demand)
    }

    fn lock(&self) -> MutexGuard<'_, HeldState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
