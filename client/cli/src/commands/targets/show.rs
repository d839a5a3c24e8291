//! Shows a profile as lines of text, each with a key and its value.

use serde_json::{Map, Value};
use z3950_asn1::query::names::TABLE;

/// The Use value of OCLC numbers, for which no query language has a name.
const OCLC_NUMBER: i64 = 1211;

/// Returns the lines for a profile. `profile` is in the form that `--json` prints. If a key has several lines, only the
/// first line shows the key.
pub(super) fn lines(profile: &Map<String, Value>) -> Vec<String> {
    let mut rows = Vec::new();
    for (key, value) in profile {
        match (key.as_str(), value) {
            ("sru", Value::Object(options)) => sru(options, &mut rows),
            ("indexes", Value::Object(indexes)) => by_index(key, indexes, &mut rows),
            _ => rows.extend(in_words(value).map(|words| (key.clone(), words))),
        }
    }
    let mut last = String::new();
    rows.into_iter()
        .map(|(key, words)| {
            let shown = if key == last { "" } else { key.as_str() };
            let line = format!("{shown:<16}{words}");
            last = key;
            line
        })
        .collect()
}

/// Adds the SRU options that are set: one line with all short options, and one line for each index.
fn sru(options: &Map<String, Value>, rows: &mut Vec<(String, String)>) {
    let is_set = |value: &Value| !matches!(value, Value::Bool(false) | Value::Object(_));
    let short = options.iter().filter(|(_, value)| is_set(value));
    let short: Vec<String> = short
        .filter_map(|(key, value)| match (value, in_words(value)?) {
            (Value::Bool(_), _) => Some(key.clone()),
            (_, words) => Some(format!("{key} {words}")),
        })
        .collect();
    rows.push(("sru".to_owned(), short.join(", ")));
    if let Some(Value::Object(indexes)) = options.get("indexes") {
        by_index("sru indexes", indexes, rows);
    }
}

/// Adds a line for each index, such as `isbn = 1=7,5=1`.
fn by_index(key: &str, indexes: &Map<String, Value>, rows: &mut Vec<(String, String)>) {
    for (value, meaning) in indexes {
        let name = value.parse().ok().and_then(index_name);
        let name = name.unwrap_or(value);
        let meaning = in_words(meaning).unwrap_or_default();
        rows.push((key.to_owned(), format!("{name} = {meaning}")));
    }
}

/// Returns the name of the index with the given Use value.
pub(super) fn index_name(value: i64) -> Option<&'static str> {
    let named = TABLE.iter().find(|index| index.use_value == value);
    let oclc = (value == OCLC_NUMBER).then_some("oclc");
    named.map(|index| index.name).or(oclc)
}

/// Returns a value as words; `None` for an empty value.
fn in_words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            (!texts.is_empty()).then(|| texts.join(", "))
        }
        // An object with a name and an OID is a record syntax.
        Value::Object(parts) => match (parts.get("name"), parts.get("oid")) {
            (Some(Value::String(name)), Some(Value::String(oid))) => {
                Some(format!("{name} ({oid})"))
            }
            (_, oid) => oid.and_then(Value::as_str).map(str::to_owned),
        },
    }
}
