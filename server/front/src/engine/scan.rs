//! The common code for scans of any engine (Z39.50-2003 §3.2.8.1).

use z3950_asn1::apdu::Term;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::backend::{Scan, ScanTerm, Scanned};
use z3950_server::{Diagnostic, diagnostic};

use super::answer::TermsAnswer;
use super::clause::Clause;
use super::search::EngineDatabase;

/// The parameters of a scan, independent of the engine.
pub(super) struct ScanNeeds<L> {
    /// The numbers of terms to read before the start (`before`) and from the start onwards (`after`), including skipped
    /// terms.
    pub(super) before: usize,
    pub(super) after: usize,
    /// The records whose terms are listed; `None` for all records.
    pub(super) within: Option<Clause<L>>,
}

/// Returns the parameters of a scan.
///
/// # Errors
/// Fails with condition 30 if the scan is within a result set that does not belong to this database.
pub(super) fn needs<D: EngineDatabase>(
    database: &D,
    scan: &Scan<'_>,
) -> Result<ScanNeeds<D::Leaf>, Diagnostic> {
    let gone = || diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, "");
    let operand = |hits| database.operand(hits).ok_or_else(gone);
    let step = scan.step.saturating_add(1);
    let after = scan.after.saturating_sub(1).saturating_mul(step);
    Ok(ScanNeeds {
        before: scan.before.saturating_mul(step),
        after: after.saturating_add(usize::from(scan.after > 0)),
        within: scan.within.map(operand).transpose()?,
    })
}

/// Returns the terms in the answer to a scan.
///
/// # Errors
/// Fails with condition 109 if parts of the index are missing and incomplete answers are not allowed.
pub(super) fn shown<D: EngineDatabase>(
    database: &D,
    scan: &Scan<'_>,
    answer: TermsAnswer,
) -> Result<Scanned, Diagnostic> {
    let failed = database.failed_source(answer.missing.as_deref())?;
    let failures = failed.and_then(|source| {
        let failure = source.failure?;
        let words = format!("{}: {}", source.name, failure.addinfo.to_string_lossy());
        Some(diagnostic(Condition(failure.condition), words))
    });
    let step = scan.step.saturating_add(1);
    let mut scanned = Scanned::default();
    scanned.failures = failures.into_iter().collect();
    // In the backward direction, the nearest term to return is one step away from the start.
    let before = answer.before.into_iter().rev().skip(step - 1);
    scanned.before = before.step_by(step).map(scan_term).collect();
    scanned.before.reverse();
    scanned.exact = answer.is_exact;
    scanned.after = { answer.after.into_iter() }
        .step_by(step)
        .map(scan_term)
        .collect();
    Ok(scanned)
}

fn scan_term((term, records): (String, usize)) -> ScanTerm {
    let octets = term.into_bytes();
    let mut shown = ScanTerm::new(Term::General(octets.into()));
    shown.records = Some(records);
    shown
}
