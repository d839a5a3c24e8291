//! Creates fields and records from text, and checks the text.

use super::{EditError, field, make_utf8};
use crate::record::{Field, Leader, MarcRecord, Tag};

impl TryFrom<&str> for Tag {
    type Error = EditError;

    /// Parses three digits or capital letters. `000` and `LDR` are refused, because they name the leader.
    fn try_from(text: &str) -> Result<Self, EditError> {
        let is_tag = |octet: u8| octet.is_ascii_digit() || octet.is_ascii_uppercase();
        let is_leader = matches!(text, "LDR" | "000");
        match text.as_bytes().try_into() {
            Ok(octets) if text.bytes().all(is_tag) && !is_leader => Ok(Tag(octets)),
            _ => Err(EditError::Tag(text.to_owned())),
        }
    }
}

impl TryFrom<&str> for Leader {
    type Error = EditError;

    /// Parses 24 printable ASCII characters.
    fn try_from(text: &str) -> Result<Self, EditError> {
        match text.as_bytes().try_into() {
            Ok(octets) if text.bytes().all(|octet| matches!(octet, b' '..=b'~')) => {
                Ok(Leader(octets))
            }
            _ => Err(EditError::Leader(text.to_owned())),
        }
    }
}

impl Field {
    /// Creates a control field (`00X`, or a tag that is not a number) from text in UTF-8: `Field::try_control("001",
    /// "pg158")`.
    ///
    /// # Errors
    /// [`EditError`] for an invalid tag, the tag of a data field, and control characters.
    pub fn try_control(tag: &str, value: &str) -> Result<Self, EditError> {
        let tag = Tag::try_from(tag)?;
        field::check_text(tag, None, value)?;
        let field = Field::control(tag, value.to_owned());
        if !field.is_control() {
            return Err(EditError::DataField(tag));
        }
        Ok(field)
    }

    /// Creates a data field from text in UTF-8: `Field::try_data("245", "10", [("a", "Emma /"), ("c", "Jane
    /// Austen.")])`.
    ///
    /// # Errors
    /// [`EditError`] for an invalid tag, the tag of a control field, a number of indicators other than two, codes that are not a single
    /// character, control characters, and a field without subfields.
    pub fn try_data<C, V>(
        tag: &str,
        indicators: &str,
        subfields: impl IntoIterator<Item = (C, V)>,
    ) -> Result<Self, EditError>
    where
        C: AsRef<str>,
        V: AsRef<str>,
    {
        let tag = Tag::try_from(tag)?;
        if tag.is_control() {
            return Err(EditError::ControlField(tag));
        }
        field::check_indicators(indicators, field::USUAL_INDICATORS)?;
        let body = field::body_of(tag, indicators.as_bytes(), subfields, 1)?;
        Ok(Field { tag, body })
    }
}

/// A builder for a record, created by [`MarcRecord::builder`]. Fields are added in the order of the calls. If any of them is invalid,
/// [`build`](RecordBuilder::build) fails with the first error.
#[derive(Clone, Debug)]
#[must_use = "a builder makes a record by `build`"]
pub struct RecordBuilder(Result<MarcRecord, EditError>);

impl Default for RecordBuilder {
    fn default() -> Self {
        Self(Ok(MarcRecord::default()))
    }
}

impl RecordBuilder {
    /// Sets the leader as [`MarcRecord::set_leader`] does. It may be passed as text (`00000cam a2200000 i 4500`). Lengths are computed when
    /// the record is written.
    pub fn leader<L>(self, leader: L) -> Self
    where
        L: TryInto<Leader>,
        EditError: From<L::Error>,
    {
        self.with(|record| {
            record.set_leader(leader.try_into()?);
            Ok(())
        })
    }

    /// Adds a control field; the arguments are those of [`Field::try_control`].
    pub fn control(self, tag: &str, value: &str) -> Self {
        self.field_of(|| Field::try_control(tag, value))
    }

    /// Adds a data field; the arguments are those of [`Field::try_data`].
    pub fn data<C, V>(
        self,
        tag: &str,
        indicators: &str,
        subfields: impl IntoIterator<Item = (C, V)>,
    ) -> Self
    where
        C: AsRef<str>,
        V: AsRef<str>,
    {
        self.field_of(|| Field::try_data(tag, indicators, subfields))
    }

    /// Adds a field, which may be passed as text in the form that people type: `650 #0 $a Villages.`
    pub fn field<F>(self, field: F) -> Self
    where
        F: TryInto<Field>,
        EditError: From<F::Error>,
    {
        self.field_of(|| Ok(field.try_into()?))
    }

    /// Returns the record. If its text has characters other than ASCII, the record declares that it is in UTF-8.
    ///
    /// # Errors
    /// The [`EditError`] for the first fault in the leader and the fields, in the order in which they were passed.
    pub fn build(self) -> Result<MarcRecord, EditError> {
        let mut record = self.0?;
        if record.fields.iter().any(|field| !field.body.is_ascii()) {
            make_utf8(&mut record)?;
        }
        Ok(record)
    }

    fn field_of(self, field: impl FnOnce() -> Result<Field, EditError>) -> Self {
        self.with(|record| {
            record.fields.push(field()?);
            Ok(())
        })
    }

    fn with(self, change: impl FnOnce(&mut MarcRecord) -> Result<(), EditError>) -> Self {
        Self(self.0.and_then(|mut record| {
            change(&mut record)?;
            Ok(record)
        }))
    }
}
