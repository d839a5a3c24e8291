//! Translates CQL's Boolean operators to RPN operators, including the modifiers of `prox`.

use super::not_a_modifier;
use crate::apdu::{KnownProximityUnit, Operator, RelationType};
use crate::query::cql::{Boolean, BooleanOperator, Modifier, Sign};
use crate::query::{QueryError, QueryErrorKind, near, number};

pub(in crate::query::cql) fn operator(boolean: &Boolean) -> Result<Operator, QueryError> {
    let plain = match boolean.operator {
        BooleanOperator::Prox => return proximity(&boolean.modifiers),
        BooleanOperator::And => Operator::And,
        BooleanOperator::Or => Operator::Or,
        BooleanOperator::Not => Operator::AndNot,
    };
    match boolean.modifiers.first() {
        None => Ok(plain),
        Some(modifier) => Err(not_a_modifier(modifier)),
    }
}

/// Translates the modifiers of proximity. If a modifier is repeated, the first one applies. The names of modifiers are
/// case-insensitive and may have the prefix `cql`.
fn proximity(modifiers: &[Modifier]) -> Result<Operator, QueryError> {
    let mut distance = None;
    let mut ordered = false;
    let mut relation_type = RelationType::LESS_THAN_OR_EQUAL;
    let mut unit = KnownProximityUnit::WORD;
    for modifier in modifiers.iter().rev() {
        let name = modifier.name.text.to_ascii_lowercase();
        let name = name.strip_prefix("cql.").unwrap_or(&name);
        match (name, &modifier.value) {
            ("distance", Some((sign, value))) => {
                let kind = QueryErrorKind::Number(value.text.clone());
                distance = Some(number(&value.text).ok_or_else(|| kind.at(value.offset))?);
                let known = RELATIONS.iter().find(|(known, _)| known == sign);
                (_, relation_type) = *known.ok_or_else(|| not_a_modifier(modifier))?;
            }
            ("unit", Some((_, value))) => {
                unit = unit_of(&value.text).ok_or_else(|| not_a_modifier(modifier))?;
            }
            ("ordered", _) => ordered = true,
            ("unordered", _) => ordered = false,
            _ => return Err(not_a_modifier(modifier)),
        }
    }
    let next_to = i64::from(unit == KnownProximityUnit::WORD);
    let distance = distance.unwrap_or(next_to);
    Ok(near(distance, ordered, relation_type, unit))
}

/// The distance relations, by their symbols in CQL.
pub(in crate::query::cql) const RELATIONS: [(Sign, RelationType); 6] = [
    (Sign::Less, RelationType::LESS_THAN),
    (Sign::LessOrEqual, RelationType::LESS_THAN_OR_EQUAL),
    (Sign::Equal, RelationType::EQUAL),
    (Sign::GreaterOrEqual, RelationType::GREATER_THAN_OR_EQUAL),
    (Sign::Greater, RelationType::GREATER_THAN),
    (Sign::NotEqual, RelationType::NOT_EQUAL),
];

/// The distance units, by their names in Z39.50's ASN.1.
pub(in crate::query::cql) const UNITS: [(&str, KnownProximityUnit); 11] = [
    ("character", KnownProximityUnit::CHARACTER),
    ("word", KnownProximityUnit::WORD),
    ("sentence", KnownProximityUnit::SENTENCE),
    ("paragraph", KnownProximityUnit::PARAGRAPH),
    ("section", KnownProximityUnit::SECTION),
    ("chapter", KnownProximityUnit::CHAPTER),
    ("document", KnownProximityUnit::DOCUMENT),
    ("element", KnownProximityUnit::ELEMENT),
    ("subelement", KnownProximityUnit::SUBELEMENT),
    ("elementType", KnownProximityUnit::ELEMENT_TYPE),
    ("byte", KnownProximityUnit::BYTE),
];

fn unit_of(name: &str) -> Option<KnownProximityUnit> {
    UNITS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, unit)| *unit)
}
