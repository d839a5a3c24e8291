//! Words at positions in an entry: phrases, and phrases near each other (Z39.50-2003 §3.7.2). The kind of index determines the
//! type of the words.

use z3950_asn1::apdu::{KnownProximityUnit, ProximityOperator, ProximityUnitCode, RelationType};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::memory::index_map::IndexId;
use z3950_server::{Diagnostic, diagnostic};

use super::{Clause, Found, Leaf};

/// Adjacent words. Their type depends on the kind of index.
pub(in crate::engine) trait SpanWords: Clone {
    /// Returns the number of words that the engine counts.
    fn count(&self) -> usize;

    /// Returns the approximate number of octets that the words take in memory in addition to their own size.
    fn octets(&self) -> usize;
}

/// Words at positions in an entry.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) enum Spans<W> {
    /// One of these phrases.
    Phrases(Vec<Phrase<W>>),
    /// One phrase from `left` and one from `right`, at most `most` words apart; adjacent words are one word apart. The phrases do
    /// not overlap.
    Near {
        left: Vec<Phrase<W>>,
        right: Vec<Phrase<W>>,
        most: u32,
        ordered: bool,
    },
}

/// A phrase: its parts, which are adjacent.
pub(in crate::engine) type Phrase<W> = Vec<Part<W>>;

/// A part of a phrase.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) enum Part<W> {
    /// Adjacent words.
    Words(W),
    /// This number of other words.
    Gap(u32),
}

/// An index, and positions in its entries.
pub(in crate::engine) type Places<W> = (IndexId, Spans<W>);

/// The maximum number of phrases to which a proximity is expanded.
const MOST_PHRASES: usize = 256;

impl<W: SpanWords> Spans<W> {
    /// Creates a phrase of these words.
    pub(in crate::engine) fn phrase(words: W) -> Self {
        Self::Phrases(vec![vec![Part::Words(words)]])
    }

    /// Returns the number of leaves that the engine counts.
    pub(in crate::engine) fn leaves(&self) -> usize {
        let of = |phrases: &[Phrase<W>]| {
            let words = phrases.iter().map(|phrase| words_of(phrase));
            words.sum::<usize>()
        };
        match self {
            Self::Phrases(phrases) => of(phrases),
            Self::Near {
                left,
                right,
                ordered,
                ..
            } => {
                let pairs = of(left) * right.len() + of(right) * left.len();
                pairs * if *ordered { 1 } else { 2 }
            }
        }
    }

    /// Returns the approximate number of octets that the spans take in memory in addition to their own size.
    pub(in crate::engine) fn octets(&self) -> usize {
        let of = |phrases: &[Phrase<W>]| {
            let parts = phrases.iter().flatten().map(|part| {
                let words = match part {
                    Part::Words(words) => words.octets(),
                    Part::Gap(_) => 0,
                };
                size_of::<Part<W>>() + words
            });
            parts.sum::<usize>()
        };
        match self {
            Self::Phrases(phrases) => of(phrases),
            Self::Near { left, right, .. } => of(left) + of(right),
        }
    }

    /// Calls a function with the words of each phrase, from left to right.
    pub(in crate::engine) fn each_words<'s>(&'s self, visit: &mut dyn FnMut(&'s W)) {
        let (one, other) = match self {
            Self::Phrases(phrases) => (phrases.as_slice(), [].as_slice()),
            Self::Near { left, right, .. } => (left.as_slice(), right.as_slice()),
        };
        for part in one.iter().chain(other).flatten() {
            if let Part::Words(words) = part {
                visit(words);
            }
        }
    }

    /// Returns phrases that find the same records as these spans. Each phrase has a fixed number of words, so that it can be an
    /// operand of a proximity.
    ///
    /// # Errors
    /// Fails with condition 202 if there are too many phrases.
    fn into_phrases(self) -> Result<Vec<Phrase<W>>, Diagnostic> {
        match self {
            Self::Phrases(phrases) => Ok(phrases),
            Self::Near {
                left,
                right,
                most,
                ordered,
            } => with_gaps(&left, &right, (1, most), ordered),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Phrases(phrases) => phrases.is_empty(),
            Self::Near {
                left, right, most, ..
            } => *most == 0 || left.is_empty() || right.is_empty(),
        }
    }
}

/// Returns the number of words in a phrase.
fn words_of<W: SpanWords>(phrase: &[Part<W>]) -> usize {
    let words = phrase.iter().map(|part| match part {
        Part::Words(words) => words.count(),
        Part::Gap(_) => 0,
    });
    words.sum()
}

