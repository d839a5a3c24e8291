//! Changes of records: fields and subfields are deleted, and fields are added as people type them.

use std::fmt;
use std::str::FromStr;

use bytes::{BufMut, BytesMut};

use crate::record::{Field, MarcRecord, SUBFIELD_DELIMITER, Tag, split_characters};
use crate::select::{Place, SelectError, TagPattern};

/// Fields or subfields to delete: `852`, `9XX`, `852$x`, `852xz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    place: Place,
    pattern: TagPattern,
    codes: String,
}

/// The reason why text does not say what to delete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeletionError {
    /// It does not name a part of a record.
    #[error(transparent)]
    Place(#[from] SelectError),
    /// It names a part that is neither a field nor a subfield.
    #[error("{0} is neither a field nor a subfield, such as 852, 9XX or 852$x")]
    NoField(Place),
    /// It names a part of a field where a field is meant.
    #[error("{0} is not the tag of a field, such as 852 or 9XX")]
    NoTag(Place),
}

impl FromStr for Deletion {
    type Err = DeletionError;

    fn from_str(text: &str) -> Result<Self, DeletionError> {
        let place: Place = text.parse()?;
        let found = place.of_fields();
        let found = found.map(|(pattern, codes)| (pattern, codes.to_owned()));
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
    /// Deletes the fields, or the subfields with the fields that have no other. Returns whether there were any.
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

/// Returns a field without its subfields that have one of these codes, and whether it has others. `None` if it has no such subfield.
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

/// Tags of fields that a record keeps when a better one takes its place: `001`, `852`, `9XX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalTags(Vec<TagPattern>);

impl FromStr for LocalTags {
    type Err = DeletionError;

    /// Reads tags with commas between them.
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

    /// Puts the fields that another record had into a record, in the order of tags. Its own fields with these tags are removed, but
    /// for control fields of which the other record has none. Both records must be in the same character set.
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

/// Adds a field behind the last one with its tag, or else before the first one with a higher tag.
pub fn insert(record: &mut MarcRecord, field: Field) {
    let is_same = |other: &Field| other.tag == field.tag;
    let same = record
        .fields
        .iter()
        .rposition(is_same)
        .map(|place| place + 1);
    let place = same.or_else(|| record.fields.iter().position(|other| other.tag > field.tag));
    let place = place.unwrap_or(record.fields.len());
    record.fields.insert(place, field);
}

/// The reason why text is not a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a field such as '852 __ $a Main library' or '003 DE-1': {reason}")]
#[non_exhaustive]
pub struct FieldError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// Reads a field as people type it: `852 __ $a Main library $b Annex`, `650 #0$aWar.`, `=650  \0$aWar.`, `003 DE-1`.
///
/// A blank indicator is `#`, `_`, a backslash or a blank; without any indicator, both are blank. A dollar sign before a small letter
/// or a digit begins a subfield; `{dollar}` is a dollar sign in text. Blanks around values do not count.
///
/// # Errors
/// [`FieldError`] for other text, control characters and empty values.
pub fn parse_field(text: &str) -> Result<Field, FieldError> {
    read_field(text).map_err(|reason| FieldError {
        text: text.to_owned(),
        reason,
    })
}

fn read_field(text: &str) -> Result<Field, &'static str> {
    if text.contains(char::is_control) {
        return Err("it has control characters");
    }
    let text = text.trim();
    let text = text.strip_prefix('=').unwrap_or(text);
    let (tag, rest) = split_tag(text).ok_or("it does not begin with a tag")?;
    if !rest.starts_with(' ') && !rest.starts_with('$') {
        return Err("a blank is missing after the tag");
    }
    if tag.is_control() {
        let value = rest.trim();
        if value.starts_with('$') {
            return Err("a control field has no subfields");
        }
        let value = value.replace("{dollar}", "$");
        return Ok(Field::control(tag, value.into_bytes()));
    }
    let begin = rest.find('$').ok_or("it has no subfield")?;
    let (head, data) = rest.split_at_checked(begin).ok_or("it has no subfield")?;
    let indicators = indicators(head)?;
    let subfields = subfields(data)?;
    let subfields = subfields.iter().map(|(code, value)| (code, value));
    Ok(Field::data(tag, indicators, subfields))
}

/// Splits text after its tag.
fn split_tag(text: &str) -> Option<(Tag, &str)> {
    let (tag, rest) = text.split_at_checked(3)?;
    let octets: [u8; 3] = tag.as_bytes().try_into().ok()?;
    let is_tag = |octet: &u8| octet.is_ascii_digit() || octet.is_ascii_uppercase();
    let is_leader = matches!(tag, "LDR" | "000");
    (octets.iter().all(is_tag) && !is_leader).then_some((Tag(octets), rest))
}

/// Reads what is between the tag and the first subfield.
fn indicators(head: &str) -> Result<[u8; 2], &'static str> {
    let is_known = |octet: &u8| {
        octet.is_ascii_lowercase() || octet.is_ascii_digit() || b"#_\\| ".contains(octet)
    };
    if !head.bytes().all(|octet| is_known(&octet)) {
        return Err("an indicator is a digit, a small letter, |, or for a blank # or _");
    }
    let head = head.strip_prefix(' ').unwrap_or(head);
    let found = match *head.trim().as_bytes() {
        [] => [b' ', b' '],
        [first, second] => [first, second],
        // Where a single one stands says which one it is.
        [one] if head.starts_with(' ') => [b' ', one],
        [one] => [one, b' '],
        _ => return Err("it has more than two indicators"),
    };
    Ok(found.map(|octet| match octet {
        b'#' | b'_' | b'\\' => b' ',
        octet => octet,
    }))
}

/// Reads subfields, the first of which begins with the text.
fn subfields(data: &str) -> Result<Vec<(String, String)>, &'static str> {
    let mut subfields: Vec<(String, String)> = Vec::new();
    for part in data.split('$').skip(1) {
        let mut characters = part.chars();
        let code = characters.next();
        match code.filter(|code| code.is_ascii_lowercase() || code.is_ascii_digit()) {
            Some(code) => subfields.push((code.to_string(), characters.as_str().to_owned())),
            None => match subfields.last_mut() {
                Some((_, value)) => {
                    value.push('$');
                    value.push_str(part);
                }
                None => return Err("a subfield code is a small letter or a digit"),
            },
        }
    }
    for (_, value) in &mut subfields {
        *value = value.trim().replace("{dollar}", "$");
    }
    if subfields.iter().any(|(_, value)| value.is_empty()) {
        return Err("a subfield is empty");
    }
    Ok(subfields)
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
            // What the old record does not have is removed, but not the control number.
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
    fn r_f15_fields_are_read_as_people_type_them() {
        for (text, expected) in [
            (
                "852 __ $a Main library $b Annex",
                "=852  \\\\$aMain library$bAnnex",
            ),
            ("852 ## $a Main", "=852  \\\\$aMain"),
            ("852 $a Main", "=852  \\\\$aMain"),
            ("852$aMain", "=852  \\\\$aMain"),
            ("852    $a Main", "=852  \\\\$aMain"),
            ("852 1  $a Main", "=852  1\\$aMain"),
            ("852 1 $a Main", "=852  1\\$aMain"),
            ("852  1 $a Main", "=852  \\1$aMain"),
            ("852 1_$aMain", "=852  1\\$aMain"),
            ("=852  8\\$aMain$x3{dollar}5", "=852  8\\$aMain$x3{dollar}5"),
            (
                "852 __ $a 5 US$ $b $ $c x",
                "=852  \\\\$a5 US{dollar}$b{dollar}$cx",
            ),
            ("003 DE-1", "=003  DE-1"),
            ("=003  DE-1", "=003  DE-1"),
            ("CAT __ $a X", "=CAT  \\\\$aX"),
            ("852 |1 $a ü", "=852  |1$aü"),
        ] {
            let field = parse_field(text).unwrap_or_else(|error| panic!("{error}"));
            let record = MarcRecord {
                fields: vec![field],
                ..MarcRecord::default()
            };
            let written = mrk::to_mrk(&record);
            assert_eq!(written.lines().nth(1), Some(expected), "{text}");
        }
        for (text, words) in [
            ("", "tag"),
            ("85", "tag"),
            ("LDR 00000", "tag"),
            ("8é2 $a x", "tag"),
            ("852", "a blank is missing"),
            ("852x $a x", "a blank is missing"),
            ("852 __ Main", "no subfield"),
            ("852 123 $a Main", "more than two"),
            ("852 A_ $a Main", "an indicator is"),
            ("852 __ $A Main", "a subfield code"),
            ("852 __ $a $b x", "empty"),
            ("852 __ $a x\u{1f}by", "control characters"),
            ("003 ", "a blank is missing"),
            ("003 $a x", "no subfields"),
        ] {
            let error = parse_field(text).expect_err(text).to_string();
            assert!(error.contains(words), "{text}: {error}");
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
            insert(&mut record, parse_field(text).expect("a field"));
            let written = mrk::to_mrk(&record);
            let mut lines = written
                .lines()
                .skip_while(|line| !line.contains("New") && !line.contains("2024"));
            lines.next().expect("it is there");
            let next = lines.next().unwrap_or_default();
            assert!(
                next.starts_with(before) && next.is_empty() == before.is_empty(),
                "{text}: {written}"
            );
        }
    }
}
