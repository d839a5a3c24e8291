//! A record within another record, such as the bibliographic record in an OPAC record (Z39.50-2003 Appendix REC.3).
//! MARC, SUTRS and XML are shown as usual. The octets of any other syntax are not interpreted, so records are nested at
//! most one level deep.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use z3950_marc::charset::{self, Options};
use z3950_marc::text::text_lossless;
use z3950_marc::xmltext::{put_attribute, put_content};
use z3950_marc::{MarcRecord, iso2709, marcjson, marcline, marcxml};

use super::retrieved::RetrievedRecord;
use crate::apdu::External;

/// Returns the record as lines. For any syntax other than MARC, SUTRS and XML, the text is one line that states the
/// syntax and the number of octets.
pub(super) fn text(external: &External) -> String {
    let octets = RetrievedRecord::octets_of(external);
    match RetrievedRecord::of(external) {
        RetrievedRecord::Marc(_) => {
            let lines = marc(external).map(|record| marcline::to_lines(&record));
            text_lossless(lines.as_deref().unwrap_or(&octets)).into_owned()
        }
        RetrievedRecord::Sutrs(_) | RetrievedRecord::Xml(_) => text_lossless(&octets).into_owned(),
        _ => format!(
            "(a value in {}, {} octets)",
            external
                .direct_reference
                .map_or_else(|| "no named syntax".into(), |oid| format!("syntax {oid:?}")),
            octets.len()
        ),
    }
}

/// Returns the record as MARC-in-JSON, or as `{"syntax", "text"}` or `{"syntax", "base64"}`.
pub(super) fn json(external: &External) -> Value {
    if let Some(record) = marc(external) {
        return marcjson::to_value(&record);
    }
    let octets = RetrievedRecord::octets_of(external);
    match std::str::from_utf8(&octets) {
        Ok(text) => json!({"syntax": syntax(external), "text": text}),
        Err(_) => json!({"syntax": syntax(external), "base64": base64(&octets)}),
    }
}

/// Adds the record as MARCXML, or as an element `value` with the syntax and the text or base64. XML is escaped as text,
/// because it may be malformed.
pub(super) fn put_xml(external: &External, out: &mut String) {
    if let Some(record) = marc(external) {
        out.push('\n');
        out.push_str(&marcxml::to_xml(&record).text);
        return;
    }
    let octets = RetrievedRecord::octets_of(external);
    out.push_str("<value syntax=\"");
    put_attribute(out, syntax(external).unwrap_or_default().as_bytes());
    match std::str::from_utf8(&octets) {
        Ok(text) => {
            out.push_str("\">");
            put_content(out, text.as_bytes());
        }
        Err(_) => {
            out.push_str("\" encoding=\"base64\">");
            out.push_str(&base64(&octets));
        }
    }
    out.push_str("</value>");
}

/// Returns the MARC record, converted to UTF-8; `None` if it is in another syntax or cannot be parsed.
fn marc(external: &External) -> Option<MarcRecord> {
    let RetrievedRecord::Marc(octets) = RetrievedRecord::of(external) else {
        return None;
    };
    let record = iso2709::parse(&octets).ok()?.record;
    Some(charset::to_utf8(&record, &Options::default()).record)
}

fn syntax(external: &External) -> Option<String> {
    external.direct_reference.map(|oid| oid.to_string())
}

/// Encodes octets in base64 with padding (RFC 4648 §4).
pub(super) fn base64(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_in_base64() {
        for (octets, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"\xff\xfe\xfd", "//79"),
        ] {
            assert_eq!(base64(octets), text);
        }
    }
}
