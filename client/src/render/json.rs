//! Records as JSON: MARC-in-JSON, and an envelope for the other syntaxes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use z3950_asn1::oid::{Oid, SUTRS, XML};
use z3950_asn1::record::{RetrievedRecord, iso2709, marcjson};

use super::Rendered;

/// One JSON object and a newline.
pub(super) fn render(record: &RetrievedRecord) -> Rendered {
    let mut notes = Vec::new();
    let value = match record {
        RetrievedRecord::Marc(octets) => match iso2709::parse(octets) {
            Ok(parsed) => {
                notes.extend(
                    parsed
                        .repairs
                        .iter()
                        .map(|repair| format!("record repaired: {repair}")),
                );
                marcjson::to_value(&parsed.record)
            }
            Err(error) => {
                notes.push(format!("the record is given as it came: {error}"));
                envelope(None, octets)
            }
        },
        RetrievedRecord::Sutrs(_) => envelope(Some(SUTRS), &record.octets()),
        RetrievedRecord::Xml(octets) => envelope(Some(XML), octets),
        RetrievedRecord::Other(external) => envelope(external.direct_reference, &record.octets()),
    };
    let mut octets = value.to_string().into_bytes();
    octets.push(b'\n');
    Rendered { octets, notes }
}

/// Text where the octets are text, else base64.
fn envelope(syntax: Option<Oid>, octets: &[u8]) -> Value {
    let syntax = syntax.map(|oid| oid.to_string());
    match std::str::from_utf8(octets) {
        Ok(text) => json!({ "syntax": syntax, "text": text }),
        Err(_) => json!({ "syntax": syntax, "base64": STANDARD.encode(octets) }),
    }
}
