//! Labels with the fields that belong to them, and the rules for joining subfields. The crosswalks from MARC 21 and
//! UNIMARC use them. Fields in another script (880) belong to the labels of the fields they are linked to.

use crate::charset::unimarc_sets;
use crate::record::{Field, MarcRecord, Subfield};

/// A label, the fields that belong to it, and the subfields to show.
pub(crate) struct Label {
    pub(crate) name: &'static str,
    /// The tags of the fields, separated by spaces.
    tags: &'static str,
    /// The codes of the subfields to show.
    codes: &'static str,
    joint: Joint,
}

impl Label {
    /// Returns whether fields with this tag belong to the label.
    pub(crate) fn has(&self, tag: [u8; 3]) -> bool {
        let mut tags = self.tags.as_bytes().chunks(tag.len() + 1);
        tags.any(|known| known.starts_with(&tag))
    }

    /// Returns the values under the label in record order, including those of fields in another script. Empty values
    /// are left out.
    pub(crate) fn values(&self, record: &MarcRecord) -> impl Iterator<Item = String> {
        self.fields(record).map(|(_, value)| value)
    }

    /// Returns the values as [`values`](Self::values) does, each with its field.
    pub(crate) fn fields<'a>(
        &self,
        record: &'a MarcRecord,
    ) -> impl Iterator<Item = (&'a Field, String)> {
        let fields = record.fields.iter();
        fields
            .filter(|field| self.has(effective_tag(field)))
            .map(|field| (field, self.value(field)))
            .filter(|(_, value)| !value.is_empty())
    }

    /// Returns the text shown for a field, possibly empty.
    pub(crate) fn value(&self, field: &Field) -> String {
        if let Some(value) = field.value() {
            return clean(value);
        }
        let mut value = String::new();
        for subfield in field.subfields().filter(|subfield| self.shows(subfield)) {
            let data = clean(subfield.data);
            if data.is_empty() || is_placeholder(&data) {
                continue;
            }
            if !value.is_empty() {
                value.push_str(match self.joint {
                    Joint::Subdivision if matches!(subfield.code, b"v" | b"x" | b"y" | b"z") => {
                        " -- "
                    }
                    Joint::Blank | Joint::Subdivision => " ",
                    Joint::Comma => ", ",
                });
            }
            value.push_str(&data);
        }
        // Remove punctuation that introduces a part that is not shown.
        let shown = value.trim_end_matches([' ', '/', ':', ';', ',', '=']).len();
        value.truncate(shown);
        value
    }

    /// Returns whether [`clean`] replaces control characters in the text that is shown for the field.
    pub(crate) fn loses_controls(&self, field: &Field) -> bool {
        self.has(effective_tag(field))
            && match field.value() {
                Some(value) => has_controls(value),
                None => field
                    .subfields()
                    .any(|subfield| self.shows(&subfield) && has_controls(subfield.data)),
            }
    }

    fn shows(&self, subfield: &Subfield<'_>) -> bool {
        matches!(subfield.code, [code] if self.codes.as_bytes().contains(code))
    }
}

/// The separator between two subfields.
pub(crate) enum Joint {
    /// A space, because the record contains its punctuation (MARC 21).
    Blank,
    /// A comma and a space, because the record contains no punctuation (UNIMARC).
    Comma,
    /// A dash before subdivisions, and a space before other subfields.
    Subdivision,
}

pub(crate) const fn label(
    name: &'static str,
    tags: &'static str,
    codes: &'static str,
    joint: Joint,
) -> Label {
    Label {
        name,
        tags,
        codes,
        joint,
    }
}

/// Returns whether the record is in UNIMARC or a related format: its 100 $a has general processing data, or it has a
/// title in 200 but not in 245.
pub fn is_unimarc(record: &MarcRecord) -> bool {
    let has = |tag: &str| record.fields_by_tag(tag).next().is_some();
    unimarc_sets(record).is_some() || has("200") && !has("245")
}

/// Returns the ISBNs and ISSNs of a record, as written in its fields, each with the name of its kind.
pub(crate) fn standard_numbers(
    record: &MarcRecord,
    unimarc: bool,
) -> impl Iterator<Item = (&'static str, String)> {
    let tags = if unimarc {
        [("ISBN", "010"), ("ISSN", "011")]
    } else {
        [("ISBN", "020"), ("ISSN", "022")]
    };
    tags.into_iter().flat_map(|(name, tag)| {
        let numbers = record.fields_by_tag(tag);
        numbers.filter_map(move |field| Some((name, clean(field.subfield("a")?))))
    })
}

/// Returns the tag of a field. For a field in another script, returns the tag in its `$6` (MARC 21 Appendix A: `$6
/// 245-01/$1`).
pub(crate) fn effective_tag(field: &Field) -> [u8; 3] {
    let linked = (field.tag.0 == *b"880")
        .then(|| field.subfield("6")?.first_chunk().copied())
        .flatten();
    linked.unwrap_or(field.tag.0)
}

/// Returns the text on one line, trimmed, and without the marks around non-filing words. Octets that are not UTF-8
/// become U+FFFD, and control characters become spaces.
pub(crate) fn clean(octets: &[u8]) -> String {
    if !may_have_controls(octets)
        && let Ok(text) = std::str::from_utf8(octets)
    {
        return text.trim().to_owned();
    }
    let text = String::from_utf8_lossy(octets);
    let visible = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    let text = text.trim().chars();
    text.filter(|character| !is_sorting_mark(*character))
        .map(visible)
        .collect()
}

/// Returns whether the text is only `<>` and punctuation. Some systems write this if the text exists only in another
/// script, in the linked 880.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let is_mark = |character: char| character == ' ' || character.is_ascii_punctuation();
    text.strip_prefix("<>")
        .is_some_and(|rest| rest.chars().all(is_mark))
}

/// Returns whether the octets have control characters that are neither white space nor marks around non-filing words.
pub(crate) fn has_controls(octets: &[u8]) -> bool {
    may_have_controls(octets)
        && String::from_utf8_lossy(octets).chars().any(|character| {
            character.is_control() && !character.is_whitespace() && !is_sorting_mark(character)
        })
}

/// Returns whether the octets may contain control characters in UTF-8: ASCII control characters, or 0xC2, which
/// begins U+0080 to U+009F.
fn may_have_controls(octets: &[u8]) -> bool {
    let is_likely = |octet: u8| matches!(octet, 0..b' ' | 0x7F | 0xC2);
    // `fold` does not exit early, so the compiler can vectorise the loop.
    let octets = octets.iter();
    octets.fold(false, |found, octet| found | is_likely(*octet))
}

/// Returns whether a character marks non-filing words in MARC 21 and UNIMARC.
fn is_sorting_mark(character: char) -> bool {
    matches!(character, '\u{88}' | '\u{89}' | '\u{98}' | '\u{9C}')
}
