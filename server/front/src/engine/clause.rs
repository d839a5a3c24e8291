//! Type-1 queries as clauses: what to find in which index, without a word of the language that an engine is asked in (Z39.50-2003
//! §3.7.1). A clause means what it means to the memory backend. A query that is too large or too deep for an engine is refused here,
//! before anything is sent.

use std::ops::Bound;
use std::sync::Arc;

use z3950_server::asn1::apdu::{
    AttributesPlusTerm, KnownProximityUnit, Operand, Operator, ProximityOperator,
    ProximityUnitCode, RelationType, RpnQuery,
};
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::memory::index_map::{
    Edge, Edges, IndexId, IndexMap, Look, LookTarget, Pattern, Terms, WordOrder,
};
use z3950_server::{Diagnostic, diagnostic};

/// A condition on records.
#[derive(Clone, Debug)]
pub(super) enum Clause {
    /// All records.
    Everything,
    /// No record.
    Nothing,
    /// All of these hold, and none of those in `without`. One of the lists may be empty, but not both.
    All {
        all: Vec<Clause>,
        without: Vec<Clause>,
    },
    /// At least one of these holds.
    Any(Vec<Clause>),
    /// The record has an entry in the index.
    Exists(IndexId),
    /// The record has a value to sort by.
    Sortable(IndexId),
    /// The record has this identifier.
    Identifier(Vec<u8>),
    /// The record has one of these terms.
    Terms(Terms, Vec<String>),
    /// The record has a term that matches.
    Pattern(Terms, Pattern),
    /// The record has these words, in these places of one entry.
    Spans(IndexId, Spans),
    /// The record has one of these numbers.
    Numbers(Arc<[u64]>),
}

/// Words in places of an entry.
#[derive(Clone, Debug)]
pub(super) enum Spans {
    /// One of these phrases.
    Phrases(Vec<Phrase>),
    /// A phrase of each list, at most this number of words apart; adjacent words are one word apart. They do not overlap.
    Near {
        left: Vec<Phrase>,
        right: Vec<Phrase>,
        most: u32,
        ordered: bool,
    },
}

/// Adjacent parts.
pub(super) type Phrase = Vec<Part>;

/// A part of a phrase.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// Adjacent words that touch these edges.
    Words(Vec<Pattern>, Edges),
    /// This number of other words.
    Gap(u32),
}

/// The most leaves of a query: OpenSearch refuses more than 1,024, and fails with HTTP 500 if they are in different parts.
pub(super) const MOST_LEAVES: usize = 1_000;
/// The most levels of a query: an engine that has to descend much deeper loses its stack.
pub(super) const MOST_LEVELS: usize = 30;
/// The most terms of one leaf.
pub(super) const MOST_TERMS: usize = 65_536;
/// The most operators of a query.
const MOST_OPERATORS: usize = 20_000;
/// The most leaves of all operands together, before those with terms of the same index become one.
const MOST_OPERAND_LEAVES: usize = 65_536;
/// The most phrases that stand for a proximity.
const MOST_PHRASES: usize = 256;

impl Clause {
    /// Returns the clause of a lookup.
    fn of_look(look: &Look<'_>) -> Self {
        let found = match &look.target {
            LookTarget::Having(index) => Self::having(*index),
            LookTarget::Docid(docid) => Self::Identifier(docid.to_vec()),
            LookTarget::Entries(terms, patterns) => Self::any_of(*terms, patterns),
            LookTarget::Words(index, words, order) => match order {
                WordOrder::Phrase(edges) => Self::phrase(*index, words, *edges),
                WordOrder::Some => Self::any_of(Terms::Words(*index), words),
                WordOrder::All => {
                    let words = words.iter().cloned();
                    let each = words.map(|word| Self::term(Terms::Words(*index), word));
                    each.reduce(Self::and).unwrap_or(Self::Nothing)
                }
            },
        };
        if look.negated {
            Self::having(look.target.index()).and_not(found)
        } else {
            found
        }
    }

    /// Returns the clause of the records with an entry in an index; all records, for the indexes `docid` and `any`.
    fn having(index: IndexId) -> Self {
        match index {
            IndexId::DOCID | IndexId::ANY => Self::Everything,
            index => Self::Exists(index),
        }
    }

    fn term(terms: Terms, pattern: Pattern) -> Self {
        match pattern {
            Pattern::Exact(text) => Self::Terms(terms, vec![text]),
            other => Self::Pattern(terms, other),
        }
    }

    fn any_of(terms: Terms, patterns: &[Pattern]) -> Self {
        let each = patterns.iter().map(|one| Self::term(terms, one.clone()));
        each.reduce(Self::or).unwrap_or(Self::Nothing)
    }

