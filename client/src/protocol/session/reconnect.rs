//! Sessions opened again after the server dropped them: once, and never in the middle of a change.
//! RFC 2056 §3 leaves it to the client how long a session lasts; many servers end idle ones without a word.

use super::Session;
use crate::error::Error;
use crate::transport::BoxFuture;

/// Opens a session like the one that was lost.
///
/// A closure that returns a boxed future of a session is one.
pub trait Reconnect: Send + Sync {
    /// Another session with the same server, opened with the same options.
    ///
    /// # Errors
    /// Those of [`Session::connect`].
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>>;
}

impl<F> Reconnect for F
where
    F: Fn() -> BoxFuture<'static, Result<Session, Error>> + Send + Sync,
{
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>> {
        self()
    }
}

/// When a request may be made again on another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// Only if nothing of it was sent, as for everything that changes something: updates, orders, deletions.
    IfUnsent,
    /// Also if the connection was lost before the answer came. Result sets of the lost session are gone.
    IfLost,
}

impl Repeat {
    /// Whether a request that failed so may be made again.
    pub fn allows(self, error: &Error) -> bool {
        let is_unsent = matches!(error, Error::Ended { .. });
        error.is_connection_lost() && (is_unsent || self == Self::IfLost)
    }
}
