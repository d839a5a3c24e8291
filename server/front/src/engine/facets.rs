//! Facets: the terms of an index, counted by the engine together with a search.

use std::cmp::Reverse;

use z3950_server::asn1::apdu::Term;
use z3950_server::backend::{Facet, FacetRequest};
use z3950_server::memory::index_map::{IndexId, Terms};

use super::layout::EngineLayout;
use super::mysql::Rows;
use super::statement::number;

/// The most terms of a facet.
const MOST_FACET_TERMS: usize = 1000;
/// The most groups that the engine counts for a facet; beyond, it counts the largest ones about right.
pub(super) const MOST_GROUPS: usize = 10_000;
/// What the engine selects for a facet.
pub(super) const COLUMNS: &str = "groupby() AS t, COUNT(*) AS n";

/// The facets of a search, with the indexes that they count. Those of fields that are not counted are left out.
pub(super) struct WantedFacets<'a> {
    requests: Vec<(IndexId, &'a FacetRequest)>,
    /// Each once, in their order.
    indexes: Vec<IndexId>,
}

impl<'a> WantedFacets<'a> {
    /// The facets of at most this number of indexes.
    pub(super) fn new(layout: &EngineLayout, requests: &'a [FacetRequest], most: usize) -> Self {
        let requests = requests.iter().filter_map(|request| {
            let terms = layout.map().facet_terms(&request.attributes)?;
            let (Terms::Words(index) | Terms::Keys(index)) = terms;
            layout.is_counted(index).then_some((index, request))
        });
        let requests: Vec<_> = requests.collect();
        let mut indexes: Vec<IndexId> = requests.iter().map(|(index, _)| *index).collect();
        indexes.sort_unstable();
        indexes.dedup();
        indexes.truncate(most);
        Self { requests, indexes }
    }

    /// The grouping and order of the select for each index.
    pub(super) fn orders(&self, layout: &EngineLayout) -> Vec<String> {
        let indexes = self.indexes.iter();
        let orders = indexes.map(|index| {
            let facet = layout.facet_of(*index);
            format!("GROUP BY facets.{facet} ORDER BY n DESC")
        });
        orders.collect()
    }

    /// The facets, from the groups of each index.
    pub(super) fn read(&self, groups: &[Rows]) -> Vec<Facet> {
        let requests = self.requests.iter();
        let facets = requests.filter_map(|(index, request)| {
            let place = self.indexes.binary_search(index).ok()?;
            Some(facet(request, groups.get(place)?))
        });
        facets.collect()
    }
}

fn facet(request: &FacetRequest, groups: &Rows) -> Facet {
    let counted = groups.iter().filter_map(|row| match row.as_slice() {
        [Some(term), Some(records)] if !term.is_empty() => Some((term, number(records)?)),
        _ => None,
    });
    let mut counted: Vec<(&Vec<u8>, usize)> = counted.collect();
    counted.sort_by_key(|(term, _)| *term);
    if !request.alphabetical {
        counted.sort_by_key(|(_, records)| Reverse(*records));
    }
    let wanted = counted.into_iter().skip(request.skip);
    let wanted = wanted.take(request.terms.min(MOST_FACET_TERMS));
    let terms = wanted.map(|(term, records)| (Term::General(term.clone().into()), records));
    Facet {
        attributes: request.attributes.clone(),
        terms: terms.collect(),
    }
}
