//! The data for a citation (title, author, year and identifiers), from MARC 21 and UNIMARC records.

use serde_json::{Map, Value};

use super::dublin_core::{coded_date, values};
use super::labels::{clean, is_unimarc};
use crate::record::{Field, MarcRecord};
use crate::standard_number::{Isbn, NumberKind, numbers};
use crate::text::composed;

/// The data for a citation of the publication that a record describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Citation {
    /// The title on one line, without the statement of responsibility (245; in UNIMARC 200).
    pub title: Option<String>,
    /// The main entry (100, 110 or 111; in UNIMARC 700, 710 or 720).
    pub author: Option<String>,
    /// The first year of publication (008/07-10, or else 260 or 264 $c; in UNIMARC 100 $a/09-12, or else 210 or 214
    /// $d).
    pub year: Option<u16>,
    /// The identifiers of the publication and of its record.
    pub identifiers: Identifiers,
}

/// The numbers of a publication and of its record, without duplicates. Valid numbers are in their normal form; other
/// numbers are kept as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identifiers {
    /// 13-digit ISBNs (020 $a; in UNIMARC 010 $a).
    pub isbn: Vec<String>,
    /// ISSNs (022 $a; in UNIMARC 011 $a).
    pub issn: Vec<String>,
    /// Library of Congress Control Numbers (010 $a of MARC 21).
    pub lccn: Vec<String>,
    /// OCLC numbers (035 $a, or 001 with an OCLC prefix).
    pub oclc: Vec<String>,
    /// The control number (001) of the record, if it has one.
    pub local: Vec<String>,
}

impl Citation {
    /// Returns the citation for a record in UTF-8. Letters and their marks are composed (NFC), because people search
    /// for the composed form.
    pub fn of(record: &MarcRecord) -> Self {
        let unimarc = is_unimarc(record);
        let first = |element| {
            let text = values(record, element, unimarc).next();
            text.map(without_full_stop).map(composed)
        };
        let dates = || values(record, "date", unimarc).find_map(|date| year(&date));
        Self {
            title: first("title"),
            author: first("creator"),
            year: year(&coded_date(record, unimarc)).or_else(dates),
            identifiers: Identifiers::read(record, unimarc),
        }
    }

