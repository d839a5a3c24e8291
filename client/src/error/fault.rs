//! Faults of the protocol: what a server sent that Z39.50-2003 does not allow there, or that cannot be trusted.
//! Each ends the session, with Close(protocolError) where version 3 is spoken; the last two send nothing at all.

use z3950_asn1::error::{DecodeError, EncodeError, FrameError};

/// What was wrong with the conversation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolFault {
    /// Octets that are no APDU, or one beyond the size limit.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An APDU that does not decode.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An APDU that has no place in the conversation now.
    #[error("{0} came where the protocol does not allow it")]
    Unexpected(&'static str),
    /// An answer bears a referenceId, although none was sent.
    #[error("an answer with a referenceId that was not sent")]
    ReferenceId,
    /// A count below zero.
    #[error("{name} is {value}")]
    NegativeCount {
        /// The standard's name of the element.
        name: &'static str,
        /// Its value.
        value: i64,
    },
    /// Not as many records came as were announced.
    #[error("numberOfRecordsReturned is {announced}, but {came} records came")]
    Miscounted {
        /// `numberOfRecordsReturned`.
        announced: i64,
        /// The records there are.
        came: usize,
    },
    /// More records came than the search found.
    #[error("more records than hits: {came} for {hits}")]
    MoreRecordsThanHits {
        /// `resultCount`.
        hits: i64,
        /// The records there are.
        came: usize,
    },
    /// More records came than a Present asked for.
    #[error("more records than asked for: {came} for {asked}")]
    MoreRecordsThanAsked {
        /// `numberOfRecordsRequested`.
        asked: i64,
        /// The records there are.
        came: usize,
    },
    /// A fragment of a record, although segmentation was not negotiated.
    #[error("a fragment of a record, although segmentation was not negotiated")]
    Fragment,
    /// The server keeps interrupting one request with its own.
    #[error("more than {0} requests from the server during one of ours")]
    Interruptions(usize),
    /// A request that no APDU can carry; nothing was sent.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The server did not grant this option at Init; nothing was sent.
    #[error("the server does not offer {0}")]
    NotGranted(&'static str),
}
