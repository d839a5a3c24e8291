//! Facets over several targets. Each target counts its own records, and the counts of each term are added up. Facets are defined
//! by Index Data (1.2.840.10003.10.1000.81.5) and by OASIS searchRetrieve 1.0, part 3.

pub(super) mod terms;

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;
use z3950_asn1::apdu::{AttributeElement, AttributeList};
use z3950_asn1::format::facets::{FacetField, FacetList};
use z3950_server::backend::{Facet, FacetRequest, SourceReport};

use self::terms::{MOST_TERMS, TermSums};
use super::RemoteDatabase;
use super::hits::RemoteHits;

/// The minimum number of terms in a field that are requested from a target. It is larger than most requests need, because a term
/// that is frequent at all targets together may be rare at each of them.
const LEAST_TERMS: usize = 50;
/// The attribute types in a facet request, which specify the field, the order of its terms, their number, and the first term.
const FIELD: i64 = 1;
const ORDER: i64 = 2;
const LIMIT: i64 = 3;
const START: i64 = 4;

impl RemoteDatabase {
    /// Returns the facets of the records found, from all targets that support facets; the reports of the remaining targets
    /// mention that their records are not counted.
    pub(super) async fn facets(
        &self,
        wanted: &[FacetRequest],
        hits: &RemoteHits,
        sources: &mut [SourceReport],
        deadline: Instant,
    ) -> Vec<Facet> {
        let asked = Arc::new(FacetList(wanted.iter().map(field).collect()));
        let parts = hits.parts.iter().filter(|part| part.set.counted() > 0);
        let counts = parts.map(|part| {
            let asked = Arc::clone(&asked);
            async move {
                let found = part
                    .upstream
                    .facets(&part.set, asked, &hits.caller, deadline);
                (part, found.await)
            }
        });
        let mut sums: Vec<TermSums> = wanted.iter().map(|_| TermSums::default()).collect();
        for (part, found) in join_all(counts).await {
            let Some(found) = found else {
                let mut known = sources.iter_mut();
                if let Some(source) = known.find(|source| source.name == part.upstream.name()) {
                    source.lacks_facets = true;
                }
                continue;
            };
            let most = usize::try_from(part.set.counted()).unwrap_or(usize::MAX);
            for (asked, sums) in asked.0.iter().zip(&mut sums) {
                let same = |one: &&FacetField| one.field() == asked.field();
                if let Some(field) = found.0.iter().find(same) {
                    sums.add(field, most);
                }
            }
        }
        let facets = wanted.iter().zip(sums).map(|(wanted, sums)| Facet {
            attributes: wanted.attributes.clone(),
            terms: sums.ordered(wanted),
        });
        facets.filter(|facet| !facet.terms.is_empty()).collect()
    }
}

/// Returns the request for a field as it is sent to targets.
fn field(wanted: &FacetRequest) -> FacetField {
    let terms = wanted.skip.saturating_add(wanted.terms).saturating_mul(2);
    let terms = i64::try_from(terms.clamp(LEAST_TERMS, MOST_TERMS)).unwrap_or(i64::MAX);
    let attributes = wanted
        .attributes
        .0
        .iter()
        .filter(|one| [FIELD, ORDER].contains(&one.attribute_type));
    let numbers = [(LIMIT, terms), (START, 1)];
    let numbers = numbers.map(|(kind, number)| AttributeElement::numeric(kind, number));
    FacetField {
        attributes: AttributeList(attributes.cloned().chain(numbers).collect()),
        terms: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> FacetRequest {
        let field = FacetField::request("author", 3);
        FacetRequest::new(field.attributes, 0, 3, false)
    }

    #[test]
    fn more_terms_are_requested_from_targets_than_are_wanted() {
        for (skip, terms, asked) in [(0, 3, 50), (20, 10, 60), (usize::MAX, 1, 1000)] {
            let mut wanted = request();
            (wanted.skip, wanted.terms) = (skip, terms);
            let field = field(&wanted);
            assert_eq!((field.limit(), field.start()), (Some(asked), Some(1)));
            assert_eq!(field.field(), FacetField::request("author", 1).field());
        }
    }
}
