//! Translates the keys after CQL's `sortby` to keys for a Sort request (Z39.50-2003 §3.2.7.1.3).

use super::super::{Cql, Properties, SingleSpec};
use super::{Translator, not_a_modifier};
use crate::apdu::{
    AttributeList, CaseSensitivity, MissingValueAction, SortAttributes, SortElement, SortKey,
    SortKeySpec, SortRelation,
};
use crate::oid::BIB_1;
use crate::query::QueryError;

/// Returns the keys after `sortby` as keys for a Sort request, most important key first. Case is ignored unless a key
/// has the modifier `/sort.respectCase`. The server decides where to sort records without the key.
///
/// # Errors
/// [`QueryError`] with its offset, for an index that is not in the properties or a modifier that Sort cannot express.
pub fn sort_keys(query: &Cql, properties: &Properties) -> Result<Vec<SortKeySpec>, QueryError> {
    let translator = Translator {
        properties,
        maps: Vec::new(),
        operands: 0,
    };
    let keys = query.sort.iter().map(|key| translator.sort_key(key));
    keys.collect()
}

impl<'a> Translator<'a> {
    fn sort_key(&self, key: &'a SingleSpec) -> Result<SortKeySpec, QueryError> {
        let index = self.resolve_index(&key.index)?;
        let list = AttributeList(self.index(&key.index, Some(index))?);
        let mut spec = SortKeySpec {
            sort_element: SortElement::Generic(SortKey::SortAttributes(SortAttributes {
                id: BIB_1,
                list,
            })),
            sort_relation: SortRelation::ASCENDING,
            case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
            missing_value_action: Some(MissingValueAction::Null),
        };
        for modifier in &key.modifiers {
            let name = modifier.name.text.to_ascii_lowercase();
            match (name.strip_prefix("sort.").unwrap_or(&name), &modifier.value) {
                ("ascending", None) => spec.sort_relation = SortRelation::ASCENDING,
                ("descending", None) => spec.sort_relation = SortRelation::DESCENDING,
                ("ignorecase", None) => spec.case_sensitivity = CaseSensitivity::CASE_INSENSITIVE,
                ("respectcase", None) => spec.case_sensitivity = CaseSensitivity::CASE_SENSITIVE,
                ("missingfail", None) => {
                    spec.missing_value_action = Some(MissingValueAction::Abort);
                }
                ("missingvalue", Some((_, value))) => {
                    let value = value.unescaped().into_bytes();
                    spec.missing_value_action =
                        Some(MissingValueAction::MissingValueData(value.into()));
                }
                _ => return Err(not_a_modifier(modifier)),
            }
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apdu::{RpnQuery, RpnStructure};
    use crate::query::cql::parse;

    #[test]
    fn sort_keys_are_those_of_a_sort_request() {
        for (text, expected) in [
            ("war", ""),
            ("war sortby dc.title", "1=4 ascending"),
            (
                "war sortby title/sort.descending date/respectCase",
                "1=4 descending, 1=31 ascending with case",
            ),
            ("war sortby date/sort.missingFail", "1=31 ascending or none"),
            (
                "war sortby date/sort.missingValue=1900",
                "1=31 ascending else \"1900\"",
            ),
            (
                "war sortby tilte",
                "!index \"tilte\" is not known at octet 11 of the query; did you mean \"title\"?",
            ),
            (
                "war sortby date/sort.missingOmit",
                "!modifier \"sort.missingOmit\" cannot be translated at octet 16 of the query",
            ),
        ] {
            let query = parse(text).expect(text);
            let found = match sort_keys(&query, &Properties::default()) {
                Ok(keys) => keys.iter().map(shown).collect::<Vec<_>>().join(", "),
                Err(error) => format!("!{error}"),
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    fn shown(spec: &SortKeySpec) -> String {
        let SortElement::Generic(SortKey::SortAttributes(key)) = &spec.sort_element else {
            panic!("{spec:?}");
        };
        let query = RpnQuery::bib1(RpnStructure::term(key.list.0.clone(), "x"));
        let attributes = query.to_string().replace("@attr ", "").replace(" x", "");
        let direction = match spec.sort_relation {
            SortRelation::DESCENDING => "descending",
            _ => "ascending",
        };
        let case = match spec.case_sensitivity {
            CaseSensitivity::CASE_SENSITIVE => " with case",
            _ => "",
        };
        let missing = match &spec.missing_value_action {
            Some(MissingValueAction::Abort) => " or none".to_owned(),
            Some(MissingValueAction::MissingValueData(value)) => {
                format!(" else {:?}", String::from_utf8_lossy(value.as_bytes()))
            }
            _ => String::new(),
        };
        format!("{attributes} {direction}{case}{missing}")
    }
}
