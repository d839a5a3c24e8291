//! Type-1 queries as queries of the engine (Z39.50-2003 §3.7.1). A term means what it means to the memory backend; what the engine
//! cannot say gets the diagnostic of that part (113 to 132), never another meaning.

use std::cell::Cell;
use std::ops::Bound;

use z3950_server::asn1::apdu::{
    AttributesPlusTerm, KnownProximityUnit, Operand, Operator, ProximityOperator,
    ProximityUnitCode, RelationType, RpnQuery,
};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{
    Edge, Edges, IndexId, Look, LookTarget, Pattern, Terms, WordOrder,
};
use z3950_server::{Diagnostic, diagnostic};

use super::layout::{EngineLayout, REGULAR_EXPRESSION};
use super::range::{self, KeyPart, cover};
use super::sphinx::{self, Slot};
use super::token;

/// A query of the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EngineQuery {
    /// The expression.
    pub(super) text: String,
    /// The terms from the left, each with its own expression.
    pub(super) terms: Vec<(AttributesPlusTerm, String)>,
}

/// The most octets of an expression; one that needs more gives condition 31.
pub(super) const MOST_OCTETS: usize = 256 * 1024;
/// The most operators of a query.
const MOST_OPERATORS: usize = 20_000;
/// The greatest distance of words that is written as phrases with gaps, which can be operands of a proximity, though NEAR is quicker.
const MOST_GAPS: i64 = 20;
/// The greatest distance of words; fields are further apart in the engine.
const MOST_DISTANCE: i64 = 99;
/// The most phrases that stand for a proximity.
const MOST_PHRASES: usize = 256;

/// A phrase, in the order of its words.
type EnginePhrase = Vec<Slot>;

/// A part of a query that has been translated.
struct Translated {
    text: Joined,
    /// The phrases that it finds, if it can be an operand of a proximity.
    phrases: Option<(IndexId, Vec<EnginePhrase>)>,
}

/// Expressions that are joined by the same operator; they are put together when they meet another one.
enum Joined {
    One(String),
    All(Vec<String>),
    Any(Vec<String>),
}

impl Joined {
    fn into_text(self) -> String {
        match self {
            Self::One(text) => text,
            Self::All(texts) => sphinx::all(&texts),
            Self::Any(texts) => sphinx::any(&texts),
        }
    }

