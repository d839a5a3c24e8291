//! The session of a search, leased by the pool or already open, and the result set found in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use z3950_asn1::apdu::DiagRec;
use z3950_asn1::types::InternationalString;

use super::wanted::SearchTarget;
use crate::client::Client;
use crate::connection::inner::{Inner, Name};
use crate::error::Error;
use crate::lookup::{Identifier, Kind, has_identifier};
use crate::pool::Lease;
use crate::protocol::pager::Pager;
use crate::protocol::service::ResultRecord;
use crate::protocol::session::{Reconnect, Repeat, Session};
use crate::transport::timeouts::Limit;

/// The lender of the session for a search.
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
    /// Lends a session with a target: the target's own open session if it has one, or a session from the lender.
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
    /// Returns the time limit for a search that begins now. A connection enforces its limit itself.
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

    /// Returns the function to reconnect if the session is lost; `None` if the session cannot be replaced.
    pub(super) fn reconnect(&self) -> Option<Arc<dyn Reconnect>> {
        match self {
            Self::Pool(lease) => Some(lease.reconnect()),
            Self::Connection(connection, _) => Some(Arc::clone(&connection.reconnect)),
            Self::Open(..) => None,
        }
    }

    /// Makes a request that changes nothing. If the server has dropped a session of the pool, the request is repeated
    /// in a new session. If a record lacks the identifier that is looked up, the server may have confused referenceIds
    /// and sent the answer to another user's request, so the request is repeated while no other user makes one.
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
                let mut turn = name.turn().await;
                turn.take();
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

    /// Returns whether one of the records does not contain the identifier by which it was found.
    fn lacks(&self, identifier: &Identifier) -> bool {
        self.records.iter().any(|record| match record {
            ResultRecord::Record { external, .. } => !has_identifier(external, identifier),
            ResultRecord::Diagnostic { .. } => false,
        })
    }
}

/// The session and the result set of a query. The receiver of the events may give them up before the records are read.
#[derive(Default)]
pub(super) struct HeldSet(Mutex<Option<Box<(FoundSet, LeasedSession)>>>);

impl HeldSet {
    /// Stores a set and its session. The set is dropped before the session, because it is the first part of the pair.
    pub(super) fn hold(&self, held: (FoundSet, LeasedSession)) {
        *self.lock() = Some(Box::new(held));
    }

    /// Takes the set and its session; `None` if they were given up.
    pub(super) fn take(&self) -> Option<(FoundSet, LeasedSession)> {
        self.lock().take().map(|held| *held)
    }

    /// Returns the session to the pool by dropping the set.
    pub(super) fn let_go(&self) {
        self.lock().take();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<(FoundSet, LeasedSession)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
