//! Writes ASN.1 values for people and programs. Each output format has one writer, which works for all types.

use serde_json::{Map, json};
use z3950_marc::xmltext::put_content;

use super::embedded::{self, base64};
use crate::describe::Value;

impl Value {
    /// Returns the value as indented lines, such as `Call number: QA76`; embedded records have their own lines.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.put_text("", 0, &mut out);
        out
    }

    /// Returns the value as JSON: groups are objects, and OCTET STRINGs are in base64.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Nothing => serde_json::Value::Null,
            Self::Flag(flag) => json!(flag),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Octets(octets) => json!(base64(octets)),
            Self::Record(record) => embedded::json(record),
            Self::List(values) => values.iter().map(Self::to_json).collect(),
            Self::Group(elements) => {
                let members = elements
                    .iter()
                    .map(|(name, value)| (name.to_string(), value.to_json()));
                serde_json::Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the value as an XML element with the given name, followed by a newline. The elements of a list are
    /// repeated, and flags are `true` or `false`.
    pub fn to_xml(&self, name: &str) -> String {
        let mut out = String::new();
        self.put_xml(name, 0, &mut out);
        out
    }

    /// Appends the value with its label. The elements of a group without a name are written at the level of the
    /// group itself.
    fn put_text(&self, name: &str, indent: usize, out: &mut String) {
        match self {
            Self::Nothing => {}
            Self::List(values) => {
                for value in values {
                    value.put_text(name, indent, out);
                }
            }
            Self::Group(elements) if name.is_empty() => {
                for (name, value) in elements {
                    value.put_text(name, indent, out);
                }
            }
            Self::Group(elements) => {
                put_line(&format!("{}:", label(name)), indent, out);
                for (name, value) in elements {
                    value.put_text(name, indent + INDENT, out);
                }
            }
            scalar => {
                let text = scalar.line();
                let line = match (name, text.contains('\n')) {
                    ("", _) => text,
                    (name, false) => format!("{}: {text}", label(name)),
                    (name, true) => format!("{}:\n{text}", label(name)),
                };
                let mut lines = line.lines();
                put_line(lines.next().unwrap_or_default(), indent, out);
                for line in lines {
                    put_line(line, indent + INDENT, out);
                }
            }
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Flag(true) => "yes".into(),
            Self::Flag(false) => "no".into(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Octets(octets) => octets_line(octets),
            Self::Record(record) => embedded::text(record),
            Self::Nothing | Self::List(_) | Self::Group(_) => String::new(),
        }
    }

    fn put_xml(&self, name: &str, indent: usize, out: &mut String) {
        let margin = " ".repeat(indent);
        match self {
            Self::Nothing => {}
            Self::List(values) => {
                for value in values {
                    value.put_xml(name, indent, out);
                }
            }
            Self::Group(elements) => {
                out.push_str(&format!("{margin}<{name}>\n"));
                for (name, value) in elements {
                    value.put_xml(name, indent + INDENT, out);
                }
                out.push_str(&format!("{margin}</{name}>\n"));
            }
            scalar => {
                out.push_str(&format!("{margin}<{name}>"));
                scalar.put_xml_content(out);
                out.push_str(&format!("</{name}>\n"));
            }
        }
    }

    /// Appends a scalar value as the content of an element.
    pub(super) fn put_xml_content(&self, out: &mut String) {
        match self {
            Self::Flag(flag) => out.push_str(&flag.to_string()),
            Self::Record(record) => embedded::put_xml(record, out),
            Self::Octets(octets) => out.push_str(&base64(octets)),
            other => drop(put_content(out, other.line().as_bytes())),
        }
    }
}

/// The number of spaces by which each level is indented.
pub(super) const INDENT: usize = 2;

/// Adds a line, followed by a newline.
pub(super) fn put_line(text: &str, indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
    out.push_str(text);
    out.push('\n');
}

/// Returns octets for use in a line of text: unchanged if they are UTF-8, or in base64 and marked as such.
fn octets_line(octets: &[u8]) -> String {
    match std::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("(base64) {}", base64(octets)),
    }
}

/// Returns a human-readable label, such as `Call number` for `callNumber`. Consecutive capitals are kept.
fn label(name: &str) -> String {
    let mut label = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let in_a_row = characters.peek().is_none_or(char::is_ascii_uppercase);
        if label.is_empty() {
            label.push(character.to_ascii_uppercase());
        } else if character.is_ascii_uppercase() && before.is_ascii_lowercase() {
            label.push(' ');
            label.push(if in_a_row {
                character
            } else {
                character.to_ascii_lowercase()
            });
        } else {
            label.push(character);
        }
        before = character;
    }
    label
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::spelling::standard_name;

    #[test]
    fn names_and_labels() {
        for (name, standard, shown) in [
            ("call_number", "callNumber", "Call number"),
            ("CallNumber", "callNumber", "Call number"),
            (
                "multiple_d_bsearch",
                "multipleDBsearch",
                "Multiple DBsearch",
            ),
            ("r#type", "type", "Type"),
            ("enum_and_chron", "enumAndChron", "Enum and chron"),
            ("asn1_module", "asn1Module", "Asn1Module"),
            ("es_asn", "esAsn", "Es asn"),
        ] {
            assert_eq!(standard_name(name), standard);
            assert_eq!(label(standard), shown);
        }
    }

    #[test]
    fn the_three_forms() {
        let value = Value::group(vec![
            ("a_name", Value::Text("A & B\nC".into())),
            ("absent", Value::Nothing),
            ("flag", Value::Flag(false)),
            (
                "parts",
                Value::List(vec![
                    Value::Number(1),
                    Value::group(vec![("octets", Value::Octets(Bytes::from_static(b"\xff")))]),
                ]),
            ),
        ]);
        assert_eq!(
            value.to_text(),
            "A name:\n  A & B\n  C\nFlag: no\nParts: 1\nParts:\n  Octets: (base64) /w==\n"
        );
        assert_eq!(
            value.to_json(),
            json!({"aName": "A & B\nC", "flag": false, "parts": [1, {"octets": "/w=="}]})
        );
        assert_eq!(
            value.to_xml("x"),
            "<x>\n  <aName>A &amp; B\nC</aName>\n  <flag>false</flag>\n  <parts>1</parts>\n  <parts>\n    \
             <octets>/w==</octets>\n  </parts>\n</x>\n"
        );
    }
}
