//! Reads the fields of a collection, and their possible uses, from its schema.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::request::SWITCHES;
use super::response::missing;
use super::{ANSWER_OCTETS, MOST_ANSWER_OCTETS};
use crate::engine::catalogue::map::CatalogueMap;
use crate::engine::catalogue::offer::{Abilities, FieldsFound};
use crate::engine::link::Failure;
use crate::engine::link::reading::{ReadLink, Reading};

/// The parameters of a request for the schema, which needs only read access.
const SCHEMA: &str = "show=schema&numTerms=0&wt=json&json.nl=map";

/// The properties of a collection or core.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) fields: FieldsFound,
    /// Whether the collection belongs to a cluster, so that it may have several shards.
    pub(super) is_cluster: bool,
}

/// Finds out which fields of the map exist in the collection.
///
/// # Errors
/// See [`Failure`].
pub(super) async fn found(link: &ReadLink, map: &CatalogueMap) -> Result<Known, Failure> {
    let asked = link.ask(
        Reading::SolrSchema,
        SCHEMA,
        &Value::Null,
        MOST_ANSWER_OCTETS,
    );
    let answer = asked.await?;
    if answer.get("schema").is_none() {
        return Err(Failure::NotJson {
            place: link.index().to_owned(),
            status: 200,
        });
    }
    let schema = Schema::read(&answer);
    let mut fields = HashMap::new();
    let mut patterned = Vec::new();
    for name in map.field_names().filter(|name| is_plain(name)) {
        if let Some((abilities, is_pattern)) = schema.abilities(name) {
            fields.insert(name.to_owned(), abilities);
            if is_pattern && (abilities.words || abilities.keys) {
                patterned.push(name);
            }
        }
    }
    let counted = counted(link, &patterned).await?;
    // A pattern also matches the names of fields that no record has, so these fields are removed.
    for name in unfilled(&counted, &patterned) {
        fields.remove(name);
    }
    Ok(Known {
        fields,
        is_cluster: counted.pointer("/responseHeader/zkConnected").is_some(),
    })
}

/// Returns whether a name can be used in a request without escaping.
fn is_plain(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_part)
}

/// Counts the records that have each of the fields.
async fn counted(link: &ReadLink, names: &[&str]) -> Result<Value, Failure> {
    let facets = names.iter().enumerate().map(|(place, name)| {
        let query = format!("{{!lucene df={name} v=$all}}");
        (format!("f{place}"), json!({ "type": "query", "q": query }))
    });
    let body = json!({
        "query": { "lucene": { "query": "*:*" } },
        "limit": 0,
        "params": { "all": "[* TO *]" },
        "facet": facets.collect::<serde_json::Map<_, _>>(),
    });
    let options = format!("{SWITCHES}&shards.tolerant=true");
    link.ask(Reading::SolrSelect, &options, &body, ANSWER_OCTETS)
        .await
}

/// Returns the fields that no record has.
fn unfilled<'n>(counted: &Value, names: &[&'n str]) -> Vec<&'n str> {
    // An index without records, or a part of an index, does not show which fields are used.
    let has_records =
        counted.pointer("/response/numFound") != Some(&json!(0)) && missing(counted).is_none();
    let is_unfilled =
        |place: usize| counted.pointer(&format!("/facets/f{place}/count")) == Some(&json!(0));
    let names = names.iter().enumerate();
    let unfilled = names.filter(|(place, _)| has_records && is_unfilled(*place));
    unfilled.map(|(_, name)| *name).collect()
}

/// A schema, as the handler `luke` returns it.
struct Schema<'a> {
    fields: &'a Value,
    /// The patterns, in the order in which Solr compares them: the longest first.
    patterns: Vec<(&'a str, &'a Value)>,
    types: &'a Value,
}

impl<'a> Schema<'a> {
    fn read(answer: &'a Value) -> Self {
        let part = |name: &str| {
            let part = answer.get("schema").and_then(|schema| schema.get(name));
            part.unwrap_or(&Value::Null)
        };
        let mut patterns: Vec<_> = part("dynamicFields")
            .as_object()
            .into_iter()
            .flatten()
            .map(|(pattern, field)| (pattern.as_str(), field))
            .collect();
        patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        Self {
            fields: part("fields"),
            patterns,
            types: part("types"),
        }
    }

