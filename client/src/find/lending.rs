//! The session in which a search is made, lent by the pool or already open, and the result set found in it.

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

/// What lends sessions.
#[derive(Clone, Copy)]
pub(crate) enum Lender<'a> {
    Client(&'a Client),
    /// A connection; only for identifiers, whose records are read in one request.
    Connection(&'a Arc<Inner>),
}

/// A session lent for one search at a time.
pub(super) enum Lent {
    /// A place in a session of the client's pool.
    Pool(Lease),
    /// The session of a connection, with a name that no other result set has.
    Connection(Arc<Inner>, Name),
    /// A session that somebody else opened and reopens if it is lost.
    Open(Session, InternationalString),
}

impl Lender<'_> {
    /// Lends a session with a target, unless the target has a session of its own.
    ///
    /// # Errors
    /// The errors of [`Client::share`].
    pub(super) async fn lend(self, place: &SearchTarget) -> Result<Lent, Error> {
        if let Some((session, name)) = &place.session {
            return Ok(Lent::Open(session.clone(), name.clone()));
        }
        match self {
            Self::Client(client) => {
                let lease = Box::pin(client.share(&place.target, place.init.clone()));
                Ok(Lent::Pool(lease.await?))
            }
            Self::Connection(connection) => {
                let name = connection.names.take();
                Ok(Lent::Connection(Arc::clone(connection), name))
            }
        }
    }
}

impl Lent {
    /// Returns the name for a result set.
    pub(super) fn result_set(&self) -> InternationalString {
        match self {
            Self::Pool(lease) => lease.result_set().clone(),
            Self::Connection(_, name) => name.name(),
            Self::Open(_, name) => name.clone(),
        }
    }

    /// Returns how to reconnect if the session is lost.
    pub(super) fn reconnect(&self) -> Option<Arc<dyn Reconnect>> {
        match self {
            Self::Pool(lease) => Some(lease.reconnect()),
            Self::Connection(connection, _) => Some(Arc::clone(&connection.reconnect)),
            Self::Open(..) => None,
        }
    }

    /// Makes a request that changes nothing. If the server has dropped a session of the pool, the request is repeated in a new
    /// session. If the record lacks the identifier that is looked up, it may be the answer to another user's request, sent by a
    /// server that confuses referenceIds: then the request is repeated while no other user makes one.
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
            (Self::Pool(lease), None) => lease.read(request).await,
            (Self::Pool(lease), Some(identifier)) => {
                let is_of_docid = identifier.kind == Kind::Docid;
                let is_foreign = |set: &FoundSet| set.lacks(identifier);
                lease.read_own(is_of_docid, is_foreign, request).await
            }
        }
    }
}

/// A result set, with the records read so far.
pub(super) struct FoundSet {
    /// The pager, boxed because several futures have room for a set.
    pub(super) pager: Box<Pager>,
    pub(super) records: Vec<ResultRecord>,
    /// The reason why there are no further records.
    pub(super) failure: Option<Error>,
    /// The reason why the set is not sorted.
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

    /// Returns whether one of the records lacks the identifier by which it was found.
    fn lacks(&self, identifier: &Identifier) -> bool {
        self.records.iter().any(|record| match record {
            ResultRecord::Record { external, .. } => !has_identifier(external, identifier),
            ResultRecord::Diagnostic { .. } => false,
        })
    }
}

/// The session and the result set of a query, which the reader of events may give back before reading records.
#[derive(Default)]
pub(super) struct HeldSet(Mutex<Option<Box<(FoundSet, Lent)>>>);

impl HeldSet {
    /// Holds a set. The set is dropped before its session, since it comes first in the pair.
    pub(super) fn hold(&self, held: (FoundSet, Lent)) {
        *self.lock() = Some(Box::new(held));
    }

    /// Takes the set, unless it was given back.
    pub(super) fn take(&self) -> Option<(FoundSet, Lent)> {
        self.lock().take().map(|held| *held)
    }

    /// Gives the session back by dropping the set.
    pub(super) fn let_go(&self) {
        self.lock().take();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<(FoundSet, Lent)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
