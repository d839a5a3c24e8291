//! Encodes and decodes single values in BER (X.690 §8), such as the contents of an EXTERNAL, and converts rasn's
//! decoding errors, so that they contain the standard's names.

use rasn::error::{BerDecodeErrorKind, CodecDecodeError, DecodeErrorKind};
use rasn::types::Tag;

use super::encoder::Encoder;
use crate::error::{DecodeError, EncodeError};
use crate::spelling::standard_name;

/// A type in this crate that has a BER encoding, for [`encode_value`] and [`decode_value`]. This trait is sealed.
pub trait BerValue: sealed::Ber {}

impl<T: sealed::Ber> BerValue for T {}

mod sealed {
    pub trait Ber: rasn::Decode + rasn::Encode {}

    impl<T: rasn::Decode + rasn::Encode> Ber for T {}
}

/// Decodes a value of a type in this crate, such as the contents of an EXTERNAL.
///
/// # Errors
/// Fails if the octets are not a value of the type. The error contains the path of elements to the fault; its offset is
/// always 0.
pub fn decode_value<T: BerValue>(octets: &[u8]) -> Result<T, DecodeError> {
    rasn::ber::decode(octets).map_err(|error| {
        let Fault { path, reason, .. } = Fault::of(&error);
        DecodeError {
            apdu: None,
            path: standard_path(path),
            offset: 0,
            is_too_deep: reason.starts_with(TOO_DEEP),
            reason,
        }
    })
}

/// Encodes a value of a type in this crate, such as the contents of an EXTERNAL.
///
/// # Errors
/// Fails if BER cannot encode the value.
pub fn encode_value<T: BerValue>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut octets = Vec::new();
    let written = write(value, Vec::new(), &mut octets);
    written.map(|()| octets).map_err(|reason| EncodeError {
        apdu: "value",
        reason,
    })
}

/// Encodes a value that contains the octet strings `borrowed`, and appends the result to `output`; see
/// [`Encoder`].
pub(super) fn write<T: rasn::Encode>(
    value: &T,
    borrowed: Vec<&[u8]>,
    output: &mut Vec<u8>,
) -> Result<(), String> {
    let mut encoder = Encoder::new(borrowed);
    value
        .encode(&mut encoder)
        .map_err(|error| error.to_string())?;
    encoder.write_to(output);
    Ok(())
}

/// The start of the reason in the error for a query of more than [`MAX_RPN_DEPTH`](crate::apdu::MAX_RPN_DEPTH)
/// levels.
pub(crate) const TOO_DEEP: &str = "query nested deeper than 1000 operators";

/// A fault found by rasn: the path of fields to it, by their Rust names, and the reason.
pub(super) struct Fault {
    pub(super) path: Vec<&'static str>,
    pub(super) reason: String,
    /// The element that was found instead of the expected one.
    pub(super) found: Option<Tag>,
    /// The offset of the fault, if it is after the end of the APDU and not in an element.
    pub(super) offset: Option<usize>,
}

/// The maximum length of an error's reason in characters.
const MAX_REASON: usize = 200;

impl Fault {
    pub(super) fn trailing(offset: usize) -> Self {
        Self {
            path: Vec::new(),
            reason: "octets after the APDU".into(),
            found: None,
            offset: Some(offset),
        }
    }

    pub(super) fn of(error: &rasn::error::DecodeError) -> Self {
        let mut path = Vec::new();
        let mut cause = error;
        while let DecodeErrorKind::FieldError { name, nested } = &*cause.kind {
            path.push(bare(name));
            cause = nested;
        }
        let mut found = None;
        let reason = match &*cause.kind {
            DecodeErrorKind::MissingField { name } => {
                path.push(bare(name));
                "missing element".into()
            }
            DecodeErrorKind::UnexpectedExtraData { .. } => {
                "an element that does not belong here".into()
            }
            DecodeErrorKind::Incomplete { .. } => "a value cut short".into(),
            DecodeErrorKind::ExceedsMaxParseDepth => "values nested too deep".into(),
            DecodeErrorKind::NoValidChoice { .. } => {
                "a value of none of the types allowed here".into()
            }
            DecodeErrorKind::Custom { msg } => msg.clone(),
            DecodeErrorKind::CodecSpecific {
                inner: CodecDecodeError::Ber(BerDecodeErrorKind::MismatchedTag { expected, actual }),
            } => {
                found = Some(*actual);
                format!(
                    "element [{}] expected, [{}] found",
                    expected.value, actual.value
                )
            }
            _ => cause.to_string().chars().take(MAX_REASON).collect(),
        };
        // The offset of the found element is known only if it is an immediate element of the APDU.
        let found = found.filter(|_| path.len() == 1);
        Self {
            path,
            reason,
            found,
            offset: None,
        }
    }
}

/// Returns the name of a field without the name of its type; rasn gives both, as in `SearchRequest.query`.
pub(super) fn bare(field: &'static str) -> &'static str {
    field.rsplit('.').next().unwrap_or(field)
}

pub(super) fn standard_path(fields: Vec<&'static str>) -> Vec<String> {
    fields
        .into_iter()
        .map(|field| standard_name(field).into_owned())
        .collect()
}
