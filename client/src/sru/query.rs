//! Converts queries to the forms that SRU accepts: CQL as typed, type-1 queries as CQL or PQF, and sort keys (CQL 1.2,
//! "sortby"; SRU 1.1, `sortKeys`).

mod translations;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, CaseSensitivity, ExternalEncoding,
    MissingValueAction as Missing, Operand, Query, RpnQuery, RpnStructure, SortElement, SortKey,
    SortKeySpec, SortRelation, Term,
};
use z3950_asn1::bib1::attributes::{COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec::decode_value;
use z3950_asn1::oid::{self, BIB_1, Oid};
use z3950_asn1::query::cql::{self, Cql, Node, Properties, Word};
use z3950_asn1::sru::{MissingValue, QueryType, SruSortKey, sort_keys_to_cql, sort_keys_to_text};
use z3950_asn1::types::InternationalString;

use self::translations::Skeleton;
pub(super) use self::translations::Translations;
use super::Refused;
use crate::target::profile::SruOptions;

/// The mapping between attributes and CQL indexes and relations.
static PROPERTIES: LazyLock<Properties> = LazyLock::new(Properties::default);

/// The index that SRU servers most often support for each of these Use values. [`PROPERTIES`] contains several indexes
/// for each of them, or one that only this project uses.
const COMMON: [(i64, &str); 9] = [
    (4, "dc.title"),
    (12, "rec.identifier"),
    (21, "dc.subject"),
    (30, "dc.date"),
    (31, "dc.date"),
    (54, "dc.language"),
    (1003, "dc.creator"),
    (1007, "dc.identifier"),
    // Servers call the index for record numbers `rec.identifier` or `rec.id`, so a lookup with both Use values tries both names.
    (1032, "rec.id"),
];

/// A query in one of SRU's query languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SruQuery {
    pub(super) text: String,
    pub(super) query_type: QueryType,
}

