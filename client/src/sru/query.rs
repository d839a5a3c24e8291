//! Queries as SRU takes them: CQL as it was typed, type-1 queries as CQL or PQF, and sort keys (CQL 1.2, "sortby"; SRU 1.1, `sortKeys`).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, CaseSensitivity, ExternalEncoding,
    MissingValueAction as Missing, Operand, Query, RpnQuery, RpnStructure, SortElement, SortKey,
    SortKeySpec, SortRelation,
};
use z3950_asn1::bib1::attributes::{COMPLETENESS, POSITION, RELATION, STRUCTURE, TRUNCATION};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec::decode_value;
use z3950_asn1::oid::{self, BIB_1, Oid};
use z3950_asn1::query::cql::{self, Cql, Node, Properties, Word};
use z3950_asn1::sru::{MissingValue, QueryType, SruSortKey, sort_keys_to_cql, sort_keys_to_text};
use z3950_asn1::types::InternationalString;

use super::Refused;
use crate::target::profile::SruOptions;

/// The indexes and relations of CQL in attributes.
static PROPERTIES: LazyLock<Properties> = LazyLock::new(Properties::default);

/// The indexes that servers of SRU are most likely to have, where the properties know several for a Use value, or one of our own.
const COMMON: [(i64, &str); 9] = [
    (4, "dc.title"),
    (12, "rec.identifier"),
    (21, "dc.subject"),
    (30, "dc.date"),
    (31, "dc.date"),
    (54, "dc.language"),
    (1003, "dc.creator"),
    (1007, "dc.identifier"),
    // Servers have one of these names for record numbers, so that a lookup by both Use values tries both.
    (1032, "rec.id"),
];

/// A query in a language of SRU.
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

    /// The query of a search. `set` gives the query of a result set.
    ///
    /// # Errors
    /// What SRU cannot express, and query types other than 1, 101 and 104 with CQL.
    pub(super) fn of_search(
        query: &Query,
        options: &SruOptions,
        set: impl Fn(&InternationalString) -> Option<Self>,
    ) -> Result<Self, Refused> {
        match query {
            Query::Type1(rpn) | Query::Type101(rpn) if options.pqf => {
                let has_sets = rpn
                    .rpn
                    .operands()
                    .any(|operand| matches!(operand, Operand::ResultSet(_)));
                match has_sets {
                    true => Err(Refused::because(Condition::RESULT_SET_AS_TERM, "")),
                    false => Ok(Self {
                        text: rpn.to_string(),
                        query_type: QueryType::Pqf,
                    }),
                }
            }
            Query::Type1(rpn) | Query::Type101(rpn) => of_rpn(rpn, options, set).map(Self::cql),
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

    /// A term to scan from.
    ///
    /// # Errors
    /// What SRU cannot express.
    pub(super) fn of_scan(
        start: &AttributesPlusTerm,
        attribute_set: Option<Oid>,
        options: &SruOptions,
    ) -> Result<Self, Refused> {
        let rpn = RpnQuery {
            attribute_set: attribute_set.unwrap_or(BIB_1),
            rpn: RpnStructure::Op(Operand::AttributesPlusTerm(start.clone())),
        };
        match options.pqf {
            true => Ok(Self {
                text: rpn.to_string(),
                query_type: QueryType::Pqf,
            }),
            false => of_rpn(&rpn, options, |_| None).map(Self::cql),
        }
    }

    /// The query with sort keys in place of its own.
    ///
    /// # Errors
    /// A query in PQF, which has no place for them.
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
            // The server knows best what is wrong with it.
            _ => self.text.clone(),
        };
        Ok(Self::cql(format!(
            "{text} sortby {}",
            sort_keys_to_cql(keys)
        )))
    }
}

