//! Sorts records by keys such as `title`, `author`, `-year`, `001` or `852$h`.

use std::fmt;
use std::str::FromStr;

use bytes::{Bytes, BytesMut};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::record::{Field, MarcRecord};
use crate::table::{Content, RowOrigin, TableRow, content};

/// Keys for sorting records, the most important first. Each key is the name of a table column; `-` before it means
/// descending order.
///
/// Records are compared by the first value of each key. Text is compared character by character. Case, diacritics and punctuation are
/// ignored, as are non-filing words, which are identified by an indicator or by non-filing marks. Numbers are compared by value, and sort
/// before text. Records without a value come last, in ascending and in descending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKeys(Vec<SortKey>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct SortKey {
    name: String,
    content: Content,
    is_descending: bool,
}

/// The reason why text is not a list of sort keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{key:?} is not a sort key: use title, author, year, 001, 852$h, 008/07-10 …, with - before it for descending order"
)]
#[non_exhaustive]
pub struct SortKeysError {
    /// The key as the user wrote it.
    pub key: String,
}

/// The maximum number of octets of one key that are compared.
const MAX_KEY: usize = 400;

impl FromStr for SortKeys {
    type Err = SortKeysError;

    fn from_str(text: &str) -> Result<Self, SortKeysError> {
        let keys = text.split(',').map(|key| {
            let key = key.trim();
            let (is_descending, name) = match key.strip_prefix('-') {
                Some(name) => (true, name.trim_start()),
                None => (false, key),
            };
            let content = content(name).filter(|content| {
                !matches!(
                    content,
                    Content::OfCopies(_) | Content::Named("source" | "input" | "input_record")
                )
            });
            let key = key.to_owned();
            match content {
                Some(content) => Ok(SortKey {
                    name: key,
                    content,
                    is_descending,
                }),
                None => Err(SortKeysError { key }),
            }
        });
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for SortKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|key| key.name.as_str()).collect();
        f.write_str(&names.join(","))
    }
}

impl SortKeys {
    /// Returns octets by which records can be sorted: the octets of two records compare in the order of the records.
    /// The record must be in UTF-8.
    pub fn of(&self, record: &MarcRecord) -> Vec<u8> {
        let filed = filed(record);
        let mut row = TableRow::new(&filed, RowOrigin::default());
        let mut octets = Vec::new();
        for key in &self.0 {
            match row.values(&key.content).first() {
                Some(value) => {
                    octets.push(HAS_VALUE);
                    put(value, key.is_descending, &mut octets);
                }
                None => octets.push(HAS_NONE),
            }
        }
        octets
    }
}

const HAS_VALUE: u8 = 1;
const HAS_NONE: u8 = 2;
const NUMBER: u8 = 2;
const TEXT: u8 = 3;

/// Appends octets that compare in the same order as the values.
fn put(value: &str, is_descending: bool, octets: &mut Vec<u8>) {
    let begin = octets.len();
    let digits = value.trim();
    if !digits.is_empty()
        && digits.len() < MAX_KEY
        && digits.bytes().all(|octet| octet.is_ascii_digit())
    {
        let digits = digits.trim_start_matches('0');
        octets.push(NUMBER);
        octets.extend(
            u16::try_from(digits.len())
                .unwrap_or(u16::MAX)
                .to_be_bytes(),
        );
        octets.extend(digits.as_bytes());
    } else {
        octets.push(TEXT);
        octets.extend(folded(value).as_bytes().iter().take(MAX_KEY));
    }
    octets.push(0);
    if is_descending {
        for octet in octets.iter_mut().skip(begin) {
            *octet = !*octet;
        }
    }
}

