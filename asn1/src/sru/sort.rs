//! Sort keys in the parameter `sortKeys` (SRU 1.1, "Sorting"): keys are separated by spaces, and each key is
//! `path,schema,ascending,caseSensitive,missingValue`.

use super::{SruCondition, SruDiagnostic};

/// The maximum number of keys that are accepted.
pub const MAX_SORT_KEYS: usize = 16;

/// A sort key in `sortKeys`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SruSortKey {
    /// The name of an index, or a path in the schema.
    pub path: String,
    /// The schema of the path. The text may be empty.
    pub schema: String,
    /// Whether to sort in descending order.
    pub descending: bool,
    /// Whether upper and lower case letters are distinguished.
    pub case_sensitive: bool,
    /// The treatment of records without the key, if it is specified.
    pub missing: Option<MissingValue>,
}

/// The treatment of records without a sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingValue {
    /// The sort fails.
    Abort,
    /// Records without the key come after all other records.
    High,
    /// Records without the key come before all other records.
    Low,
    /// Records without the key are left out.
    Omit,
    /// Records without the key are sorted as if they had this value.
    Value(String),
}

impl MissingValue {
    /// Returns the name of the treatment, or the value in quotes.
    fn to_text(&self) -> String {
        match self {
            Self::Abort => "abort".into(),
            Self::High => "highValue".into(),
            Self::Low => "lowValue".into(),
            Self::Omit => "omit".into(),
            Self::Value(value) => quoted(value),
        }
    }
}

/// Parses sort keys. By default, a key is in ascending order and ignores case.
///
/// # Errors
/// A diagnostic for a key without a path, an unknown value, or more than [`MAX_SORT_KEYS`] keys.
pub fn parse_sort_keys(text: &str) -> Result<Vec<SruSortKey>, SruDiagnostic> {
    let mut keys = Vec::new();
    for key in split(text, ' ').filter(|key| !key.is_empty()) {
        if keys.len() == MAX_SORT_KEYS {
            let limit = MAX_SORT_KEYS.to_string();
            return Err(SruDiagnostic::new(SruCondition::TOO_MANY_SORT_KEYS, limit));
        }
        let mut parts = split(key, ',');
        let mut part = || parts.next().unwrap_or_default();
        let path = unquoted(part());
        if path.is_empty() {
            return Err(SruDiagnostic::new(SruCondition::SORT_PATH, key));
        }
        keys.push(SruSortKey {
            path,
            schema: unquoted(part()),
            descending: !flag(part(), true, SruCondition::SORT_DIRECTION)?,
            case_sensitive: flag(part(), false, SruCondition::SORT_CASE)?,
            missing: match part() {
                "" => None,
                "abort" => Some(MissingValue::Abort),
                "highValue" => Some(MissingValue::High),
                "lowValue" => Some(MissingValue::Low),
                "omit" => Some(MissingValue::Omit),
                value => Some(MissingValue::Value(unquoted(value))),
            },
        });
        if parts.next().is_some() {
            return Err(SruDiagnostic::new(SruCondition::SORT_TYPE, key));
        }
    }
    Ok(keys)
}

/// Returns the keys in the form of `sortKeys`. Parts with default values are left empty, or left out at the end of a
/// key.
pub fn sort_keys_to_text(keys: &[SruSortKey]) -> String {
    let keys = keys.iter().map(|key| {
        let flag = |is: bool, default: bool| match (is == default, is) {
            (true, _) => String::new(),
            (false, true) => "1".into(),
            (false, false) => "0".into(),
        };
        let missing = key.missing.as_ref().map(MissingValue::to_text);
        let parts = [
            quoted_if_needed(&key.path),
            quoted_if_needed(&key.schema),
            flag(!key.descending, true),
            flag(key.case_sensitive, false),
            missing.unwrap_or_default(),
        ];
        parts.join(",").trim_end_matches(',').to_owned()
    });
    keys.collect::<Vec<_>>().join(" ")
}

