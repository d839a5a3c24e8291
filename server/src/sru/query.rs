//! Converts SRU queries to type-1 queries and sort keys (CQL 1.1 and 1.2; PQF, which programs based on YAZ send).

use std::sync::{Arc, LazyLock};

use z3950_asn1::apdu::{
    AttributeElement, AttributeValue, AttributesPlusTerm, MissingValueAction, Operand, RpnQuery,
    RpnStructure, SortKeySpec, SortRelation,
};
use z3950_asn1::bib1::attributes::{RELATION, STRUCTURE, STRUCTURE_PHRASE, TRUNCATION, USE};
use z3950_asn1::query::cql::{self, Cql, Modifier, Node, Properties, PropertyAttribute, Relation};
use z3950_asn1::query::parse_pqf;
use z3950_asn1::sru::{
    QueryType, ScanRequest, SearchRetrieve, SruCondition, SruDiagnostic, parse_sort_keys,
    scan_clause, sort_keys_to_cql,
};

/// The CQL indexes, with the attributes to which they correspond.
pub(super) static PROPERTIES: LazyLock<Properties> = LazyLock::new(Properties::default);

/// Returns the query, and the keys by which its result is to be sorted.
///
/// # Errors
/// Diagnostic 12 for a query of more than `most` octets, 11 for an unknown query type, and diagnostics for errors in the query
/// and in the keys.
pub(super) fn read(
    search: &SearchRetrieve,
    most: usize,
) -> Result<(RpnQuery, Vec<SortKeySpec>), SruDiagnostic> {
    let text = &*search.query;
    check_length(text, most)?;
    let refused = |error| SruDiagnostic::from_query_error(&error, text);
    let (query, mut keys) = match &search.query_type {
        QueryType::Cql => {
            let mut query = cql::parse(text).map_err(refused)?;
            stand_for_all(&mut query.query);
            let keys = sort_specs(&query, text)?;
            (cql::to_rpn(&query, &PROPERTIES).map_err(refused)?, keys)
        }
        QueryType::Pqf => (parse_pqf(text).map_err(refused)?, Vec::new()),
        QueryType::Other(name) => {
            return Err(SruDiagnostic::new(SruCondition::QUERY_TYPE, name));
        }
    };
    if let Some(parameter) = &search.sort_keys {
        let more = sort_keys(parameter)?;
        // The sort keys in the query are more significant, so the sort keys from the parameter come after them.
        keys.extend(more);
    }
    Ok((query, keys))
}

/// Replaces each clause that consists of the term `*`, without an index or with an index that contains everything, by
/// `cql.allRecords = 1`, which is what clients mean by the clause.
fn stand_for_all(node: &mut Node) {
    let mut left = vec![node];
    while let Some(node) = left.pop() {
        match node {
            Node::Clause(clause) => {
                let index = clause.relation.index.text.to_ascii_lowercase();
                let is_of_all = OF_ALL.contains(&&*index);
                if is_of_all && clause.term.text == "*" && clause.extra_terms.is_empty() {
                    let mut relation = Relation::clone(&clause.relation);
                    relation.index.text = ALL_RECORDS.to_owned();
                    clause.relation = Arc::new(relation);
                    clause.term.text = "1".to_owned();
                }
            }
            Node::Boolean(boolean) => left.extend([&mut boolean.left, &mut boolean.right]),
            Node::Prefixed(prefixed) => left.push(&mut prefixed.query),
        }
    }
}

/// The index whose term 1 finds all records (CQL 1.2, context set cql).
const ALL_RECORDS: &str = "cql.allRecords";
/// The indexes that let the server choose, or that contain everything, in lower case.
const OF_ALL: [&str; 5] = [
    "cql.serverchoice",
    "serverchoice",
    "cql.anywhere",
    "cql.anyindexes",
    "cql.keywords",
];