    fn octets(&self) -> usize {
        match self {
            Self::One(text) => text.len(),
            Self::All(texts) | Self::Any(texts) => texts.iter().map(|text| text.len() + 3).sum(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self::All(match (self, other) {
            (Self::All(mut texts), Self::All(more)) => {
                texts.extend(more);
                texts
            }
            (Self::All(mut texts), other) | (other, Self::All(mut texts)) => {
                texts.push(other.into_text());
                texts
            }
            (own, other) => vec![own.into_text(), other.into_text()],
        })
    }

    fn or(self, other: Self) -> Self {
        Self::Any(match (self, other) {
            (Self::Any(mut texts), Self::Any(more)) => {
                texts.extend(more);
                texts
            }
            (Self::Any(mut texts), other) | (other, Self::Any(mut texts)) => {
                texts.push(other.into_text());
                texts
            }
            (own, other) => vec![own.into_text(), other.into_text()],
        })
    }
}

/// Translates a query. `result_set` has the expression of an earlier result set.
///
/// # Errors
/// The first unsupported part of the query, from the left.
pub(super) fn translate(
    layout: &EngineLayout,
    query: &RpnQuery,
    result_set: &dyn Fn(&[u8]) -> Result<String, Diagnostic>,
) -> Result<EngineQuery, Diagnostic> {
    let profile = layout.map().profile();
    let mut terms = Vec::new();
    let mut operators = 0;
    // All operands may be there before the first operator.
    let octets = Cell::new(0);
    let within_total = |more: usize| {
        octets.set(octets.get() + more);
        within_limit(octets.get())
    };
    let operand = |operand: &Operand| match operand {
        Operand::AttributesPlusTerm(operand) => {
            let look = layout.map().look(&query.attribute_set, operand)?;
            let text = records(layout, &look)?;
            within_total(text.len())?;
            terms.push((operand.clone(), text.clone()));
            Ok(Translated {
                text: Joined::One(text),
                phrases: phrases(&look)?,
            })
        }
        Operand::ResultSet(name) => {
            let name = name.0.as_bytes();
            if profile.result_sets {
                let text = result_set(name)?;
                within_total(text.len())?;
                Ok(without_phrases(Joined::One(text)))
            } else {
                Err(diagnostic(Condition::RESULT_SET_AS_TERM, name))
            }
        }
        Operand::ResultAttr(operand) => {
            let name = operand.result_set.0.as_bytes();
            Err(diagnostic(Condition::RESTRICTION_OPERAND, name))
        }
    };
    let operator = |operator: &Operator, left: Translated, right: Translated| {
        operators += 1;
        if operators > MOST_OPERATORS {
            let most = MOST_OPERATORS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_OPERATORS, most));
        }
        let joined = match operator {
            Operator::And => without_phrases(left.text.and(right.text)),
            Operator::Or => without_phrases(left.text.or(right.text)),
            Operator::AndNot => {
                let text = sphinx::without(&left.text.into_text(), &right.text.into_text());
                without_phrases(Joined::One(text))
            }
            Operator::Prox(_) if !profile.proximity => {
                return Err(diagnostic(Condition::OPERATOR, "proximity"));
            }
            Operator::Prox(operator) => {
                let joined = near(layout, operator, left, right)?;
                within_total(joined.text.octets())?;
                joined
            }
        };
        within_limit(joined.text.octets())?;
        Ok(joined)
    };
    let translated = query.rpn.evaluate(operand, operator)?;
    let text = translated.text.into_text();
    within_limit(text.len())?;
    Ok(EngineQuery { text, terms })
}

fn without_phrases(text: Joined) -> Translated {
    Translated {
        text,
        phrases: None,
    }
}

/// # Errors
/// 31 for an expression that is too long.
fn within_limit(octets: usize) -> Result<(), Diagnostic> {
    if octets <= MOST_OCTETS {
        Ok(())
    } else {
        Err(diagnostic(
            Condition::RESOURCES_EXHAUSTED,
            format!("the search engine takes queries of {MOST_OCTETS} octets"),
        ))
    }
}

/// The expression of a lookup.
fn records(layout: &EngineLayout, look: &Look<'_>) -> Result<String, Diagnostic> {
    let index = look.target.index();
    let found = match &look.target {
        LookTarget::Having(index) => having(layout, *index),
        LookTarget::Docid(docid) => sphinx::key(&token::of_key(IndexId::DOCID, docid)),
        LookTarget::Words(index, words, order) => {
            let field = layout.column_of("t", *index);
            match order {
                WordOrder::Phrase(edges) => whole_phrase(layout, *index, words, *edges)?,
                WordOrder::All => sphinx::in_field(&field, &sphinx::all(&single(words)?)),
                WordOrder::Some => sphinx::in_field(&field, &sphinx::any(&single(words)?)),
            }
        }
        LookTarget::Entries(Terms::Words(_), patterns) => return Err(unsupported(patterns)),
        LookTarget::Entries(Terms::Keys(index), patterns) => {
            let kind = layout.map().kind(*index);
            if kind == Kind::Text {
                return Err(unsupported(patterns));
            }
            let mut tokens = Vec::new();
            for pattern in patterns {
                tokens.extend(key(*index, kind, pattern)?);
            }
            if tokens.is_empty() {
                tokens.push(token::NEVER.to_owned());
            }
            sphinx::key(&sphinx::any(&tokens))
        }
    };
    Ok(if look.negated {
        sphinx::without(&having(layout, index), &found)
    } else {
        found
    })
}

