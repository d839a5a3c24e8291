//! Facets: the terms of an index, counted by the engine together with a search.

use z3950_server::asn1::apdu::Term;
use z3950_server::backend::{Facet, FacetRequest};
use z3950_server::memory::index_map::Terms;

use super::leaf::FacetOf;
use super::request::MOST_BUCKETS;
use crate::engine::answer::FacetCounts;
use crate::engine::layout::EngineLayout;

/// The most terms of a facet.
const MOST_FACET_TERMS: usize = 1_000;
/// What people are told if counts may be too small.
pub(super) const ESTIMATE: &str = "the counts of facets are estimates";

/// The facets of a search. Those of fields that are not counted are left out.
pub(super) struct WantedFacets<'a> {
    requests: Vec<&'a FacetRequest>,
    plans: Vec<FacetOf>,
}

impl<'a> WantedFacets<'a> {
    pub(super) fn new(layout: &EngineLayout, requests: &'a [FacetRequest]) -> Self {
        let wanted = requests.iter().filter_map(|request| {
            let terms = layout.map().facet_terms(&request.attributes)?;
            let (Terms::Words(index) | Terms::Keys(index)) = terms;
            let most = request.skip.saturating_add(wanted_terms(request));
            let plan = FacetOf {
                terms,
                most: most.min(MOST_BUCKETS),
                alphabetical: request.alphabetical,
            };
            layout.is_counted(index).then_some((request, plan))
        });
        let (requests, plans) = wanted.unzip();
        Self { requests, plans }
    }

    pub(super) fn plans(&self) -> &[FacetOf] {
        &self.plans
    }

    /// Returns the facets, from the counts of each.
    pub(super) fn read(&self, counted: &[FacetCounts]) -> Vec<Facet> {
        let facets = self.requests.iter().zip(counted).map(|(request, counts)| {
            let wanted = counts.terms.iter().skip(request.skip);
            let wanted = wanted.take(wanted_terms(request));
            let terms = wanted.map(|(term, records)| {
                let octets = term.clone().into_bytes();
                (Term::General(octets.into()), *records)
            });
            Facet {
                attributes: request.attributes.clone(),
                terms: terms.collect(),
            }
        });
        facets.collect()
    }
}

fn wanted_terms(request: &FacetRequest) -> usize {
    request.terms.min(MOST_FACET_TERMS)
}