/// A type-1 query as CQL, in the indexes of the options. Attributes that say only what servers do anyway are left out if they cannot be
/// expressed, such as the structure of a docid (RFC 2056 §4).
fn of_rpn(
    rpn: &RpnQuery,
    options: &SruOptions,
    set: impl Fn(&InternationalString) -> Option<SruQuery>,
) -> Result<String, Refused> {
    let translated = cql::from_rpn(rpn, &PROPERTIES).or_else(|refusal| {
        let mut plain = rpn.clone();
        for operand in plain.rpn.terms_mut() {
            operand.attributes.retain(|attribute| !is_usual(attribute));
        }
        cql::from_rpn(&plain, &PROPERTIES).map_err(|_| refusal)
    });
    let mut query = translated
        .map_err(|error| Refused::because(Condition::ATTRIBUTE_COMBINATION, error.to_string()))?;
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
        if let Some(index) = preferred(&clause.relation.index.text, &options.indexes) {
            Arc::make_mut(&mut clause.relation).index = Word::new(index);
        }
    });
    match missing {
        Some(name) => Err(Refused::because(
            Condition::RESULT_SET_DOES_NOT_EXIST,
            name.to_string_lossy(),
        )),
        None => Ok(query.to_string()),
    }
}

/// Whether an attribute is what is meant without it: equal, in any position, of any structure, not truncated, incomplete.
fn is_usual(attribute: &AttributeElement) -> bool {
    let AttributeValue::Numeric(value) = attribute.attribute_value else {
        return false;
    };
    matches!(
        (attribute.attribute_type, value),
        (RELATION | POSITION, 3) | (STRUCTURE, _) | (TRUNCATION, 100) | (COMPLETENESS, 1)
    )
}

/// Goes through the clauses without recursion.
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

/// The index that the server has for an index of the properties, if it is another one.
fn preferred<'a>(index: &str, own: &'a BTreeMap<i64, String>) -> Option<&'a str> {
    let value = use_of(index)?;
    let common = || {
        let mut rows = COMMON.iter();
        rows.find(|(known, _)| *known == value)
            .map(|(_, index)| *index)
    };
    own.get(&value).map(String::as_str).or_else(common)
}

/// The Use value of an index of the properties.
fn use_of(index: &str) -> Option<i64> {
    if let Some(value) = index.strip_prefix("bib1.") {
        return value.parse().ok();
    }
    let named = match index.contains('.') {
        true => format!("index.{index}"),
        false => format!("index.names.{index}"),
    };
    let attributes = PROPERTIES.attributes(&named)?;
    attributes.first()?.value.parse().ok()
}

/// Keys as SRU has them; those of attributes become indexes.
///
/// # Errors
/// Keys that SRU cannot express.
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

/// The text of the parameter `sortKeys`.
pub(super) fn sort_parameter(keys: &[SruSortKey]) -> String {
    sort_keys_to_text(keys)
}

