//! Converts APDUs to text with one element per line, such as `preferredMessageSize: 1048576`. Nested elements are
//! indented.

use std::fmt::Write;

use serde_json::Value;

use crate::apdu::Apdu;

/// Returns the elements of an APDU, one per line. Secrets are redacted, and control characters are escaped.
pub fn to_text(apdu: &Apdu) -> String {
    let mut text = String::new();
    put(&super::to_json(apdu), 0, &mut text);
    text
}

/// Adds the elements of an object or array, each on its own line.
fn put(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(elements) => {
            for (name, value) in elements {
                text.extend(std::iter::repeat_n(' ', indent));
                put_escaped(name, text);
                text.push(':');
                put_value(value, indent + 2, text);
            }
        }
        Value::Array(values) => {
            for value in values {
                text.extend(std::iter::repeat_n(' ', indent));
                text.push('-');
                put_value(value, indent + 2, text);
            }
        }
        scalar => {
            put_scalar(scalar, text);
            text.push('\n');
        }
    }
}

/// Adds a value after its name or dash. A scalar, or a list of scalars, is on the same line.
fn put_value(value: &Value, indent: usize, text: &mut String) {
    let is_nested = |value: &Value| value.is_object() || value.is_array();
    match value {
        Value::Array(values) if !values.iter().any(is_nested) => {
            for (index, value) in values.iter().enumerate() {
                text.push_str(if index == 0 { " " } else { ", " });
                put_scalar(value, text);
            }
            text.push('\n');
        }
        // The first element of an item is on the same line as the dash.
        Value::Object(_) if text.ends_with('-') => {
            let mut item = String::new();
            put(value, indent, &mut item);
            text.push(' ');
            text.push_str(item.trim_start_matches(' '));
            if item.is_empty() {
                text.push('\n');
            }
        }
        Value::Object(_) | Value::Array(_) => {
            text.push('\n');
            put(value, indent, text);
        }
        scalar => {
            text.push(' ');
            put(scalar, indent, text);
        }
    }
}

fn put_scalar(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => put_escaped(string, text),
        Value::Bool(true) => text.push_str("yes"),
        Value::Bool(false) => text.push_str("no"),
        other => {
            // Writing to a String cannot fail.
            let _ = write!(text, "{other}");
        }
    }
}

/// Adds text, with escapes in place of characters that control terminals.
fn put_escaped(string: &str, text: &mut String) {
    for character in string.chars() {
        let controls = character.is_control()
            || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if controls {
            text.extend(character.escape_default())
        } else {
            text.push(character)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::{Close, CloseReason};
    use serde_json::json;

    #[test]
    fn one_element_per_line() {
        let value = json!({
            "protocolVersion": [1, 2, 3],
            "result": true,
            "databaseNames": [],
            "records": [{ "name": "a\u{1b}[2J", "syntax": "USMARC" }, { "name": "b" }, {}],
            "ranges": [[1, 2], [3, 4]],
            "sort": { "id": "Bib-1" },
        });
        let mut text = String::new();
        put(&value, 0, &mut text);
        assert_eq!(
            text,
            "protocolVersion: 1, 2, 3\nresult: yes\ndatabaseNames:\nrecords:\n  - name: a\\u{1b}[2J\n    \
             syntax: USMARC\n  - name: b\n  - \nranges:\n  - 1, 2\n  - 3, 4\nsort:\n  id: Bib-1\n"
        );
    }

    #[test]
    fn an_apdu_as_text() {
        let close = Close::new(CloseReason::FINISHED, Some("bye\n"));
        assert_eq!(
            to_text(&close.into()),
            "closeReason: finished\ndiagnosticInformation: bye\\n\n"
        );
    }
}