impl SruQuery {
    fn cql(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            query_type: QueryType::Cql,
        }
    }

    /// Returns the query for a search. `set` returns the query for a result set by its name, and `known` contains
    /// earlier translations.
    ///
    /// # Errors
    /// Fails if SRU cannot express the query, or if its type is not 1, 101, or 104 with CQL.
    pub(super) fn of_search(
        query: &Query,
        options: &SruOptions,
        known: &mut Translations,
        set: impl Fn(&InternationalString) -> Option<Self>,
    ) -> Result<Self, Refused> {
        match query {
            Query::Type1(rpn) | Query::Type101(rpn) if options.pqf => {
                let has_sets = rpn
                    .rpn
                    .operands()
                    .any(|operand| matches!(operand, Operand::ResultSet(_)));
                if has_sets {
                    Err(Refused::because(Condition::RESULT_SET_AS_TERM, ""))
                } else {
                    Ok(Self {
                        text: rpn.to_string(),
                        query_type: QueryType::Pqf,
                    })
                }
            }
            Query::Type1(rpn) | Query::Type101(rpn) => {
                let translation =
                    of_known(rpn, options, known).map_or_else(|| of_rpn(rpn, options, set), Ok);
                translation.map(|query| Self::cql(query.to_string()))
            }
            Query::Type104(external) if external.direct_reference == Some(oid::CQL) => {
                let text = match &external.encoding {
                    ExternalEncoding::SingleAsn1Type(value) => {
                        let text = decode_value::<InternationalString>(value.as_bytes());
                        text.map(|text| text.to_string_lossy().into_owned()).ok()
                    }
                    _ => String::from_utf8(external.octets().to_vec()).ok(),
                };
                text.map(Self::cql)
                    .ok_or_else(|| Refused::because(Condition::MALFORMED_QUERY, "not UTF-8"))
            }
            other => {
                let name = format!("type-{}", other.type_number());
                Err(Refused::because(Condition::QUERY_TYPE, name))
            }
        }
    }

    /// Returns the start term for a scan, as a search clause in CQL.
    ///
    /// # Errors
    /// Fails if SRU cannot express the term.
    pub(super) fn of_scan(
        start: &AttributesPlusTerm,
        attribute_set: Option<Oid>,
        options: &SruOptions,
    ) -> Result<Self, Refused> {
        if let Term::External(external) = &start.term
            && external.direct_reference == Some(oid::CQL)
        {
            let text = String::from_utf8(external.octets().to_vec());
            return text
                .map(Self::cql)
                .map_err(|_| Refused::because(Condition::MALFORMED_SCAN, "not UTF-8"));
        }
        let rpn = RpnQuery {
            attribute_set: attribute_set.unwrap_or(BIB_1),
            rpn: RpnStructure::Op(Operand::AttributesPlusTerm(start.clone())),
        };
        if options.pqf {
            Ok(Self {
                text: rpn.to_string(),
                query_type: QueryType::Pqf,
            })
        } else {
            of_rpn(&rpn, options, |_| None).map(|query| Self::cql(query.to_string()))
        }
    }

    /// Returns the query with these sort keys in place of its own.
    ///
    /// # Errors
    /// Fails if the query is in PQF, which cannot contain sort keys.
    pub(super) fn sorted_by(&self, keys: &[SruSortKey]) -> Result<Self, Refused> {
        if self.query_type != QueryType::Cql {
            let words = "a query in PQF cannot be sorted by sortby";
            return Err(Refused::because(Condition::ILLEGAL_SORT, words));
        }
        let text = match cql::parse(&self.text) {
            Ok(parsed) if !parsed.sort.is_empty() => {
                let sort = Vec::new();
                Cql { sort, ..parsed }.to_string()
            }
            // A query without sort keys needs no change. An invalid query is sent unchanged, because the server can best explain the error.
            _ => self.text.clone(),
        };
        Ok(Self::cql(format!(
            "{text} sortby {}",
            sort_keys_to_cql(keys)
        )))
    }
}

/// Translates a type-1 query to CQL. Reuses an earlier translation of a query with the same structure, or makes a new
/// translation and stores it. Returns `None` if the terms are not plain words, or if the query cannot be translated.
fn of_known(rpn: &RpnQuery, options: &SruOptions, known: &mut Translations) -> Option<Cql> {
    let skeleton = Skeleton::of(rpn)?;
    if let Some(translation) = known.find(&skeleton) {
        return Some(translation);
    }
    let translation = of_rpn(&skeleton.query, options, |_| None).ok()?;
    known.keep(&skeleton, translation);
    known.find(&skeleton)
}

/// Translates a type-1 query to CQL, with the indexes in `options`. Attributes that CQL cannot express are left out if
/// they only request the default behaviour of servers, such as the structure of a docid (RFC 2056 §4).
fn of_rpn(
    rpn: &RpnQuery,
    options: &SruOptions,
    set: impl Fn(&InternationalString) -> Option<SruQuery>,
) -> Result<Cql, Refused> {
    let mut plain = rpn.clone();
    let operands = plain.rpn.terms_mut();
    let mut relations = operands
        .map(in_words_of_cql)
        .collect::<Vec<_>>()
        .into_iter();
    let translated = cql::from_rpn(&plain, &PROPERTIES).or_else(|_| {
        for operand in plain.rpn.terms_mut() {
            operand.attributes.retain(|attribute| !is_usual(attribute));
        }
        cql::from_rpn(&plain, &PROPERTIES)
    });
    let mut query = translated.map_err(|error| {
        let words = format!(
            "{error}: it cannot be expressed in CQL; with pqf = true in the sru table of the profile, queries are sent in PQF"
        );
        Refused::because(Condition::ATTRIBUTE_COMBINATION, words)
    })?;
    let mut missing = None;
    for_each_clause(&mut query.query, &mut |node| {
        let Node::Clause(clause) = node else {
            return;
        };
        if clause.relation.index.text == "cql.resultSet" {
            let name = InternationalString::from(&*clause.term.unescaped());
            match set(&name).and_then(|query| cql::parse(&query.text).ok()) {
                Some(inner) => *node = inner.query,
                None => missing = Some(name),
            }
            return;
        }
        let relation = relations.next().flatten();
        if let Some(name) = relation.filter(|_| clause.relation.name.text == "=") {
            Arc::make_mut(&mut clause.relation).name = Word::new(name);
        }
        if let Some(index) = preferred(&clause.relation.index.text, &options.indexes) {
            Arc::make_mut(&mut clause.relation).index = Word::new(index);
        }
    });
    match missing {
        Some(name) => Err(Refused::because(
            Condition::RESULT_SET_DOES_NOT_EXIST,
            name.to_string_lossy(),
        )),
        None => Ok(query),
    }
}