/// The index of attributes.
fn index_of(
    attributes: &[AttributeElement],
    attribute_set: Oid,
    options: &SruOptions,
) -> Result<String, Refused> {
    let term = RpnStructure::term(attributes.to_vec(), "x");
    let rpn = RpnQuery {
        attribute_set,
        rpn: term,
    };
    let text = of_rpn(&rpn, options, |_| None)?;
    match cql::parse(&text).map(|query| query.query) {
        Ok(Node::Clause(clause)) => Ok(clause.relation.index.text.clone()),
        _ => Err(Refused::because(Condition::SORT_SEQUENCE, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use z3950_asn1::apdu::External;
    use z3950_asn1::query::parse_pqf;

    fn search(query: &Query, options: &SruOptions) -> Result<SruQuery, String> {
        let set = |name: &InternationalString| {
            (name.as_bytes() == b"1").then(|| SruQuery::cql("dc.title=war sortby dc.date"))
        };
        SruQuery::of_search(query, options, set).map_err(|refused| match refused {
            Refused::For(diagnostics) => diagnostics.iter().map(ToString::to_string).collect(),
            Refused::Error(error) => error.to_string(),
        })
    }

    #[test]
    fn type_1_queries_become_cql() {
        let mut options = SruOptions::default();
        options.indexes.insert(7, "alma.isbn".into());
        for (pqf, expected) in [
            ("war", "war"),
            ("@attr 1=4 war", "dc.title = war"),
            ("@attr 1=1003 tolstoy", "dc.creator = tolstoy"),
            ("@attr 1=12 id7", "rec.identifier = id7"),
            ("@attr 4=104 @attr 1=1032 id7", "rec.id = id7"),
            ("@attr 1=31 1990", "dc.date = 1990"),
            ("@attr 1=7 @attr 4=1 123", "alma.isbn = 123"),
            (
                "@attr 1=8 @attr 2=3 @attr 3=3 @attr 4=6 @attr 5=100 @attr 6=1 12",
                "bath.issn = 12",
            ),
            (
                "@and @attr 1=4 war @attr 1=8 12",
                "dc.title = war and bath.issn = 12",
            ),
            (
                "@and @set 1 @attr 1=8 12",
                "dc.title = war and bath.issn = 12",
            ),
            ("@not a @set 1", "a not dc.title = war"),
            ("@attr 1=4 @attr 5=1 war", "dc.title = war*"),
        ] {
            let query = Query::Type1(parse_pqf(pqf).expect(pqf));
            let found = search(&query, &options);
            let expected = Ok(SruQuery::cql(expected));
            assert_eq!(found, expected, "{pqf}");
        }
    }

    #[test]
    fn other_queries_go_as_they_are_or_are_refused() {
        let pqf = SruOptions {
            pqf: true,
            ..SruOptions::default()
        };
        let rpn = |text| Query::Type1(parse_pqf(text).expect(text));
        let typed = |text: &str| Query::Type104(External::octet_aligned(oid::CQL, text));
        let found = search(&rpn("@attr 2=99 x"), &pqf).expect("a query");
        assert_eq!(
            (&*found.text, found.query_type),
            ("@attr 2=99 x", QueryType::Pqf)
        );
        for (query, options, expected) in [
            (
                typed("pica.all=x sortby y"),
                &pqf,
                Ok(SruQuery::cql("pica.all=x sortby y")),
            ),
            (
                rpn("@attr 2=99 x"),
                &SruOptions::default(),
                Err("diagnostic 123"),
            ),
            (rpn("@set 2"), &SruOptions::default(), Err("diagnostic 30")),
            (rpn("@set 1"), &pqf, Err("diagnostic 18")),
            (Query::Type2("x".into()), &pqf, Err("diagnostic 107")),
        ] {
            let found = search(&query, options);
            match (&found, expected) {
                (Err(words), Err(begin)) => assert!(words.starts_with(begin), "{words}"),
                (found, expected) => assert_eq!(*found, expected.map_err(str::to_owned)),
            }
        }
    }

    #[test]
    fn sort_keys_are_indexes() {
        use crate::protocol::service::sort::{key_by_attributes, key_by_field};
        let mut late = key_by_attributes(
            vec![AttributeElement::numeric(1, 31)],
            SortRelation::DESCENDING,
        );
        late.missing_value_action = Some(Missing::Abort);
        let keys = [late, key_by_field("my title", SortRelation::ASCENDING)];
        let keys = sort_keys(&keys, &SruOptions::default()).ok().expect("keys");
        let text = |query: &str| {
            let sorted = SruQuery::cql(query).sorted_by(&keys).ok().expect("CQL");
            sorted.text
        };
        let sortby = "sortby dc.date/sort.descending/sort.missingFail \"my title\"";
        assert_eq!(text("a and b"), format!("a and b {sortby}"));
        assert_eq!(text("a sortby x"), format!("a {sortby}"));
        assert_eq!(text("a and"), format!("a and {sortby}"));
        assert_eq!(sort_parameter(&keys), "dc.date,,0,,abort \"my title\"");
        let by_use = key_by_attributes(
            vec![AttributeElement::numeric(2, 99)],
            SortRelation::ASCENDING,
        );
        assert!(sort_keys(&[by_use], &SruOptions::default()).is_err());
    }
}