/// Parses the keys in the parameter `sortKeys`, whose paths are index names.
fn sort_keys(parameter: &str) -> Result<Vec<SortKeySpec>, SruDiagnostic> {
    let keys = parse_sort_keys(parameter)?;
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let unsupported = || SruDiagnostic::new(SruCondition::SORT_PATH, parameter);
    let text = format!("{} sortby {}", cql::SERVER_CHOICE, sort_keys_to_cql(&keys));
    let query = cql::parse(&text).map_err(|_| unsupported())?;
    let specs = sort_specs(&query, &text);
    specs.map_err(|why| match why.condition() {
        Some(SruCondition::INDEX | SruCondition::CONTEXT_SET) => unsupported(),
        _ => why,
    })
}

/// Parses the keys after `sortby`. Records without a key sort last, unless the key has a modifier for them.
///
/// # Errors
/// Diagnostics for errors in the CQL. Diagnostic 92 for modifiers that Z39.50 cannot express: those that omit records without a
/// key, or put them first in descending order.
fn sort_specs(query: &Cql, text: &str) -> Result<Vec<SortKeySpec>, SruDiagnostic> {
    let mut query = query.clone();
    let mut missing = Vec::with_capacity(query.sort.len());
    for key in &mut query.sort {
        let mut word = None;
        key.modifiers.retain(|modifier| {
            let name = modifier.name.text.to_ascii_lowercase();
            let name = name.strip_prefix("sort.").unwrap_or(&name);
            let is_missing = name.starts_with("missing");
            let is_order = ["missinglow", "missinghigh", "missingomit"].contains(&name);
            if is_missing {
                word = Some(name.to_owned());
            }
            !is_order
        });
        missing.push(word);
    }
    let mut specs = cql::sort_keys(&query, &PROPERTIES)
        .map_err(|error| SruDiagnostic::from_query_error(&error, text))?;
    for (spec, missing) in specs.iter_mut().zip(missing) {
        let is_descending = spec.sort_relation == SortRelation::DESCENDING;
        match (missing.as_deref(), is_descending) {
            (None, _) | (Some("missinghigh"), false) | (Some("missinglow"), true) => {
                spec.missing_value_action = None;
            }
            (Some("missinglow"), false) => {
                spec.missing_value_action = Some(MissingValueAction::Null);
            }
            (Some("missinghigh" | "missingomit"), _) => {
                let word = missing.unwrap_or_default();
                return Err(SruDiagnostic::new(SruCondition::MISSING_VALUE, word));
            }
            (Some(_), _) => {}
        }
    }
    Ok(specs)
}

/// Returns the start of a scan: the index, the term and, for the relation `exact`, a structure attribute.
///
/// # Errors
/// The same as for [`read`]; diagnostic 48 for more than one term.
pub(super) fn start(scan: &ScanRequest, most: usize) -> Result<AttributesPlusTerm, SruDiagnostic> {
    let text = &*scan.clause;
    check_length(text, most)?;
    let refused = |error| SruDiagnostic::from_query_error(&error, text);
    let several = || {
        let one = SruDiagnostic::new(SruCondition::QUERY_FEATURE, text);
        one.with_message("a scan starts at one term")
    };
    match &scan.query_type {
        QueryType::Cql => {
            let clause = scan_clause(text)?;
            let is_exact = is_exact(&clause);
            let query = cql::to_rpn(&clause, &PROPERTIES).map_err(refused)?;
            let mut start = single(query).ok_or_else(several)?;
            // The other attributes control how a search compares terms, which does not apply to a scan.
            start.attributes.retain(|one| one.attribute_type == USE);
            if is_exact {
                let whole = AttributeElement::numeric(STRUCTURE, STRUCTURE_PHRASE);
                start.attributes.push(whole);
            }
            Ok(start)
        }
        QueryType::Pqf => single(parse_pqf(text).map_err(refused)?).ok_or_else(several),
        QueryType::Other(name) => Err(SruDiagnostic::new(SruCondition::QUERY_TYPE, name)),
    }
}

