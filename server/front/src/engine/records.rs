//! The records in an engine, in the formats in which programs store them.
//!
//! | form | kept by |
//! |---|---|
//! | ISO 2709 in base64 | the index of this server; Koha, with line ends |
//! | MARC-in-JSON, as an object | Koha |
//! | MARCXML, alone or in a collection | Koha, VuFind, Blacklight |
//! | ISO 2709, also with `#29;`, `#30;` and `#31;` for its separators | VuFind |
//! | MARC-in-JSON, as text | VuFind |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;
use z3950_asn1::apdu::External;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::UNIMARC;
use z3950_asn1::record::marc_syntax;
use z3950_marc::{MarcRecord, iso2709, marcjson, marcxml};
use z3950_server::backend::Composition;
use z3950_server::memory::forms;
use z3950_server::{Diagnostic, diagnostic};

/// A record as returned by the engine.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HeldRecord {
    /// A record in ISO 2709.
    Iso2709(Bytes),
    /// A record in MARCXML.
    Xml(String),
    /// A record in MARC-in-JSON.
    Json(Value),
    /// No MARC record could be read, for this reason.
    Unreadable(&'static str),
}

/// The strings that VuFind's indexers write for the ISO 2709 record, field and subfield separators if an index does not
/// allow control characters.
const WRITTEN_SEPARATORS: [(&str, &str); 3] =
    [("#29;", "\u{1d}"), ("#30;", "\u{1e}"), ("#31;", "\u{1f}")];

impl HeldRecord {
    /// Parses text, which may have any of the formats.
    pub(super) fn of_text(text: &str) -> Self {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        if start.starts_with('<') {
            return Self::Xml(start.to_owned());
        }
        if start.starts_with('{') {
            let value = serde_json::from_str(start);
            return value.map_or(Self::Unreadable("the record is damaged"), Self::Json);
        }
        if !start
            .get(..5)
            .is_some_and(|length| length.bytes().all(|octet| octet.is_ascii_digit()))
        {
            return Self::of_base64(start);
        }
        if text.contains('\u{1e}') {
            return Self::Iso2709(Bytes::from(start.to_owned()));
        }
        let mut octets = start.to_owned();
        for (written, separator) in WRITTEN_SEPARATORS {
            octets = octets.replace(written, separator);
        }
        if octets.contains('\u{1e}') {
            Self::Iso2709(Bytes::from(octets))
        } else {
            Self::of_base64(start)
        }
    }

    /// Parses ISO 2709 in base64, with line ends.
    pub(super) fn of_base64(text: &str) -> Self {
        let mut text = text.to_owned();
        text.retain(|c| !c.is_ascii_whitespace());
        match STANDARD.decode(text) {
            Ok(octets) if !octets.is_empty() => Self::Iso2709(octets.into()),
            _ => Self::Unreadable("the record is not MARC"),
        }
    }

    /// Returns the approximate number of octets that the record takes in memory.
    pub(super) fn octets(&self) -> usize {
        match self {
            Self::Iso2709(octets) => octets.len(),
            Self::Xml(text) => text.len(),
            Self::Json(value) => json_octets(value),
            Self::Unreadable(_) => 0,
        }
    }

    /// Converts the record.
    ///
    /// # Errors
    /// Fails with condition 238 if the record is not available in the requested syntax, or with condition 14 if it
    /// cannot be read or converted.
    pub(super) fn converted(
        &self,
        composition: &Composition,
        database: &str,
    ) -> Result<External, Diagnostic> {
        let damaged = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "the record is damaged");
        let record = match self {
            Self::Iso2709(octets) => {
                let own = marc_syntax(&iso2709::parse(octets).map_err(|_| damaged())?.record);
                let syntax = composition.syntax.unwrap_or(own);
                return forms::record(octets, own, &syntax, composition.element_set(database));
            }
            Self::Xml(text) => marcxml::from_xml(text).map_err(|_| damaged())?.record,
            Self::Json(value) => {
                marcjson::from_value(&without_nulls(value)).map_err(|_| damaged())?
            }
            Self::Unreadable(why) => {
                return Err(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, *why));
            }
        };
        let record = in_unicode(record);
        let own = marc_syntax(&record);
        let syntax = composition.syntax.unwrap_or(own);
        forms::of_marc(&record, &syntax, composition.element_set(database))
    }
}

/// The position of the character coding scheme in the leader.
const CODING: usize = 9;

