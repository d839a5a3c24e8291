//! Faults of the protocol: what a server sent that Z39.50-2003 does not allow there, or that cannot be trusted.
//! Each ends the session, with Close(protocolError) where version 3 is spoken, but for the last three: they are faults of
//! no message, and the session goes on.

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
    #[error("unexpected {0}")]
    Unexpected(&'static str),
    /// An answer bears a referenceId that no request in progress has.
    #[error("a response with a referenceId that was not sent")]
    ReferenceId,
    /// An answer bears no referenceId, although it might be that of several requests.
    #[error("a response without the referenceId of its request")]
    NoReferenceId,
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
    #[error("more records than requested: {came} for {asked}")]
    MoreRecordsThanAsked {
        /// `numberOfRecordsRequested`.
        asked: i64,
        /// The records there are.
        came: usize,
    },
    /// Not as many terms came as were announced.
    #[error("numberOfEntriesReturned is {announced}, but {came} entries came")]
    MiscountedEntries {
        /// `numberOfEntriesReturned`.
        announced: i64,
        /// The entries there are.
        came: usize,
    },
    /// More terms came than a Scan asked for.
    #[error("more entries than requested: {came} for {asked}")]
    MoreEntriesThanAsked {
        /// `numberOfTermsRequested`.
        asked: i64,
        /// The entries there are.
        came: usize,
    },
    /// A fragment of a record, although segmentation was not negotiated.
    #[error("a fragment of a record, although segmentation was not negotiated")]
    Fragment,
    /// Fragments that do not make a record: one is missing, or in the wrong place.
    #[error("fragments that do not form a record")]
    Fragments,
    /// The segments of one answer hold more than is taken together.
    #[error("segments of more than {0} octets in total")]
    Segments(usize),
    /// The server keeps interrupting one request with its own.
    #[error("more than {0} requests from the server during one of ours")]
    Interruptions(usize),
    /// A result set is another one after the session was opened again.
    #[error("the size of the result set has changed from {was} to {is} records")]
    ResultSetChanged {
        /// Its records before.
        was: u64,
        /// Its records now.
        is: u64,
    },
    /// A request that no APDU can carry; nothing was sent.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The server did not grant this option at Init; nothing was sent.
    #[error("the server does not offer {0}")]
    NotGranted(&'static str),
}
