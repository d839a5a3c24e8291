//! Edits and builds records: fields are changed, added, deleted and created from text. A change that would result in an
//! invalid field is refused.
//!
//! ```
//! # fn main() -> Result<(), z3950_marc::EditError> {
//! use z3950_marc::MarcRecord;
//!
//! let mut record = MarcRecord::builder()
//!     .control("001", "pg158")
//!     .data("245", "10", [("a", "Ema /"), ("c", "Jane Austen.")])
//!     .build()?;
//! record.field_mut("245")?.set("a", "Emma /")?;
//! record.insert_ordered("650 #0 $a Villages $v Fiction.")?;
//! record.remove("650$v")?;
//! # Ok(())
//! # }
//! ```
//!
//! All text that is passed in must be UTF-8. If it has characters other than ASCII and the record does not declare UTF-8 (MARC 21
//! leader/09; UNIMARC 100 $a), the record is converted to UTF-8, or the change is refused if that would lose data. The members of
//! [`MarcRecord`] and [`Field`] are octets, which are not checked.

mod build;
mod error;
mod field;
mod line;

use std::fmt;
use std::str::FromStr;

use bytes::{BufMut, BytesMut};

pub use self::build::RecordBuilder;
pub use self::error::EditError;
pub use self::field::{FieldMut, is_code};
pub use self::line::FieldError;
use crate::charset::{Options, declares_utf8, to_utf8};
use crate::record::{
    FIELD_TERMINATOR, Field, Leader, MarcRecord, RECORD_TERMINATOR, SUBFIELD_DELIMITER, Tag,
    split_characters,
};
use crate::select::{Place, SelectError, TagPattern};

/// Fields or subfields to delete: `852`, `9XX`, `852$x`, `852xz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    place: Place,
    pattern: TagPattern,
    codes: String,
}

/// The reason why text is not a valid deletion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeletionError {
    /// The text does not name a part of a record.
    #[error(transparent)]
    Place(#[from] SelectError),
    /// The text names a part that is neither a field nor a subfield.
    #[error("{0} is neither a field nor a subfield, such as 852, 9XX or 852$x")]
    NoField(Place),
    /// The text names a part of a field, but only a tag is allowed.
    #[error("{0} is not the tag of a field, such as 852 or 9XX")]
    NoTag(Place),
}

impl FromStr for Deletion {
    type Err = DeletionError;

    fn from_str(text: &str) -> Result<Self, DeletionError> {
        let place: Place = text.parse()?;
        let found = place
            .of_fields()
            .map(|(pattern, codes)| (pattern, codes.to_owned()));
        match found {
            Some((pattern, codes)) => Ok(Self {
                place,
                pattern,
                codes,
            }),
            None => Err(DeletionError::NoField(place)),
        }
    }
}

impl fmt::Display for Deletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}

impl Deletion {
    /// Deletes the fields or subfields; a field whose last subfield is deleted is deleted too. Returns whether
    /// anything was deleted.
    pub fn apply(&self, record: &mut MarcRecord) -> bool {
        let mut is_found = false;
        let code_length = record.leader.code_length();
        record.fields.retain_mut(|field| {
            if !self.pattern.matches(field.tag) {
                return true;
            }
            if self.codes.is_empty() {
                is_found = true;
                return false;
            }
            let (changed, has_others) = without(field, &self.codes, code_length);
            let Some(changed) = changed else {
                return true;
            };
            is_found = true;
            *field = changed;
            has_others
        });
        is_found
    }
}

/// Removes the subfields with one of these codes from a field. Returns the changed field (`None` if there are no such subfields),
/// and whether other subfields remain.
fn without(field: &Field, codes: &str, code_length: usize) -> (Option<Field>, bool) {
    if field.is_control() {
        return (None, true);
    }
    let mut parts = field.body.split(|octet| *octet == SUBFIELD_DELIMITER);
    let mut body = BytesMut::from(parts.next().unwrap_or_default());
    let (mut is_found, mut has_others) = (false, false);
    for part in parts {
        let (code, _) = split_characters(part, code_length);
        if matches!(code, [code] if codes.as_bytes().contains(code)) {
            is_found = true;
            continue;
        }
        has_others = true;
        body.put_u8(SUBFIELD_DELIMITER);
        body.put_slice(part);
    }
    let changed = Field {
        tag: field.tag,
        body: body.freeze(),
    };
    (is_found.then_some(changed), has_others)
}