/// A phrase in a field.
///
/// # Errors
/// A pattern that the engine cannot look up.
pub(super) fn whole_phrase(
    layout: &EngineLayout,
    index: IndexId,
    words: &[Pattern],
    edges: Edges,
) -> Result<String, Diagnostic> {
    let field = layout.column_of("t", index);
    Ok(sphinx::in_field(
        &field,
        &sphinx::phrase(&phrase(words, edges)?),
    ))
}

/// The records with an entry in the index; all records, for that of docids and that of everything.
pub(super) fn having(layout: &EngineLayout, index: IndexId) -> String {
    let is_text = layout.map().kind(index) == Kind::Text && index != IndexId::ANY;
    if is_text {
        sphinx::in_field(&layout.column_of("t", index), token::FIELD_EDGE)
    } else {
        sphinx::key(&token::having(index).to_string())
    }
}

/// Ranges of texts, which the engine cannot compare, and regular expressions, which it does not have.
fn unsupported(patterns: &[Pattern]) -> Diagnostic {
    let is_range = patterns
        .iter()
        .any(|pattern| matches!(pattern, Pattern::Range { .. }));
    if is_range {
        diagnostic(Condition::RELATION, "an order of texts")
    } else {
        diagnostic(Condition::TRUNCATION, REGULAR_EXPRESSION.to_string())
    }
}

fn single(words: &[Pattern]) -> Result<Vec<String>, Diagnostic> {
    let words = words.iter();
    words
        .map(|word| sphinx::word(word, Edges::default()))
        .collect()
}

/// The words of a phrase between its edges.
fn phrase(words: &[Pattern], edges: Edges) -> Result<EnginePhrase, Diagnostic> {
    let edge = || Slot::Word(token::FIELD_EDGE.to_owned());
    let mut slots = Vec::with_capacity(words.len() + 2);
    slots.extend((edges.first == Edge::Field).then(edge));
    let last = words.len().saturating_sub(1);
    for (place, word) in words.iter().enumerate() {
        let own = Edges {
            first: if place == 0 { edges.first } else { Edge::Any },
            last: if place == last { edges.last } else { Edge::Any },
        };
        slots.push(Slot::Word(sphinx::word(word, own)?));
    }
    slots.extend((edges.last == Edge::Field).then(edge));
    Ok(slots)
}

/// The phrase of a lookup, if it is one.
fn phrases(look: &Look<'_>) -> Result<Option<(IndexId, Vec<EnginePhrase>)>, Diagnostic> {
    let Look {
        target: LookTarget::Words(index, words, order),
        negated: false,
    } = look
    else {
        return Ok(None);
    };
    let edges = match order {
        WordOrder::Phrase(edges) => *edges,
        WordOrder::All | WordOrder::Some if words.len() == 1 => Edges::default(),
        _ => return Ok(None),
    };
    Ok(Some((*index, vec![phrase(words, edges)?])))
}

/// The tokens of a key.
fn key(index: IndexId, kind: Kind, pattern: &Pattern) -> Result<Vec<String>, Diagnostic> {
    let Pattern::Range { from, to } = pattern else {
        return Ok(vec![sphinx::key_pattern(index, pattern)?]);
    };
    let unordered = || diagnostic(Condition::RELATION, "an order of codes");
    let alphabet = range::alphabet(kind).ok_or_else(unordered)?;
    // Each character has many parts, as long as what comes before it.
    for bound in [from, to] {
        if let Bound::Included(key) | Bound::Excluded(key) = bound {
            sphinx::short_enough(token::of_key_part(key), key)?;
        }
    }
    let parts = cover(from, to, alphabet).into_iter();
    parts
        .map(|part| {
            let pattern = match part {
                KeyPart::Exact(key) => Pattern::Exact(key),
                KeyPart::Starts(start) => Pattern::Starts(start),
            };
            sphinx::key_pattern(index, &pattern)
        })
        .collect()
}

