//! A plan, which describes the contents of one request to a search engine.

use std::time::Duration;

use super::clause::{Clause, Leaf};

/// The contents of a request to an engine.
pub(super) struct Plan<'a, L: Leaf> {
    /// The records to find.
    pub(super) clause: &'a Clause<L>,
    /// The sort keys, the most significant first. The request adds the identifier or number of records as the last key,
    /// so that the order is always the same.
    pub(super) order: &'a [OrderBy<L::SortKey>],
    /// The range of records to return.
    pub(super) page: Page<'a>,
    /// The facets to count.
    pub(super) facets: &'a [FacetOf<L::Counted>],
    /// The clauses whose records are counted separately, among all records.
    pub(super) counts: &'a [Clause<L>],
    /// The time after which the engine answers with the records that it has found so far.
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

/// The range of records in an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page<'a> {
    /// The point at which the range begins.
    pub(super) start: PageStart<'a>,
    /// The number of records to skip from there.
    pub(super) skip: usize,
    /// The maximum number of records to return.
    pub(super) rows: usize,
    /// Whether to return the records themselves, and not only their identifiers.
    pub(super) with_records: bool,
}

impl Page<'_> {
    /// Returns the page of the first records.
    pub(super) fn first(rows: usize) -> Self {
        Self {
            rows,
            with_records: true,
            ..Self::default()
        }
    }
}

/// The point at which a range of records begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum PageStart<'a> {
    /// At the first record.
    #[default]
    First,
    /// At the first record with at least this number, if the records are ordered by numbers. If no records are
    /// requested, the records before it are counted.
    Number(u64),
    /// After the record with this place, which is from an earlier answer.
    After(&'a str),
}

/// A sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderBy<K> {
    pub(super) key: K,
    pub(super) descending: bool,
    pub(super) missing: MissingValue,
}

/// The position of records without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MissingValue {
    First,
    Last,
    /// They are sorted like records with this value.
    As(String),
}

/// A facet to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FacetOf<T> {
    pub(super) terms: T,
    /// The maximum number of terms.
    pub(super) most: usize,
    /// Whether to return the first terms in alphabetical order instead of the most frequent ones.
    pub(super) alphabetical: bool,
}
