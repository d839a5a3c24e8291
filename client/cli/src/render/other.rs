//! Writes records in syntaxes other than MARC, as text and as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use z3950_asn1::codec::dump;
use z3950_asn1::describe::Describe;
use z3950_asn1::oid::{EXPLAIN, GRS_1, OPAC, Oid, SUMMARY, SUTRS, XML};
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::charset::Charset;

use super::Rendered;
use super::style::{line, syntax};

/// Renders a record as text. SUTRS and XML are unchanged; OPAC, GRS-1, Summary and Explain records become indented
/// lines. Any other record becomes a listing of its BER values.
pub(super) fn text(record: &RetrievedRecord, charset: Option<Charset>) -> Rendered {
    let mut rendered = Rendered::default();
    let octets = match record {
        RetrievedRecord::Other(_) => {
            rendered.notes.push(format!(
                "{} is shown as a listing of its BER values",
                name(record)
            ));
            dump::dump(&record.octets()).into_bytes()
        }
        RetrievedRecord::Opac(record) => record.to_text().into_bytes(),
        RetrievedRecord::Grs1(record) => record.to_text().into_bytes(),
        RetrievedRecord::Summary(record) => record.describe().to_text().into_bytes(),
        RetrievedRecord::Explain(record) => record.describe().to_text().into_bytes(),
        RetrievedRecord::Sutrs(text) => match charset {
            Some(charset) => {
                let decoded = charset.decode(text.as_bytes());
                let problems = decoded.problems.iter();
                rendered
                    .notes
                    .extend(problems.clone().map(ToString::to_string));
                rendered.is_loss = problems.clone().any(|problem| problem.kind.is_undecoded());
                decoded.text.into_owned().into_bytes()
            }
            None => text.as_bytes().to_vec(),
        },
        RetrievedRecord::Marc(_) | RetrievedRecord::Xml(_) => record.octets().to_vec(),
    };
    rendered.octets = unread_text(&octets);
    rendered
}

/// Returns octets that cannot be decoded, unchanged except that a missing newline is added at the end.
pub(super) fn unread_text(octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    if octets.last() != Some(&b'\n') {
        octets.push(b'\n');
    }
    octets
}

/// Returns the record's syntax for a message, such as `record syntax GRS-1`.
pub(super) fn name(record: &RetrievedRecord) -> String {
    let name = match record {
        RetrievedRecord::Marc(_) => "MARC".into(),
        RetrievedRecord::Sutrs(_) => "SUTRS".into(),
        RetrievedRecord::Xml(_) => "XML".into(),
        RetrievedRecord::Opac(_) => "OPAC".into(),
        RetrievedRecord::Grs1(_) => "GRS-1".into(),
        RetrievedRecord::Summary(_) => "Summary".into(),
        RetrievedRecord::Explain(_) => "Explain".into(),
        RetrievedRecord::Other(external) => external
            .direct_reference
            .map_or("without a name".into(), |oid| format!("{oid:?}")),
    };
    format!("record syntax {name}")
}

/// Renders a JSON object with these members, followed by the record syntax and by the record itself: as an object of
/// its elements, as text, or as octets in base64.
pub(super) fn json(record: &RetrievedRecord, members: Map<String, Value>) -> Rendered {
    let own = match record {
        RetrievedRecord::Opac(record) => elements(OPAC, record.to_json()),
        RetrievedRecord::Grs1(record) => elements(GRS_1, record.to_json()),
        RetrievedRecord::Summary(record) => elements(SUMMARY, record.describe().to_json()),
        RetrievedRecord::Explain(record) => elements(EXPLAIN, record.describe().to_json()),
        RetrievedRecord::Marc(octets) => octets_of(None, octets),
        RetrievedRecord::Sutrs(_) => octets_of(Some(SUTRS), &record.octets()),
        RetrievedRecord::Xml(octets) => octets_of(Some(XML), octets),
        RetrievedRecord::Other(external) => octets_of(external.direct_reference, &record.octets()),
    };
    Rendered {
        octets: joined(members, own),
        ..Rendered::default()
    }
}

/// Renders octets that cannot be decoded as a JSON object with these members and without a record syntax.
pub(super) fn unread_json(octets: &[u8], members: Map<String, Value>) -> Vec<u8> {
    joined(members, octets_of(None, octets))
}

fn joined(mut members: Map<String, Value>, own: Value) -> Vec<u8> {
    if let Value::Object(own) = own {
        members.extend(own);
    }
    line(&members.into())
}

fn elements(oid: Oid, record: Value) -> Value {
    json!({ "syntax": syntax(Some(oid)), "record": record })
}

/// Returns a JSON object that contains the octets as text if they are UTF-8, and otherwise in base64.
fn octets_of(oid: Option<Oid>, octets: &[u8]) -> Value {
    let syntax = syntax(oid);
    match std::str::from_utf8(octets) {
        Ok(text) => json!({ "syntax": syntax, "text": text }),
        Err(_) => json!({ "syntax": syntax, "base64": STANDARD.encode(octets) }),
    }
}
