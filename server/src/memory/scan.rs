//! Scans and facets. A scan returns the terms around a start term, each with the number of records in which it occurs
//! (Z39.50-2003 §3.2.8.1). A facet consists of terms of an index, each with the number of found records in which it occurs
//! (Index Data's facets, 1.2.840.10003.10.1000.81.5).

mod display;

use std::cmp::Reverse;

use tracing::debug;
use z3950_asn1::apdu::{AttributeElement, AttributeList, Term};
use z3950_asn1::bib1::attributes::USE;

use self::display::PrintedEntries;
use super::attributes::{access_of, scan_start};
use super::catalogue::Catalogue;
use super::fields::{Fields, IndexId, Kind};
use super::hits::HitSet;
use super::index::{Browse, Exhausted, Index, Terms, WorkBudget};
use crate::backend::{Facet, FacetRequest, Scan, Scanned};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// Scans an index.
///
/// # Errors
/// Condition 235 for a database that does not exist, 30 for a result set whose records are not available, 31 for too much work,
/// or the condition for an unsupported attribute.
pub(super) fn scan(
    catalogue: &Catalogue,
    scan: &Scan<'_>,
    work: &mut WorkBudget,
) -> Result<Scanned, Diagnostic> {
    let databases = catalogue.selected(scan.databases)?;
    let index = &catalogue.index;
    let (terms, start) = scan_start(&catalogue.fields, &scan.attribute_set, scan.start)?;
    let within = match scan.within {
        None if databases.is_none() && index.deleted.iter().all(|deleted| deleted.is_empty()) => {
            None
        }
        None => Some(index.all()),
        Some(hits) => {
            let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
            Some(index.adopt(hits, work)?.ok_or_else(gone)?)
        }
    };
    let within = within.map(|within| index.visible(within, databases.as_deref()));
    let browse = Browse {
        terms,
        start: &start,
        before: scan.before,
        after: scan.after,
        step: scan.step,
        within: within.as_ref(),
    };
    let mut scanned = index.browse(&browse, work)?;
    let all = (index, &*catalogue.fields);
    if display::add(all, terms, within.as_ref(), &mut scanned, work).is_err() {
        debug!("no work left for display forms");
    }
    Ok(scanned)
}

/// The maximum number of terms in a facet.
const MOST_TERMS: usize = 1000;
/// The maximum length of the printed form of a facet term, in octets. A longer term is shown in its folded form.
const MAX_TERM: usize = 256;

/// Counts the facets of the given records. Facets of fields without an index are left out.
///
/// If an index has complete entries, these are counted, and each is shown as printed in the first record in which it occurs.
/// Otherwise, words are counted.
///
/// # Errors
/// The work budget is exhausted.
pub(super) fn facets(
    index: &Index,
    fields: &Fields,
    hits: &HitSet<'_>,
    requests: &[FacetRequest],
    work: &mut WorkBudget,
) -> Result<Vec<Facet>, Exhausted> {
    let mut facets = Vec::new();
    for request in requests {
        let of_field = of(fields, &request.attributes);
        let Some(terms) = of_field.and_then(|index| terms(fields, index)) else {
            continue;
        };
        let kept = work.kept();
        let mut counted = index.tally(terms, hits, work)?;
        if !request.alphabetical {
            work.spend(counted.len())?;
            // The sort is stable, so terms with the same count keep their order.
            counted.sort_by_key(|(_, records)| Reverse(*records));
        }
        let wanted = counted
            .into_iter()
            .skip(request.skip)
            .take(request.terms.min(MOST_TERMS));
        let mut printed = PrintedEntries::new((index, fields), terms, Some(hits));
        let wanted = wanted.map(|(term, records)| {
            // If no work is left, the remaining terms are shown in folded form.
            let shown = printed
                .as_mut()
                .map(|printed| printed.of(term, work))
                .and_then(Result::ok)
                .flatten();
            let shown = shown.filter(|shown| shown.len() <= MAX_TERM);
            let octets = shown.map_or_else(|| term.to_vec(), String::into_bytes);
            (Term::General(octets.into()), records)
        });
        facets.push(Facet {
            attributes: request.attributes.clone(),
            terms: wanted.collect(),
        });
        work.keep(kept)?;
    }
    Ok(facets)
}

/// Returns the index that a facet counts; `None` if the facet's field does not have an index. Only the Use attribute is read,
/// because the other attributes of a facet are not from Bib-1.
pub(super) fn of(fields: &Fields, attributes: &AttributeList) -> Option<IndexId> {
    let is_field = |attribute: &&AttributeElement| attribute.attribute_type == USE;
    let field = attributes.0.iter().find(is_field)?;
    access_of(fields, field)
}

pub(super) fn terms(fields: &Fields, index: IndexId) -> Option<Terms> {
    match fields.kind(index) {
        Kind::Octets => None,
        Kind::Text if !fields.has_keys(index) => Some(Terms::Words(index)),
        _ => Some(Terms::Keys(index)),
    }
}
