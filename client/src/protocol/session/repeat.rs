//! The conditions for repeating a request in a new session, and the trait for opening that session.

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

/// The condition for repeating a request in a new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// Repeat the request only if no part of it was sent. Use this for requests that change something, such as updates,
    /// orders and deletions.
    IfUnsent,
    /// Repeat the request also if it was sent but the connection was lost before the answer arrived. The result sets of
    /// the lost session do not exist in the new one.
    IfLost,
}

impl Repeat {
    /// Returns whether to repeat a request that failed with this error.
    pub fn allows(self, error: &Error) -> bool {
        let is_unsent = matches!(error, Error::Ended { .. });
        error.is_connection_lost() && (is_unsent || self == Self::IfLost)
    }
}
