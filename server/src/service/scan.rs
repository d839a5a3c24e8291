//! Scan (Z39.50-2003 §3.2.8): returns the terms of an index around a start term, each with its number of records.

use z3950_asn1::apdu::{
    DiagRec, Entry, ListEntries, ScanRequest, ScanResponse, ScanStatus, Term, TermInfo,
};
use z3950_asn1::format::conventions::Convention;
use z3950_asn1::oid::BIB_1;

use crate::association::{Association, Operation};
use crate::backend::{Scan, ScanTerm, Scanned};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::units::count;

/// Answers a Scan with the requested terms.
///
/// # Errors
/// The diagnostic for a failed response.
pub(super) async fn answer(
    operation: &Operation,
    request: &ScanRequest,
) -> Result<ScanResponse, Diagnostic> {
    let backend = operation.backend_of(&request.database_names)?;
    let window = Window::of(operation, request)?;
    let information = request.other_info.as_ref();
    let within = match information.and_then(|information| Convention::ScanSet.find(information)) {
        Some(name) => Some(operation.result_sets().look_up(name.as_bytes())?.hits),
        None => None,
    };
    let scanned = backend.scan(Scan {
        caller: operation.caller(),
        databases: &request.database_names,
        attribute_set: request.attribute_set.unwrap_or(BIB_1),
        start: &request.term_list_and_start_point,
        within: within.as_ref(),
        before: window.before,
        after: window.after + usize::from(window.beyond),
        step: step(request)?,
    });
    let scanned = operation.or_stopped(scanned).await?;
    Ok(response(operation, request, scanned, &window))
}

/// The window of terms around the start.
struct Window {
    /// The number of terms before the start.
    before: usize,
    /// The number of terms at and after the start.
    after: usize,
    /// Whether the start is left out, because its position would be before the first term of the answer.
    beyond: bool,
}

impl Window {
    /// Returns the window of a request. The default preferred position of the start is 1. A position of 0 means that the start is
    /// before the first term of the answer; a position one greater than the number of terms means that it is after the last term.
    ///
    /// # Errors
    /// Condition 228 if no terms are requested, 31 for more terms than the limit, 233 for a position outside the answer.
    fn of(association: &Association, request: &ScanRequest) -> Result<Self, Diagnostic> {
        let wanted = request.number_of_terms_requested;
        let most = association.target.limits.scan_terms;
        let number = match usize::try_from(wanted) {
            Ok(number @ 1..) => number,
            _ => return Err(diagnostic(Condition::MALFORMED_SCAN, wanted.to_string())),
        };
        if number > most {
            let words = format!("at most {most} terms");
            return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words));
        }
        let position = request.preferred_position_in_response.unwrap_or(1);
        match usize::try_from(position) {
            Ok(place) if place <= number + 1 => {
                let before = place.saturating_sub(1);
                Ok(Self {
                    before,
                    after: number - before,
                    beyond: place == 0,
                })
            }
            _ => Err(diagnostic(Condition::SCAN_POSITION, position.to_string())),
        }
    }
}

fn step(request: &ScanRequest) -> Result<usize, Diagnostic> {
    let step = request.step_size.unwrap_or(0);
    usize::try_from(step).map_err(|_| diagnostic(Condition::SCAN_STEP_SIZE, step.to_string()))
}

fn response(
    association: &Association,
    request: &ScanRequest,
    scanned: Scanned,
    window: &Window,
) -> ScanResponse {
    let before = scanned.before.len();
    let beyond = usize::from(window.beyond && scanned.exact);
    let after = scanned.after.into_iter().skip(beyond).take(window.after);
    let terms = scanned.before.into_iter().chain(after);
    let (entries, cut) = packed(terms, association.terms.preferred_message_size);
    let returned = entries.len();
    let failures: Vec<DiagRec> = scanned
        .failures
        .into_iter()
        .map(DiagRec::DefaultFormat)
        .collect();
    let has_any = returned > 0 || !failures.is_empty();
    let entries = has_any.then_some(ListEntries {
        entries: (returned > 0).then_some(entries),
        nonsurrogate_diagnostics: (!failures.is_empty()).then_some(failures),
    });
    ScanResponse {
        step_size: request.step_size,
        scan_status: match returned {
            _ if cut => ScanStatus::PARTIAL_2,
            all if all < window.before + window.after => ScanStatus::PARTIAL_5,
            _ => ScanStatus::SUCCESS,
        },
        number_of_entries_returned: count(returned),
        position_of_term: Some(if window.beyond {
            0
        } else {
            count(before.min(returned) + 1)
        }),
        entries,
        attribute_set: request.attribute_set,
        ..ScanResponse::default()
    }
}

/// Returns the terms that fit into `most` octets, and whether any did not fit.
fn packed(terms: impl Iterator<Item = ScanTerm>, most: usize) -> (Vec<Entry>, bool) {
    let mut octets: usize = 0;
    let mut entries = Vec::with_capacity(terms.size_hint().0);
    for term in terms {
        octets = octets.saturating_add(size(&term));
        if octets > most && !entries.is_empty() {
            return (entries, true);
        }
        entries.push(Entry::TermInfo(Box::new(TermInfo {
            term: term.term,
            display_term: term.display.map(Into::into),
            suggested_attributes: None,
            alternative_term: None,
            global_occurrences: term.records.map(count),
            by_attributes: None,
            other_term_info: None,
        })));
    }
    (entries, false)
}

/// Returns the approximate size of a term in an answer, in octets.
fn size(term: &ScanTerm) -> usize {
    /// The octets that are added to each term for tags, lengths and the count.
    const AROUND: usize = 24;
    let octets = match &term.term {
        Term::General(octets) => octets.len(),
        Term::CharacterString(text) => text.as_bytes().len(),
        _ => 0,
    };
    let display = term.display.as_ref().map_or(0, String::len);
    octets.saturating_add(display).saturating_add(AROUND)
}
