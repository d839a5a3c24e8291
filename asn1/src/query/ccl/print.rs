//! Prints RPN queries as CCL (ISO 8777), if the qualifiers of a bib file can express them. Each printed term is parsed
//! again, to make sure that the text means the same query.

use super::super::UnsupportedQuery;
use super::super::print::set_name;
use super::bib::{Bib, Qualifier};
use super::parse::parse;
use super::relation::{EQUAL, RELATIONS};
use super::token::ends_word;
use crate::apdu::{
    AttributeElement, AttributeValue, KnownProximityUnit, Operand, Operator, ProximityOperator,
    ProximityUnitCode, RelationType, RpnQuery, RpnStructure, Term,
};
use crate::bib1::attributes::{RELATION, TRUNCATION};
use crate::oid::BIB_1;

/// The maximum number of attributes of a term that can be expressed by qualifiers.
pub const MAX_ATTRIBUTES_SAID: usize = 16;

/// The maximum number of spellings that are tried for a term.
const MAX_TRIED: usize = 10_000;

/// Prints a query as CCL, on one line.
///
/// # Errors
/// [`UnsupportedQuery`], with the part that the qualifiers of the bib file cannot express.
pub fn print(query: &RpnQuery, bib: &Bib) -> Result<String, UnsupportedQuery> {
    if query.attribute_set != BIB_1 {
        let name = set_name(&query.attribute_set);
        return Err(UnsupportedQuery(format!(
            "CCL cannot name the attribute set {name}"
        )));
    }
    let operand = |operand: &Operand| Ok((operand_text(operand, bib)?, false));
    // Operators other than proximity have equal precedence and are left-associative.
    let (text, _) = query
        .rpn
        .evaluate(operand, |op, (left, _), (right, has_operator)| {
            Ok(match op {
                Operator::Prox(proximity) => {
                    let sign = distance(proximity)?;
                    (format!("({left}) {sign} ({right})"), false)
                }
                op if has_operator => (format!("{left} {} ({right})", word(op, bib)?), true),
                op => (format!("{left} {} {right}", word(op, bib)?), true),
            })
        })?;
    match parse(&text, bib) {
        Ok(_) => Ok(text),
        Err(error) => Err(UnsupportedQuery(error.kind.to_string())),
    }
}

fn word<'b>(operator: &Operator, bib: &'b Bib) -> Result<&'b String, UnsupportedQuery> {
    let (words, name) = match operator {
        Operator::And => (&bib.and, "and"),
        Operator::Or => (&bib.or, "or"),
        Operator::AndNot | Operator::Prox(_) => (&bib.not, "not"),
    };
    words.first().ok_or_else(|| no_operator(name))
}

fn no_operator(name: &str) -> UnsupportedQuery {
    UnsupportedQuery(format!("the bib file has no operator for {name:?}"))
}

fn distance(proximity: &ProximityOperator) -> Result<String, UnsupportedQuery> {
    let sign = if proximity.ordered { '!' } else { '%' };
    let words = ProximityUnitCode::Known(KnownProximityUnit::WORD);
    let most = match proximity.relation_type {
        RelationType::LESS_THAN_OR_EQUAL => Some(proximity.distance),
        RelationType::LESS_THAN => proximity.distance.checked_sub(1),
        _ => None,
    };
    let expressible = proximity.exclusion == Some(false)
        && most.is_some()
        && proximity.proximity_unit_code == words;
    match most.unwrap_or_default() {
        1 if expressible => Ok(sign.to_string()),
        number if expressible && number >= 0 => Ok(format!("{sign}{number}")),
        _ => {
            let operator = Operator::Prox(Box::new(proximity.clone()));
            Err(UnsupportedQuery(format!(
                "CCL has no notation for {operator}"
            )))
        }
    }
}