/// Converts a diagnostic so that it refers to the query's text. If the server refused the attribute that a relation modifier
/// corresponds to, the result is diagnostic 20 with the name of the modifier.
pub(super) fn in_its_terms(search: &SearchRetrieve, why: SruDiagnostic) -> SruDiagnostic {
    let attribute_type = match why.condition() {
        Some(SruCondition::RELATION) => RELATION,
        Some(SruCondition::RELATION_AND_INDEX) => STRUCTURE,
        Some(SruCondition::MASKING) => TRUNCATION,
        _ => return why,
    };
    let query = match search.query_type {
        QueryType::Cql => cql::parse(&search.query),
        _ => return why,
    };
    let mut left: Vec<&Node> = query.iter().map(|query| &query.query).collect();
    while let Some(node) = left.pop() {
        match node {
            Node::Boolean(boolean) => left.extend([&boolean.right, &boolean.left]),
            Node::Prefixed(prefixed) => left.push(&prefixed.query),
            Node::Clause(clause) => {
                let mut modifiers = clause.relation.modifiers.iter();
                let is_refused = |modifier: &&Modifier| {
                    stands_for(&modifier.name.text, attribute_type, &why.details)
                };
                if let Some(modifier) = modifiers.find(is_refused) {
                    let name = &*modifier.name.text;
                    return SruDiagnostic::new(SruCondition::RELATION_MODIFIER, name);
                }
            }
        }
    }
    why
}

/// Returns whether a relation modifier corresponds to an attribute.
fn stands_for(modifier: &str, attribute_type: i64, value: &str) -> bool {
    let name = modifier.rsplit('.').next().unwrap_or(modifier);
    let name = format!("relationModifier.{name}");
    let attributes = PROPERTIES.attributes(&name).unwrap_or_default();
    let is = |one: &PropertyAttribute| one.attribute_type == attribute_type && one.value == value;
    attributes.iter().any(is)
}

/// Returns the Use value of an index.
///
/// # Errors
/// Diagnostic 16 for an unknown index, or for an index that also has attributes other than Use.
pub(super) fn use_of(index: &str) -> Result<i64, SruDiagnostic> {
    let unknown = || SruDiagnostic::new(SruCondition::INDEX, index);
    let query = cql::parse(&format!("{index} = x")).map_err(|_| unknown())?;
    let is_index =
        matches!(&query.query, Node::Clause(clause) if clause.relation.index.text == index);
    if !is_index || !query.sort.is_empty() {
        return Err(unknown());
    }
    let query = cql::to_rpn(&query, &PROPERTIES).map_err(|_| unknown())?;
    let term = single(query).ok_or_else(unknown)?;
    let mut attributes = term.attributes.iter();
    let use_value = attributes.find(|one| one.attribute_type == USE);
    match use_value.map(|one| &one.attribute_value) {
        Some(AttributeValue::Numeric(value)) => Ok(*value),
        _ => Err(unknown()),
    }
}

fn check_length(text: &str, most: usize) -> Result<(), SruDiagnostic> {
    if text.len() <= most {
        return Ok(());
    }
    let message = format!("longer than {most} octets");
    let condition = SruCondition::TOO_MANY_CHARACTERS;
    Err(SruDiagnostic::new(condition, most.to_string()).with_message(message))
}

fn is_exact(clause: &Cql) -> bool {
    let mut node = &clause.query;
    while let Node::Prefixed(prefixed) = node {
        node = &prefixed.query;
    }
    let Node::Clause(clause) = node else {
        return false;
    };
    let name = &*clause.relation.name.text;
    let name = name.rsplit('.').next().unwrap_or(name);
    name == "==" || name.eq_ignore_ascii_case("exact")
}

/// Returns the term of a query that consists of a single term; `None` for other queries.
fn single(query: RpnQuery) -> Option<AttributesPlusTerm> {
    match query.rpn {
        RpnStructure::Op(Operand::AttributesPlusTerm(term)) => Some(term),
        _ => None,
    }
}
