//! A plan: what a search engine is asked in one request.

use std::time::Duration;

use super::clause::{Clause, Leaf};

/// What to ask an engine.
pub(super) struct Plan<'a, L: Leaf> {
    /// The records to find.
    pub(super) clause: &'a Clause<L>,
    /// Their order, most significant key first; it ends in that of identifiers or numbers, so that it is the same each time.
    pub(super) order: &'a [OrderBy<L::SortKey>],
    /// The records of the answer.
    pub(super) page: Page<'a>,
    /// The facets to count.
    pub(super) facets: &'a [FacetOf<L::Counted>],
    /// The clauses whose records are counted separately, among all records.
    pub(super) counts: &'a [Clause<L>],
    /// The time after which the engine answers with what it has found.
    pub(super) deadline: Duration,
}

impl<'a, L: Leaf> Plan<'a, L> {
    /// Creates a plan that only counts the records.
    pub(super) fn count(clause: &'a Clause<L>, deadline: Duration) -> Self {
        Self {
            clause,
            order: &[],
            page: Page::default(),
            facets: &[],
            counts: &[],
            deadline,
        }
    }
}

/// The records of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page<'a> {
    /// Where the records begin.
    pub(super) start: PageStart<'a>,
    /// The number of records to leave out from there.
    pub(super) skip: usize,
    /// The number of records.
    pub(super) rows: usize,
    /// Whether to return the records, and not only their numbers.
    pub(super) with_records: bool,
}

impl Page<'_> {
    /// The first records.
    pub(super) fn first(rows: usize) -> Self {
        Self {
            rows,
            with_records: true,
            ..Self::default()
        }
    }
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum PageStart<'a> {
    /// At the first record.
    #[default]
    First,
    /// At the first record with at least this number, in the own index. Without records, those before it are counted.
    Number(u64),
    /// After the record with this place, as an answer gave it.
    After(&'a str),
}

/// A sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderBy<K> {
    pub(super) key: K,
    pub(super) descending: bool,
    pub(super) missing: MissingValue,
}

/// Where records without a value are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MissingValue {
    First,
    Last,
    /// Where those with this value are.
    As(String),
}

/// A facet to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FacetOf<T> {
    pub(super) terms: T,
    /// The number of terms.
    pub(super) most: usize,
    /// Whether to return the first terms, and not the most frequent ones.
    pub(super) alphabetical: bool,
}