/// Returns text in lower case without diacritics. Punctuation becomes spaces, with a single space between words.
fn folded(value: &str) -> String {
    let letters = value
        .nfkd()
        .filter(|character| !is_combining_mark(*character) && *character != '\'');
    let lower: String = letters.flat_map(char::to_lowercase).collect();
    let words: Vec<&str> = lower
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// The fields with an indicator for the number of non-filing characters (MARC 21), with the position of the
/// indicator.
const NON_FILING: [(&[u8; 3], usize); 10] = [
    (b"130", 0),
    (b"222", 1),
    (b"240", 1),
    (b"242", 1),
    (b"243", 1),
    (b"245", 1),
    (b"440", 1),
    (b"730", 0),
    (b"740", 0),
    (b"830", 1),
];

/// Returns the record without its non-filing words.
fn filed(record: &MarcRecord) -> MarcRecord {
    let is_marc21 = !crate::crosswalk::is_unimarc(record);
    let fields = record.fields.iter().map(|field| {
        let body = without_marked(&field.body);
        let field = match body {
            Some(body) => Field {
                tag: field.tag,
                body,
            },
            None => field.clone(),
        };
        if is_marc21 { filed_field(field) } else { field }
    });
    MarcRecord {
        leader: record.leader,
        fields: fields.collect(),
    }
}

/// Returns the field without the non-filing characters at the beginning of its first `$a`. An indicator of the field
/// states their number.
fn filed_field(field: Field) -> Field {
    let row = NON_FILING.iter().find(|(tag, _)| **tag == field.tag.0);
    let count = row.and_then(|(_, place)| field.indicators().get(*place).copied());
    let count = match count {
        Some(digit @ b'1'..=b'9') => usize::from(digit - b'0'),
        _ => return field,
    };
    let Some(data) = field.subfield("a") else {
        return field;
    };
    let text = String::from_utf8_lossy(data);
    let rest: String = text.chars().skip(count).collect();
    let indicators = field.indicators().to_vec();
    let mut is_first = true;
    let subfields = field.subfields().map(|subfield| {
        let is_it =
            subfield.code == b"a" && std::mem::replace(&mut is_first, subfield.code != b"a");
        let data = if is_it {
            rest.as_bytes()
        } else {
            subfield.data
        };
        (subfield.code, data)
    });
    Field::data(field.tag, indicators, subfields)
}

/// Returns the octets without text between the marks around non-filing words (U+0098 and U+009C, or U+0088 and U+0089); `None` if there are
/// no such marks.
fn without_marked(body: &Bytes) -> Option<Bytes> {
    let text = std::str::from_utf8(body).ok()?;
    if !text.contains(['\u{98}', '\u{88}']) {
        return None;
    }
    let mut kept = BytesMut::with_capacity(body.len());
    let mut rest = text;
    while let Some(begin) = rest.find(['\u{98}', '\u{88}']) {
        let (before, marked) = rest.split_at_checked(begin)?;
        kept.extend_from_slice(before.as_bytes());
        // If the end mark is missing, only the start mark is left out.
        let end = marked.find(['\u{9C}', '\u{89}', '\u{1F}']).unwrap_or(0);
        rest = marked.get(end..)?;
        if !rest.starts_with('\u{1F}') {
            rest = rest.split_at_checked(2)?.1;
        }
    }
    kept.extend_from_slice(rest.as_bytes());
    Some(kept.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mrk;

    fn record(lines: &str) -> MarcRecord {
        let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
        mrk::parse_all(&text).expect("a record").remove(0)
    }

    /// Checks that the records, each written as its fields, are in this order after they are sorted by the keys.
    fn check(keys: &str, in_order: &[&str]) {
        let parsed: SortKeys = keys.parse().expect("keys");
        assert_eq!(parsed.to_string(), keys);
        let of = |lines: &&str| (parsed.of(&record(lines)), (*lines).to_owned());
        let all: Vec<_> = in_order.iter().map(of).collect();
        for pair in all.windows(2) {
            assert!(
                pair[0].0 < pair[1].0,
                "{keys}: {:?} before {:?}",
                pair[0].1,
                pair[1].1
            );
        }
    }

    #[test]
    fn r_f15_records_are_compared_by_their_keys() {
        check(
            "title",
            &[
                "=245  04$aThe 9 lives",
                "=245  00$a\"Abc.\"",
                "=245  14$aThe abc d",
                "=245  00$aÉmile /$cRousseau",
                "=245  00$aEmma",
                "=245  02$aA Zoo",
                "=500  \\\\$anone",
            ],
        );
        check(
            "001",
            &[
                "=001  9",
                "=001  010",
                "=001  11",
                "=001  b10",
                "=001  b9",
                "=002  x",
            ],
        );
        check(
            "-001",
            &[
                "=001  b9",
                "=001  b10",
                "=001  11",
                "=001  010",
                "=001  9",
                "=002  x",
            ],
        );
        check(
            "-year,title",
            &[
                "=245  00$aB\n=264  \\1$c2001",
                "=245  00$aA\n=264  \\1$c1999",
                "=245  00$aC\n=264  \\1$c[1999?]",
                "=245  00$aA",
            ],
        );
        check("852$h", &["=852  \\\\$bZ$hPR 1", "=852  \\\\$bA$hPR 2"]);
        check("008/00-02", &["=008  abc", "=008  abd"]);
        check(
            "200$a",
            &[
                "=200  1\\$a\u{98}L'\u{9C}étranger",
                "=200  1\\$aFin",
                "=200  1\\$aLac",
            ],
        );
        let same = |keys: &str, one: &str, other: &str| {
            let keys: SortKeys = keys.parse().expect("keys");
            assert_eq!(
                keys.of(&record(one)),
                keys.of(&record(other)),
                "{one} {other}"
            );
        };
        same("title", "=245  00$aEmma.", "=245  10$aEMMA /$cJane Austen.");
        same("245$a", "=245  04$aThe Emma", "=245  00$aEmma");
        same("title", "=245  09$aOdd", "=245  00$a");
    }

    #[test]
    fn r_f15_keys_are_bounded_and_unknown_ones_refused() {
        let keys: SortKeys = "title,500".parse().expect("keys");
        let long = format!(
            "=245  00$a{0}\n=500  \\\\$a{1}",
            "é".repeat(100_000),
            "1".repeat(100_000)
        );
        assert!(keys.of(&record(&long)).len() < 2 * MAX_KEY + 20);
        for text in ["", "title,", "titel", "source", "call_number", "--year"] {
            assert!(text.parse::<SortKeys>().is_err(), "{text}");
        }
    }
}
