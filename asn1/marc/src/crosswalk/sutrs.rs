//! Converts a MARC record to simple unstructured text: `Label: value` lines that a person can read (Z39.50-2003 §REC.2,
//! SUTRS). MARC 21 and UNIMARC each have a table of labels; [`is_unimarc`] decides which table applies.

use super::labels::{Joint, Label, is_unimarc, label};
use crate::record::{Field, MarcRecord};

/// A value under a label.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelledValue<'a> {
    /// The label, such as `Author`.
    pub label: &'static str,
    /// The value, on one line.
    pub value: String,
    /// The field that the value comes from.
    pub field: &'a Field,
}

/// Returns the values of the record with their labels, in the order of [`sutrs_text`].
pub fn labelled(record: &MarcRecord) -> impl Iterator<Item = LabelledValue<'_>> {
    labels(record).iter().flat_map(move |line| {
        let values = line.fields(record);
        values.map(move |(field, value)| LabelledValue {
            label: line.name,
            value,
            field,
        })
    })
}

/// Returns the record as lines of text, each ended by a newline: title, author, publication and so on. Labels have a
/// fixed order; the fields of a label are in record order. Missing parts are left out, and a record without any of
/// these fields is one empty line.
///
/// Fields in another script (880) have the labels of the fields they are linked to. Control characters become spaces,
/// and octets that are not UTF-8 become U+FFFD. Long lines are not folded.
pub fn sutrs_text(record: &MarcRecord) -> String {
    let mut text = String::new();
    for LabelledValue { label, value, .. } in labelled(record) {
        text.push_str(label);
        text.push_str(": ");
        text.push_str(&value);
        text.push('\n');
    }
    if text.is_empty() {
        text.push('\n');
    }
    text
}

/// Labels for MARC 21 (Bibliographic, 2XX to 8XX), in the order of the lines.
#[rustfmt::skip]
const MARC21: &[Label] = &[
    label("Title", "245", "abfgknps", Joint::Blank),
    label("Uniform title", "130 240", "adfgklmnoprst", Joint::Blank),
    label("Other title", "246 247", "abfgnp", Joint::Blank),
    label("Author", "100 110 111", "abcdnq", Joint::Blank),
    label("Contributor", "700 710 711", "abcdenpqt", Joint::Blank),
    label("Responsibility", "245", "c", Joint::Blank),
    label("Edition", "250", "ab", Joint::Blank),
    label("Published", "260 264", "abc", Joint::Blank),
    label("Physical description", "300", "abcefg", Joint::Blank),
    label("Frequency", "310", "ab", Joint::Blank),
    label("Issues", "362", "a", Joint::Blank),
    label("Series", "440 490", "anpvx", Joint::Blank),
    label("Language", "041", "a", Joint::Comma),
    label("Contents", "505", "agrt", Joint::Blank),
    label("Summary", "520", "ab", Joint::Blank),
    label("Notes", "500 501 502 504 508 511 515 518 521 525 530 533 534 538 540 546 550 580 586 588", "abcdefgmnpt", Joint::Blank),
    label("Subjects", "600 610 611 630 647 648 650 651 653", "abcdnpqtvxyz", Joint::Subdivision),
    label("Genre", "655", "abvxyz", Joint::Subdivision),
    label("ISBN", "020", "aq", Joint::Blank),
    label("ISSN", "022", "a", Joint::Blank),
    label("Link", "856", "u", Joint::Comma),
    label("Identifier", "001", "", Joint::Blank),
];

/// Labels for UNIMARC (Bibliographic, blocks 0 to 8), in the same order as those of MARC 21.
#[rustfmt::skip]
const UNIMARC: &[Label] = &[
    label("Title", "200", "aehicd", Joint::Comma),
    label("Uniform title", "500", "ahi", Joint::Comma),
    label("Other title", "510 512 517 530 531", "aehi", Joint::Comma),
    label("Author", "700 710 720", "abcdf", Joint::Comma),
    label("Contributor", "701 702 711 712", "abcdf", Joint::Comma),
    label("Responsibility", "200", "fg", Joint::Comma),
    label("Edition", "205", "abfg", Joint::Comma),
    label("Published", "210 214", "acd", Joint::Comma),
    label("Physical description", "215", "acde", Joint::Comma),
    label("Frequency", "326", "ab", Joint::Comma),
    label("Issues", "207", "a", Joint::Comma),
    label("Series", "225", "aehivx", Joint::Comma),
    label("Language", "101", "a", Joint::Comma),
    label("Contents", "327", "a", Joint::Comma),
    label("Summary", "330", "a", Joint::Comma),
    label("Notes", "300 301 302 303 304 305 306 307 308 310 311 314 320 321 328 336 337", "a", Joint::Comma),
    label("Subjects", "600 601 602 604 605 606 607 608 610", "abcdftxyz", Joint::Subdivision),
    label("ISBN", "010", "ab", Joint::Comma),
    label("ISSN", "011", "a", Joint::Comma),
    label("Link", "856", "u", Joint::Comma),
    label("Identifier", "001", "", Joint::Blank),
];

