//! When to repeat a request in a new session, and how to open one.

use std::fmt;

use super::Session;
use crate::error::Error;
use crate::transport::connect::BoxFuture;

/// Opens a replacement for a lost session.
pub trait Reconnect: Send + Sync {
    /// Opens a new session with the same server and options.
    ///
    /// # Errors
    /// The errors of [`Session::connect`].
    fn reconnect(&self) -> BoxFuture<'_, Result<Session, Error>>;
}

impl fmt::Debug for dyn Reconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reconnect")
    }
}

/// When to repeat a request in a new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// Repeat it only if no part of it was sent: for requests that change something, such as updates, orders and deletions.
    IfUnsent,
    /// Repeat it also if the connection was lost before the answer. The result sets of the lost session are gone.
    IfLost,
}

impl Repeat {
    /// Returns whether to repeat a request that failed with this error.
    pub fn allows(self, error: &Error) -> bool {
        let is_unsent = matches!(error, Error::Ended { .. });
        error.is_connection_lost() && (is_unsent || self == Self::IfLost)
    }
}