    fn phrase(index: IndexId, words: &[Pattern], edges: Edges) -> Self {
        match words {
            [word] if edges == Edges::default() => Self::term(Terms::Words(index), word.clone()),
            words => {
                let words = Part::Words(words.to_vec(), edges);
                Self::Spans(index, Spans::Phrases(vec![vec![words]]))
            }
        }
    }

    /// Combines two clauses by AND.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, clause) | (clause, Self::Everything) => clause,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (one, other) => {
                let (mut all, mut without) = one.into_lists();
                let (more, more_without) = other.into_lists();
                all.extend(more);
                without.extend(more_without);
                Self::All { all, without }
            }
        }
    }

    /// Combines two clauses by OR.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, _) | (_, Self::Everything) => Self::Everything,
            (Self::Nothing, clause) | (clause, Self::Nothing) => clause,
            (Self::Terms(terms, mut texts), Self::Terms(others, more)) if terms == others => {
                texts.extend(more);
                Self::Terms(terms, texts)
            }
            (one, other) => {
                let mut any = one.into_alternatives();
                for clause in other.into_alternatives() {
                    add_alternative(&mut any, clause);
                }
                Self::Any(any)
            }
        }
    }

    /// Combines two clauses by AND-NOT.
    pub(super) fn and_not(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, _) | (_, Self::Everything) => Self::Nothing,
            (clause, Self::Nothing) => clause,
            (clause, other) => {
                let (all, mut without) = clause.into_lists();
                without.extend(other.into_alternatives());
                Self::All { all, without }
            }
        }
    }

    fn into_lists(self) -> (Vec<Self>, Vec<Self>) {
        match self {
            Self::All { all, without } => (all, without),
            Self::Everything => (Vec::new(), Vec::new()),
            other => (vec![other], Vec::new()),
        }
    }

    fn into_alternatives(self) -> Vec<Self> {
        match self {
            Self::Any(any) => any,
            other => vec![other],
        }
    }

    /// Returns the leaves and levels of the clause.
    fn size(&self) -> Size {
        let leaves = match self {
            Self::Everything | Self::Nothing | Self::Exists(_) | Self::Identifier(_) => 1,
            Self::Terms(..) | Self::Pattern(..) | Self::Numbers(_) | Self::Sortable(_) => 1,
            Self::Spans(_, spans) => spans.leaves(),
            Self::All { all, without } => return Size::of_all(all.iter().chain(without)),
            Self::Any(any) => return Size::of_all(any.iter()),
        };
        Size { leaves, levels: 1 }
    }

    /// Returns about what the clause takes in memory.
    pub(super) fn octets(&self) -> usize {
        let of = |clauses: &[Self]| clauses.iter().map(Self::octets).sum::<usize>();
        let more = match self {
            Self::All { all, without } => of(all) + of(without),
            Self::Any(any) => of(any),
            Self::Identifier(id) => id.len(),
            Self::Terms(_, texts) => {
                let texts = texts.iter().map(|text| text.len() + size_of::<String>());
                texts.sum()
            }
            Self::Pattern(_, pattern) => pattern_octets(pattern),
            Self::Spans(_, Spans::Phrases(phrases)) => phrases_octets(phrases),
            Self::Spans(_, Spans::Near { left, right, .. }) => {
                phrases_octets(left) + phrases_octets(right)
            }
            // The numbers are those of a set that counts them.
            Self::Everything | Self::Nothing | Self::Numbers(_) => 0,
            Self::Exists(_) | Self::Sortable(_) => 0,
        };
        size_of::<Self>() + more
    }

    /// # Errors
    /// 31 for a clause that an engine cannot be asked for.
    pub(super) fn bounded(self) -> Result<Self, Diagnostic> {
        let too_many_terms = match &self {
            Self::Terms(_, texts) => texts.len() > MOST_TERMS,
            Self::Any(any) => any
                .iter()
                .any(|clause| matches!(clause, Self::Terms(_, texts) if texts.len() > MOST_TERMS)),
            _ => false,
        };
        let Size { leaves, levels } = self.size();
        let exhausted = |words| Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words));
        if too_many_terms {
            exhausted(format!(
                "the search engine takes lists of {MOST_TERMS} terms"
            ))
        } else if leaves > MOST_LEAVES {
            exhausted(format!(
                "the search engine takes queries of {MOST_LEAVES} terms"
            ))
        } else if levels > MOST_LEVELS {
            exhausted(format!(
                "the search engine takes queries of {MOST_LEVELS} levels"
            ))
        } else {
            Ok(self)
        }
    }
}

