//! Converts a MARC record to the fifteen elements of Dublin Core, in the XML of OAI-PMH (`oai_dc`; DCMES 1.1, OAI-PMH 2.0 §2.5). The
//! mapping follows the MARC to Dublin Core crosswalk; the values of an element are in record order.

use std::collections::HashSet;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;

use super::labels::{Joint, Label, clean, has_controls, is_unimarc, label, standard_numbers};
use crate::record::MarcRecord;
use crate::standard_number::{NumberKind, numbers};
use crate::xmltext::put_content;

/// The beginning of a document, before its records.
pub const COLLECTION_BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <oai_dc:dcCollection xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" \
    xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n";
/// The end of a document.
pub const COLLECTION_END: &str = "</oai_dc:dcCollection>\n";

const RECORD_BEGIN: &str = "<oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" \
    xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n";
const RECORD_END: &str = "</oai_dc:dc>\n";

/// Returns the record as an `oai_dc:dc` element that declares its namespaces, followed by a newline. The element is a
/// document by itself, or part of a document that begins with [`COLLECTION_BEGIN`].
///
/// Fields in another script (880) become separate elements. Octets that are not UTF-8 become U+FFFD, and control
/// characters become spaces.
pub fn to_dublin_core(record: &MarcRecord) -> String {
    let mut text = RECORD_BEGIN.to_owned();
    for (element, value) in elements(record) {
        text.push_str("  <dc:");
        text.push_str(element);
        text.push('>');
        put_content(&mut text, value.as_bytes());
        text.push_str("</dc:");
        text.push_str(element);
        text.push_str(">\n");
    }
    text.push_str(RECORD_END);
    text
}