    /// Returns the possible uses of a field, and whether it only matches a pattern; `None` if it is not in the schema.
    fn abilities(&self, name: &str) -> Option<(Abilities, bool)> {
        let fits = |pattern: &str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (_, Some(begin)) => name.starts_with(begin),
            _ => false,
        };
        if let Some(field) = self.fields.get(name) {
            return Some((self.of_field(field), false));
        }
        let (_, field) = self.patterns.iter().find(|(pattern, _)| fits(pattern))?;
        Some((self.of_field(field), true))
    }

    fn of_field(&self, field: &Value) -> Abilities {
        let text = |name: &str| field.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = self.types.get(text("type")).unwrap_or(&Value::Null);
        let class = kind
            .get("className")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let has = |flag: char| text("flags").contains(flag);
        let tokenizer = kind
            .pointer("/indexAnalyzer/tokenizer/className")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_whole = !has('T') || tokenizer.contains("KeywordTokenizer");
        let is_text = class.ends_with("StrField") || class.ends_with("TextField");
        let (indexed, with_values, multiple) = (has('I'), has('D'), has('M'));
        Abilities {
            words: indexed && has('T') && !is_whole,
            keys: indexed && is_whole,
            // Solr does not fold string fields.
            compares: indexed && class.ends_with("StrField"),
            stored: has('S') || with_values,
            lists: indexed && is_text,
            sorts: (indexed || with_values)
                && is_whole
                && (!multiple || class.ends_with("StrField")),
            counts: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown() -> Value {
        let analyzer = |tokenizer: &str| json!({ "tokenizer": { "className": format!("org.apache.lucene.{tokenizer}") } });
        json!({ "schema": {
            "fields": {
                "id": { "type": "string", "flags": "I-S-----OF-----l" },
                "title_full": { "type": "text", "flags": "ITS-----O-------" },
                "fullrecord": { "type": "string", "flags": "--S-------------" },
                "author_facet": { "type": "textFacet", "flags": "ITS--M----------" },
                "last_indexed": { "type": "date", "flags": "I-SD------------" },
            },
            "dynamicFields": {
                "*_str": { "type": "string", "flags": "I-S-------------" },
                "*_str_mv": { "type": "string", "flags": "I-S--M----------" },
            },
            "types": {
                "string": { "className": "org.apache.solr.schema.StrField" },
                "date": { "className": "org.apache.solr.schema.DatePointField" },
                "text": { "className": "org.apache.solr.schema.TextField", "indexAnalyzer": analyzer("icu.ICUTokenizerFactory") },
                "textFacet": { "className": "org.apache.solr.schema.TextField", "indexAnalyzer": analyzer("core.KeywordTokenizerFactory") },
            },
        } })
    }

    #[test]
    fn a_schema_determines_the_uses_of_fields() {
        let shown = shown();
        let schema = Schema::read(&shown);
        let of = |name: &str| {
            schema.abilities(name).map(|(has, is_pattern)| {
                let flags = [
                    has.words,
                    has.keys,
                    has.compares,
                    has.stored,
                    has.lists,
                    has.sorts,
                    is_pattern,
                ];
                let flags = "wkcslop".chars().zip(flags).filter(|(_, is_set)| *is_set);
                flags.map(|(letter, _)| letter).collect::<String>()
            })
        };
        for (name, expected) in [
            ("id", Some("kcslo")),
            ("title_full", Some("wsl")),
            ("fullrecord", Some("s")),
            ("author_facet", Some("ksl")),
            ("last_indexed", Some("kso")),
            ("own_str", Some("kcslop")),
            ("own_str_mv", Some("kcslop")),
            ("nofield", None),
        ] {
            assert_eq!(of(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn invalid_names_are_not_resolved() {
        for (name, expected) in [
            ("callnumber-raw", true),
            ("a_1.b", true),
            ("_root_", true),
            ("a}b", false),
            ("a b", false),
            ("", false),
            ("1a", false),
        ] {
            assert_eq!(is_plain(name), expected, "{name}");
        }
    }
}
