//! A document of Koha's index, created from a MARC 21 record in the same way as Koha creates it. It contains the values of its
//! fields, and the record in one of three formats.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use z3950_marc::standard_number::Isbn;
use z3950_marc::{Field, MarcRecord, iso2709, marcxml};

use super::fields::{Edition, FIELDS, KohaField, KohaKind};

/// A document: the record from which it was created, and the values of its fields.
#[derive(Clone, Debug)]
pub struct KohaDocument {
    /// The number of the record in Koha, which identifies the document.
    pub number: usize,
    /// The record from which the document was created.
    pub record: MarcRecord,
    /// The format in which the document contains the record.
    pub form: RecordForm,
    /// The values of each field, in the order of the record.
    pub values: BTreeMap<String, Vec<String>>,
}

/// The formats in which Koha stores records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordForm {
    /// ISO 2709 in base64, with a line end every 76 characters.
    Base64,
    /// MARCXML, for records that are too long for ISO 2709.
    Xml,
    /// An object like MARC-in-JSON, if Koha's preference ElasticsearchMARCFormat is set to `ARRAY`.
    Array,
}

impl KohaDocument {
    /// Creates a document from the record with this number.
    pub fn new(number: usize, record: &MarcRecord, form: RecordForm) -> Self {
        let mut document = Self {
            number,
            record: record.clone(),
            form,
            values: BTreeMap::new(),
        };
        for field in &FIELDS {
            document.collect(field);
        }
        document
    }

    /// Returns the values of a field, or an empty slice if the document does not have the field.
    pub fn values(&self, field: &str) -> &[String] {
        self.values.get(field).map_or(&[], Vec::as_slice)
    }

    /// Returns the document as it is sent to the index.
    ///
    /// # Panics
    /// Panics if the record should be in ISO 2709 but is too long for it.
    pub fn json(&self, edition: Edition) -> Value {
        let known = FIELDS.iter().map(|field| (field.name, field.kind));
        let kinds: BTreeMap<&str, KohaKind> = known.collect();
        let mut object = Map::new();
        for (name, values) in &self.values {
            let is_number = matches!(kinds.get(&**name), Some(KohaKind::Integer));
            let value = match &**values {
                [one] if is_number && edition == Edition::Current => {
                    one.parse::<i64>().map_or(json!(one), Value::from)
                }
                values => json!(values),
            };
            object.insert(name.clone(), value);
        }
        let form = match self.form {
            RecordForm::Base64 => {
                let octets = iso2709::encode(&self.record).expect("it fits");
                object.insert(
                    "marc_data".into(),
                    json!(in_lines(&STANDARD.encode(octets))),
                );
                "base64ISO2709"
            }
            RecordForm::Xml => {
                let xml = marcxml::to_xml(&self.record).text;
                let declared = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{xml}");
                object.insert("marc_data".into(), json!(declared));
                "MARCXML"
            }
            RecordForm::Array => {
                object.insert("marc_data_array".into(), array(&self.record));
                "ARRAY"
            }
        };
        object.insert("marc_format".into(), json!(form));
        Value::Object(object)
    }

    /// Adds the values of a field, with the values for sorting and for facets.
    fn collect(&mut self, field: &KohaField) {
        let (mut values, mut sorted) = (Vec::new(), Vec::new());
        let places: Vec<Place<'_>> = field.places.split(' ').map(Place::new).collect();
        for place in places.iter().filter(|place| place.tag == "leader") {
            let leader = String::from_utf8_lossy(&self.record.leader.0).into_owned();
            values.extend(place.part(&leader));
        }
        // The values are in the order of the record's fields, as in Koha, and not in the order in which the mapping lists the
        // places.
        for marc in &self.record.fields {
            let (tag, is_linked) = tag(marc);
            for place in places.iter().filter(|place| place.tag == tag) {
                let found = place.values(marc);
                if !place.is_unsorted && !is_linked {
                    let filed = found.first().map(|first| without_article(marc, first));
                    sorted.extend(filed);
                    sorted.extend(found.iter().skip(1).cloned());
                }
                values.extend(found);
            }
        }
        let values = unique(
            values
                .into_iter()
                .flat_map(|value| forms(field.kind, value)),
        );
        if field.kind == KohaKind::Flag {
            let is_set = values
                .iter()
                .any(|value| !["", "0"].contains(&value.trim()));
            self.put(field.name.to_owned(), vec![is_set.to_string()]);
            return;
        }
        if field.has_facet {
            self.put(format!("{}__facet", field.name), values.clone());
        }
        let sort: String = unique(sorted).join(" ").chars().take(255).collect();
        self.put(format!("{}__sort", field.name), vec![sort]);
        self.put(field.name.to_owned(), values);
    }

