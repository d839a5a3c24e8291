//! The fields of an index, as described by its mapping.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::catalogue::offer::{Abilities, FieldsError, FieldsFound};

/// The analyzer or normalizer of each field, which folds its words. Fields with the same analyzer fold words in the
/// same way.
pub(super) type KnownFields = Arc<HashMap<String, String>>;

/// The properties of an index.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownIndex {
    /// The real name of the index, not that of an alias.
    pub(super) index: String,
    pub(super) folding: KnownFields,
}

/// The field with the identifier of a document, which no mapping describes.
const ID: &str = "_id";

/// Parses a mapping. Returns the possible uses of each field, and how each field folds words.
///
/// # Errors
/// Fails if the mapping belongs to an alias for several indexes, in which different records could have the same numbers.
pub(super) fn read(answer: &Value) -> Result<(FieldsFound, KnownIndex), FieldsError> {
    let mut found = FieldsFound::new();
    let mut folding = HashMap::new();
    let indexes = answer.as_object().map_or(0, serde_json::Map::len);
    if indexes > 1 {
        return Err(FieldsError::Several(indexes));
    }
    let only = answer.as_object().and_then(|indexes| indexes.iter().next());
    if let Some(mappings) = only.and_then(|(_, index)| index.get("mappings")) {
        // Before Elasticsearch 7, there is one more level between `mappings` and `properties`: the name of a type.
        let typed = mappings.as_object().and_then(|types| types.values().next());
        let typed = typed.filter(|typed| typed.get("properties").is_some());
        let mappings = if mappings.get("properties").is_some() {
            mappings
        } else {
            typed.unwrap_or(mappings)
        };
        properties(mappings, "", &mut found, &mut folding);
    }
    if !found.is_empty() {
        let id = Abilities {
            keys: true,
            stored: true,
            ..Abilities::default()
        };
        found.insert(ID.to_owned(), id);
    }
    let known = KnownIndex {
        index: only.map(|(name, _)| name.clone()).unwrap_or_default(),
        folding: Arc::new(folding),
    };
    Ok((found, known))
}

fn properties(
    mapping: &Value,
    prefix: &str,
    found: &mut FieldsFound,
    folding: &mut HashMap<String, String>,
) {
    let fields = mapping.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        let name = format!("{prefix}{name}");
        note(&name, field, found, folding);
        let more = field.get("fields").and_then(Value::as_object);
        for (part, field) in more.into_iter().flatten() {
            note(&format!("{name}.{part}"), field, found, folding);
        }
        // A record that is stored as JSON (`marc_data_array`) has many parts. They are not searched, so they are skipped.
        if field.get("properties").is_some() && !name.starts_with("marc_data_array") {
            properties(field, &format!("{name}."), found, folding);
        }
    }
}

fn note(name: &str, field: &Value, found: &mut FieldsFound, folding: &mut HashMap<String, String>) {
    let text = |part: &str| field.get(part).and_then(Value::as_str);
    let is_on = |part: &str| field.get(part) != Some(&Value::Bool(false));
    let is_searched = is_on("index");
    let has_values = is_on("doc_values");
    let kind = text("type").unwrap_or("object");
    let abilities = match kind {
        "text" => Abilities {
            words: is_searched,
            ..Abilities::default()
        },
        "keyword" => Abilities {
            keys: is_searched,
            compares: is_searched,
            lists: has_values,
            sorts: has_values,
            ..Abilities::default()
        },
        "icu_collation_keyword" => Abilities {
            sorts: has_values,
            ..Abilities::default()
        },
        "integer" | "short" | "long" => Abilities {
            keys: is_searched,
            sorts: has_values,
            counts: is_searched && has_values,
            ..Abilities::default()
        },
        "date" | "boolean" => Abilities {
            keys: is_searched,
            sorts: has_values,
            ..Abilities::default()
        },
        _ => Abilities::default(),
    };
    let stored = Abilities {
        stored: true,
        ..abilities
    };
    found.insert(name.to_owned(), stored);
    let folded = text("search_analyzer")
        .or(text("analyzer"))
        .or(text("normalizer"));
    if let Some(folded) = folded {
        folding.insert(name.to_owned(), folded.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn letters(found: &FieldsFound, name: &str) -> Option<String> {
        let has = found.get(name)?;
        let letters = [
            (has.words, 'w'),
            (has.keys, 'k'),
            (has.lists, 'l'),
            (has.sorts, 's'),
        ];
        Some(
            letters
                .into_iter()
                .filter(|(is, _)| *is)
                .map(|(_, letter)| letter)
                .collect(),
        )
    }

    #[test]
    fn types_determine_the_uses_of_a_field() {
        let title = json!({ "type": "text", "analyzer": "standard", "fields": {
            "phrase": { "type": "text", "analyzer": "phrase" },
            "ci_raw": { "type": "keyword", "normalizer": "folding" },
        } });
        let properties = json!({
            "title": title,
            "title__sort": { "type": "icu_collation_keyword", "index": false },
            "local-number": { "type": "integer" },
            "suppress": { "type": "boolean" },
            "marc_data": { "type": "text", "index": false },
            "marc_data_array": { "dynamic": "true", "properties": { "leader": { "type": "text" } } },
            "plain": { "type": "keyword", "doc_values": false },
            "location": { "type": "geo_point" },
            "item": { "properties": { "shelf": { "type": "keyword" } } },
        });
        let mapping = json!({ "dynamic": "true", "properties": properties });
        for answer in [
            json!({ "koha_1": { "mappings": mapping } }),
            // The response has the form used before Elasticsearch 7.
            json!({ "koha_1": { "mappings": { "data": mapping } } }),
        ] {
            let (found, known) = read(&answer).expect("one index");
            let folding = known.folding;
            assert_eq!(known.index, "koha_1");
            for (name, expected) in [
                ("title", Some("w")),
                ("title.phrase", Some("w")),
                ("title.ci_raw", Some("kls")),
                ("title__sort", Some("s")),
                ("local-number", Some("ks")),
                ("suppress", Some("ks")),
                ("marc_data", Some("")),
                ("marc_data_array", Some("")),
                ("marc_data_array.leader", None),
                ("plain", Some("k")),
                ("location", Some("")),
                ("item.shelf", Some("kls")),
                ("_id", Some("k")),
                ("nosuch", None),
            ] {
                assert_eq!(letters(&found, name).as_deref(), expected, "{name}");
            }
            assert_eq!(
                folding.get("title.phrase").map(String::as_str),
                Some("phrase")
            );
            assert_eq!(
                folding.get("title.ci_raw").map(String::as_str),
                Some("folding")
            );
        }
    }

    #[test]
    fn an_alias_of_several_indexes_is_refused() {
        let index = json!({ "mappings": { "properties": { "title": { "type": "text" } } } });
        let several = read(&json!({ "a": index, "b": index }));
        assert_eq!(several.map(|_| ()), Err(FieldsError::Several(2)));
        let none = read(&json!({})).expect("no index");
        assert!(none.0.is_empty());
    }
}