/// Bib-1 Structure values (Z39.50-2003 Appendix ATR.1): phrase, word, word list, string.
const PHRASE: i64 = 1;
const WORD: i64 = 2;
const WORD_LIST: i64 = 6;
const STRING: i64 = 108;
/// The Completeness value for a complete field.
const COMPLETE_FIELD: i64 = 3;
/// The Position value for the first position in a field.
const FIRST_IN_FIELD: i64 = 1;

/// Replaces the structure and completeness of an operand with those that correspond to CQL relations: `all` for a list
/// of words, `exact` for a complete field, `adj` for a phrase. A single word needs no such relation. Returns the
/// relation to use in place of `=`, if any.
fn in_words_of_cql(operand: &mut AttributesPlusTerm) -> Option<&'static str> {
    let value = |attribute_type| {
        let mut own = operand.attributes.iter().filter(|one| {
            one.attribute_type == attribute_type && one.attribute_set.is_none_or(|set| set == BIB_1)
        });
        own.find_map(|one| match one.attribute_value {
            AttributeValue::Numeric(value) => Some(value),
            AttributeValue::Complex(_) => None,
        })
    };
    let (structure, completeness) = (value(STRUCTURE), value(COMPLETENESS));
    let is_whole = completeness == Some(COMPLETE_FIELD)
        && value(POSITION) != Some(FIRST_IN_FIELD)
        && matches!(structure, None | Some(PHRASE));
    let has_words = match &operand.term {
        Term::General(octets) => octets.trim_ascii().contains(&b' '),
        Term::CharacterString(text) => text.as_bytes().trim_ascii().contains(&b' '),
        _ => false,
    };
    let mut replace = |attribute_type: i64, value: Option<i64>| {
        operand
            .attributes
            .retain(|one| one.attribute_type != attribute_type);
        let added = value.map(|value| AttributeElement::numeric(attribute_type, value));
        operand.attributes.extend(added);
    };
    match structure {
        _ if is_whole => {
            replace(COMPLETENESS, None);
            replace(STRUCTURE, Some(STRING));
            None
        }
        Some(PHRASE | WORD_LIST) => {
            replace(STRUCTURE, None);
            let name = match structure {
                Some(PHRASE) => "adj",
                _ => "all",
            };
            has_words.then_some(name)
        }
        Some(WORD) if !has_words => {
            replace(STRUCTURE, None);
            None
        }
        _ => None,
    }
}

/// Returns whether an attribute has the value that is assumed if the attribute is absent: relation "equal", any
/// position, one of the usual structures, no truncation, incomplete field.
fn is_usual(attribute: &AttributeElement) -> bool {
    let AttributeValue::Numeric(value) = attribute.attribute_value else {
        return false;
    };
    matches!(
        (attribute.attribute_type, value),
        (RELATION | POSITION, 3)
            | (STRUCTURE, PHRASE | WORD | 4..)
            | (TRUNCATION, 100)
            | (COMPLETENESS, 1)
    )
}