    fn put(&mut self, name: String, mut values: Vec<String>) {
        values.retain(|value| !value.is_empty());
        if !values.is_empty() {
            self.values.insert(name, values);
        }
    }
}

/// A place in a record from which values are taken, as given in the table of fields.
struct Place<'p> {
    tag: &'p str,
    codes: &'p str,
    joins: bool,
    positions: Option<Range<usize>>,
    is_unsorted: bool,
}

impl<'p> Place<'p> {
    fn new(text: &'p str) -> Self {
        let (text, is_unsorted) = match text.strip_suffix('!') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (whole, positions) = match text.split_once("_/") {
            Some((whole, positions)) => (whole, Some(range(positions))),
            None => (text, None),
        };
        let (tag, codes) = match whole {
            "leader" => (whole, ""),
            _ => whole.split_at(3),
        };
        let joined = codes
            .strip_prefix('(')
            .and_then(|codes| codes.strip_suffix(')'));
        Self {
            tag,
            codes: joined.unwrap_or(codes),
            joins: joined.is_some(),
            positions,
            is_unsorted,
        }
    }

    /// Returns the values at this place in a field that has the tag of this place.
    fn values(&self, field: &Field) -> Vec<String> {
        if let Some(value) = field.value() {
            return self
                .part(&String::from_utf8_lossy(value))
                .into_iter()
                .collect();
        }
        let is_named = |code: &[u8]| {
            self.codes.is_empty()
                || code
                    .first()
                    .is_some_and(|code| self.codes.as_bytes().contains(code))
        };
        let named = field.subfields().filter(|subfield| is_named(subfield.code));
        let texts: Vec<String> = named
            .map(|subfield| String::from_utf8_lossy(subfield.data).into_owned())
            .collect();
        if self.joins && !texts.is_empty() {
            vec![texts.join(" ")]
        } else {
            texts
        }
    }

    /// Returns the characters of a value at the positions of this place, or the whole value if the place has no positions.
    fn part(&self, value: &str) -> Option<String> {
        let Some(positions) = &self.positions else {
            return Some(value.to_owned());
        };
        let part: String = value
            .chars()
            .skip(positions.start)
            .take(positions.len())
            .collect();
        (!part.is_empty()).then_some(part)
    }
}

fn range(text: &str) -> Range<usize> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<usize>().expect("a position");
    number(first)..number(last) + 1
}

/// Returns the tag of a field and whether the field is linked. For a field 880 with text in another script, this is the tag of
/// the field to which it is linked.
fn tag(field: &Field) -> (String, bool) {
    let tag = String::from_utf8_lossy(&field.tag.0).into_owned();
    let linked = (tag == "880").then(|| field.text("6")?.get(..3).map(str::to_owned));
    match linked.flatten() {
        Some(linked) => (linked, true),
        None => (tag, false),
    }
}

/// Returns the title of a field without its initial article. The title is the first part of its field; any other value is
/// returned unchanged.
fn without_article(field: &Field, text: &str) -> String {
    let is_title = field
        .text("a")
        .is_some_and(|title| text.starts_with(&*title));
    if !is_title {
        return text.to_owned();
    }
    let place = match &field.tag.0 {
        b"130" | b"630" | b"730" | b"740" => 0,
        b"222" | b"240" | b"242" | b"243" | b"245" | b"440" | b"830" => 1,
        _ => return text.to_owned(),
    };
    let digit = field.indicators().get(place).copied().unwrap_or(b'0');
    let skipped = if digit.is_ascii_digit() {
        usize::from(digit - b'0')
    } else {
        0
    };
    text.chars().skip(skipped).collect()
}

/// Returns the forms of a value that Koha indexes.
fn forms(kind: KohaKind, value: String) -> Vec<String> {
    match kind {
        KohaKind::Isbn => isbn_forms(&value),
        KohaKind::Year => years(&value),
        _ => vec![value],
    }
}

/// Returns the forms of an ISBN: thirteen and ten digits, each with and without hyphens. The hyphens may be in any position,
/// because the index removes them. All characters except digits and X are ignored. A value with an additional digit is therefore
/// not an ISBN, and is returned unchanged.
fn isbn_forms(value: &str) -> Vec<String> {
    let is_kept = |c: &char| c.is_ascii_digit() || "xX".contains(*c);
    let digits: String = value.chars().filter(is_kept).collect();
    let parsed = matches!(digits.len(), 10 | 13)
        .then(|| Isbn::parse(&digits))
        .flatten();
    let Some(isbn) = parsed else {
        return vec![value.to_owned()];
    };
    let thirteen = isbn.to_string().replace('-', "");
    let mut forms = vec![hyphened(&thirteen), thirteen];
    if let Some(ten) = isbn.ten() {
        forms.extend([hyphened(&ten), ten]);
    }
    forms
}