/// About what a regular expression takes in memory.
const REGEX_OCTETS: usize = 64 * 1024;

fn pattern_octets(pattern: &Pattern) -> usize {
    let bound = |bound: &Bound<String>| match bound {
        Bound::Included(text) | Bound::Excluded(text) => text.len(),
        Bound::Unbounded => 0,
    };
    size_of::<Pattern>()
        + match pattern {
            Pattern::Exact(text)
            | Pattern::Starts(text)
            | Pattern::Ends(text)
            | Pattern::Contains(text) => text.len(),
            Pattern::Masked { prefix, mask } => prefix.len() + mask.len(),
            Pattern::Matches { .. } => REGEX_OCTETS,
            Pattern::Range { from, to } => bound(from) + bound(to),
            Pattern::Any => 0,
        }
}

fn phrases_octets(phrases: &[Phrase]) -> usize {
    let parts = phrases.iter().flatten().map(|part| {
        let words = match part {
            Part::Words(words, _) => words.iter().map(pattern_octets).sum(),
            Part::Gap(_) => 0,
        };
        size_of::<Part>() + words
    });
    parts.sum()
}

/// Adds an alternative to others; terms of one index are one alternative.
fn add_alternative(any: &mut Vec<Clause>, clause: Clause) {
    let Clause::Terms(terms, texts) = clause else {
        any.push(clause);
        return;
    };
    let known = any.iter_mut().find_map(|known| match known {
        Clause::Terms(others, known) if *others == terms => Some(known),
        _ => None,
    });
    match known {
        Some(known) => known.extend(texts),
        None => any.push(Clause::Terms(terms, texts)),
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Size {
    leaves: usize,
    levels: usize,
}

impl Size {
    fn of_all<'c>(clauses: impl Iterator<Item = &'c Clause>) -> Self {
        let all = clauses
            .map(Clause::size)
            .fold(Self::default(), |sum, one| Self {
                leaves: sum.leaves + one.leaves,
                levels: sum.levels.max(one.levels),
            });
        Self {
            levels: all.levels + 1,
            ..all
        }
    }
}

impl Spans {
    fn leaves(&self) -> usize {
        let of = |phrases: &[Phrase]| phrases.iter().map(|phrase| words_of(phrase)).sum::<usize>();
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

    /// Returns the phrases that find the same. Each has a fixed number of words, unlike a proximity, so that it can be an operand of
    /// one.
    ///
    /// # Errors
    /// 202 if there are too many.
    fn into_phrases(self) -> Result<Vec<Phrase>, Diagnostic> {
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
}

/// The words of a phrase, with an edge of the entry as one more.
fn words_of(phrase: &[Part]) -> usize {
    let words = phrase.iter().map(|part| match part {
        Part::Words(words, Edges { first, last }) => {
            let edges = [first, last].into_iter();
            words.len() + edges.filter(|edge| **edge == Edge::Field).count()
        }
        Part::Gap(_) => 0,
    });
    words.sum()
}

/// Returns the phrases of pairs at these distances.
///
/// # Errors
/// 202 if there are too many.
fn with_gaps(
    left: &[Phrase],
    right: &[Phrase],
    (least, most): (u32, u32),
    ordered: bool,
) -> Result<Vec<Phrase>, Diagnostic> {
    let mut phrases = Vec::new();
    let mut add = |one: &Phrase, other: &Phrase, distance: u32| {
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

/// A query as a clause.
#[derive(Clone, Debug)]
pub(super) struct Translated {
    /// The records that it finds.
    pub(super) clause: Clause,
    /// Its terms from the left, each with its own clause; empty if they are not wanted.
    pub(super) terms: Vec<(AttributesPlusTerm, Clause)>,
}

/// A part of a query.
struct Found {
    clause: Clause,
    /// Its places, if it can be an operand of a proximity.
    spans: Option<(IndexId, Spans)>,
}

impl Found {
    fn without_places(clause: Clause) -> Self {
        Self {
            clause,
            spans: None,
        }
    }
}

/// Translates a query. `result_set` returns the clause of an earlier result set.
///
/// # Errors
/// The first unsupported part of the query, from the left; 31 for one that is too large or too deep; 110 for too many operators.
pub(super) fn translate(
    map: &IndexMap,
    query: &RpnQuery,
    result_set: &dyn Fn(&[u8]) -> Result<Clause, Diagnostic>,
    with_terms: bool,
) -> Result<Translated, Diagnostic> {
    let profile = map.profile();
    let mut terms = Vec::new();
    let (mut operators, mut leaves) = (0, 0);
    let operand = |operand: &Operand| {
        let found = match operand {
            Operand::AttributesPlusTerm(operand) => {
                let look = map.look(&query.attribute_set, operand)?;
                let clause = Clause::of_look(&look);
                if with_terms {
                    terms.push((operand.clone(), clause.clone()));
                }
                Found {
                    clause,
                    spans: spans_of(look),
                }
            }
            Operand::ResultSet(name) if profile.result_sets => {
                Found::without_places(result_set(name.0.as_bytes())?)
            }
            Operand::ResultSet(name) => {
                let name = name.0.as_bytes();
                return Err(diagnostic(Condition::RESULT_SET_AS_TERM, name));
            }
            Operand::ResultAttr(operand) => {
                let name = operand.result_set.0.as_bytes();
                return Err(diagnostic(Condition::RESTRICTION_OPERAND, name));
            }
        };
        leaves += found.clause.size().leaves;
        if leaves > MOST_OPERAND_LEAVES {
            let words = format!("the search engine takes queries of {MOST_OPERAND_LEAVES} terms");
            return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words));
        }
        let clause = found.clause.bounded()?;
        Ok(Found { clause, ..found })
    };
    let operator = |operator: &Operator, left: Found, right: Found| {
        operators += 1;
        if operators > MOST_OPERATORS {
            let most = MOST_OPERATORS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_OPERATORS, most));
        }
        let found = match operator {
            Operator::And => Found::without_places(left.clause.and(right.clause)),
            Operator::Or => Found::without_places(left.clause.or(right.clause)),
            Operator::AndNot => Found::without_places(left.clause.and_not(right.clause)),
            Operator::Prox(_) if !profile.proximity => {
                return Err(diagnostic(Condition::OPERATOR, "proximity"));
            }
            Operator::Prox(operator) => near(operator, left, right)?,
        };
        let clause = found.clause.bounded()?;
        Ok(Found { clause, ..found })
    };
    let Found { clause, .. } = query.rpn.evaluate(operand, operator)?;
    Ok(Translated { clause, terms })
}

/// Returns the places of a lookup; `None` if it is not a word or phrase.
fn spans_of(look: Look<'_>) -> Option<(IndexId, Spans)> {
    let Look {
        target: LookTarget::Words(index, words, order),
        negated: false,
    } = look
    else {
        return None;
    };
    let edges = match order {
        WordOrder::Phrase(edges) => edges,
        WordOrder::All | WordOrder::Some if words.len() == 1 => Edges::default(),
        _ => return None,
    };
    let phrase = vec![Part::Words(words, edges)];
    Some((index, Spans::Phrases(vec![phrase])))
}

/// The greatest distance: entries are further apart in an index, and none has so many words.
const MOST_DISTANCE: u32 = 9_999;

/// Combines two operands by proximity (Z39.50-2003 §3.7.2).
///
/// # Errors
/// 129, 131, 132, 201, 202 and 203 for what an engine cannot be asked for.
fn near(operator: &ProximityOperator, left: Found, right: Found) -> Result<Found, Diagnostic> {
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
    let (index, ones) = left.spans.ok_or_else(of_sets)?;
    let (other_index, others) = right.spans.ok_or_else(of_sets)?;
    if index != other_index {
        let why = "operands of different indexes";
        return Err(diagnostic(Condition::PROXIMITY, why));
    }
    let (ones, others) = (ones.into_phrases()?, others.into_phrases()?);
    let ordered = operator.ordered;
    let distance = u32::try_from(operator.distance).unwrap_or(u32::MAX);
    let spans = match relation {
        RelationType::EQUAL if (1..=MOST_DISTANCE).contains(&distance) => {
            Spans::Phrases(with_gaps(&ones, &others, (distance, distance), ordered)?)
        }
        RelationType::EQUAL => Spans::Phrases(Vec::new()),
        _ => {
            let is_less = relation == RelationType::LESS_THAN;
            let most = distance.saturating_sub(u32::from(is_less));
            Spans::Near {
                left: ones,
                right: others,
                most: most.min(MOST_DISTANCE),
                ordered,
            }
        }
    };
    let is_empty = match &spans {
        Spans::Phrases(phrases) => phrases.is_empty(),
        Spans::Near {
            left, right, most, ..
        } => *most == 0 || left.is_empty() || right.is_empty(),
    };
    let (clause, spans) = if is_empty {
        (Clause::Nothing, Spans::Phrases(Vec::new()))
    } else {
        (Clause::Spans(index, spans.clone()), spans)
    };
    if operator.exclusion == Some(true) {
        let both = left.clause.and(right.clause);
        return Ok(Found::without_places(both.and_not(clause)));
    }
    Ok(Found {
        clause,
        spans: Some((index, spans)),
    })
}

#[cfg(test)]
mod tests;
