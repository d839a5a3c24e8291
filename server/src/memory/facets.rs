//! Facets: the terms of an index, and the number of records found that have each (Index Data's facets,
//! 1.2.840.10003.10.1000.81.5).

use std::cmp::Reverse;

use z3950_asn1::apdu::{AttributeElement, AttributeList, Term};
use z3950_asn1::bib1::attributes::USE;

use super::attributes::access_of;
use super::fields::{Fields, IndexId, Kind};
use super::hits::HitSet;
use super::index::{Index, Terms, Work};
use super::profile::Profile;
use crate::backend::{Facet, FacetRequest};

/// The most terms of a facet.
const MOST_TERMS: usize = 1000;

/// The facets of some records. Those of fields without an index, and those that need too much work, are left out.
///
/// Counts whole entries if the index has them, otherwise words.
pub(super) fn facets(
    index: &Index,
    fields: &Fields,
    profile: &Profile,
    hits: &HitSet<'_>,
    requests: &[FacetRequest],
    work: &mut Work,
) -> Vec<Facet> {
    let facet = |request: &FacetRequest| {
        let terms = terms(fields, of(fields, profile, &request.attributes)?)?;
        let mut counted = index.tally(terms, hits, work).ok()?;
        if !request.alphabetical {
            // Stable: terms of the same count keep their order.
            counted.sort_by_key(|(_, records)| Reverse(*records));
        }
        let wanted = counted
            .into_iter()
            .skip(request.skip)
            .take(request.terms.min(MOST_TERMS));
        Some(Facet {
            attributes: request.attributes.clone(),
            terms: wanted
                .map(|(term, records)| (Term::General(term.into_bytes().into()), records))
                .collect(),
        })
    };
    requests.iter().filter_map(facet).collect()
}

/// The index of a facet's field. Other attributes of a facet are not Bib-1.
fn of(fields: &Fields, profile: &Profile, attributes: &AttributeList) -> Option<IndexId> {
    let is_field = |attribute: &&AttributeElement| attribute.attribute_type == USE;
    let field = attributes.0.iter().find(is_field)?;
    access_of(fields, profile, field)
}

fn terms(fields: &Fields, index: IndexId) -> Option<Terms> {
    match fields.kind(index) {
        Kind::Octets => None,
        Kind::Text if !fields.has_keys(index) => Some(Terms::Words(index)),
        _ => Some(Terms::Keys(index)),
    }
}
