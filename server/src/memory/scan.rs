//! Scan: the terms around a starting term, with the number of records that have each (Z39.50-2003 §3.2.8.1).

use z3950_asn1::apdu::Term;
use z3950_asn1::bib1::diagnostics::Condition;

use super::attributes::scan_start;
use super::catalogue::Catalogue;
use super::fields::Fields;
use super::index::{Browse, Counted, Exhausted, Work};
use super::profile::Profile;
use crate::backend::{Scan, ScanTerm, Scanned};
use crate::diagnostic::{Diagnostic, diagnostic};

/// Scans an index.
///
/// # Errors
/// A database that does not exist (235), an unsupported attribute, a result set without current records (30), or too much work
/// (31).
pub(super) fn scan(
    catalogue: &Catalogue,
    fields: &Fields,
    profile: &Profile,
    scan: &Scan<'_>,
    work: &mut Work,
) -> Result<Scanned, Diagnostic> {
    let databases = catalogue.selected(scan.databases)?;
    let index = &catalogue.index;
    let (terms, start) = scan_start(fields, profile, &scan.attribute_set, scan.start)?;
    let within = match scan.within {
        None if databases.is_none() && !index.has_deleted() => None,
        None => Some(index.all()),
        Some(hits) => {
            let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
            Some(index.adopt(hits).ok_or_else(gone)?)
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
    let too_much = |Exhausted| diagnostic(Condition::RESOURCES_EXHAUSTED, "");
    let browsed = index.browse(&browse, work).map_err(too_much)?;
    Ok(Scanned {
        before: browsed.before.into_iter().map(scan_term).collect(),
        after: browsed.after.into_iter().map(scan_term).collect(),
        exact: browsed.exact,
    })
}

fn scan_term((term, records): Counted) -> ScanTerm {
    ScanTerm {
        records: Some(records),
        ..ScanTerm::new(Term::General(term.into()))
    }
}
