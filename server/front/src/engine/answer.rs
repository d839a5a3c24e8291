//! An answer of a search engine to a [`Plan`](super::plan::Plan).

use bytes::Bytes;

/// The answer to a plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EngineAnswer<H> {
    /// The number of records found.
    pub(super) total: usize,
    /// Whether it is exact, as far as the parts that answered are concerned.
    pub(super) is_exact: bool,
    /// Why records may be missing; `None` if all parts of the index were searched.
    pub(super) missing: Option<String>,
    /// The records of the page.
    pub(super) hits: Vec<H>,
    /// The index that they are of; `None` if there are none, or the engine does not say it.
    pub(super) index: Option<String>,
    /// The terms of each facet.
    pub(super) facets: Vec<FacetCounts>,
    /// The number of records of each clause that was counted separately.
    pub(super) counts: Vec<usize>,
}

/// A record of the own index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hit {
    pub(super) number: u64,
    /// The record in ISO 2709, if it was asked for.
    pub(super) record: Option<Bytes>,
    /// Its place in the order, after which another page can begin.
    pub(super) place: String,
}

/// The terms of a facet, in the order that was asked for, each with its number of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FacetCounts {
    pub(super) terms: Vec<(String, usize)>,
    /// Whether the numbers may be too small.
    pub(super) is_estimate: bool,
}
