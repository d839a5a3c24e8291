//! Logs the octets of a connection: counts them, enforces a limit, and stores the first octets for the report.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::server::ledger::MAX_KEPT;
use z3950::transport::BoxStream;

/// The octets that were transferred in one direction since the last call of [`SharedLog::take`].
#[derive(Debug, Default)]
pub(super) struct PassedOctets {
    /// The first octets, for the report.
    pub(super) kept: Vec<u8>,
    /// The number of octets.
    pub(super) length: u64,
}

impl PassedOctets {
    fn add(&mut self, octets: &[u8]) {
        let room = MAX_KEPT.saturating_sub(self.kept.len());
        let kept = octets.get(..octets.len().min(room)).unwrap_or_default();
        self.kept.extend_from_slice(kept);
        self.length += octets.len() as u64;
    }
}

/// The octets that were transferred in both directions, and how many may still be received.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) sent: PassedOctets,
    pub(super) received: PassedOctets,
    /// The number of octets that may still be received.
    pub(super) left: u64,
}

/// A log of octets that is written by a stream and read by a check.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLog(Arc<Mutex<Log>>);

impl SharedLog {
    /// Creates a log for a connection that may receive this many octets.
    pub(super) fn new(left: u64) -> Self {
        Self(Arc::new(Mutex::new(Log {
            left,
            ..Log::default()
        })))
    }

    /// Removes and returns the octets sent and received since the last call. Also returns whether the limit has been reached.
    pub(super) fn take(&self) -> (PassedOctets, PassedOctets, bool) {
        self.with(|log| {
            let passed = (
                std::mem::take(&mut log.sent),
                std::mem::take(&mut log.received),
            );
            (passed.0, passed.1, log.left == 0)
        })
    }

    fn with<T>(&self, action: impl FnOnce(&mut Log) -> T) -> T {
        action(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A stream whose octets are logged. Reading fails when the limit has been reached.
pub(super) struct LoggedStream {
    pub(super) stream: BoxStream,
    pub(super) log: SharedLog,
}

impl AsyncRead for LoggedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let octets = buffer.filled().get(before..).unwrap_or_default();
        let is_too_much = self.log.with(|log| {
            log.received.add(octets);
            log.left = log.left.saturating_sub(octets.len() as u64);
            log.left == 0
        });
        if is_too_much {
            Poll::Ready(Err(io::Error::other(
                "more octets than a check may receive",
            )))
        } else {
            polled
        }
    }
}

impl AsyncWrite for LoggedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, octets);
        if let Poll::Ready(Ok(count)) = polled {
            let written = octets.get(..count).unwrap_or_default();
            self.log.with(|log| log.sent.add(written));
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn octets_are_logged_up_to_the_limit() {
        let (near, mut far) = tokio::io::duplex(64 << 10);
        let log = SharedLog::new(MAX_KEPT as u64 + 10);
        let mut tap = LoggedStream {
            stream: Box::new(near),
            log: log.clone(),
        };
        tap.write_all(b"ask").await.expect("written");
        far.write_all(&vec![7; MAX_KEPT + 9]).await.expect("room");
        let mut octets = vec![0; MAX_KEPT + 9];
        tap.read_exact(&mut octets).await.expect("within the limit");
        let (sent, received, is_full) = log.take();
        assert_eq!((&*sent.kept, sent.length), (&b"ask"[..], 3));
        assert_eq!(
            (received.kept.len(), received.length, is_full),
            (MAX_KEPT, MAX_KEPT as u64 + 9, false)
        );
        far.write_all(&[7]).await.expect("room");
        assert!(tap.read(&mut octets).await.is_err());
        assert!(log.take().2);
    }
}