/// Tags of fields that a record keeps when it is replaced by a better record: `001`, `852`, `9XX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalTags(Vec<TagPattern>);

impl FromStr for LocalTags {
    type Err = DeletionError;

    /// Parses tags separated by commas.
    fn from_str(text: &str) -> Result<Self, DeletionError> {
        let tags = text.split(',').map(|tag| {
            let place: Place = tag.parse()?;
            match place.of_fields() {
                Some((pattern, "")) => Ok(pattern),
                _ => Err(DeletionError::NoTag(place)),
            }
        });
        Ok(Self(tags.collect::<Result<_, _>>()?))
    }
}

impl LocalTags {
    fn has(&self, tag: Tag) -> bool {
        self.0.iter().any(|pattern| pattern.matches(tag))
    }

    /// Returns the fields of a record that have one of these tags.
    pub fn fields_of<'a>(&'a self, record: &'a MarcRecord) -> impl Iterator<Item = &'a Field> {
        record.fields.iter().filter(|field| self.has(field.tag))
    }

    /// Adds the fields of another record to a record, in the order of tags. The record's own fields with these tags are removed,
    /// except control fields that the other record does not have. Both records must be in the same character set.
    pub fn put(&self, fields: &[Field], record: &mut MarcRecord) {
        let is_given = |tag: Tag| fields.iter().any(|field| field.tag == tag);
        record.fields.retain(|field| {
            !self.has(field.tag) || (field.tag.is_control() && !is_given(field.tag))
        });
        for field in fields {
            insert(record, field.clone());
        }
    }
}

