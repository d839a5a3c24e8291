//! The docid field of records; the default is 001 (RFC 2056 §4 leaves the choice to the server).

use std::fmt;
use std::str::FromStr;

use z3950_marc::{Field, MarcRecord, Tag};

/// A field and, unless it is a control field, a subfield, such as `001` or `035$a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocidField {
    tag: Tag,
    code: Option<u8>,
}

impl Default for DocidField {
    fn default() -> Self {
        Self {
            tag: Tag(*b"001"),
            code: None,
        }
    }
}

impl DocidField {
    /// Returns the docid of a record without surrounding spaces. It is read from the first docid field that is not empty; `None`
    /// if there is no such field.
    pub fn of<'a>(&self, record: &'a MarcRecord) -> Option<&'a [u8]> {
        let values = record
            .fields_by_tag(self.tag)
            .filter_map(|field| match self.code {
                None => Some(&*field.body),
                Some(code) => field.subfield([code]),
            });
        values
            .map(<[u8]>::trim_ascii)
            .find(|docid| !docid.is_empty())
    }
}

impl DocidField {
    /// Returns the fields of a record that contain only a docid.
    pub(super) fn alone<'a>(
        &self,
        record: &'a MarcRecord,
    ) -> impl Iterator<Item = &'a Field> + use<'a> {
        let is_alone = self.code.is_none();
        record.fields_by_tag(self.tag).filter(move |_| is_alone)
    }

    /// Sets the docid of a record that has none.
    pub(super) fn set(&self, record: &mut MarcRecord, docid: &[u8]) {
        let fields = &mut record.fields;
        // If the docid is a whole field, the existing fields with this tag have no value, so they are removed.
        fields.retain(|field| self.code.is_some() || field.tag != self.tag);
        let place = fields.iter().position(|known| known.tag > self.tag);
        fields.insert(place.unwrap_or(fields.len()), self.field(docid));
    }

    /// Returns a field that contains only this docid.
    fn field(&self, docid: &[u8]) -> Field {
        match self.code {
            None => Field::control(self.tag, docid.to_vec()),
            Some(code) => Field::data(self.tag, "  ", [([code], docid)]),
        }
    }
}

/// The reason why a string is not a valid docid field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a control field such as 001, or a field and subfield such as 035$a")]
pub struct DocidFieldError;

impl FromStr for DocidField {
    type Err = DocidFieldError;

    fn from_str(text: &str) -> Result<Self, DocidFieldError> {
        let (tag, rest) = text.as_bytes().split_first_chunk().ok_or(DocidFieldError)?;
        let code = match rest {
            [] if tag.starts_with(b"00") => None,
            [b'$', code] if code.is_ascii_graphic() => Some(*code),
            _ => return Err(DocidFieldError),
        };
        let is_tag = tag.iter().all(u8::is_ascii_alphanumeric);
        let tag = Tag(*tag);
        is_tag.then_some(Self { tag, code }).ok_or(DocidFieldError)
    }
}

impl fmt::Display for DocidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tag.fmt(f)?;
        self.code
            .map_or(Ok(()), |code| write!(f, "${}", char::from(code)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_and_read() {
        let record = MarcRecord {
            fields: vec![
                Field::control(b"001", "  id 7 "),
                Field::data(b"035", "  ", [("z", "old"), ("a", " ")]),
                Field::data(b"035", "  ", [("a", "(OCoLC)7 ")]),
            ],
            ..MarcRecord::default()
        };
        for (text, docid) in [
            ("001", Some(&b"id 7"[..])),
            ("003", None),
            ("035$a", Some(b"(OCoLC)7")),
            ("035$z", Some(b"old")),
            ("035$9", None),
        ] {
            let field: DocidField = text.parse().expect(text);
            assert_eq!(field.of(&record), docid, "{text}");
            assert_eq!(field.to_string(), text);
        }
        for text in [
            "", "035", "35$a", "035a", "035$", "035$ab", "0-5$a", "035$ ", "00é",
        ] {
            assert_eq!(text.parse::<DocidField>(), Err(DocidFieldError), "{text}");
        }
        assert_eq!(DocidField::default().to_string(), "001");
    }
}
