//! A record inside another one, such as the bibliographic record in an OPAC record (Z39.50-2003 Appendix REC.3): MARC, SUTRS
//! and XML are shown as usual, anything else by its octets, so that nesting ends at one level.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use z3950_marc::charset::{self, Options};
use z3950_marc::text::text_lossless;
use z3950_marc::xmltext::{put_attribute, put_content};
use z3950_marc::{MarcRecord, iso2709, marcjson, marcline, marcxml};

use super::retrieved::RetrievedRecord;
use crate::apdu::External;

/// Lines; of a record in another syntax, the syntax and the number of octets.
pub(super) fn text(external: &External) -> String {
    match RetrievedRecord::of(external) {
        RetrievedRecord::Marc(octets) => {
            let lines = marc(&octets).map(|record| marcline::to_lines(&record));
            text_lossless(lines.as_deref().unwrap_or(&octets)).into_owned()
        }
        record @ (RetrievedRecord::Sutrs(_) | RetrievedRecord::Xml(_)) => {
            text_lossless(&record.octets()).into_owned()
        }
        record => format!(
            "(a value in {}, {} octets)",
            syntax(external)
                .map_or_else(|| "no named syntax".into(), |oid| format!("syntax {oid}")),
            record.octets().len()
        ),
    }
}

/// MARC-in-JSON, or `{"syntax", "text"}` or `{"syntax", "base64"}`.
pub(super) fn json(external: &External) -> Value {
    let record = RetrievedRecord::of(external);
    if let RetrievedRecord::Marc(octets) = &record
        && let Some(record) = marc(octets)
    {
        return marcjson::to_value(&record);
    }
    let octets = record.octets();
    match std::str::from_utf8(&octets) {
        Ok(text) => json!({"syntax": syntax(external), "text": text}),
        Err(_) => json!({"syntax": syntax(external), "base64": base64(&octets)}),
    }
}

/// MARCXML, or an element `value` with the syntax and its text or base64. XML is escaped as text: it may be malformed.
pub(super) fn put_xml(external: &External, out: &mut String) {
    let record = RetrievedRecord::of(external);
    if let RetrievedRecord::Marc(octets) = &record
        && let Some(record) = marc(octets)
    {
        out.push('\n');
        out.push_str(&marcxml::to_xml(&record).text);
        return;
    }
    let octets = record.octets();
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

/// The MARC record in UTF-8; `None` if it cannot be read.
fn marc(octets: &Bytes) -> Option<MarcRecord> {
    let record = iso2709::parse(octets).ok()?.record;
    Some(charset::to_utf8(&record, &Options::default()).record)
}

fn syntax(external: &External) -> Option<String> {
    external.direct_reference.map(|oid| oid.to_string())
}

/// Base64 with padding (RFC 4648 §4).
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
