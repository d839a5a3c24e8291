//! Records of other syntaxes than MARC as JSON: an envelope with the syntax and the text, or the elements of a record that has
//! them, or base64 where it is neither.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use z3950_asn1::describe::Describe;
use z3950_asn1::oid::{EXPLAIN, GRS_1, OPAC, Oid, SUMMARY, SUTRS, XML};
use z3950_asn1::record::RetrievedRecord;

use super::Rendered;

/// One JSON object and a newline.
pub(super) fn render(record: &RetrievedRecord) -> Rendered {
    let value = match record {
        RetrievedRecord::Opac(record) => elements(OPAC, record.to_json()),
        RetrievedRecord::Grs1(record) => elements(GRS_1, record.to_json()),
        RetrievedRecord::Summary(record) => elements(SUMMARY, record.describe().to_json()),
        RetrievedRecord::Explain(record) => elements(EXPLAIN, record.describe().to_json()),
        RetrievedRecord::Marc(octets) => envelope(None, octets),
        RetrievedRecord::Sutrs(_) => envelope(Some(SUTRS), &record.octets()),
        RetrievedRecord::Xml(octets) => envelope(Some(XML), octets),
        RetrievedRecord::Other(external) => envelope(external.direct_reference, &record.octets()),
    };
    line(&value, Vec::new())
}

/// A syntax as every answer shows it: its name and its object identifier; null for none.
pub(crate) fn syntax(oid: Option<Oid>) -> Value {
    oid.map_or(
        Value::Null,
        |oid| json!({ "name": oid.name(), "oid": oid.to_string() }),
    )
}

/// A record that consists of elements: an object for OPAC, Summary and Explain, an array for GRS-1.
fn elements(syntax: Oid, record: Value) -> Value {
    json!({ "syntax": self::syntax(Some(syntax)), "record": record })
}

/// Octets that could not be read, in an envelope without a syntax.
pub(super) fn unread(octets: &[u8], note: String) -> Rendered {
    Rendered {
        is_loss: true,
        ..line(&envelope(None, octets), vec![note])
    }
}

fn line(value: &Value, notes: Vec<String>) -> Rendered {
    let mut octets = value.to_string().into_bytes();
    octets.push(b'\n');
    Rendered {
        octets,
        notes,
        ..Rendered::default()
    }
}

/// Text where the octets are text, else base64.
fn envelope(oid: Option<Oid>, octets: &[u8]) -> Value {
    let syntax = syntax(oid);
    match std::str::from_utf8(octets) {
        Ok(text) => json!({ "syntax": syntax, "text": text }),
        Err(_) => json!({ "syntax": syntax, "base64": STANDARD.encode(octets) }),
    }
}