/// Returns a note for each field in which [`to_dublin_core`] replaces control characters with spaces.
pub(crate) fn replaced(record: &MarcRecord) -> Vec<String> {
    let lines = if is_unimarc(record) { UNIMARC } else { MARC21 };
    let mut notes: Vec<String> = Vec::new();
    for field in record.fields.iter().filter(|field| {
        let is_number = field.tag.0 == *b"001";
        is_number && has_controls(&field.body)
            || lines.iter().any(|line| line.loses_controls(field))
    }) {
        let note = format!("control characters in {} replaced by blanks", field.tag);
        if notes.last() != Some(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Returns the elements of the record by name (`title`, `creator` …) with their values, without duplicates.
pub fn elements(record: &MarcRecord) -> Vec<(&'static str, String)> {
    let unimarc = is_unimarc(record);
    let mut elements = Elements::default();
    for line in if unimarc { UNIMARC } else { MARC21 } {
        let element = line.name;
        for value in line.values(record) {
            let value = match element {
                "date" => value.trim_end_matches('.').to_owned(),
                _ => value,
            };
            elements.add(element, value);
        }
        match element {
            "date" if !elements.has("date") => {
                elements.add("date", coded_date(record, unimarc));
            }
            "language" if !unimarc => {
                elements.add("language", coded(record, "008", 35..38));
            }
            "type" => elements.add("type", kind(record, unimarc).to_owned()),
            "identifier" => {
                for value in identifiers(record, unimarc) {
                    elements.add("identifier", value);
                }
            }
            _ => {}
        }
    }
    elements.list
}

/// Returns the values of one element in record order.
pub(super) fn values(
    record: &MarcRecord,
    element: &str,
    unimarc: bool,
) -> impl Iterator<Item = String> {
    let lines = if unimarc { UNIMARC } else { MARC21 };
    let lines = lines.iter().filter(move |line| line.name == element);
    lines.flat_map(|line| line.values(record))
}

/// Returns the first title of a Dublin Core record in XML, in any namespace; `None` if the record has no title, or if
/// the XML before the title is malformed.
pub fn title_in_xml(document: &[u8]) -> Option<String> {
    let mut reader = Reader::from_str(std::str::from_utf8(document).ok()?);
    let mut title: Option<String> = None;
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) if start.local_name().as_ref() == "title" => {
                title = Some(String::new());
            }
            Event::End(end) if end.local_name().as_ref() == "title" => {
                let title = title.take()?;
                let words: Vec<&str> = title.split_whitespace().collect();
                return (!words.is_empty()).then(|| words.join(" "));
            }
            Event::Text(text) => title.iter_mut().for_each(|title| title.push_str(&text)),
            Event::CData(text) => title.iter_mut().for_each(|title| title.push_str(&text)),
            Event::GeneralRef(reference) => {
                if let Some(title) = &mut title {
                    match reference.resolve_char_ref().ok()? {
                        Some(character) => title.push(character),
                        None => title.push_str(resolve_xml_entity(&reference)?),
                    }
                }
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// The mapping of MARC 21 (Bibliographic) to Dublin Core.
#[rustfmt::skip]
const MARC21: &[Label] = &[
    label("title", "245", "abfgknps", Joint::Blank),
    label("creator", "100 110 111", "abcdnq", Joint::Blank),
    label("contributor", "700 710 711 720", "abcdnq", Joint::Blank),
    label("subject", "600 610 611 630 647 648 650 653", "abcdnpqtvxyz", Joint::Subdivision),
    label("description", "500 501 502 504 505 508 511 515 518 520 521 525 533 538 545 546 550 580 586", "abcdefgmnprt", Joint::Blank),
    label("publisher", "260 264", "b", Joint::Blank),
    label("date", "260 264", "c", Joint::Blank),
    label("type", "655", "abvxyz", Joint::Subdivision),
    label("format", "300", "abce", Joint::Blank),
    label("format", "856", "q", Joint::Comma),
    label("identifier", "856", "u", Joint::Comma),
    label("source", "534 786", "tno", Joint::Blank),
    label("language", "041", "a", Joint::Comma),
    label("relation", "440 490 530 760 762 765 767 770 772 773 774 775 776 777 780 785 787", "anotvxz", Joint::Blank),
    label("coverage", "651 752", "abcdvxyz", Joint::Subdivision),
    label("rights", "506 540", "abcdu", Joint::Blank),
];

/// The mapping of UNIMARC (Bibliographic) to Dublin Core.
#[rustfmt::skip]
const UNIMARC: &[Label] = &[
    label("title", "200", "aehicd", Joint::Comma),
    label("creator", "700 710 720", "abcdf", Joint::Comma),
    label("contributor", "701 702 711 712 721 722", "abcdf", Joint::Comma),
    label("subject", "600 601 602 604 605 606 608 610", "abcdftxyz", Joint::Subdivision),
    label("description", "300 301 302 303 304 305 306 307 308 314 320 321 326 327 328 330 336 337", "a", Joint::Comma),
    label("publisher", "210 214", "c", Joint::Comma),
    label("date", "210 214", "d", Joint::Comma),
    label("type", "", "", Joint::Comma),
    label("format", "215", "acde", Joint::Comma),
    label("format", "856", "q", Joint::Comma),
    label("identifier", "856", "u", Joint::Comma),
    label("source", "324", "a", Joint::Comma),
    label("language", "101", "a", Joint::Comma),
    label("relation", "225 410 411 421 422 423 430 440 451 452 453 454 461 463 464 488", "aehitvx", Joint::Comma),
    label("coverage", "607", "axyz", Joint::Subdivision),
    label("rights", "310 333 371", "a", Joint::Comma),
];

/// Elements in the order in which they were added, without duplicates.
#[derive(Default)]
struct Elements {
    list: Vec<(&'static str, String)>,
    known: HashSet<(&'static str, String)>,
}

impl Elements {
    fn add(&mut self, element: &'static str, value: String) {
        if !value.is_empty() && self.known.insert((element, value.clone())) {
            self.list.push((element, value));
        }
    }

    fn has(&self, element: &str) -> bool {
        self.list.iter().any(|(name, _)| *name == element)
    }
}

/// Returns the coded data of a field at these positions, or nothing if the data has characters other than letters and
/// digits.
fn coded(record: &MarcRecord, tag: &str, positions: std::ops::Range<usize>) -> String {
    let field = record.fields_by_tag(tag).next();
    let data = field.and_then(|field| field.value().or_else(|| field.subfield("a")));
    let word = data
        .and_then(|data| data.get(positions))
        .unwrap_or_default();
    if word.iter().all(u8::is_ascii_alphanumeric) {
        clean(word)
    } else {
        String::new()
    }
}

pub(super) fn coded_date(record: &MarcRecord, unimarc: bool) -> String {
    if unimarc {
        coded(record, "100", 9..13)
    } else {
        coded(record, "008", 7..11)
    }
}

/// Returns the DCMI type of the material (MARC 21 and UNIMARC leader/06).
fn kind(record: &MarcRecord, unimarc: bool) -> &'static str {
    match (record.leader.octet(6), unimarc) {
        (b'a' | b'c' | b'd' | b't', _) | (b'b', true) => "Text",
        (b'e' | b'f' | b'k', _) => "StillImage",
        (b'g', _) => "MovingImage",
        (b'i' | b'j', _) => "Sound",
        (b'l', true) | (b'm', false) => "Software",
        (b'o' | b'p', false) | (b'm', true) => "Collection",
        (b'r', _) => "PhysicalObject",
        _ => "",
    }
}

/// Returns the standard numbers as URNs (RFC 3187, RFC 3044), and the control number.
fn identifiers(record: &MarcRecord, unimarc: bool) -> Vec<String> {
    let mut identifiers: Vec<String> = Vec::new();
    for (name, text) in standard_numbers(record, unimarc) {
        let kind = if name == "ISBN" {
            NumberKind::Isbn
        } else {
            NumberKind::Issn
        };
        let printed = numbers(kind, &text).into_iter().map(|one| {
            let written = one.written.split_whitespace();
            written.collect::<String>()
        });
        let mut printed: Vec<String> = printed.collect();
        if printed.is_empty() {
            printed.extend(number(&text));
        }
        identifiers.extend(printed.iter().map(|number| format!("urn:{name}:{number}")));
    }
    identifiers.extend(record.control_number().map(clean));
    identifiers
}

/// Returns the digits and hyphens at the start of the text, if there are at least eight. They may be a number of the
/// wrong length.
fn number(text: &str) -> Option<String> {
    let digit =
        |character: &char| character.is_ascii_digit() || matches!(character, '-' | 'X' | 'x');
    let number: String = text.chars().take_while(digit).collect();
    (number.len() >= 8).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Field;
    use crate::record::Leader;

    fn check(fields: Vec<Field>, expected: &[(&str, &str)]) {
        let leader = Leader::default();
        let record = MarcRecord { leader, fields };
        let found = elements(&record);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn audit_r_b2_numbers_in_every_shape_are_identifiers() {
        let number = |tag: &[u8; 3], text: &str| Field::data(tag, "  ", [("a", text.to_owned())]);
        check(
            vec![
                number(b"020", "ISBN 0-14-143951-3 (pbk.)"),
                number(b"020", "(electronic bk.) 9780306406157"),
                number(b"020", "urn:isbn:9780131103627 ; 9780199232765"),
                number(b"020", "978 0 14 143958 7"),
                number(b"020", "014143951"),
                number(b"022", "ISSN 0028-0836"),
            ],
            &[
                ("type", "Text"),
                ("identifier", "urn:ISBN:0-14-143951-3"),
                ("identifier", "urn:ISBN:9780306406157"),
                ("identifier", "urn:ISBN:9780131103627"),
                ("identifier", "urn:ISBN:9780199232765"),
                ("identifier", "urn:ISBN:9780141439587"),
                ("identifier", "urn:ISBN:014143951"),
                ("identifier", "urn:ISSN:0028-0836"),
            ],
        );
    }

    #[test]
    fn marc_21() {
        check(
            vec![
                Field::control(b"001", "pg1"),
                Field::control(b"008", "971201s1813    enk           000 1 eng  "),
                Field::data(b"020", "  ", [("a", "0141439513 (pbk.) :")]),
                Field::data(b"041", "1 ", [("a", "eng"), ("h", "rus")]),
                Field::data(
                    b"100",
                    "1 ",
                    [
                        ("6", "880-01"),
                        ("a", "Tolstoy, Leo,"),
                        ("d", "1828-1910,"),
                        ("e", "author."),
                    ],
                ),
                Field::data(
                    b"245",
                    "10",
                    [
                        ("a", "War and peace :"),
                        ("b", "a novel /"),
                        ("c", "Leo Tolstoy."),
                    ],
                ),
                Field::data(
                    b"264",
                    " 1",
                    [("a", "London :"), ("b", "Egerton,"), ("c", "1869.")],
                ),
                Field::data(b"300", "  ", [("a", "3 volumes ;"), ("c", "18 cm")]),
                Field::data(
                    b"650",
                    " 0",
                    [("a", "War"), ("z", "Russia"), ("v", "Fiction.")],
                ),
                Field::data(b"651", " 0", [("a", "Russia")]),
                Field::data(b"700", "1 ", [("a", "Maude, Aylmer")]),
                Field::data(b"856", "40", [("u", "https://example.org/1")]),
                Field::data(b"880", "1 ", [("6", "100-01/(N"), ("a", "Толстой, Лев")]),
            ],
            &[
                ("title", "War and peace : a novel"),
                ("creator", "Tolstoy, Leo, 1828-1910"),
                ("creator", "Толстой, Лев"),
                ("contributor", "Maude, Aylmer"),
                ("subject", "War -- Russia -- Fiction."),
                ("publisher", "Egerton"),
                ("date", "1869"),
                ("type", "Text"),
                ("format", "3 volumes ; 18 cm"),
                ("identifier", "https://example.org/1"),
                ("identifier", "urn:ISBN:0141439513"),
                ("identifier", "pg1"),
                ("language", "eng"),
                ("coverage", "Russia"),
            ],
        );
        check(
            vec![Field::control(
                b"008",
                "971201s1813    enk           000 1 eng  ",
            )],
            &[("date", "1813"), ("type", "Text"), ("language", "eng")],
        );
        check(vec![Field::control(b"008", "||||")], &[("type", "Text")]);
    }

    #[test]
    fn unimarc() {
        check(
            vec![
                Field::data(b"011", "  ", [("a", "0035-2667")]),
                Field::data(
                    b"100",
                    "  ",
                    [("a", "20001122a18749999u  y0frey50      ba")],
                ),
                Field::data(b"101", "0 ", [("a", "fre")]),
                Field::data(
                    b"200",
                    "1 ",
                    [
                        ("a", "Revue"),
                        ("b", "Texte"),
                        ("e", "historique"),
                        ("f", "A. Nom"),
                    ],
                ),
                Field::data(b"210", "  ", [("a", "Agen"), ("c", "Noubel")]),
                Field::data(
                    b"606",
                    "  ",
                    [("3", "1"), ("a", "Histoire"), ("y", "France")],
                ),
                Field::data(b"702", " |", [("a", "Nom"), ("b", "Anne")]),
            ],
            &[
                ("title", "Revue, historique"),
                ("contributor", "Nom, Anne"),
                ("subject", "Histoire -- France"),
                ("publisher", "Noubel"),
                ("date", "1874"),
                ("type", "Text"),
                ("identifier", "urn:ISSN:0035-2667"),
                ("language", "fre"),
            ],
        );
    }

    #[test]
    fn xml() {
        let record = MarcRecord {
            leader: Leader::padded(b""),
            fields: vec![Field::data(b"245", "10", [("a", "A & <B>\u{1B} 紅")])],
        };
        assert_eq!(
            replaced(&record),
            ["245"].map(|tag| { format!("control characters in {tag} replaced by blanks") })
        );
        assert_eq!(
            to_dublin_core(&record),
            format!("{RECORD_BEGIN}  <dc:title>A &amp; &lt;B&gt;  紅</dc:title>\n{RECORD_END}")
        );
    }
}