impl MarcRecord {
    /// Returns the first field with this tag, so that it can be changed: `record.field_mut("245")?.set("a", "Emma /")?`. To read fields,
    /// use [`MarcRecord::fields`].
    ///
    /// # Errors
    /// [`EditError::NoField`] if the record has no such field.
    pub fn field_mut(&mut self, tag: impl AsRef<[u8]>) -> Result<FieldMut<'_>, EditError> {
        let tag = tag.as_ref();
        let place = self.fields.iter().position(|field| field.tag.0 == tag);
        place
            .and_then(|place| FieldMut::at(self, place))
            .ok_or_else(|| EditError::NoField(String::from_utf8_lossy(tag).into_owned()))
    }

    /// Replaces the leader. The positions that describe the fields are not changed: the number of indicators and the length of codes
    /// (positions 10 and 11), the entry map of the directory (20 to 23) and, if the record has characters other than ASCII, their coding
    /// (position 9). Lengths are computed when the record is written.
    pub fn set_leader(&mut self, leader: Leader) {
        let is_ascii = self.fields.iter().all(|field| field.body.is_ascii());
        let is_kept = |place| matches!(place, 10 | 11 | 20..=23) || (place == 9 && !is_ascii);
        let octets = self.leader.0.iter_mut().zip(leader.0).enumerate();
        for (_, (own, new)) in octets.filter(|(place, _)| !is_kept(*place)) {
            *own = new;
        }
    }

    /// Calls `edit` for each field whose tag matches a pattern such as `650` or `6XX`, where `X` matches any character.
    /// Returns the number of these fields.
    ///
    /// # Errors
    /// [`EditError::Tag`] for an invalid pattern, or the first error from `edit`. By then, the fields before the error
    /// have already been changed.
    pub fn edit_fields(
        &mut self,
        tags: &str,
        mut edit: impl FnMut(&mut FieldMut<'_>) -> Result<(), EditError>,
    ) -> Result<usize, EditError> {
        let tags = TagPattern::read(tags).ok_or_else(|| EditError::Tag(tags.to_owned()))?;
        let mut count = 0;
        for place in 0..self.fields.len() {
            if let Some(mut field) = FieldMut::at(self, place)
                && tags.matches(field.tag)
            {
                edit(&mut field)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Adds a field, which may be passed as text such as `650 #0 $a Villages.`, after the last field with its tag or, if there is none,
    /// before the first field with a higher tag.
    ///
    /// # Errors
    /// [`EditError::Line`] for text that is not a field, [`EditError::Separator`] and [`EditError::NotUtf8`] for octets that are not valid
    /// in the record, and [`EditError::Charset`] for text in UTF-8 if the record is in a different set and cannot be converted.
    pub fn insert_ordered<F>(&mut self, field: F) -> Result<(), EditError>
    where
        F: TryInto<Field>,
        EditError: From<F::Error>,
    {
        let field = field.try_into()?;
        let is_terminator = |octet: &u8| matches!(*octet, FIELD_TERMINATOR | RECORD_TERMINATOR);
        if field.body.iter().any(is_terminator) {
            return Err(EditError::Separator(field.tag));
        }
        match std::str::from_utf8(&field.body) {
            Ok(text) if text.is_ascii() => {}
            Ok(_) => make_utf8(self)?,
            Err(_) if declares_utf8(self) => return Err(EditError::NotUtf8(field.tag)),
            Err(_) => {}
        }
        insert(self, field);
        Ok(())
    }

    /// Deletes fields or subfields: `852`, `9XX`, `245$c`; a field whose last subfield is deleted is deleted too.
    /// Returns whether anything was deleted. For many records, parse a [`Deletion`] once.
    ///
    /// # Errors
    /// [`EditError::Deletion`] if the text is not a valid deletion.
    pub fn remove(&mut self, what: &str) -> Result<bool, EditError> {
        Ok(what.parse::<Deletion>()?.apply(self))
    }

    /// Starts a new record. It is a MARC 21 monograph in UTF-8, unless the builder sets a different leader.
    pub fn builder() -> RecordBuilder {
        RecordBuilder::default()
    }
}

/// Converts a record to UTF-8 unless it already declares UTF-8, so that text in UTF-8 can be added to it.
fn make_utf8(record: &mut MarcRecord) -> Result<(), EditError> {
    if declares_utf8(record) {
        return Ok(());
    }
    let converted = to_utf8(record, &Options::default());
    let mut problems = converted.problems.into_iter();
    match problems.find(|problem| problem.problem.kind.is_undecoded()) {
        Some(problem) => Err(EditError::Charset(problem)),
        None => {
            *record = converted.record;
            Ok(())
        }
    }
}

/// Adds a field after the last field with its tag or, if there is none, before the first field with a higher tag.
fn insert(record: &mut MarcRecord, field: Field) {
    let is_same = |other: &Field| other.tag == field.tag;
    let same = record
        .fields
        .iter()
        .rposition(is_same)
        .map(|place| place + 1);
    let place = same
        .or_else(|| record.fields.iter().position(|other| other.tag > field.tag))
        .unwrap_or(record.fields.len());
    record.fields.insert(place, field);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrk;

    const RECORD: &str = "=LDR  00000cam\\a2200000\\i\\4500\n=001  b7\n=245  10$aEmma\n=852  1\\$aMain$xold$xolder\n=852  \\\\$xalone\n\
        =901  \\\\$a1\n=CAT  \\\\$aX\n";

    fn record() -> MarcRecord {
        let records = mrk::parse_all(RECORD).expect("a record");
        records.into_iter().next().expect("one")
    }

    #[test]
    fn issue_48_a_leader_does_not_change_the_kind_of_fields() {
        let mut ascii = record();
        let mut other = record();
        other
            .insert_ordered("500 ## $a Café.")
            .expect("a field is inserted");
        for (given, in_ascii, in_other) in [
            (
                "00000nas  2200000 a 4500",
                "00000nas  2200000 a 4500",
                "00000nas a2200000 a 4500",
            ),
            (
                "00000nas a4400000 a 45  ",
                "00000nas a2200000 a 4500",
                "00000nas a2200000 a 4500",
            ),
            (
                "99999nas a0399999 a 9999",
                "99999nas a2299999 a 4500",
                "99999nas a2299999 a 4500",
            ),
        ] {
            for (record, expected) in [(&mut ascii, in_ascii), (&mut other, in_other)] {
                record.set_leader(given.try_into().expect(given));
                assert_eq!(record.leader.0, expected.as_bytes(), "{given}");
            }
        }
        let built = MarcRecord::builder()
            .leader("00000nas a4400000 a 4500")
            .data("245", "10", [("a", "Emma")])
            .build()
            .expect("a record");
        assert_eq!(
            built
                .field("245")
                .and_then(|field| field.text("a"))
                .as_deref(),
            Some("Emma")
        );
        assert_eq!(built.leader.code_length(), 1);
    }

    #[test]
    fn r_f15_fields_and_subfields_are_deleted() {
        for (text, gone) in [
            ("9XX", &["=901  \\\\$a1\n"][..]),
            ("852$x", &["$xold$xolder", "=852  \\\\$xalone\n"]),
            (
                "852ax",
                &["=852  1\\$aMain$xold$xolder\n", "=852  \\\\$xalone\n"],
            ),
            ("001", &["=001  b7\n"]),
            ("CAT", &["=CAT  \\\\$aX\n"]),
            ("999", &[]),
            ("852$b", &[]),
            ("001$a", &[]),
        ] {
            let mut record = record();
            let deletion: Deletion = text
                .parse()
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(deletion.apply(&mut record), !gone.is_empty(), "{text}");
            let expected = gone.iter().fold(RECORD.to_owned(), |text, gone| {
                assert!(text.contains(gone));
                text.replace(gone, "")
            });
            assert_eq!(mrk::to_mrk(&record), expected, "{text}");
        }
        for text in ["LDR", "008/35-37", "650^2", "title", "", "9X", "852$"] {
            let deletion = text.parse::<Deletion>();
            assert_eq!(deletion.is_err(), text != "852$", "{text}");
        }
    }

    #[test]
    fn r_f15_local_fields_take_the_place_of_others() {
        let local = "=LDR  00000cam\\a2200000\\i\\4500\n=001  own\n=245  00$aOld\n=852  \\\\$aMine\n=852  \\\\$aYours\n=949  \\\\$ax\n";
        let local = mrk::parse_all(local).expect("a record").remove(0);
        for (tags, expected) in [
            (
                "001",
                "=001  own\n=245  10$aEmma\n=852  1\\$aMain$xold$xolder\n=852  \\\\$xalone\n=901  \\\\$a1\n=CAT  \\\\$aX\n",
            ),
            (
                "852,9XX",
                "=001  b7\n=245  10$aEmma\n=852  \\\\$aMine\n=852  \\\\$aYours\n=949  \\\\$ax\n=CAT  \\\\$aX\n",
            ),
            // The local record has no CAT field, so the CAT field of the record is removed.
            (
                "CAT,00X",
                "=001  own\n=245  10$aEmma\n=852  1\\$aMain$xold$xolder\n=852  \\\\$xalone\n=901  \\\\$a1\n",
            ),
            (
                "003,880",
                "=001  b7\n=245  10$aEmma\n=852  1\\$aMain$xold$xolder\n=852  \\\\$xalone\n=901  \\\\$a1\n=CAT  \\\\$aX\n",
            ),
        ] {
            let tags: LocalTags = tags.parse().expect("tags");
            let fields: Vec<Field> = tags.fields_of(&local).cloned().collect();
            let mut record = record();
            tags.put(&fields, &mut record);
            let written = mrk::to_mrk(&record);
            assert_eq!(
                written.split_once('\n').map(|(_, rest)| rest),
                Some(expected),
                "{tags:?}"
            );
        }
        for text in ["", "852$a", "title", "LDR", "008/35-37", "852,,901", "85"] {
            assert!(text.parse::<LocalTags>().is_err(), "{text}");
        }
    }

    #[test]
    fn r_f15_fields_are_added_in_the_order_of_tags() {
        for (text, before) in [
            ("852 $a New", "=901"),
            ("005 2024", "=245"),
            ("650 $a New", "=852  1"),
            ("999 $a New", "=CAT"),
            ("ZZZ $a New", ""),
        ] {
            let mut record = record();
            record.insert_ordered(text).expect("a field");
            let written = mrk::to_mrk(&record);
            let mut lines = written
                .lines()
                .skip_while(|line| !line.contains("New") && !line.contains("2024"));
            lines.next().expect("it exists");
            let next = lines.next().unwrap_or_default();
            assert!(
                next.starts_with(before) && next.is_empty() == before.is_empty(),
                "{text}: {written}"
            );
        }
    }
}