/// Returns a phrase for each pair of operands at each of these distances, in either order unless `ordered`.
///
/// # Errors
/// Fails with condition 202 if there are too many phrases.
fn with_gaps<W: SpanWords>(
    left: &[Phrase<W>],
    right: &[Phrase<W>],
    (least, most): (u32, u32),
    ordered: bool,
) -> Result<Vec<Phrase<W>>, Diagnostic> {
    let mut phrases = Vec::new();
    let mut add = |one: &Phrase<W>, other: &Phrase<W>, distance: u32| {
        let gap = (distance > 1).then(|| Part::Gap(distance - 1));
        phrases.push([one.clone(), gap.into_iter().collect(), other.clone()].concat());
        phrases.len() <= MOST_PHRASES
    };
    for distance in least..=most {
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

/// Combines two operands by proximity (Z39.50-2003 §3.7.2). `farthest` is the maximum distance within an entry; `leaf` creates
/// the leaf for the places.
///
/// # Errors
/// Fails with condition 129, 131, 132, 201, 202 or 203 for proximities that the engine does not support.
pub(in crate::engine) fn near<L: Leaf, W: SpanWords>(
    operator: &ProximityOperator,
    left: Found<L, Places<W>>,
    right: Found<L, Places<W>>,
    farthest: Farthest,
    leaf: impl Fn(IndexId, Spans<W>) -> L,
) -> Result<Found<L, Places<W>>, Diagnostic> {
    let refused = |condition, value: i64| Err(diagnostic(condition, value.to_string()));
    match operator.proximity_unit_code {
        ProximityUnitCode::Known(KnownProximityUnit::WORD) => {}
        ProximityUnitCode::Known(KnownProximityUnit(unit)) | ProximityUnitCode::Private(unit) => {
            return refused(Condition::PROXIMITY_UNIT, unit);
        }
    }
    let relation = operator.relation_type;
    if ![
        RelationType::LESS_THAN,
        RelationType::LESS_THAN_OR_EQUAL,
        RelationType::EQUAL,
    ]
    .contains(&relation)
    {
        return refused(Condition::PROXIMITY_RELATION, relation.0);
    }
    if operator.distance < 0 {
        return refused(Condition::PROXIMITY_DISTANCE, operator.distance);
    }
    let of_sets = || diagnostic(Condition::PROXIMITY_OF_SETS, "");
    let (index, ones) = left.places.ok_or_else(of_sets)?;
    let (other_index, others) = right.places.ok_or_else(of_sets)?;
    if index != other_index {
        let why = "operands of different indexes";
        return Err(diagnostic(Condition::PROXIMITY, why));
    }
    let (ones, others) = (ones.into_phrases()?, others.into_phrases()?);
    let ordered = operator.ordered;
    let distance = u32::try_from(operator.distance).unwrap_or(u32::MAX);
    let most = match farthest {
        Farthest::Entry(most) => most,
        Farthest::Engine(most) if distance > most => {
            return refused(Condition::PROXIMITY_DISTANCE, operator.distance);
        }
        Farthest::Engine(most) => most,
    };
    let spans = match relation {
        RelationType::EQUAL if (1..=most).contains(&distance) => {
            Spans::Phrases(with_gaps(&ones, &others, (distance, distance), ordered)?)
        }
        RelationType::EQUAL => Spans::Phrases(Vec::new()),
        _ => {
            let is_less = relation == RelationType::LESS_THAN;
            let distance = distance.saturating_sub(u32::from(is_less));
            Spans::Near {
                left: ones,
                right: others,
                most: distance.min(most),
                ordered,
            }
        }
    };
    let (clause, spans) = if spans.is_empty() {
        (Clause::Nothing, Spans::Phrases(Vec::new()))
    } else {
        (Clause::Leaf(leaf(index, spans.clone())), spans)
    };
    if operator.exclusion == Some(true) {
        let both = left.clause.and(right.clause);
        return Ok(Found::without_places(both.and_not(clause)));
    }
    Ok(Found {
        clause,
        places: Some((index, spans)),
    })
}

/// The maximum distance between words in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Farthest {
    /// No entry has more words than this, so a greater distance finds the same records.
    Entry(u32),
    /// The engine would match words in different entries at higher distances, so these are refused.
    Engine(u32),
}