    /// Returns a JSON object with the members `title`, `author`, `year` and `identifiers`. Unknown values are null;
    /// `identifiers` has an array for each kind of number.
    pub fn to_json(&self) -> Map<String, Value> {
        let identifiers = Identifiers::KINDS.into_iter();
        let identifiers: Map<String, Value> = identifiers
            .map(|kind| (kind.to_owned(), self.identifiers.of_kind(kind).into()))
            .collect();
        let members = [
            ("title", Value::from(self.title.clone())),
            ("author", self.author.clone().into()),
            ("year", self.year.into()),
            ("identifiers", identifiers.into()),
        ];
        members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

impl Identifiers {
    /// The names of the kinds of numbers, which are the names of the fields of this type.
    pub const KINDS: [&str; 5] = ["isbn", "issn", "lccn", "oclc", "local"];

    /// Returns the numbers of a record in UTF-8.
    pub fn of(record: &MarcRecord) -> Self {
        Self::read(record, is_unimarc(record))
    }

    fn read(record: &MarcRecord, unimarc: bool) -> Self {
        let (isbn, issn, lccn_tag) = if unimarc {
            ("010", "011", "")
        } else {
            ("020", "022", "010")
        };
        let local: Vec<String> = record.control_number().map(clean).into_iter().collect();
        let oclc = texts(record, "035").chain(local.iter().cloned());
        Self {
            isbn: distinct(texts(record, isbn).flat_map(|text| shown(NumberKind::Isbn, &text))),
            issn: distinct(texts(record, issn).flat_map(|text| shown(NumberKind::Issn, &text))),
            lccn: distinct(texts(record, lccn_tag).flat_map(|text| {
                let found = normals(NumberKind::Lccn, &text);
                if found.is_empty() { vec![text] } else { found }
            })),
            oclc: distinct(oclc.flat_map(|text| normals(NumberKind::Oclc, &text))),
            local: distinct(local.into_iter()),
        }
    }

    /// Returns the numbers of a kind, which is one of the [`KINDS`](Self::KINDS). Returns an empty slice for any other
    /// kind.
    pub fn of_kind(&self, kind: &str) -> &[String] {
        match kind {
            "isbn" => &self.isbn,
            "issn" => &self.issn,
            "lccn" => &self.lccn,
            "oclc" => &self.oclc,
            "local" => &self.local,
            _ => &[],
        }
    }
}

/// Returns the ISBNs of a record that have a correct check digit.
pub fn isbns(record: &MarcRecord) -> impl Iterator<Item = Isbn> {
    let tag = if is_unimarc(record) { "010" } else { "020" };
    let valid = |text: String| {
        let found = normals(NumberKind::Isbn, &text).into_iter();
        found.filter_map(|number| Isbn::parse(&number))
    };
    texts(record, tag).flat_map(valid)
}

/// Returns the text of each subfield `a` in the fields with a tag.
fn texts(record: &MarcRecord, tag: &str) -> impl Iterator<Item = String> {
    let fields = record
        .fields_by_tag(tag)
        .flat_map(Field::subfields)
        .filter(|subfield| subfield.code == b"a");
    fields.map(|subfield| clean(subfield.data))
}

/// Returns the normal form of each number in the text. A number with a wrong check digit is reduced to its digits.
fn normals(kind: NumberKind, text: &str) -> Vec<String> {
    let found = numbers(kind, text).into_iter();
    found.map(|number| number.normal).collect()
}

/// Returns the numbers in the text as they are to be shown: valid numbers in their normal form, others as written. If
/// no number is recognised, the text is returned without its qualifier.
fn shown(kind: NumberKind, text: &str) -> Vec<String> {
    let found: Vec<String> = numbers(kind, text)
        .into_iter()
        .map(|number| {
            if number.is_valid {
                number.normal
            } else {
                number.written.to_owned()
            }
        })
        .collect();
    if found.is_empty() {
        vec![unqualified(text)]
    } else {
        found
    }
}

/// Returns the text before a qualifier or a price. Returns an empty string if there is no digit before them, for
/// example because there is only a qualifier.
fn unqualified(text: &str) -> String {
    let number = text
        .split(['(', ':', ';'])
        .next()
        .unwrap_or_default()
        .trim();
    let has_digit = number.contains(|character: char| character.is_ascii_digit());
    if has_digit {
        number.to_owned()
    } else {
        String::new()
    }
}

/// Returns the non-empty texts, without duplicates.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !text.is_empty() && !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// Returns the first four-digit number in a date such as `c1813.` or `[1995-1998]`.
fn year(text: &str) -> Option<u16> {
    let mut runs = text.split(|character: char| !character.is_ascii_digit());
    runs.find(|run| run.len() == 4)?.parse().ok()
}

/// Removes the full stop at the end of an area or a heading, unless it belongs to an abbreviation of one or two
/// letters.
fn without_full_stop(text: String) -> String {
    let Some(bare) = text.strip_suffix('.') else {
        return text;
    };
    let last = bare.chars().rev().take(3);
    match last.filter(|character| character.is_alphanumeric()).count() {
        3 => bare.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Leader;
    use serde_json::json;

    /// The tag and the subfields of a field.
    type Given<'a> = (&'a [u8; 3], &'a [(&'a str, &'a str)]);

    #[test]
    fn audit_r_a10_a_title_that_stands_only_in_880() {
        let of = |fields: &[Given<'_>]| {
            let fields = fields
                .iter()
                .map(|(tag, data)| Field::data(*tag, "1 ", data.iter().copied()));
            let record = MarcRecord {
                leader: Leader::default(),
                fields: fields.collect(),
            };
            let Citation { title, author, .. } = Citation::of(&record);
            (title.unwrap_or_default(), author.unwrap_or_default())
        };
        let linked: Given<'_> = (b"880", &[("6", "245-01/$1"), ("a", "紅樓夢 /")]);
        let author: Given<'_> = (b"880", &[("6", "100-02/$1"), ("a", "曹雪芹")]);
        for (fields, title, name) in [
            (&[linked][..], "紅樓夢", ""),
            (
                &[(b"245", &[("6", "880-01"), ("a", "<>")][..]), linked],
                "紅樓夢",
                "",
            ),
            (
                &[
                    linked,
                    (b"245", &[("6", "880-01"), ("a", "<> /"), ("c", "<>.")]),
                ],
                "紅樓夢",
                "",
            ),
            (
                &[(b"100", &[("6", "880-02"), ("a", "<>,")]), author],
                "",
                "曹雪芹",
            ),
            (&[(b"245", &[("a", "<>")])], "", ""),
            (&[(b"245", &[("a", "<> and </>")])], "<> and </>", ""),
            (
                &[(b"245", &[("6", "880-01"), ("a", "Hong lou meng")]), linked],
                "Hong lou meng",
                "",
            ),
        ] {
            assert_eq!(
                of(fields),
                (title.to_owned(), name.to_owned()),
                "{fields:?}"
            );
        }
    }

    fn check(fields: Vec<Field>, expected: Value) {
        let leader = Leader::default();
        let record = MarcRecord { leader, fields };
        assert_eq!(Value::from(Citation::of(&record).to_json()), expected);
    }

    #[test]
    fn a_record_of_marc_21() {
        check(
            vec![
                Field::control(b"001", " ocm00012345 "),
                Field::control(b"008", "971201s1813    enk           000 1 eng  "),
                Field::data(b"010", "  ", [("a", "   85000002 ")]),
                Field::data(b"020", "  ", [("a", "0141439513 (pbk.) :"), ("c", "£5")]),
                Field::data(b"020", "  ", [("a", "9780141439518")]),
                Field::data(b"020", "  ", [("a", "0141439514"), ("z", "0306406152")]),
                Field::data(b"020", "  ", [("a", "0 306 40615 2 hbk")]),
                Field::data(b"022", "  ", [("a", "03785955")]),
                Field::data(b"035", "  ", [("a", "(OCoLC)12345")]),
                Field::data(b"035", "  ", [("a", "(DE-599)7")]),
                Field::data(b"100", "1 ", [("a", "Austen, Jane,"), ("d", "1775-1817.")]),
                Field::data(
                    b"245",
                    "10",
                    [("a", "Pride and prejudice."), ("c", "By her.")],
                ),
                Field::data(b"260", "  ", [("c", "1894")]),
            ],
            json!({
                "title": "Pride and prejudice",
                "author": "Austen, Jane, 1775-1817",
                "year": 1813,
                "identifiers": {
                    "isbn": ["9780141439518", "0141439514", "9780306406157"],
                    "issn": ["0378-5955"],
                    "lccn": ["85000002"],
                    "oclc": ["12345"],
                    "local": ["ocm00012345"],
                },
            }),
        );
    }

    #[test]
    fn a_record_of_unimarc() {
        check(
            vec![
                Field::data(b"010", "  ", [("a", "2-07-036002-4"), ("b", "br.")]),
                Field::data(
                    b"100",
                    "  ",
                    [("a", "20001122d19uu    u  y0frey50      ba")],
                ),
                Field::data(
                    b"200",
                    "1 ",
                    [("a", "\u{98}L'\u{9C}étranger"), ("f", "A. Camus")],
                ),
                Field::data(b"210", "  ", [("a", "Paris"), ("d", "DL 1972, cop. 1942")]),
                Field::data(b"700", " |", [("a", "Camus"), ("b", "A.")]),
            ],
            json!({
                "title": "L'étranger",
                "author": "Camus, A.",
                "year": 1972,
                "identifiers": {
                    "isbn": ["9782070360024"],
                    "issn": [],
                    "lccn": [],
                    "oclc": [],
                    "local": [],
                },
            }),
        );
    }

    #[test]
    fn nothing_is_known_of_an_empty_record() {
        let none: [&str; 0] = [];
        let identifiers = Identifiers::KINDS.map(|kind| (kind.to_owned(), none.into()));
        check(
            vec![],
            json!({
                "title": null,
                "author": null,
                "year": null,
                "identifiers": Map::from_iter(identifiers),
            }),
        );
    }
}
