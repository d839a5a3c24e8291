//! What a Sort and a task are about, as JSON with the standard's names: sort keys (Z39.50-2003 §3.2.7.1.4), parameters and
//! packages of extended services (Appendix EXT).

use serde_json::{Map, Value, json};

use super::{octets, oid};
use crate::apdu::{
    AttributeElement, AttributeValue, External, ExternalValue, MissingValueAction, SortElement,
    SortKey, SortKeySpec, StringOrNumeric,
};
use crate::es::{TaskPackage, TaskParameters};
use crate::oid::Oid;
use crate::describe::Describe;

/// A key with its order and what becomes of records without it.
pub(super) fn sort_key(key: &SortKeySpec) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    let element = match &key.sort_element {
        SortElement::Generic(key) => element(key),
        SortElement::DatabaseSpecific(keys) => {
            let each = keys.iter().map(|key| {
                let database = key.database_name.0.to_string_lossy().into_owned();
                (database, element(&key.db_sort))
            });
            Value::Object(each.collect())
        }
    };
    put("sortElement", element);
    put("sortRelation", key.sort_relation.to_string().into());
    put("caseSensitivity", key.case_sensitivity.to_string().into());
    if let Some(missing) = &key.missing_value_action {
        let missing = match missing {
            MissingValueAction::Abort => json!("abort"),
            MissingValueAction::Null => json!("null"),
            MissingValueAction::MissingValueData(data) => {
                json!({ "missingValueData": octets(data) })
            }
        };
        put("missingValueAction", missing);
    }
    object.into()
}

/// A field by its name, elements by theirs, attributes as PQF writes them.
fn element(key: &SortKey) -> Value {
    match key {
        SortKey::SortField(name) => json!({ "sortField": name.to_string_lossy() }),
        SortKey::ElementSpec(_) => json!({ "elementSpec": {} }),
        SortKey::SortAttributes(by) => {
            let attributes: Vec<_> = by.list.0.iter().map(attribute).collect();
            json!({ "sortAttributes": { "id": oid(by.id), "list": attributes } })
        }
    }
}

fn attribute(attribute: &AttributeElement) -> String {
    let set = attribute.attribute_set.map(|set| format!("{} ", oid(set)));
    let value = match &attribute.attribute_value {
        AttributeValue::Numeric(value) => value.to_string(),
        AttributeValue::Complex(complex) => {
            let values = complex.list.iter().map(|value| match value {
                StringOrNumeric::Numeric(value) => value.to_string(),
                StringOrNumeric::String(value) => value.to_string_lossy().into_owned(),
            });
            values.collect::<Vec<_>>().join(",")
        }
    };
    let set = set.unwrap_or_default();
    format!("{set}{}={value}", attribute.attribute_type)
}

/// The parameters of a task; of a service that is not known, its identifier alone.
pub(super) fn task(external: &External) -> Value {
    match TaskParameters::from_external(external) {
        Ok(parameters) => parameters.describe().to_json(),
        Err(_) => unknown(external.direct_reference),
    }
}

/// A task package.
pub(super) fn package(external: &External) -> Value {
    match TaskPackage::from_external(external) {
        Ok(package) => package.describe().to_json(),
        Err(_) => unknown(external.direct_reference),
    }
}

fn unknown(syntax: Option<Oid>) -> Value {
    json!({ "syntax": syntax.map(oid) })
}
