//! Converts failures of targets to Bib-1 diagnostics.

use std::time::Duration;

use z3950::Error;
use z3950::error::ProtocolFault;
use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::format::sources::reason;
use z3950_asn1::oid::BIB_1_DIAGNOSTICS;
use z3950_server::{Diagnostic, diagnostic};

use crate::text::chain;

/// Converts a failure to a diagnostic. A Bib-1 diagnostic from the target is passed on. A failure for which there is no specific
/// condition becomes the diagnostic that the database is unavailable, with the reason in words.
pub(super) fn of_error(error: &Error) -> Diagnostic {
    let own = error.diagnostics().first();
    match own {
        Some(DiagRec::DefaultFormat(own)) if own.diagnostic_set_id == BIB_1_DIAGNOSTICS => {
            diagnostic(Condition(own.condition), own.addinfo.as_bytes())
        }
        Some(_) => diagnostic(UNSPECIFIED, error.to_string()),
        None if is_change(error) => changed(),
        None if is_not_offered(error) => {
            diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, chain(error))
        }
        None => unavailable(chain(error)),
    }
}

/// Returns whether the target lost the session, and found a different number of records in a new session.
fn is_change(error: &Error) -> bool {
    matches!(
        error,
        Error::ProtocolError {
            fault: ProtocolFault::ResultSetChanged { .. },
            ..
        }
    )
}

/// Returns whether the request failed because the target did not offer the service at Init.
fn is_not_offered(error: &Error) -> bool {
    matches!(
        error,
        Error::ProtocolError {
            fault: ProtocolFault::NotGranted(_),
            ..
        }
    )
}

/// Creates the diagnostic for a target that finds a different number of records than before.
pub(super) fn changed() -> Diagnostic {
    let words = "the result has changed at the server; search again";
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, words)
}

/// Creates the diagnostic for a record that is not in the list of hits, that the target did not send, or that cannot be encoded.
pub(super) fn foreign() -> Diagnostic {
    diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")
}

/// Creates the diagnostic for a target that did not answer within the time limit.
pub(super) fn too_late(limit: Duration) -> Diagnostic {
    unavailable(format!("no answer within {} s", limit.as_secs_f64()))
}

/// Creates the diagnostic for a target that was not searched, because none of its sessions became free in time.
pub(super) fn crowded(limit: Duration) -> Diagnostic {
    let seconds = limit.as_secs_f64();
    unavailable(format!(
        "{NOT_ASKED}: all sessions that are allowed with the server were in use for {seconds} s"
    ))
}

/// Creates the diagnostic for a target whose records are unavailable at present.
pub(super) fn unavailable(reason: impl AsRef<[u8]>) -> Diagnostic {
    diagnostic(Condition::DATABASE_UNAVAILABLE, reason)
}

/// Adds the target's name to its diagnostic, for answers without a separate field for the name.
pub(super) fn named(target: &str, failure: &Diagnostic) -> Diagnostic {
    let words = failure.addinfo.to_string_lossy();
    diagnostic(Condition(failure.condition), format!("{target}: {words}"))
}

/// Combines the diagnostics from several targets, all of which failed. If all targets that refused the request gave the same
/// condition, this is the condition of the result; otherwise, it is 109. The words name the condition of each target, unless all
/// conditions are the same.
pub(super) fn of_all<'a>(
    failures: impl Iterator<Item = (&'a str, &'a Diagnostic)> + Clone,
) -> Diagnostic {
    let conditions = failures.clone().map(|(_, failure)| failure.condition);
    let is_refusal = |condition: &i64| *condition != Condition::DATABASE_UNAVAILABLE.0;
    let mut refusals = conditions.clone().filter(is_refusal);
    let first = refusals.next();
    let common = first
        .filter(|first| refusals.all(|other| other == *first))
        .unwrap_or(Condition::DATABASE_UNAVAILABLE.0);
    let is_same = conditions.clone().all(|condition| condition == common);
    let words = failures.map(|(name, failure)| {
        if is_same {
            format!("{name}: {}", failure.addinfo.to_string_lossy())
        } else {
            format!("{name}: {}", reason(failure))
        }
    });
    let words = words.collect::<Vec<_>>().join("; ");
    diagnostic(Condition(common), words)
}

/// Returns whether the target is down: it was contacted, but was unavailable.
pub(super) fn is_outage(failure: &Diagnostic) -> bool {
    failure.condition == Condition::DATABASE_UNAVAILABLE.0 && !is_unasked(failure)
}

/// Returns whether the target was not contacted, because no session was free.
pub(super) fn is_unasked(failure: &Diagnostic) -> bool {
    let addinfo = failure.addinfo.to_string_lossy();
    failure.condition == Condition::DATABASE_UNAVAILABLE.0 && addinfo.starts_with(NOT_ASKED)
}

/// Formats a failure for the log.
pub(super) fn in_words(failure: &Diagnostic) -> String {
    reason(failure)
}

/// The words with which a diagnostic begins if the target was not contacted because no session was free.
const NOT_ASKED: &str = "not asked";

/// Returns whether the target has lost the result set, so that the search must be repeated.
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

/// Condition 100: an error that does not have a more specific condition.
const UNSPECIFIED: Condition = Condition(100);

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use z3950::Phase;
    use z3950::error::Cause;

    use super::*;

    #[test]
    fn all_that_answer_refuse_for_one_reason_or_the_database_is_unavailable() {
        let of = |failures: &[(i64, &str)]| {
            let failures: Vec<_> = failures
                .iter()
                .map(|(condition, words)| diagnostic(Condition(*condition), words))
                .collect();
            let all = ["a", "b", "c"].into_iter().zip(&failures);
            let one = of_all(all);
            (one.condition, one.addinfo.to_string_lossy().into_owned())
        };
        for (failures, condition, words) in [
            (&[(114, "9999"), (114, "9")][..], 114, "a: 9999; b: 9"),
            (
                &[(114, "9999"), (109, "closed")],
                114,
                "a: the server has no such search field (Use attribute) (114) 9999; b: closed",
            ),
            (
                &[(114, "9999"), (109, "closed"), (3, "")],
                109,
                "a: the server has no such search field (Use attribute) (114) 9999; b: closed; c: the server does not offer this kind of search (3)",
            ),
            (&[(109, "x"), (109, "y")], 109, "a: x; b: y"),
        ] {
            assert_eq!(of(failures), (condition, words.to_owned()));
        }
    }

    #[test]
    fn messages_of_the_system_are_not_repeated() {
        let kind = io::ErrorKind::ConnectionRefused;
        let system = io::Error::new(kind, "Connection refused (os error 111)");
        let error = Error::unavailable(Phase::Connect, Cause::Refused(Arc::new(system)));
        let failure = of_error(&error);
        let words = failure.addinfo.to_string_lossy().into_owned();
        assert_eq!(words, "cannot connect: connection refused");
        assert!(is_outage(&failure));
        assert!(!is_outage(&crowded(Duration::from_secs(1))));
        assert!(!is_outage(&changed()));
    }
}
