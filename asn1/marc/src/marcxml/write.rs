//! Writes a record as a `record` element in MARC 21 slim or MarcXchange, with one line for each field or subfield. Text
//! is not changed.

use super::{INDICATORS, XmlText};
use crate::crosswalk::is_unimarc;
use crate::layout;
use crate::record::{Field, MarcRecord, Tag, split_characters};
use crate::xmltext::{put_attribute, put_content};

/// The namespace of MARC 21 slim.
pub const NAMESPACE: &str = "http://www.loc.gov/MARC21/slim";
/// The beginning of a document, before its records.
pub const COLLECTION_BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<collection xmlns=\"http://www.loc.gov/MARC21/slim\">\n";
/// The namespace of MarcXchange in version 1.1 of the schema, which most programs write and read.
pub const EXCHANGE_NAMESPACE: &str = "info:lc/xmlns/marcxchange-v1";
/// The beginning of a document in MarcXchange.
pub const EXCHANGE_BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<collection xmlns=\"info:lc/xmlns/marcxchange-v1\">\n";
/// The end of a document.
pub const COLLECTION_END: &str = "</collection>\n";

/// Writes one record as a complete document: a `record` element that declares its namespace.
///
/// Octets that are not UTF-8, and control characters, which XML 1.0 cannot hold, become U+FFFD. The leader has the characters that the
/// schema allows, control fields come before data fields, and a data field has two indicators: missing indicators become blanks, and
/// additional ones are left out. Text outside subfields becomes a first subfield with an empty code.
pub fn to_xml(record: &MarcRecord) -> XmlText {
    let begin = format!("<record xmlns=\"{NAMESPACE}\">");
    element(record, &begin, Dialect::Slim)
}

/// Writes one record as [`to_xml`] does, but for use after [`COLLECTION_BEGIN`], which declares the namespace.
pub fn to_xml_in_collection(record: &MarcRecord) -> XmlText {
    element(record, "<record>", Dialect::Slim)
}

/// Writes one record in MarcXchange, for use after [`EXCHANGE_BEGIN`]. It has all indicators and the type of the
/// record, and the format of the record if this can be recognised.
pub fn to_exchange_in_collection(record: &MarcRecord) -> XmlText {
    let format = match (is_unimarc(record), has_marc21_008(record)) {
        (true, _) => " format=\"UNIMARC\"",
        (false, true) => " format=\"MARC21\"",
        (false, false) => "",
    };
    let kind = kind(record, is_unimarc(record));
    let begin = format!("<record{format} type=\"{kind}\">");
    element(record, &begin, Dialect::Exchange)
}

/// Returns whether the record has the coded data of MARC 21, whose 008 is 40 characters long.
fn has_marc21_008(record: &MarcRecord) -> bool {
    let mut values = record.fields_by_tag("008").filter_map(Field::value);
    values.any(|value| value.len() == 40)
}

/// Returns the type of the record from leader position 6 (MARC 21; UNIMARC/Authorities has x to z).
fn kind(record: &MarcRecord, is_unimarc: bool) -> &'static str {
    match (record.leader.octet(6), is_unimarc) {
        (b'z', _) | (b'x' | b'y', true) => "Authority",
        (b'u' | b'v' | b'x' | b'y', false) => "Holdings",
        (b'w', false) => "Classification",
        (b'q', false) => "Community",
        _ => "Bibliographic",
    }
}

/// The schema of the XML that is written.
#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    Slim,
    Exchange,
}

fn element(record: &MarcRecord, begin: &str, dialect: Dialect) -> XmlText {
    let octets = record.fields.iter().map(|field| field.body.len() + MARKUP);
    let mut writer = Writer {
        dialect,
        text: String::with_capacity(begin.len() + MARKUP + octets.sum::<usize>()),
        notes: Vec::new(),
        is_loss: false,
        is_odd: false,
        controls_end: 0,
    };
    writer.text.push_str(begin);
    writer.text.push_str("\n  <leader>");
    writer.leader(record);
    writer.text.push_str("</leader>\n");
    writer.controls_end = writer.text.len();
    let code_length = record.leader.code_length();
    for field in &record.fields {
        writer.field(field, code_length);
    }
    writer.text.push_str("</record>\n");
    XmlText {
        text: writer.text,
        notes: writer.notes,
        is_loss: writer.is_loss,
    }
}

/// The estimated number of octets of markup in a field with two subfields.
const MARKUP: usize = 150;

