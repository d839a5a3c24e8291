//! What went wrong at a target, as a diagnostic of Bib-1.

use std::error::Error as _;
use std::time::Duration;

use z3950::Error;
use z3950::error::ProtocolFault;
use z3950_server::asn1::apdu::DiagRec;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::asn1::oid::BIB_1_DIAGNOSTICS;
use z3950_server::{Diagnostic, diagnostic};

/// The target's own diagnostic, or that its database is unavailable, with the reason in words.
pub(super) fn of_error(error: &Error) -> Diagnostic {
    let own = error.diagnostics().first();
    match own {
        Some(DiagRec::DefaultFormat(own)) if own.diagnostic_set_id == BIB_1_DIAGNOSTICS => {
            diagnostic(Condition(own.condition), own.addinfo.as_bytes())
        }
        Some(_) => diagnostic(UNSPECIFIED, error.to_string()),
        None if is_change(error) => changed(),
        None => unavailable(chain(error)),
    }
}

/// Whether the target lost the session, and finds another number of records in a new one.
fn is_change(error: &Error) -> bool {
    matches!(
        error,
        Error::ProtocolError {
            fault: ProtocolFault::ResultSetChanged { .. },
            ..
        }
    )
}

/// The target finds another number of records than before.
pub(super) fn changed() -> Diagnostic {
    let words = "the result has changed at the server; search again";
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
}

/// No answer came in time.
pub(super) fn too_late(limit: Duration) -> Diagnostic {
    unavailable(format!("no answer within {} s", limit.as_secs_f64()))
}

/// There was no session to ask the target in.
pub(super) fn crowded(limit: Duration) -> Diagnostic {
    let seconds = limit.as_secs_f64();
    unavailable(format!(
        "not asked: all sessions that are allowed with the server were in use for {seconds} s"
    ))
}

/// The records of a target cannot be had now.
pub(super) fn unavailable(reason: impl AsRef<[u8]>) -> Diagnostic {
    diagnostic(Condition::DATABASE_UNAVAILABLE, reason)
}

/// One diagnostic for several targets, of which none has an answer: their common condition, or 109.
pub(super) fn of_all<'a>(
    failures: impl Iterator<Item = (&'a str, &'a Diagnostic)> + Clone,
) -> Diagnostic {
    let mut conditions = failures.clone().map(|(_, failure)| failure.condition);
    let first = conditions.next().unwrap_or_default();
    let condition = match conditions.all(|other| other == first) {
        true => Condition(first),
        false => Condition::DATABASE_UNAVAILABLE,
    };
    let words = failures.map(|(name, failure)| {
        let addinfo = failure.addinfo.to_string_lossy();
        format!("{name}: {addinfo}")
    });
    diagnostic(condition, words.collect::<Vec<_>>().join("; "))
}

/// Whether the target no longer has the result set, so that its search must be repeated.
pub(super) fn is_set_lost(error: &Error) -> bool {
    let conditions = error.diagnostics().iter().filter_map(|one| match one {
        DiagRec::DefaultFormat(one) => Some(Condition(one.condition)),
        DiagRec::ExternallyDefined(_) => None,
    });
    let lost = [
        Condition::RESULT_SET_DELETED,
        Condition::RESULT_SET_DOES_NOT_EXIST,
    ];
    error.is_connection_lost() || { conditions }.any(|condition| lost.contains(&condition))
}

/// 100: an error without a condition of its own.
const UNSPECIFIED: Condition = Condition(100);

/// The error and its causes.
fn chain(error: &Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = format!("{words}: {cause}");
        next = cause.source();
    }
    words
}
