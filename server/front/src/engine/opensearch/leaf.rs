//! The leaves of clauses in this server's index. A clause has the same meaning as in the memory backend.

use std::ops::Bound;
use std::sync::Arc;

use z3950_asn1::apdu::{AttributesPlusTerm, ProximityOperator};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_server::memory::Profile;
use z3950_server::memory::index_map::{
    Edge, Edges, IndexId, Look, LookTarget, Pattern, Terms, WordOrder,
};
use z3950_server::{Diagnostic, diagnostic};

use crate::engine::answer::EngineAnswer;
use crate::engine::clause::spans::{self, Farthest, Places, SpanWords};
use crate::engine::clause::{self, Found, Leaf, TermReader};
use crate::engine::layout::EngineLayout;
use crate::engine::plan;

/// A condition on a record in this server's index.
#[derive(Clone, Debug)]
pub(in crate::engine) enum IndexLeaf {
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
    /// The record has these words at these positions in one entry.
    Spans(IndexId, Spans),
    /// The record has one of these numbers.
    Numbers(Arc<[u64]>),
}

/// A condition on records in this server's index.
pub(super) type Clause = clause::Clause<IndexLeaf>;
/// Words at positions in an entry.
pub(in crate::engine) type Spans = spans::Spans<WordPatterns>;
/// A part of a phrase in this server's index.
pub(super) type Part = spans::Part<WordPatterns>;

/// A request to this server's index.
pub(super) type Plan<'a> = plan::Plan<'a, IndexLeaf>;

/// An answer from this server's index.
pub(super) type Answer = EngineAnswer<u64>;

/// A key for sorting records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct SortKey {
    pub(super) index: IndexId,
    pub(super) with_case: bool,
}

/// Adjacent words, and the edges of the entry that they touch.
#[derive(Clone, Debug)]
pub(in crate::engine) struct WordPatterns {
    pub(super) patterns: Vec<Pattern>,
    pub(super) edges: Edges,
}

/// The maximum number of terms in one leaf.
const MOST_TERMS: usize = 65_536;
/// The maximum distance between words: entries are further apart in an index, and no entry has more words.
const MOST_DISTANCE: u32 = 9_999;

impl Leaf for IndexLeaf {
    type SortKey = SortKey;
    type Counted = Terms;
    type Id = u64;

    const ID_OCTETS: usize = size_of::<u64>();

    fn leaves(&self) -> usize {
        match self {
            Self::Spans(_, spans) => spans.leaves(),
            _ => 1,
        }
    }

    fn octets(&self) -> usize {
        match self {
            Self::Identifier(id) => id.len(),
            Self::Terms(_, texts) => {
                let texts = texts.iter().map(|text| text.len() + size_of::<String>());
                texts.sum()
            }
            Self::Pattern(_, pattern) => pattern_octets(pattern),
            Self::Spans(_, spans) => spans.octets(),
            // The octets of numbers are counted with the result set that keeps them, so they are not counted again here.
            Self::Numbers(_) | Self::Exists(_) | Self::Sortable(_) => 0,
        }
    }

    fn join(&mut self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Terms(terms, texts), Self::Terms(others, more)) if *terms == others => {
                texts.extend(more);
                None
            }
            (_, other) => Some(other),
        }
    }

    fn check(&self) -> Result<(), Diagnostic> {
        match self {
            Self::Terms(_, texts) if texts.len() > MOST_TERMS => {
                let words = format!("the search engine takes lists of {MOST_TERMS} terms");
                Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words))
            }
            _ => Ok(()),
        }
    }
}

impl SpanWords for WordPatterns {
    /// Counts the words; an edge of the entry counts as a word.
    fn count(&self) -> usize {
        let Edges { first, last } = self.edges;
        let edges = [first, last].into_iter();
        self.patterns.len() + edges.filter(|edge| *edge == Edge::Field).count()
    }

    fn octets(&self) -> usize {
        self.patterns.iter().map(pattern_octets).sum()
    }
}

/// The approximate number of octets of a regular expression in memory.
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

impl TermReader for EngineLayout {
    type Leaf = IndexLeaf;
    type Places = Places<WordPatterns>;

    fn profile(&self) -> &Profile {
        self.map().profile()
    }

    fn term(
        &self,
        attribute_set: &Oid,
        term: &AttributesPlusTerm,
    ) -> Result<Found<IndexLeaf, Places<WordPatterns>>, Diagnostic> {
        let look = self.map().look(attribute_set, term)?;
        Ok(Found {
            clause: clause_of(&look),
            places: places_of(look),
        })
    }

    fn near(
        &self,
        operator: &ProximityOperator,
        left: Found<IndexLeaf, Places<WordPatterns>>,
        right: Found<IndexLeaf, Places<WordPatterns>>,
    ) -> Result<Found<IndexLeaf, Places<WordPatterns>>, Diagnostic> {
        let farthest = Farthest::Entry(MOST_DISTANCE);
        spans::near(operator, left, right, farthest, IndexLeaf::Spans)
    }
}

/// Returns the clause for a lookup.
fn clause_of(look: &Look<'_>) -> Clause {
    let found = match &look.target {
        LookTarget::Having(index) => having(*index),
        LookTarget::Docid(docid) => Clause::Leaf(IndexLeaf::Identifier(docid.to_vec())),
        LookTarget::Entries(terms, patterns) => any_of(*terms, patterns),
        LookTarget::Words(index, words, order) => match order {
            WordOrder::Phrase(edges) => phrase(*index, words, *edges),
            WordOrder::Some => any_of(Terms::Words(*index), words),
            WordOrder::All => {
                let words = words.iter().cloned();
                let each = words.map(|word| term(Terms::Words(*index), word));
                each.reduce(Clause::and).unwrap_or(Clause::Nothing)
            }
        },
    };
    if look.negated {
        having(look.target.index()).and_not(found)
    } else {
        found
    }
}

/// Returns the clause for the records with an entry in an index. For the indexes `docid` and `any`, these are all
/// records.
fn having(index: IndexId) -> Clause {
    match index {
        IndexId::DOCID | IndexId::ANY => Clause::Everything,
        index => Clause::Leaf(IndexLeaf::Exists(index)),
    }
}

fn term(terms: Terms, pattern: Pattern) -> Clause {
    Clause::Leaf(match pattern {
        Pattern::Exact(text) => IndexLeaf::Terms(terms, vec![text]),
        other => IndexLeaf::Pattern(terms, other),
    })
}

fn any_of(terms: Terms, patterns: &[Pattern]) -> Clause {
    let each = patterns.iter().map(|one| term(terms, one.clone()));
    each.reduce(Clause::or).unwrap_or(Clause::Nothing)
}

fn phrase(index: IndexId, words: &[Pattern], edges: Edges) -> Clause {
    match words {
        [word] if edges == Edges::default() => term(Terms::Words(index), word.clone()),
        words => {
            let patterns = words.to_vec();
            let phrase = Spans::phrase(WordPatterns { patterns, edges });
            Clause::Leaf(IndexLeaf::Spans(index, phrase))
        }
    }
}

/// Returns the positions for a lookup; `None` if it is not a word or phrase.
fn places_of(look: Look<'_>) -> Option<Places<WordPatterns>> {
    let Look {
        target: LookTarget::Words(index, patterns, order),
        negated: false,
    } = look
    else {
        return None;
    };
    let edges = match order {
        WordOrder::Phrase(edges) => edges,
        WordOrder::All | WordOrder::Some if patterns.len() == 1 => Edges::default(),
        _ => return None,
    };
    Some((index, Spans::phrase(WordPatterns { patterns, edges })))
}

#[cfg(test)]
mod tests;