fn operand_text(operand: &Operand, bib: &Bib) -> Result<String, UnsupportedQuery> {
    let wanted = RpnQuery::bib1(RpnStructure::Op(operand.clone()));
    let unnamed = || UnsupportedQuery(format!("CCL cannot name the result set of {wanted}"));
    let means = |text: &str| parse(text, bib).is_ok_and(|query| is_same(&query, &wanted));
    match operand {
        Operand::AttributesPlusTerm(operand) => {
            let term = match &operand.term {
                Term::General(octets) => std::str::from_utf8(octets).ok(),
                _ => None,
            };
            let Some(term) = term.filter(|term| !term.contains(char::is_control)) else {
                return Err(UnsupportedQuery(format!(
                    "CCL cannot write the term of {wanted}"
                )));
            };
            // The parser puts a truncation that is written with symbols after the attributes of the qualifiers, so compare in that order.
            let mut attributes = operand.attributes.clone();
            attributes.sort_by_key(|attribute| attribute.attribute_type == TRUNCATION);
            let texts = texts(term, number(&attributes, TRUNCATION), bib);
            let relation = number(&attributes, RELATION).filter(|relation| *relation != EQUAL);
            let sign = RELATIONS.iter().find(|(_, value)| relation == Some(*value));
            let signs = || sign.into_iter().map(|(sign, _)| *sign).chain(["="]);
            // Shorter lists of qualifiers are tried before longer lists.
            let lists = lists(&attributes, bib).into_iter();
            let heads = lists.flat_map(|list| signs().map(move |sign| format!("{list}{sign}")));
            std::iter::once(String::new())
                .chain(heads)
                .flat_map(|head| texts.iter().map(move |text| format!("{head}{text}")))
                .take(MAX_TRIED)
                .find(|text| means(text))
                .ok_or_else(|| {
                    UnsupportedQuery(format!("the bib file has no qualifiers for {wanted}"))
                })
        }
        Operand::ResultSet(name) => {
            let name = std::str::from_utf8(name.0.as_bytes()).ok();
            let set = bib.set.first().ok_or_else(|| no_operator("set"))?;
            let text = name
                .filter(|name| !name.contains(char::is_control))
                .into_iter()
                .flat_map(|name| [name.to_owned(), quoted(name)])
                .map(|name| format!("{set}={name}"))
                .find(|text| means(text));
            text.ok_or_else(unnamed)
        }
        Operand::ResultAttr(_) => Err(unnamed()),
    }
}

/// Returns whether two queries, each with a single operand, are equal, ignoring the order of their attributes.
fn is_same(one: &RpnQuery, other: &RpnQuery) -> bool {
    let (
        RpnStructure::Op(Operand::AttributesPlusTerm(a)),
        RpnStructure::Op(Operand::AttributesPlusTerm(b)),
    ) = (&one.rpn, &other.rpn)
    else {
        return one == other;
    };
    let count =
        |list: &[AttributeElement], wanted| list.iter().filter(|one| *one == wanted).count();
    a.term == b.term
        && a.attributes.len() == b.attributes.len()
        && a.attributes
            .iter()
            .all(|wanted| count(&a.attributes, wanted) == count(&b.attributes, wanted))
}

/// Returns the numeric value of the attribute of the wanted type.
fn number(attributes: &[AttributeElement], wanted: i64) -> Option<i64> {
    attributes
        .iter()
        .find_map(|attribute| match attribute.attribute_value {
            AttributeValue::Numeric(value) if attribute.attribute_type == wanted => Some(value),
            _ => None,
        })
}