/// Returns the keys in the form that follows `sortby` in CQL 1.2, such as `date/sort.descending title`. The paths are
/// used as names of indexes.
pub fn sort_keys_to_cql(keys: &[SruSortKey]) -> String {
    let keys = keys.iter().map(|key| {
        let mut text = quoted_if_needed(&key.path);
        let modifiers = [
            (key.descending, "descending"),
            (key.case_sensitive, "respectCase"),
        ];
        for (_, modifier) in modifiers.into_iter().filter(|(is, _)| *is) {
            text.push_str("/sort.");
            text.push_str(modifier);
        }
        match &key.missing {
            None => {}
            Some(MissingValue::Abort) => text.push_str("/sort.missingFail"),
            Some(MissingValue::High) => text.push_str("/sort.missingHigh"),
            Some(MissingValue::Low) => text.push_str("/sort.missingLow"),
            Some(MissingValue::Omit) => text.push_str("/sort.missingOmit"),
            Some(MissingValue::Value(value)) => {
                text.push_str("/sort.missingValue=");
                text.push_str(&quoted(value));
            }
        }
        text
    });
    keys.collect::<Vec<_>>().join(" ")
}

/// Splits text at a character, except within quotes.
fn split(text: &str, sign: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    text.split(move |character| {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' && is_quoted {
            is_escaped = true;
        } else if character == '"' {
            is_quoted = !is_quoted;
        }
        character == sign && !is_quoted
    })
}

fn flag(text: &str, default: bool, condition: SruCondition) -> Result<bool, SruDiagnostic> {
    match text {
        "" => Ok(default),
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        other => Err(SruDiagnostic::new(condition, other)),
    }
}

fn unquoted(text: &str) -> String {
    let inside = text
        .strip_prefix('"')
        .map(|rest| rest.strip_suffix('"').unwrap_or(rest));
    let Some(inside) = inside else {
        return text.to_owned();
    };
    let mut plain = String::with_capacity(inside.len());
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            other => plain.push(other),
        }
    }
    plain
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn quoted_if_needed(text: &str) -> String {
    let needs = |c: char| c.is_whitespace() || "\",()=<>/\\".contains(c);
    if text.contains(needs) {
        quoted(text)
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::cql;

    #[test]
    fn keys_are_read_and_written() {
        for (text, written, in_cql) in [
            ("", "", ""),
            ("title", "title", "title"),
            (
                "title,,1,0,highValue  date",
                "title,,,,highValue date",
                "title/sort.missingHigh date",
            ),
            (
                "dc.date,dc,0,1,abort dc.title,,true,false,omit",
                "dc.date,dc,0,1,abort dc.title,,,,omit",
                "dc.date/sort.descending/sort.respectCase/sort.missingFail dc.title/sort.missingOmit",
            ),
            ("a,,,,lowValue", "a,,,,lowValue", "a/sort.missingLow"),
            ("a,,,,1900", "a,,,,\"1900\"", "a/sort.missingValue=\"1900\""),
            (
                "\"/record/title\",\"a, b\",0,,\"x \\\"y\\\" z\"",
                "\"/record/title\",\"a, b\",0,,\"x \\\"y\\\" z\"",
                "\"/record/title\"/sort.descending/sort.missingValue=\"x \\\"y\\\" z\"",
            ),
        ] {
            let keys = parse_sort_keys(text).expect(text);
            assert_eq!(sort_keys_to_text(&keys), written, "{text}");
            assert_eq!(parse_sort_keys(written), Ok(keys.clone()), "{written}");
            assert_eq!(sort_keys_to_cql(&keys), in_cql, "{text}");
            if !keys.is_empty() {
                let parsed = cql::parse(&format!("war sortby {in_cql}")).expect(in_cql);
                assert_eq!(parsed.sort.len(), keys.len());
            }
        }
    }

    #[test]
    fn faulty_keys_are_refused() {
        for (text, number, details) in [
            (",dc", 88, ",dc"),
            ("title,,2", 90, "2"),
            ("title,,,x", 91, "x"),
            ("title,,,,omit,x", 81, "title,,,,omit,x"),
        ] {
            let expected = SruDiagnostic::new(SruCondition(number), details);
            assert_eq!(parse_sort_keys(text), Err(expected));
        }
        let keys = |count| parse_sort_keys(&"a ".repeat(count)).map(|keys| keys.len());
        assert_eq!(keys(MAX_SORT_KEYS), Ok(MAX_SORT_KEYS));
        assert_eq!(
            keys(MAX_SORT_KEYS + 1),
            Err(SruDiagnostic::new(SruCondition::TOO_MANY_SORT_KEYS, "16"))
        );
    }
}
