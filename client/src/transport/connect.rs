//! The traits of connectors, which take a host and a port and return a stream of octets.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

use super::timeouts::Timeouts;
use crate::error::{Cause, Error, Phase};
use crate::url::Host;

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stream of octets in both directions, such as a TCP connection.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A boxed [`ByteStream`] of any type.
pub type BoxStream = Box<dyn ByteStream>;

/// The future of a connection attempt.
pub type Connecting<'a> = BoxFuture<'a, Result<BoxStream, Error>>;

/// A connector, which opens a stream of octets to a host and port.
///
/// A connector with a fixed destination, such as [`Unix`](super::Unix), ignores host and port.
pub trait Connect: Send + Sync {
    /// Opens a stream to `host` within `timeouts.connect`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] in phase Resolve or Connect.
    fn connect<'a>(&'a self, host: &'a Host, port: u16, timeouts: &'a Timeouts) -> Connecting<'a>;
}

impl<C: Connect + ?Sized> Connect for Arc<C> {
    fn connect<'a>(&'a self, host: &'a Host, port: u16, timeouts: &'a Timeouts) -> Connecting<'a> {
        (**self).connect(host, port, timeouts)
    }
}

/// Returns the error for a connection attempt that failed.
pub(super) fn not_connected(error: io::Error) -> Error {
    let cause = match error.kind() {
        io::ErrorKind::ConnectionRefused => Cause::Refused,
        _ => Cause::Other,
    };
    Error::Unavailable {
        phase: Phase::Connect,
        cause: cause(Arc::new(error)),
    }
}
