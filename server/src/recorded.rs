//! The interface to a server whose conversations are recorded. Implementations reach the server in different ways.

use std::fmt;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A server whose conversations are recorded. Its `Display` form names the server in logs and in messages to clients, and must
/// not contain secrets.
///
/// Used by [`Server::with_recorded`](crate::Server::with_recorded), which passes requests to it.
pub trait RecordedServer: fmt::Display + Send + Sync {
    /// Opens a connection for a session. The caller limits the time for this.
    ///
    /// # Errors
    /// The server cannot be reached.
    fn connect(&self) -> RecordedConnecting<'_>;
}

/// A session's connection to the recorded server.
pub trait RecordedStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> RecordedStream for S {}

/// A future that opens a connection.
pub type RecordedConnecting<'a> =
    Pin<Box<dyn Future<Output = io::Result<Box<dyn RecordedStream>>> + Send + 'a>>;

/// A recorded server at a host and port, over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedHost(pub String);

impl RecordedServer for RecordedHost {
    fn connect(&self) -> RecordedConnecting<'_> {
        Box::pin(async {
            let stream = TcpStream::connect(&self.0).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn RecordedStream>)
        })
    }
}

impl fmt::Display for RecordedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