/// Returns lists of qualifiers that produce the attributes. Attributes that the term may imply need not be produced.
fn lists(attributes: &[AttributeElement], bib: &Bib) -> Vec<String> {
    if attributes.len() > MAX_ATTRIBUTES_SAID {
        return Vec::new();
    }
    let qualifiers = bib.qualifiers.iter();
    let qualifiers = qualifiers.filter_map(|one| Some((one.name.as_str(), given(one)?)));
    let (controls, adding): (Vec<_>, Vec<_>) = qualifiers.partition(|(_, given)| given.is_empty());
    // Each entry is a list of qualifiers and the attributes that the list lacks; each list extends a shorter list.
    let mut lists = vec![(Vec::new(), attributes)];
    let mut at = 0;
    while let Some((list, lacking)) = lists.get(at).cloned() {
        at += 1;
        for (name, given) in &adding {
            if let Some(lacking) = lacking.strip_prefix(&given[..])
                && lists.len() < MAX_TRIED
            {
                lists.push(([&list[..], &[*name]].concat(), lacking));
            }
        }
    }
    let implied = |one: &AttributeElement| matches!(one.attribute_type, 2 | 4 | 5);
    lists.retain(|(_, lacking)| lacking.iter().all(implied));
    // A qualifier that adds no attributes only controls how the query is read, and only the first such qualifier counts.
    let first = controls.iter().map(|(name, _)| Some(*name));
    let firsts: Vec<Option<&str>> = std::iter::once(None).chain(first).collect();
    let mut found = Vec::new();
    for (list, _) in lists {
        let lists = firsts
            .iter()
            .map(|first| first.iter().chain(&list).copied());
        found.extend(lists.map(|list| list.collect::<Vec<_>>().join(",")));
    }
    found.retain(|list| !list.is_empty());
    found
}

/// Returns the attributes that a qualifier adds to every term; `None` for an alias or an unknown set.
fn given(qualifier: &Qualifier) -> Option<Vec<AttributeElement>> {
    if !qualifier.alias_of.is_empty() {
        return None;
    }
    let sent = qualifier.attributes.iter().filter_map(|attribute| {
        let attribute_value = attribute.sent()?;
        Some(attribute.set.as_ref().ok().map(|set| AttributeElement {
            attribute_set: *set,
            attribute_type: attribute.attribute_type,
            attribute_value,
        }))
    });
    sent.collect()
}

/// Returns the possible spellings of a term: with truncation symbols, plain, quoted, and as separate words.
fn texts(term: &str, truncation: Option<i64>, bib: &Bib) -> Vec<String> {
    let plain = !term.is_empty() && !term.bytes().any(ends_word) && !term.contains(['"', '\\']);
    let whole = |texts: &mut Vec<String>, before: &str, after: &str| {
        if plain {
            texts.push(format!("{before}{term}{after}"));
        }
        texts.push(format!("{before}{}{after}", quoted(term)));
    };
    let mut texts = Vec::new();
    if let Some(sign) = bib.truncation.first() {
        match truncation {
            Some(1) => whole(&mut texts, "", sign),
            Some(2) => whole(&mut texts, sign, ""),
            Some(3) => whole(&mut texts, sign, sign),
            Some(102) => texts.extend(unmasked(term, ".*", ".", bib)),
            Some(104) => texts.extend(unmasked(term, "?", "#", bib)),
            _ => {}
        }
    }
    whole(&mut texts, "", "");
    texts.push(term.to_owned());
    texts
}

/// Converts the masks in a term to CCL masks, and escapes other special characters.
fn unmasked(term: &str, any: &str, one: &str, bib: &Bib) -> Option<String> {
    let mut text = String::new();
    let mut rest = term;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(any) {
            text.push_str(bib.truncation.first()?);
            rest = after;
        } else if let Some(after) = rest.strip_prefix(one) {
            text.push_str(bib.mask.first()?);
            rest = after;
        } else {
            let escaped = rest.strip_prefix('\\').and_then(|rest| rest.chars().next());
            let character = escaped.unwrap_or(first);
            rest = rest
                .get(usize::from(escaped.is_some()) + character.len_utf8()..)
                .unwrap_or_default();
            if character.is_ascii_alphanumeric() || !character.is_ascii() {
                text.push(character)
            } else {
                text.extend(['\\', character])
            }
        }
    }
    Some(text)
}

fn quoted(term: &str) -> String {
    format!("\"{}\"", term.replace('\\', "\\\\").replace('"', "\\\""))
}