/// Two operands near each other: phrases with as many gaps as the distance allows, or the engine's NEAR where it finds the same.
///
/// # Errors
/// 129, 131, 132, 201, 202 and 203 for what the engine cannot say.
fn near(
    layout: &EngineLayout,
    operator: &ProximityOperator,
    left: Translated,
    right: Translated,
) -> Result<Translated, Diagnostic> {
    let refused = |condition, value: i64| Err(diagnostic(condition, value.to_string()));
    match operator.proximity_unit_code {
        ProximityUnitCode::Known(KnownProximityUnit::WORD) => {}
        ProximityUnitCode::Known(KnownProximityUnit(unit)) | ProximityUnitCode::Private(unit) => {
            return refused(Condition::PROXIMITY_UNIT, unit);
        }
    }
    let relation = operator.relation_type;
    let (least, most) = match relation {
        RelationType::LESS_THAN => (1, operator.distance.saturating_sub(1)),
        RelationType::LESS_THAN_OR_EQUAL => (1, operator.distance),
        RelationType::EQUAL => (operator.distance, operator.distance),
        RelationType(other) => return refused(Condition::PROXIMITY_RELATION, other),
    };
    if operator.distance < 0 || most > MOST_DISTANCE {
        return refused(Condition::PROXIMITY_DISTANCE, operator.distance);
    }
    let of_sets = || diagnostic(Condition::PROXIMITY_OF_SETS, "");
    let (index, ones) = left.phrases.ok_or_else(of_sets)?;
    let (other_index, others) = right.phrases.ok_or_else(of_sets)?;
    if index != other_index {
        let why = "operands of different indexes";
        return Err(diagnostic(Condition::PROXIMITY, why));
    }
    let is_any_order = least == 1 && !operator.ordered;
    let (text, phrases) = match (&*ones, &*others) {
        ([one], [other]) if most > MOST_GAPS && is_any_order && sphinx::are_apart(one, other) => {
            (sphinx::near(one, other, most), None)
        }
        _ => {
            let found = with_gaps(&ones, &others, least.max(1)..=most, operator.ordered)?;
            let texts: Vec<String> = found.iter().map(|phrase| sphinx::phrase(phrase)).collect();
            let text = if texts.is_empty() {
                token::NEVER.to_owned()
            } else {
                sphinx::any(&texts)
            };
            (text, Some((index, found)))
        }
    };
    let text = sphinx::in_field(&layout.column_of("t", index), &text);
    match operator.exclusion {
        Some(true) => {
            let both = left.text.and(right.text).into_text();
            Ok(without_phrases(Joined::One(sphinx::without(&both, &text))))
        }
        _ => Ok(Translated {
            text: Joined::One(text),
            phrases,
        }),
    }
}

/// The phrases of pairs at these distances.
///
/// # Errors
/// 202 if there are too many.
fn with_gaps(
    left: &[EnginePhrase],
    right: &[EnginePhrase],
    distances: std::ops::RangeInclusive<i64>,
    ordered: bool,
) -> Result<Vec<EnginePhrase>, Diagnostic> {
    let mut phrases = Vec::new();
    let mut add = |one: &EnginePhrase, other: &EnginePhrase, distance: i64| {
        let gaps = usize::try_from(distance.saturating_sub(1)).unwrap_or_default();
        let gaps = std::iter::repeat_n(Slot::AnyWord, gaps);
        let slots = one.iter().cloned().chain(gaps).chain(other.iter().cloned());
        phrases.push(slots.collect());
        phrases.len() <= MOST_PHRASES
    };
    for distance in distances {
        for one in left {
            for other in right {
                let is_within = add(one, other, distance) && (ordered || add(other, one, distance));
                if !is_within {
                    let distance = distance.to_string();
                    return Err(diagnostic(Condition::PROXIMITY_DISTANCE, distance));
                }
            }
        }
    }
    Ok(phrases)
}

#[cfg(test)]
mod tests;