/// Returns the record with a leader that declares Unicode, because its text is Unicode. UNIMARC records, which declare
/// their coding in a field, are not changed.
fn in_unicode(mut record: MarcRecord) -> MarcRecord {
    if marc_syntax(&record) != UNIMARC
        && let Some(coding) = record.leader.0.get_mut(CODING)
    {
        *coding = b'a';
    }
    record
}

/// Returns MARC-in-JSON in which each null in place of a list of subfields is replaced by an empty list.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = if name == "subfields" && value.is_null() {
                    Value::Array(Vec::new())
                } else {
                    without_nulls(value)
                };
                (name.clone(), value)
            });
            Value::Object(members.collect())
        }
        Value::Array(values) => values.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// Returns the approximate number of octets of a JSON value in memory.
fn json_octets(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(json_octets).sum(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| name.len() + json_octets(value))
                .sum()
        }
        _ => 0,
    };
    size_of::<Value>() + inner
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use z3950_asn1::apdu::ExternalEncoding;
    use z3950_asn1::oid::{USMARC, XML};
    use z3950_marc::Field;

    use super::*;

    fn record() -> MarcRecord {
        let mut record = MarcRecord::default();
        record.leader.0[9] = b'a';
        record.fields.push(Field::control(b"001", "7"));
        let title = [(b"a", "Łódź /"), (b"c", "A; B.")];
        record.fields.push(Field::data(b"245", b"10", title));
        record
    }

    fn octets(external: Result<External, Diagnostic>) -> Result<Vec<u8>, i64> {
        let external = external.map_err(|why| why.condition)?;
        match external.encoding {
            ExternalEncoding::OctetAligned(octets) => Ok(octets.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_form_is_read() {
        let record = record();
        let iso = iso2709::encode(&record).expect("short");
        let text = String::from_utf8(iso.clone()).expect("UTF-8");
        let written = text
            .replace('\u{1d}', "#29;")
            .replace('\u{1e}', "#30;")
            .replace('\u{1f}', "#31;");
        let base64 = STANDARD.encode(&iso);
        let (head, tail) = base64.split_at(76);
        let xml = marcxml::to_xml(&record).text;
        let json = marcjson::to_json(&record);
        for form in [
            text.clone(),
            written,
            format!("{head}\r\n{tail}\n"),
            xml.clone(),
            format!(
                "<?xml version=\"1.0\"?>\n<collection xmlns=\"http://www.loc.gov/MARC21/slim\">{xml}</collection>"
            ),
            json,
        ] {
            let held = HeldRecord::of_text(&form);
            for (syntax, expected) in [(None, &iso), (Some(USMARC), &iso)] {
                let composition = Composition::full(syntax);
                let given = octets(held.converted(&composition, "town"));
                assert_eq!(given.as_ref(), Ok(expected), "{form}");
            }
            let given = octets(held.converted(&Composition::full(Some(XML)), "town"));
            let given = String::from_utf8(given.expect("XML")).expect("UTF-8");
            assert!(given.contains("Łódź /"), "{given}");
        }
    }

    #[test]
    fn input_without_a_record_is_reported() {
        let composition = Composition::full(None);
        for form in [
            "",
            "abc",
            "{\"a\":1",
            "{\"a\":1}",
            "<x/>",
            "<record",
            "00000",
            "!!!!",
            "12345nam",
        ] {
            let given = octets(HeldRecord::of_text(form).converted(&composition, "town"));
            assert_eq!(given, Err(Condition::SYSTEM_ERROR_PRESENTING.0), "{form}");
        }
    }

    #[test]
    fn lists_of_subfields_may_be_null() {
        let value = json!({ "leader": "00000nam a2200000 a 4500", "fields": [
            { "001": "7" },
            { "245": { "ind1": "1", "ind2": "0", "subfields": null } },
        ] });
        let given = octets(HeldRecord::Json(value).converted(&Composition::full(None), "town"));
        assert!(given.is_ok(), "{given:?}");
    }

    /// A long record does not fit in ISO 2709, but fits in XML.
    #[test]
    fn a_long_record_is_given_as_xml() {
        let mut record = record();
        for _ in 0..20 {
            let note = "n".repeat(9_000);
            record
                .fields
                .push(Field::data(b"500", b"  ", [(b"a", note)]));
        }
        let held = HeldRecord::Xml(marcxml::to_xml(&record).text);
        let given = octets(held.converted(&Composition::full(Some(XML)), "town"));
        assert!(given.is_ok_and(|octets| octets.len() > 180_000));
        let given = octets(held.converted(&Composition::full(Some(USMARC)), "town"));
        assert_eq!(given, Err(Condition::SYSTEM_ERROR_PRESENTING.0));
    }
}
