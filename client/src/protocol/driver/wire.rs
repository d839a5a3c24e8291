//! The stream of a session as APDUs. Writing goes on while the next APDU is awaited, so that neither side blocks because the
//! other does not read.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Sink, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::Framed;
use tracing::{Level, debug, trace};
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec;
use z3950_asn1::codec::{frame::StreamError, stream::ApduCodec};
use z3950_asn1::decoded;
use z3950_asn1::error::EncodeError;

use crate::error::{Cause, Error, Phase};

/// Both directions of a stream.
pub(super) struct Wire<S> {
    framed: Framed<S, ApduCodec>,
    /// The write buffer may hold octets.
    is_unsent: bool,
    /// The server no longer reads; what it has sent is still read.
    is_deaf: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// A stream whose received APDUs have at most `max_apdu_size` octets.
    pub(super) fn new(stream: S, max_apdu_size: usize) -> Self {
        Self {
            framed: Framed::new(stream, ApduCodec::new(max_apdu_size)),
            is_unsent: false,
            is_deaf: false,
        }
    }

    /// Adds an APDU to the write buffer, which [`next`](Self::next) and [`flush`](Self::flush) empty.
    pub(super) fn put(&mut self, apdu: &Apdu) -> Result<(), EncodeError> {
        let octets = codec::encode(apdu)?;
        debug!(apdu = apdu.name(), octets = octets.len(), "sent");
        trace_body(&octets);
        if !self.is_deaf {
            self.framed.write_buffer_mut().extend_from_slice(&octets);
            self.is_unsent = true;
        }
        Ok(())
    }

    /// The octets of the next APDU, or `None` at the end of the stream. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        poll_fn(|context| {
            match self.poll_sent(context) {
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
            self.framed.poll_next_unpin(context)
        })
        .await
    }

    /// Empties the write buffer.
    pub(super) async fn flush(&mut self) -> Result<(), StreamError> {
        poll_fn(|context| self.poll_sent(context)).await
    }

    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        if !self.is_unsent {
            return Poll::Ready(Ok(()));
        }
        let sent = Sink::<Bytes>::poll_flush(Pin::new(&mut self.framed), context);
        let sent = ready!(sent);
        self.is_unsent = false;
        match sent {
            // What the server sent before may say why it went away.
            Err(StreamError::Io(error)) if is_gone(&error) => {
                self.is_deaf = true;
                self.framed.write_buffer_mut().clear();
                Poll::Ready(Ok(()))
            }
            sent => Poll::Ready(sent),
        }
    }

    /// Reads until the server's Close and the end of the stream.
    pub(super) async fn await_close(&mut self) {
        while let Some(Ok(octets)) = self.next().await {
            if let Ok(Apdu::Close(_)) = received(&octets) {
                return;
            }
        }
        // If unread octets are left, closing resets the connection and the server may lose our Close.
        let mut dropped = [0; 4096];
        while matches!(self.framed.get_mut().read(&mut dropped).await, Ok(1..)) {}
    }

    /// Closes our side of the stream.
    pub(super) async fn shutdown(&mut self) {
        // Errors: the server is gone.
        let _ = self.framed.get_mut().shutdown().await;
    }
}

/// Decodes and logs a received APDU.
pub(super) fn received(octets: &Bytes) -> Result<Apdu, z3950_asn1::error::DecodeError> {
    let apdu = codec::decode(octets);
    match &apdu {
        Ok(apdu) => debug!(apdu = apdu.name(), octets = octets.len(), "received"),
        Err(fault) => debug!(octets = octets.len(), %fault, "received what does not decode"),
    }
    trace_body(octets);
    apdu
}

/// The error of a failed stream.
pub(super) fn stream_error(error: StreamError, phase: Phase) -> Error {
    let cause = match error {
        StreamError::Frame(fault) => {
            debug!(%fault, "received octets that are not an APDU");
            return Error::fault(phase, fault);
        }
        StreamError::CutOff(octets) => Cause::CutOff(octets),
        StreamError::Io(error) if is_gone(&error) => Cause::Disconnected,
        StreamError::Io(error) => Cause::Other(Arc::new(error)),
        error => Cause::Other(Arc::new(std::io::Error::other(error))),
    };
    Error::Unavailable { phase, cause }
}

fn is_gone(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::UnexpectedEof
    )
}

/// Logs an APDU at trace level, without secrets.
fn trace_body(octets: &[u8]) {
    if tracing::enabled!(Level::TRACE) {
        let listing = codec::dump::dump(octets);
        match codec::decode(octets) {
            Ok(apdu) => trace!("\n{}{listing}", decoded::to_text(&apdu)),
            Err(_) => trace!("\n{listing}"),
        }
    }
}
