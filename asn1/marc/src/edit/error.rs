//! The reasons why a change to a record is refused.

use std::convert::Infallible;

use super::{DeletionError, FieldError};
use crate::charset::FieldProblem;
use crate::record::Tag;

/// The reason why a record is not changed, or not built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No field of the record has this tag.
    #[error("the record has no field {0}")]
    NoField(String),
    /// The text is not a tag (ISO 2709 §4.4).
    #[error("{0:?} is not a tag: three digits or capital letters, but not 000 or LDR")]
    Tag(String),
    /// The text is not a leader (ISO 2709 §4.3).
    #[error("{0:?} is not a leader: 24 characters of ASCII")]
    Leader(String),
    /// The text does not consist of indicators (MARC 21 Specifications for Record Structure).
    #[error("{0:?} is not a pair of indicators: each is a digit, a small letter, | or a blank")]
    Indicators(String),
    /// The text is not a subfield code, or does not have the code length that the leader states.
    #[error(
        "{code:?} is not a subfield code: its length is {length}, and it has no blanks or control characters"
    )]
    Code {
        /// The text that is not a valid code.
        code: String,
        /// The length of a code in characters: [`Leader::code_length`](crate::Leader::code_length).
        length: usize,
    },
    /// The text has an ASCII control character, such as an ISO 2709 separator or a line end.
    #[error("the text of {place} has the control character U+{:04X}", u32::from(*.character))]
    Control {
        /// The field or subfield: `001`, `245$a`.
        place: String,
        /// The first such character.
        character: char,
    },
    /// The octets of a field contain an ISO 2709 terminator.
    #[error("field {0} has a terminator of ISO 2709 in its text")]
    Separator(Tag),
    /// The field is a control field, which has neither indicators nor subfields.
    #[error("{0} is a control field, which has a value instead of indicators and subfields")]
    ControlField(Tag),
    /// The field is a data field, which does not have a value.
    #[error("{0} is a data field, which has indicators and subfields instead of a value")]
    DataField(Tag),
    /// The field would have no subfields, but a data field needs at least one.
    #[error("field {0} would have no subfield left")]
    NoSubfield(Tag),
    /// A subfield cannot be added, because the field has text outside subfields, which would be read as indicators.
    #[error("field {0} has text before its first subfield, so all its subfields have to be set")]
    BareText(Tag),
    /// The record is not in UTF-8, unlike the new text, and cannot be converted without loss.
    #[error("the record cannot be converted to UTF-8: {0}")]
    Charset(FieldProblem),
    /// The octets of a new field are not UTF-8, although the record declares that it is in UTF-8.
    #[error("field {0} is not in UTF-8, as the record is")]
    NotUtf8(Tag),
    /// The text is not a field in the form that people type.
    #[error(transparent)]
    Line(#[from] FieldError),
    /// The text is not a valid deletion.
    #[error(transparent)]
    Deletion(#[from] DeletionError),
}

impl From<Infallible> for EditError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
