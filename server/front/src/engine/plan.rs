//! A plan: what a search engine is asked in one request.

use std::time::Duration;

use z3950_server::memory::index_map::{IndexId, Terms};

use super::clause::Clause;

/// What to ask an engine.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    /// The records to find.
    pub(super) clause: &'a Clause,
    /// Their order, most significant key first; it ends in the order of numbers.
    pub(super) order: &'a [OrderBy],
    /// The records of the answer.
    pub(super) page: Page<'a>,
    /// The facets to count.
    pub(super) facets: &'a [FacetOf],
    /// The clauses whose records are counted separately, among all records.
    pub(super) counts: &'a [Clause],
    /// The time after which the engine answers with what it has found.
    pub(super) deadline: Duration,
}

impl<'a> Plan<'a> {
    /// Creates a plan that only counts the records.
    pub(super) fn count(clause: &'a Clause, deadline: Duration) -> Self {
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

/// Where a page begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum PageStart<'a> {
    /// At the first record.
    #[default]
    First,
    /// At the first record with at least this number. Without records, those before it are counted.
    Number(u64),
    /// After the record with this place, as an answer gave it.
    After(&'a str),
}

/// A sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderBy {
    pub(super) index: IndexId,
    pub(super) with_case: bool,
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
pub(super) struct FacetOf {
    pub(super) terms: Terms,
    /// The number of terms.
    pub(super) most: usize,
    /// Whether to return the first terms, and not the most frequent ones.
    pub(super) alphabetical: bool,
}