fn hyphened(digits: &str) -> String {
    let (rest, check) = digits.split_at(digits.len() - 1);
    let (number, item) = rest.split_at(rest.len() - 4);
    format!("{number}-{item}-{check}")
}

/// Returns the years that Koha recognizes. A year consists of any four consecutive characters that are digits, `u` or white
/// space, in which `u` and white space are replaced with zeros.
fn years(value: &str) -> Vec<String> {
    let is_of_year = |c: char| c.is_ascii_digit() || c == 'u' || c.is_whitespace();
    let (mut years, mut run) = (Vec::new(), String::new());
    for c in value.chars() {
        if !is_of_year(c) {
            run.clear();
            continue;
        }
        run.push(if c.is_ascii_digit() { c } else { '0' });
        if run.len() == 4 {
            years.push(std::mem::take(&mut run));
        }
    }
    years
}

fn unique(values: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    values
        .into_iter()
        .filter(|value| seen.insert(value.clone()))
        .collect()
}

/// Breaks text into lines of 76 characters, each followed by a line feed.
fn in_lines(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let lines = characters
        .chunks(76)
        .map(|line| line.iter().collect::<String>() + "\n");
    lines.collect()
}

/// Returns a record in the format that Koha writes for the setting `ARRAY`.
fn array(record: &MarcRecord) -> Value {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let fields = record.fields.iter().map(|field| {
        let tag = text(&field.tag.0);
        if let Some(value) = field.value() {
            return json!({ tag: text(value) });
        }
        let subfields: Vec<Value> = field
            .subfields()
            .map(|subfield| json!({ text(subfield.code): text(subfield.data) }))
            .collect();
        let indicator = |place: usize| {
            field
                .indicators()
                .get(place)
                .map_or(" ".to_owned(), |octet| text(&[*octet]))
        };
        json!({ tag: { "ind1": indicator(0), "ind2": indicator(1), "subfields": subfields } })
    });
    json!({ "leader": text(&record.leader.0), "fields": fields.collect::<Vec<Value>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(fields: &[Field]) -> KohaDocument {
        let record = MarcRecord {
            fields: fields.to_vec(),
            ..MarcRecord::default()
        };
        KohaDocument::new(7, &record, RecordForm::Base64)
    }

    #[test]
    fn values_are_those_of_koha() {
        let document = document(&[
            Field::control(b"008", "990101s19uu    xx            000 0 eng d"),
            Field::data(b"020", "  ", [("a", "0-471-38314-7 (alk. paper)")]),
            Field::data(b"020", "  ", [("a", "0914378287 (v. 1)")]),
            Field::data(
                b"245",
                "14",
                [
                    ("a", "The war :"),
                    ("b", "a history /"),
                    ("c", "by L. Tolstoy."),
                ],
            ),
            Field::data(b"260", "  ", [("c", "[approximately 1590]")]),
            Field::data(b"880", "1 ", [("6", "100-01"), ("a", "Толстой")]),
            Field::data(b"942", "  ", [("n", "1")]),
        ]);
        for (field, expected) in [
            ("title", &["The war :", "a history /"][..]),
            ("title-no-punctuation", &["The war : a history /"]),
            ("title__sort", &["war : a history /"]),
            ("author", &["by L. Tolstoy.", "Толстой"]),
            ("author__sort", &["by L. Tolstoy."]),
            ("date-of-publication", &["19uu"]),
            ("publyear", &["1900", "0159"]),
            ("ln", &["eng"]),
            ("suppress", &["true"]),
            ("publisher", &[]),
            (
                "isbn",
                &[
                    "97804713-8314-7",
                    "9780471383147",
                    "04713-8314-7",
                    "0471383147",
                    "0914378287 (v. 1)",
                ],
            ),
        ] {
            assert_eq!(document.values(field), expected, "{field}");
        }
    }

    #[test]
    fn a_record_is_kept_in_three_forms() {
        let mut document = document(&[Field::data(b"245", "00", [("a", "x".repeat(100))])]);
        let data = document.json(Edition::Current)["marc_data"].clone();
        let lines: Vec<&str> = data
            .as_str()
            .expect("a text")
            .split_inclusive('\n')
            .collect();
        assert!(
            lines.len() > 1
                && lines
                    .iter()
                    .all(|line| line.ends_with('\n') && line.len() <= 77)
        );
        document.form = RecordForm::Xml;
        let data = document.json(Edition::Current)["marc_data"].clone();
        assert!(
            data.as_str()
                .expect("a text")
                .contains("<subfield code=\"a\">xxx")
        );
        document.form = RecordForm::Array;
        let data = document.json(Edition::Current)["marc_data_array"].clone();
        assert_eq!(data["fields"][0]["245"]["ind2"], "0");
    }
}
