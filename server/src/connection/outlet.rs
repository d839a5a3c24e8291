//! What goes out: as fast as the client takes it, or as a fault has it, and an end that loses nothing.

use std::io;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::poll_immediate;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

/// The streams that connections run over.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Whether each side tells the other that it ends the connection, as TLS has it.
    const ENDS_WITH_A_WORD: bool = false;

    /// Has the connection reset when it is dropped, where the transport knows such a thing.
    fn reset(&mut self) {}
}

impl Transport for tokio::net::TcpStream {
    fn reset(&mut self) {
        // The connection ends in one way or the other.
        let _ = self.set_zero_linger();
    }
}

#[cfg(unix)]
impl Transport for tokio::net::UnixStream {}

#[cfg(feature = "tls")]
impl Transport for tokio_rustls::server::TlsStream<tokio::net::TcpStream> {
    const ENDS_WITH_A_WORD: bool = true;

    fn reset(&mut self) {
        let _ = self.get_ref().0.set_zero_linger();
    }
}

#[cfg(test)]
impl Transport for tokio::io::DuplexStream {}

/// Writes octets; each part has to be taken within `limit`.
pub(super) async fn write(
    stream: &mut impl Transport,
    mut octets: &[u8],
    limit: Duration,
) -> io::Result<()> {
    while !octets.is_empty() {
        let written = within(limit, stream.write(octets)).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        octets = octets.get(written..).unwrap_or_default();
    }
    within(limit, stream.flush()).await
}

/// What comes of some work within `limit`. What is done at once needs no clock, and has no room for one.
async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let mut work = pin!(work);
    match poll_immediate(work.as_mut()).await {
        Some(done) => done,
        None => Box::pin(timeout(limit, work)).await?,
    }
}

/// Writes each octet by itself, with a pause between two.
pub(super) async fn trickle(
    stream: &mut impl Transport,
    octets: &[u8],
    pause: Duration,
    limit: Duration,
) -> io::Result<()> {
    for (index, octet) in octets.iter().enumerate() {
        if index > 0 && !pause.is_zero() {
            sleep(pause).await;
        }
        write(stream, &[*octet], limit).await?;
    }
    Ok(())
}

/// Reads after the last answer, of up to 4,096 octets each.
const MAX_LINGERING_READS: usize = 1024;

/// Ends the sending side and takes what still comes for a while: a connection that is dropped with octets unread is
/// reset, and the client would lose the last answer.
pub(super) async fn linger(stream: &mut impl Transport, limit: Duration) {
    let rest = async {
        stream.shutdown().await?;
        let mut discarded = vec![0; 4096];
        for _ in 0..MAX_LINGERING_READS {
            if stream.read(&mut discarded).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    // Whoever does not end in time is left.
    let _ = timeout(limit, rest).await;
}