fn labels(record: &MarcRecord) -> &'static [Label] {
    if is_unimarc(record) { UNIMARC } else { MARC21 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Leader;

    fn check(fields: Vec<Field>, text: &str) {
        let leader = Leader::default();
        assert_eq!(sutrs_text(&MarcRecord { leader, fields }), text);
    }

    #[test]
    fn a_book() {
        check(
            vec![
                Field::control(b"001", "pg1342 "),
                Field::data(
                    b"020",
                    "  ",
                    [("a", "9780141439518"), ("q", "(paperback)"), ("c", "£5")],
                ),
                Field::data(b"041", "0 ", [("a", "eng")]),
                Field::data(
                    b"100",
                    "1 ",
                    [
                        ("a", "Austen, Jane,"),
                        ("d", "1775-1817,"),
                        ("e", "author."),
                    ],
                ),
                Field::data(
                    b"245",
                    "10",
                    [
                        ("a", "Pride and prejudice :"),
                        ("b", "a novel /"),
                        ("c", "Jane Austen."),
                    ],
                ),
                Field::data(
                    b"264",
                    " 1",
                    [("a", "London :"), ("b", "T. Egerton,"), ("c", "1813.")],
                ),
                Field::data(b"300", "  ", [("a", "3 volumes ;"), ("c", "18 cm")]),
                Field::data(b"500", "  ", [("a", "First published anonymously.")]),
                Field::data(
                    b"650",
                    " 0",
                    [("a", "Courtship"), ("z", "England"), ("v", "Fiction.")],
                ),
                Field::data(b"651", " 0", [("a", "England")]),
                Field::data(
                    b"856",
                    "40",
                    [("u", "https://www.gutenberg.org/ebooks/1342")],
                ),
            ],
            "Title: Pride and prejudice : a novel\n\
             Author: Austen, Jane, 1775-1817\n\
             Responsibility: Jane Austen.\n\
             Published: London : T. Egerton, 1813.\n\
             Physical description: 3 volumes ; 18 cm\n\
             Language: eng\n\
             Notes: First published anonymously.\n\
             Subjects: Courtship -- England -- Fiction.\n\
             Subjects: England\n\
             ISBN: 9780141439518 (paperback)\n\
             Link: https://www.gutenberg.org/ebooks/1342\n\
             Identifier: pg1342\n",
        );
    }

    #[test]
    fn other_scripts_and_odd_octets() {
        check(
            vec![
                Field::data(b"245", "10", [("6", "880-01"), ("a", "Voina\r\ni mir")]),
                Field::data(b"880", "10", [("6", "245-01/(N"), ("a", "Война и мир")]),
                Field::data(b"880", "10", [("6", "24")]),
                Field::data(b"500", "  ", [("a", b"caf\xE9")]),
            ],
            "Title: Voina  i mir\nTitle: Война и мир\nNotes: caf\u{FFFD}\n",
        );
    }

    #[test]
    fn unimarc() {
        check(
            vec![
                Field::control(b"001", "FRBNF1"),
                Field::data(b"101", "0 ", [("a", "fre"), ("a", "lat")]),
                Field::data(
                    b"200",
                    "1 ",
                    [
                        ("a", "Revue"),
                        ("b", "Texte imprimé"),
                        ("e", "historique"),
                        ("f", "A. Nom"),
                    ],
                ),
                Field::data(
                    b"210",
                    "  ",
                    [("a", "Agen"), ("c", "P. Noubel"), ("d", "1874-")],
                ),
                Field::data(b"606", "  ", [("a", "Histoire"), ("y", "France")]),
            ],
            "Title: Revue, historique\n\
             Responsibility: A. Nom\n\
             Published: Agen, P. Noubel, 1874-\n\
             Language: fre, lat\n\
             Subjects: Histoire -- France\n\
             Identifier: FRBNF1\n",
        );
    }

    #[test]
    fn nothing_to_show() {
        check(vec![], "\n");
        check(vec![Field::control(b"245", "")], "\n");
        check(vec![Field::data(b"245", "10", [("a", " ")])], "\n");
    }
}