/// Calls `work` for each search clause of a query. It does not use recursion, so deep queries cannot overflow the
/// stack.
fn for_each_clause(query: &mut Node, work: &mut impl FnMut(&mut Node)) {
    let mut open = vec![query];
    while let Some(node) = open.pop() {
        match node {
            Node::Boolean(boolean) => open.extend([&mut boolean.right, &mut boolean.left]),
            Node::Prefixed(prefixed) => open.push(&mut prefixed.query),
            Node::Clause(_) => work(node),
        }
    }
}

/// Returns the server's own index (`own`, by Use value) that replaces an index in [`PROPERTIES`], or `None` if they do
/// not differ.
fn preferred<'a>(index: &str, own: &'a BTreeMap<i64, String>) -> Option<&'a str> {
    let value = use_of(index)?;
    let common = || {
        let mut rows = COMMON.iter();
        rows.find(|(known, _)| *known == value)
            .map(|(_, index)| *index)
    };
    own.get(&value).map(String::as_str).or_else(common)
}

/// Returns the Use value for an index in [`PROPERTIES`].
fn use_of(index: &str) -> Option<i64> {
    if let Some(value) = index.strip_prefix("bib1.") {
        return value.parse().ok();
    }
    let named = if index.contains('.') {
        format!("index.{index}")
    } else {
        format!("index.names.{index}")
    };
    let attributes = PROPERTIES.attributes(&named)?;
    attributes.first()?.value.parse().ok()
}

/// Converts sort keys to SRU sort keys, and their attributes to CQL indexes.
///
/// # Errors
/// Fails if SRU cannot express a key.
pub(super) fn sort_keys(
    keys: &[SortKeySpec],
    options: &SruOptions,
) -> Result<Vec<SruSortKey>, Refused> {
    let key = |key: &SortKeySpec| {
        let path = match &key.sort_element {
            SortElement::Generic(SortKey::SortField(name)) => name.to_string_lossy().into_owned(),
            SortElement::Generic(SortKey::SortAttributes(attributes)) => {
                index_of(&attributes.list.0, attributes.id, options)?
            }
            _ => {
                let words = "SRU sorts by indexes";
                return Err(Refused::because(Condition::SORT_SEQUENCE, words));
            }
        };
        Ok(SruSortKey {
            path,
            schema: String::new(),
            descending: match key.sort_relation {
                SortRelation::ASCENDING => false,
                SortRelation::DESCENDING => true,
                _ => {
                    let words = "SRU does not sort by frequency";
                    return Err(Refused::because(Condition::SORT_RELATION, words));
                }
            },
            case_sensitive: key.case_sensitivity == CaseSensitivity::CASE_SENSITIVE,
            missing: match &key.missing_value_action {
                None | Some(Missing::Null) => None,
                Some(Missing::Abort) => Some(MissingValue::Abort),
                Some(Missing::MissingValueData(value)) => Some(MissingValue::Value(
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )),
            },
        })
    };
    keys.iter().map(key).collect()
}

/// Returns the value of the parameter `sortKeys`.
pub(super) fn sort_parameter(keys: &[SruSortKey]) -> String {
    sort_keys_to_text(keys)
}

/// Returns the CQL index for the attributes of a sort key.
pub(super) fn index_of(
    attributes: &[AttributeElement],
    attribute_set: Oid,
    options: &SruOptions,
) -> Result<String, Refused> {
    let term = RpnStructure::term(attributes.to_vec(), "x");
    let rpn = RpnQuery {
        attribute_set,
        rpn: term,
    };
    let query = of_rpn(&rpn, options, |_| None)?;
    match &query.query {
        Node::Clause(clause) => Ok(clause.relation.index.text.clone()),
        _ => Err(Refused::because(
            Condition::SORT_SEQUENCE,
            query.to_string(),
        )),
    }
}

#[cfg(test)]
mod tests;
