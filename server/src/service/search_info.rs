//! What else is told of a search (Z39.50-2003 §3.2.2.1.12 additional-search-information): the records that each term of the
//! query finds (SearchResult-1, Appendix USR.1), and facets as Index Data defines them.

use z3950_asn1::apdu::{
    ExternalValue, Information, OtherInformation, RpnQuery, RpnStructure, SearchRequest,
};
use z3950_asn1::format::facets::{FacetField, FacetList, FacetTerm};
use z3950_asn1::format::search_result1::{SearchInfoReport, SubqueryReport};

use super::count;
use crate::backend::{FacetRequest, Found};
use crate::session::Association;

/// Whether to count the records of the terms: in version 3, for queries of several, or if the client asks for it by an empty
/// report of its own. A single term finds as many as the result set has.
pub(super) fn term_counts_wanted(
    association: &Association,
    request: &SearchRequest,
    query: &RpnQuery,
) -> bool {
    let several = matches!(query.rpn, RpnStructure::RpnRpnOp(_));
    association.terms.version >= 3
        && association.target.limits.term_counts > 0
        && (several || is_asked(request))
}

fn is_asked(request: &SearchRequest) -> bool {
    let mut units = request.additional_search_info.iter().flat_map(|all| &all.0);
    units.any(|unit| match &unit.information {
        Information::ExternallyDefinedInfo(external) => external
            .direct_reference
            .as_ref()
            .is_some_and(SearchInfoReport::is_syntax),
        _ => false,
    })
}

/// The facets asked for, within the limits.
pub(super) fn facets_wanted(
    association: &Association,
    request: &SearchRequest,
) -> Vec<FacetRequest> {
    let information = request.additional_search_info.as_ref();
    let list = information.and_then(OtherInformation::value::<FacetList>);
    let limits = &association.target.limits;
    let fields = list.into_iter().flat_map(|list| list.0);
    let wanted = fields.take(limits.facets).map(|field| FacetRequest {
        skip: field
            .start()
            .map_or(0, |start| natural(start.saturating_sub(1))),
        terms: field
            .limit()
            .map_or(DEFAULT_TERMS, natural)
            .min(limits.facet_terms),
        alphabetical: field.by_term(),
        attributes: field.attributes,
    });
    wanted.collect()
}

/// Terms of a facet where the client does not say how many.
const DEFAULT_TERMS: usize = 10;

fn natural(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// What a response tells; `None` if there is nothing to tell.
pub(super) fn information(association: &Association, found: &Found) -> Option<OtherInformation> {
    let mut information = OtherInformation::default();
    let most = association.target.limits.term_counts;
    let terms = found.term_counts.iter().take(most).map(|counted| {
        let term = counted.operand.term.clone();
        SubqueryReport::of_term(term, count(counted.records))
    });
    let terms = SearchInfoReport(terms.collect());
    let facets = found.facets.iter().map(|facet| {
        let terms = facet.terms.iter().map(|(term, records)| FacetTerm {
            term: term.clone(),
            count: count(*records),
        });
        FacetField {
            attributes: facet.attributes.clone(),
            terms: Some(terms.collect()),
        }
    });
    let facets = FacetList(facets.collect());
    // What cannot be encoded is left out.
    if !terms.0.is_empty() {
        let _ = information.put_value(&terms);
    }
    if !facets.0.is_empty() {
        let _ = information.put_value(&facets);
    }
    (!information.0.is_empty()).then_some(information)
}
