//! The body of an answer that hyper writes. It is either known completely, or consists of parts that are written as they arrive.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::wire::Exchange;
use crate::lock::lock;
use crate::web::WebParts;

/// The body of an answer.
pub(super) enum Outgoing {
    Whole(Option<Bytes>),
    Parts(WebParts, Arc<Mutex<Exchange>>),
}

impl From<Bytes> for Outgoing {
    fn from(octets: Bytes) -> Self {
        Self::Whole((!octets.is_empty()).then_some(octets))
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (parts, exchange) = match self.get_mut() {
            Self::Whole(octets) => return Poll::Ready(octets.take().map(Frame::data).map(Ok)),
            Self::Parts(parts, exchange) => (parts, exchange),
        };
        loop {
            let part = parts.as_mut().poll_next(context);
            let mut exchange = lock(exchange);
            match part {
                Poll::Pending => {
                    exchange.awaits_part();
                    return Poll::Pending;
                }
                // An empty part would end the transfer coding, so it is skipped.
                Poll::Ready(Some(part)) if part.is_empty() => {}
                Poll::Ready(Some(part)) => {
                    exchange.has_part();
                    return Poll::Ready(Some(Ok(Frame::data(part))));
                }
                Poll::Ready(None) => {
                    exchange.has_last_part();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(octets) => {
                let length = octets.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(length as u64)
            }
            Self::Parts(..) => SizeHint::default(),
        }
    }
}
