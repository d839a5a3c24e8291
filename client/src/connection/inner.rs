//! The state that a connection and its result sets share: the target, the leased session, and the names of result sets
//! (Z39.50-2003 §3.2.2.1.4). On servers that support named result sets, each set has its own name. On other servers,
//! all sets share the name `default`, and only one set can be used at a time.

use std::sync::{self, Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;
use z3950_asn1::apdu::Options;
use z3950_asn1::types::InternationalString;

use crate::error::{Error, Phase};
use crate::plan::PlanOptions;
use crate::pool::Lease;
use crate::protocol::service::init::ServerInfo;
use crate::protocol::service::{DEFAULT_RESULT_SET, ResultRecord};
use crate::protocol::session::{Reconnect, Repeat, Session};
use crate::record::Record;
use crate::target::profile::Resolved;
use crate::transport::timeouts::Limit;

/// The state that a connection and its result sets share. The session returns to the client's pool when the last
/// reference to the state is dropped.
#[derive(Clone)]
pub(crate) struct Inner {
    pub(super) plan: Arc<PlanOptions>,
    pub(crate) target: Arc<Resolved>,
    pub(crate) names: Arc<Names>,
    pub(crate) reconnect: Arc<dyn Reconnect>,
    /// A token that is cancelled when the connection is closed.
    closing: CancellationToken,
    /// The limit for each call made through this handle or its result sets.
    limit: Option<Duration>,
    /// The lease of the session; `None` after the connection is closed.
    lease: Arc<Mutex<Option<Lease>>>,
}

impl Inner {
    pub(super) fn new(
        plan: PlanOptions,
        target: Resolved,
        lease: Lease,
        limit: Option<Duration>,
    ) -> Self {
        Self {
            plan: Arc::new(plan),
            target: Arc::new(target),
            names: Arc::new(Names::new(lease.session().server_info())),
            reconnect: lease.reconnect(),
            closing: CancellationToken::new(),
            limit,
            lease: Arc::new(Mutex::new(Some(lease))),
        }
    }

    /// Returns the same state with a different limit for calls.
    pub(super) fn within(&self, limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..self.clone()
        }
    }

    /// Returns whether both states belong to the same connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lease, &other.lease)
    }

    /// Makes a request after all earlier requests have ended; see [`Lease::run`].
    ///
    /// # Errors
    /// The errors of [`Lease::run`], and of [`until_closed`](Self::until_closed).
    pub(crate) async fn run<T, F>(
        &self,
        repeat: Repeat,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        // Without the box, creating each enclosing future would copy thousands of octets.
        let work = Box::pin(self.run_now(repeat, request));
        self.until_closed(work).await
    }

    /// Makes a request like [`run`](Self::run), but without a time limit, and continues even if the connection is
    /// closed. Callers must pass the returned future to [`until_closed`](Self::until_closed).
    pub(super) async fn run_now<T, F>(
        &self,
        repeat: Repeat,
        request: impl Fn(Session) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let lease = self.lease.lock().await;
        let lease = lease.as_ref().ok_or_else(closed)?;
        lease.run(repeat, request).await
    }

    /// Runs work in the connection's session or its replacement, within the limit for a call.
    ///
    /// # Errors
    /// The errors from the work; [`Error::Ended`] if the connection is closed before the work has ended; an error in phase
    /// Call if the limit is reached.
    pub(crate) async fn until_closed<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let work = self.closing.run_until_cancelled(work);
        let limit = self.limit.map_or_else(Limit::none, Limit::within);
        let ended = limit.hold(Phase::Call, work).await?;
        ended.unwrap_or_else(|| Err(closed()))
    }

    /// Returns the session in use; `None` after the connection is closed.
    pub(crate) async fn session(&self) -> Option<Session> {
        Some(self.lease.lock().await.as_ref()?.session())
    }

    /// Cancels the requests in progress, closes the session, and frees its place in the client's pool.
    ///
    /// # Errors
    /// The errors of [`Session::close`].
    pub(super) async fn close(&self) -> Result<(), Error> {
        self.closing.cancel();
        let lease = self.lease.lock().await.take();
        match lease {
            Some(lease) => lease.session().close().await,
            None => Ok(()),
        }
    }

    /// Converts the record received for this 1-based position. It is decoded with the character set in the profile.
    ///
    /// # Errors
    /// [`Error::Refused`] with the diagnostic in place of the record.
    pub(crate) fn record(&self, record: ResultRecord, position: u64) -> Result<Record, Error> {
        let record = Record::of(record, Some(position))?;
        Ok(record.with_charset(self.target.profile.record_charset))
    }
}

/// Returns the error for a request to a connection that has been closed.
fn closed() -> Error {
    Error::Ended { cause: None }
}

/// The names of the result sets of a connection.
#[derive(Debug)]
pub(crate) struct Names {
    /// Whether the server supports named result sets.
    is_named: bool,
    numbers: sync::Mutex<Numbers>,
    /// The number of the set that is currently called `default`, for servers on which this is the only name.
    holder: Arc<Mutex<Option<u64>>>,
}

#[derive(Debug, Default)]
struct Numbers {
    /// The numbers that can be used again, because a new set replaces an old set with the same name.
    free: Vec<u64>,
    next: u64,
}

/// The name of one result set. After it is dropped, another set can have the name.
#[derive(Debug)]
pub(crate) struct Name {
    names: Arc<Names>,
    number: u64,
}

/// The exclusive right to use a result set. While it exists, no other result set with the same name is used.
#[derive(Debug)]
pub(crate) struct NameGuard {
    number: u64,
    /// The lock for the shared name `default`; `None` for a set with its own name.
    holder: Option<OwnedMutexGuard<Option<u64>>>,
}

impl Names {
    pub(crate) fn new(server: &ServerInfo) -> Self {
        Self {
            is_named: server.options.contains(Options::NAMED_RESULT_SETS),
            numbers: sync::Mutex::default(),
            holder: Arc::default(),
        }
    }

    /// Takes a name that no other result set uses.
    pub(crate) fn take(self: &Arc<Self>) -> Name {
        let mut numbers = self.numbers();
        // If all result sets share the name `default`, numbers are never reused, because only the number tells a set from earlier ones.
        let free = if self.is_named {
            numbers.free.pop()
        } else {
            None
        };
        let number = free.unwrap_or_else(|| {
            numbers.next += 1;
            numbers.next
        });
        Name {
            names: Arc::clone(self),
            number,
        }
    }

    fn numbers(&self) -> sync::MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Name {
    /// Returns the name of the result set on the server.
    pub(crate) fn name(&self) -> InternationalString {
        if self.names.is_named {
            self.number.to_string().as_str().into()
        } else {
            DEFAULT_RESULT_SET.into()
        }
    }

    /// Waits until no other result set with the same name is in use.
    pub(crate) async fn lock(&self) -> NameGuard {
        NameGuard {
            number: self.number,
            holder: if self.names.is_named {
                None
            } else {
                Some(Arc::clone(&self.names.holder).lock_owned().await)
            },
        }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if self.names.is_named {
            self.names.numbers().free.push(self.number);
        }
    }
}

impl NameGuard {
    /// Returns whether another set has replaced this set on the server, so that its search has to be repeated.
    pub(crate) fn is_taken(&self) -> bool {
        let holder = self.holder.as_deref();
        holder.is_some_and(|holder| *holder != Some(self.number))
    }

    /// Records that this set now has the shared name `default` on the server.
    pub(crate) fn take(&mut self) {
        if let Some(holder) = self.holder.as_deref_mut() {
            *holder = Some(self.number);
        }
    }
}
