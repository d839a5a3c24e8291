//! Errors in a peer's octets and in values to be sent. They name the APDU, the element and the offset, so that the
//! fault can be found in a dump.

use std::fmt;

/// An error in a frame that is not a valid APDU, detected before the frame is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", located(*kind, *offset))]
#[non_exhaustive]
pub struct FrameError {
    /// The kind of fault.
    pub kind: FrameErrorKind,
    /// The offset of the fault from the start of the APDU, in octets.
    pub offset: usize,
}

/// Returns the message with the offset. The offset is left out if the octets are not an APDU at all.
fn located(kind: FrameErrorKind, offset: usize) -> String {
    match kind {
        FrameErrorKind::NotAnApdu(_) => kind.to_string(),
        _ => format!("{kind} at octet {offset} of the APDU"),
    }
}

/// The reason why octets are not accepted as an APDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameErrorKind {
    /// The APDU is longer than this limit in octets, or its header states a greater length.
    #[error("an APDU of more than {0} octets")]
    TooLarge(usize),
    /// No APDU begins with this octet; the peer may speak HTTP or TLS.
    #[error("expected an APDU, found octet {0:#04x}")]
    NotAnApdu(u8),
    /// A tag, length or end-of-contents is not allowed by X.690 or by the limits of this crate.
    #[error("a malformed tag or length")]
    Malformed,
}

/// An error in an APDU that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// The standard's name for the APDU; `None` for an unknown tag.
    pub apdu: Option<&'static str>,
    /// The path of elements to the fault, outermost element first, in the standard's spelling.
    pub path: Vec<String>,
    /// The offset of the element at fault from the start of the APDU, in octets.
    pub offset: usize,
    /// A description of the fault.
    pub reason: String,
    /// Whether the fault is a query of more than [`MAX_RPN_DEPTH`](crate::apdu::MAX_RPN_DEPTH) levels. A server can
    /// refuse the request with this query instead of ending the session.
    pub is_too_deep: bool,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.apdu.unwrap_or("unknown APDU"))?;
        if !self.path.is_empty() {
            write!(f, ", {}", self.path.join("."))?;
        }
        write!(f, ": {} at octet {}", self.reason, self.offset)
    }
}

impl std::error::Error for DecodeError {}

/// An error in a value that cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{apdu} cannot be encoded: {reason}")]
#[non_exhaustive]
pub struct EncodeError {
    /// The standard's name for the APDU, or `value` if a single value was to be encoded.
    pub apdu: &'static str,
    /// The reason why the value cannot be encoded.
    pub reason: String,
}
