//! Violations of Z39.50-2003 by a server. A violation ends the session; in version 3, the client sends
//! Close(protocolError). After the last four variants of [`ProtocolFault`], however, the session continues.

use z3950_asn1::error::{DecodeError, EncodeError, FrameError};

use super::detail::Detail;
use super::sru::SruFault;

/// A violation of the protocol by one side.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolFault {
    /// The octets are not an APDU, or the APDU exceeds the size limit.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An APDU cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An APDU is not allowed at this point.
    #[error("unexpected {0}")]
    Unexpected(&'static str),
    /// A response has a referenceId that does not belong to any request in progress.
    #[error("a response with a referenceId that was not sent")]
    ReferenceId,
    /// A response has no referenceId, although several requests are in progress.
    #[error("a response without the referenceId of its request")]
    NoReferenceId,
    /// A count is negative, or differs from the number of records or entries received or requested.
    #[error("{0}")]
    Count(Detail),
    /// A record is a fragment, although segmentation is not in effect.
    #[error("a fragment of a record, although segmentation was not negotiated")]
    Fragment,
    /// Fragments do not form a record, because a fragment is missing or out of order.
    #[error("fragments that do not form a record")]
    Fragments,
    /// The segments of a response together exceed this many octets.
    #[error("segments of more than {0} octets in total")]
    Segments(usize),
    /// The server sent more than this many requests of its own while the client waited for a single response.
    #[error("more than {0} requests from the server during one of ours")]
    Interruptions(usize),
    /// An SRU response is malformed.
    #[error(transparent)]
    Sru(#[from] SruFault),
    /// The result set had a different number of records after a reconnection.
    #[error("the size of the result set has changed from {was} to {is} records")]
    #[non_exhaustive]
    ResultSetChanged {
        /// The number of records before the reconnection.
        was: u64,
        /// The number of records after the reconnection.
        is: u64,
    },
    /// The request cannot be encoded, so nothing was sent.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The server did not grant this option in Init, so nothing was sent.
    #[error("the server does not offer {0}")]
    NotGranted(&'static str),
}

impl ProtocolFault {
    /// Returns whether the violation was in a response, and therefore has ended the session.
    pub(crate) fn is_of_answer(&self) -> bool {
        !matches!(
            self,
            Self::Sru(_) | Self::ResultSetChanged { .. } | Self::Encode(_) | Self::NotGranted(_)
        )
    }
}
