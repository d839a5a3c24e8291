//! Unix sockets, as in YAZ's `unix:` targets.

use std::path::PathBuf;

use tokio::net::UnixStream;

use super::connect::{BoxFuture, BoxStream, Connect, not_connected};
use super::timeouts::Timeouts;
use crate::error::{Error, Phase};
use crate::url::Host;

/// Connects to a Unix socket, whatever the host and port.
#[derive(Clone, Debug)]
pub struct Unix {
    path: PathBuf,
}

impl Unix {
    /// The socket at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl Connect for Unix {
    fn connect<'a>(
        &'a self,
        _: &'a Host,
        _: u16,
        timeouts: &'a Timeouts,
    ) -> BoxFuture<'a, Result<BoxStream, Error>> {
        Box::pin(async move {
            let connecting = UnixStream::connect(&self.path);
            let connected = timeouts
                .to_connect()
                .hold(Phase::Connect, connecting)
                .await?;
            Ok(Box::new(connected.map_err(not_connected)?) as BoxStream)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;

    #[tokio::test]
    async fn a_socket_is_found_by_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("z");
        let host = "localhost".parse().expect("a host");
        let listener = UnixListener::bind(&path).expect("a socket");
        let connector = Unix::new(&path);
        let mut stream = connector
            .connect(&host, 210, &Timeouts::default())
            .await
            .expect("connected");
        let (mut other, _) = listener.accept().await.expect("accepted");
        other.write_all(b"hello").await.expect("written");
        let mut octets = [0; 5];
        stream.read_exact(&mut octets).await.expect("read");
        assert_eq!(&octets, b"hello");
        drop(listener);
        let refused = connector.connect(&host, 210, &Timeouts::default()).await;
        assert!(matches!(
            refused.err(),
            Some(Error::Unavailable {
                phase: Phase::Connect,
                cause: Cause::Refused(_)
            })
        ));
    }
}
