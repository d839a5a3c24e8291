//! The labelled values of a record. Web addresses are shown as links, authors and subjects as links to a search for them, and
//! languages by their names.

use z3950_marc::crosswalk::sutrs::{LabelledValue, labelled};
use z3950_marc::{MarcRecord, language};

use crate::text::{VALUE, cut};

/// The values under one label.
pub(crate) struct ShownRow {
    pub(crate) label: &'static str,
    pub(crate) values: Vec<ShownValue>,
}

/// A value of a labelled row.
pub(crate) struct ShownValue {
    /// The text in pieces, each marked as a link or as plain text.
    pub(crate) parts: Vec<(String, bool)>,
    /// The link to a search for the value; empty if there is none.
    pub(crate) search: String,
}

/// The maximum number of characters in a name or subject that is searched for.
const MAX_SOUGHT: usize = 500;

const LANGUAGE: &str = "Language";
/// The labels that come after [`LANGUAGE`].
const AFTER_LANGUAGE: [&str; 9] = [
    "Contents",
    "Summary",
    "Notes",
    "Subjects",
    "Genre",
    "ISBN",
    "ISSN",
    "Link",
    "Identifier",
];

/// Returns the labelled values of a record. `search` returns the link to the search for a query; it is `None` if there is no
/// search page. For a record without language codes in a separate field, the language is read from 008/35-37.
pub(crate) fn rows(marc: &MarcRecord, search: Option<&dyn Fn(&str) -> String>) -> Vec<ShownRow> {
    let mut rows: Vec<ShownRow> = Vec::new();
    for one in labelled(marc) {
        let values = match one.label {
            LANGUAGE => languages(&one.value),
            // Subdivisions of subjects follow ` -- `, which is shown as a dash.
            _ => vec![one.value.replace(" -- ", " – ")],
        };
        let link = search.and_then(|search| Some(search(&query(&one)?)));
        let values = values.iter().map(|value| ShownValue {
            search: link.clone().unwrap_or_default(),
            ..ShownValue::of(&cut(value, VALUE))
        });
        match rows.last_mut().filter(|last| last.label == one.label) {
            Some(last) => last.values.extend(values),
            None => rows.push(ShownRow {
                label: one.label,
                values: values.collect(),
            }),
        }
    }
    let has_language = rows.iter().any(|row| row.label == LANGUAGE);
    if let Some(name) = coded_language(marc).filter(|_| !has_language) {
        let is_after = |row: &ShownRow| AFTER_LANGUAGE.contains(&row.label);
        let place = rows.iter().position(is_after).unwrap_or(rows.len());
        let row = ShownRow {
            label: LANGUAGE,
            values: vec![ShownValue::of(name)],
        };
        rows.insert(place, row);
    }
    rows
}

/// Returns a query with an index name for the author or subject in a value; `None` for other values.
fn query(value: &LabelledValue<'_>) -> Option<String> {
    let is_name = match value.label {
        "Author" | "Contributor" => true,
        "Subjects" => false,
        _ => return None,
    };
    let mut words = Vec::new();
    for subfield in value.field.subfields() {
        let &[code] = subfield.code else { continue };
        let is_sought = if is_name {
            // Take only the name, not the relation to the work or the title of a part.
            b"abcdq".contains(&code)
        } else {
            code.is_ascii_lowercase() && !b"eghiju".contains(&code)
        };
        if is_sought {
            let text = String::from_utf8_lossy(subfield.data);
            let text = text.trim().trim_end_matches(['.', ',', ';', ':', '/', ' ']);
            words.push(text.to_owned());
        } else if !code.is_ascii_digit() {
            // The phrase ends at the first subfield of a different kind.
            break;
        }
    }
    let words = words.join(" ");
    let words = words.replace(char::is_control, " ");
    let is_short = words.chars().count() <= MAX_SOUGHT;
    let quoted = words.replace('\\', "\\\\").replace('"', "\\\"");
    let index = if is_name { "au" } else { "su" };
    (is_short && words.contains(char::is_alphanumeric)).then(|| format!("{index}:\"{quoted}\""))
}

/// Returns the names of the languages with these codes. Older records have several codes in one subfield, as in `engfre`.
fn languages(value: &str) -> Vec<String> {
    let codes = value.split(", ").flat_map(|codes| {
        let octets = codes.as_bytes().chunks(3);
        let each: Option<Vec<&str>> = octets
            .map(|code| std::str::from_utf8(code).ok().and_then(language::name_of))
            .collect();
        each.unwrap_or_else(|| vec![codes])
    });
    codes.map(str::to_owned).collect()
}