/// Writes records as one document. Characters that XML cannot hold are replaced without notes.
pub fn collection<'a>(records: impl IntoIterator<Item = &'a MarcRecord>) -> String {
    let mut text = COLLECTION_BEGIN.to_owned();
    for record in records {
        text.push_str(&to_xml_in_collection(record).text);
    }
    text.push_str(COLLECTION_END);
    text
}

struct Writer {
    dialect: Dialect,
    text: String,
    notes: Vec<String>,
    is_loss: bool,
    /// Whether there already is a note on an indicator that the schema does not allow.
    is_odd: bool,
    /// The position after the control fields, which must precede the data fields in both schemas.
    controls_end: usize,
}

impl Writer {
    /// Writes the leader, which has 24 ASCII characters in every schema.
    fn leader(&mut self, record: &MarcRecord) {
        let found = record.leader;
        let written = match self.dialect {
            Dialect::Slim => layout::of_slim(record),
            Dialect::Exchange => layout::of_marcxchange(record),
        };
        self.notes.extend(layout::restructured(&found, &written));
        if let Some(note) = layout::recoded(&found, &written) {
            self.is_loss = true;
            self.notes.push(note);
        }
        self.content(&written.0, &"the leader");
    }

    fn control(&mut self, tag: Tag, value: &[u8]) {
        let begin = self.text.len();
        self.text.push_str("  <controlfield tag=\"");
        self.attribute(&tag.0, &tag);
        self.text.push_str("\">");
        self.content(value, &tag);
        self.text.push_str("</controlfield>\n");
        if begin != self.controls_end {
            let late = self.text.split_off(begin);
            self.text.insert_str(self.controls_end, &late);
            self.controls_end += late.len();
        } else {
            self.controls_end = self.text.len();
        }
    }

    fn field(&mut self, field: &Field, code_length: usize) {
        let tag = field.tag;
        if let Some(value) = field.value() {
            self.control(tag, value);
            return;
        }
        self.text.push_str("  <datafield tag=\"");
        self.attribute(&tag.0, &tag);
        let mut indicators = field.indicators();
        for name in INDICATORS {
            let is_required = self.dialect == Dialect::Slim && matches!(name, "ind1" | "ind2");
            let is_possible = self.dialect == Dialect::Exchange && !indicators.is_empty();
            if !(is_required || is_possible) {
                break;
            }
            let (one, rest) = split_characters(indicators, 1);
            self.text.push_str("\" ");
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.attribute(if one.is_empty() { b" " } else { one }, &tag);
            self.note_indicator(one);
            indicators = rest;
        }
        if !indicators.is_empty() {
            self.is_loss = true;
            self.notes.push(format!(
                "field {tag} has more than two indicators; MARCXML holds two"
            ));
        }
        self.text.push_str("\">\n");
        for subfield in field.subfields_with(code_length) {
            self.text.push_str("    <subfield code=\"");
            self.attribute(subfield.code, &tag);
            self.text.push_str("\">");
            self.content(subfield.data, &tag);
            self.text.push_str("</subfield>\n");
        }
        self.text.push_str("  </datafield>\n");
    }

    /// Adds a note on the first indicator that the MARC 21 slim schema does not allow, such as the fill character. The indicator is kept,
    /// because programs read it anyway.
    fn note_indicator(&mut self, octets: &[u8]) {
        let is_known = |octet: &u8| matches!(octet, b'0'..=b'9' | b'a'..=b'z' | b' ');
        if self.dialect == Dialect::Slim && !self.is_odd && !octets.iter().all(is_known) {
            self.is_odd = true;
            let shown = String::from_utf8_lossy(octets);
            self.notes.push(format!(
                "indicator \"{}\" is not one of MARC 21; MarcXchange has it too",
                shown.escape_default()
            ));
        }
    }

    fn content(&mut self, octets: &[u8], place: &dyn std::fmt::Display) {
        let replaced = put_content(&mut self.text, octets);
        self.note(replaced, place);
    }

    fn attribute(&mut self, octets: &[u8], place: &dyn std::fmt::Display) {
        let replaced = put_attribute(&mut self.text, octets);
        self.note(replaced, place);
    }

    fn note(&mut self, replaced: bool, place: &dyn std::fmt::Display) {
        if replaced {
            self.is_loss = true;
            let note = format!(
                "control characters or octets that are not UTF-8 in {place} replaced, XML cannot hold them"
            );
            if self.notes.last() != Some(&note) {
                self.notes.push(note);
            }
        }
    }
}
