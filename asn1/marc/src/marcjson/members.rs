//! JSON values that preserve their source: an object keeps all its members in order, even if several have the same name
//! (RFC 8259 §4). A map would keep only one of several members with the same name, so a subfield repeated within one
//! object would be lost.

use std::fmt;

use crate::text::without_separators;
use serde_core::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value, reduced to the parts that records need.
#[derive(Debug)]
pub(super) enum Json {
    Text(String),
    Array(Vec<Json>),
    Object(Members),
    /// A number, a Boolean or null.
    Other,
}

/// The members of an object, in the order written.
#[derive(Debug)]
pub(super) struct Members(pub(super) Vec<(String, Json)>);

impl Json {
    /// Replaces the ISO 2709 separators in all names and strings; returns `true` if there were any. In names, the
    /// replacement is one octet.
    pub(super) fn replace_separators(&mut self) -> bool {
        let replace = |text: &mut String, stand_in| {
            let replaced = without_separators(text, stand_in);
            let found = replaced.is_some();
            if let Some(replaced) = replaced {
                *text = replaced;
            }
            found
        };
        match self {
            Self::Text(text) => replace(text, "\u{FFFD}"),
            Self::Array(items) => items
                .iter_mut()
                .fold(false, |found, item| item.replace_separators() | found),
            Self::Object(Members(members)) => {
                members.iter_mut().fold(false, |found, (name, value)| {
                    let of_value = match value {
                        // Indicators and leader positions are one octet each, so the replacement is an ASCII character.
                        Self::Text(text) if name == "leader" || name.starts_with("ind") => {
                            replace(text, " ")
                        }
                        value => value.replace_separators(),
                    };
                    replace(name, "?") | of_value | found
                })
            }
            Self::Other => false,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Option<&[Json]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn members(&self) -> Option<&Members> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = array.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(Members(members)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }
}