/// Returns the name of the language in 008/35-37 of MARC 21, if it is known.
fn coded_language(marc: &MarcRecord) -> Option<&'static str> {
    let fixed = marc.fields_by_tag("008").next()?.value()?;
    let code = std::str::from_utf8(fixed.get(35..38)?).ok()?;
    let is_told = !["und", "mis", "zxx"].contains(&code);
    language::name_of(code).filter(|_| is_told)
}

impl ShownValue {
    /// Splits text into plain text and links to web pages and files.
    fn of(text: &str) -> Self {
        let mut parts: Vec<(String, bool)> = Vec::new();
        for word in text.split_inclusive(' ') {
            let url = word.trim_end_matches([' ', ',', ';', '.']);
            let lower = url.to_ascii_lowercase();
            let schemes = ["http://", "https://", "ftp://"];
            let is_link = schemes
                .iter()
                .any(|scheme| lower.len() > scheme.len() && lower.starts_with(scheme));
            let rest = word.get(url.len()..).unwrap_or_default();
            match parts.last_mut() {
                _ if is_link => {
                    parts.push((url.to_owned(), true));
                    parts.push((rest.to_owned(), false));
                }
                Some((known, false)) => known.push_str(word),
                _ => parts.push((word.to_owned(), false)),
            }
        }
        Self {
            parts,
            search: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use z3950_marc::{Field, Leader};

    use super::*;

    #[test]
    fn only_urls_of_pages_and_files_are_links() {
        for (text, links) in [
            (
                "https://lib.example/a?b, see also",
                &["https://lib.example/a?b"][..],
            ),
            ("see ftp://lib.example/x.", &["ftp://lib.example/x"]),
            ("HTTP://a http://b", &["HTTP://a", "http://b"]),
            ("javascript:alert(1) data:text/html,x http://", &[]),
        ] {
            let value = ShownValue::of(text);
            let parts = value.parts.iter();
            let shown: String = parts.clone().map(|(part, _)| part.as_str()).collect();
            assert_eq!(shown, text);
            let found: Vec<_> = parts.filter(|(_, is_link)| *is_link).collect();
            let found: Vec<&str> = found.iter().map(|(part, _)| part.as_str()).collect();
            assert_eq!(found, links, "{text}");
        }
    }

    #[test]
    fn r_g_languages_are_shown_by_their_names() {
        let fixed = |code: &str| {
            let value = format!("260101s1813    enk           000 1 {code} d");
            Field::control(b"008", value)
        };
        let given = |codes: &[&'static str]| {
            Field::data(b"041", "0 ", codes.iter().map(|code| ("a", *code)))
        };
        for (fields, expected) in [
            (vec![given(&["eng"])], Some("English")),
            (
                vec![given(&["eng", "gre"])],
                Some("English | Greek, Modern (1453-)"),
            ),
            (vec![given(&["engfre"])], Some("English | French")),
            (vec![given(&["xyz", "fre"])], Some("xyz | French")),
            (vec![given(&["Deutsch"])], Some("Deutsch")),
            (vec![fixed("ger")], Some("German")),
            (vec![fixed("ger"), given(&["rus"])], Some("Russian")),
            (vec![fixed("und")], None),
            (vec![fixed("|||")], None),
            (vec![Field::control(b"008", "260101")], None),
        ] {
            let title = Field::data(b"245", "10", [("a", "Emma")]);
            let notes = Field::data(b"500", "  ", [("a", "A note.")]);
            let fields = fields.into_iter().chain([title, notes]).collect();
            let leader = Leader::default();
            let rows = rows(&MarcRecord { leader, fields }, None);
            let labels: Vec<_> = rows.iter().map(|row| row.label).collect();
            let found = rows.iter().find(|row| row.label == LANGUAGE);
            let found = found.map(|row| {
                let values = row.values.iter().map(|value| value.parts[0].0.as_str());
                values.collect::<Vec<_>>().join(" | ")
            });
            assert_eq!(found.as_deref(), expected);
            let order = ["Title", LANGUAGE, "Notes"];
            let order = order
                .into_iter()
                .filter(|label| expected.is_some() || *label != LANGUAGE);
            assert_eq!(labels, order.collect::<Vec<_>>());
        }
    }
}
