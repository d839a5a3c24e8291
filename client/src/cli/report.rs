//! What went wrong with a retrieval or a session, in plain words: what was tried, in which phase, what the
//! server said, and what may help; and the exit code that stands for it.

use std::fmt::Write as _;

use z3950_asn1::apdu::DiagRec;
use z3950_asn1::bib1::diagnostics::Condition;

use super::Exit;
use crate::error::{Cause, Diagnostics, Error, ProtocolFault};
use crate::retrieve::Outcome;

/// An error with all its causes on one line, and its exit code.
pub(crate) fn explain(error: &Error) -> (Exit, String) {
    let exit = match error {
        Error::ProtocolError {
            fault: fault @ ProtocolFault::NotGranted(_),
            ..
        } => return (Exit::Refused, fault.to_string()),
        Error::InitRejected(_) | Error::Refused { .. } | Error::AccessRefused { .. } => {
            Exit::Refused
        }
        Error::Unavailable { .. }
        | Error::ProtocolError { .. }
        | Error::ProtocolClosed { .. }
        | Error::Ended { .. } => Exit::Transport,
    };
    let mut message = chain(error);
    match error {
        Error::Refused { diagnostics, .. } => message.push_str(&advice(diagnostics)),
        Error::Unavailable {
            cause: Cause::Tls(_),
            ..
        } => message.push_str(UNTRUSTED),
        _ => {}
    }
    (exit, message)
}

/// What may help where a certificate proves nothing.
const UNTRUSTED: &str = "; --ca-file names certificates to trust, --insecure trusts any, and then nobody knows who answers";

/// An error and all that is behind it, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(message, ": {error}");
        cause = error.source();
    }
    message
}

/// An outcome other than a delivered record in words, with its exit code.
pub(crate) fn explain_outcome(outcome: &Outcome) -> (Exit, String) {
    let exit = match outcome {
        Outcome::Delivered(_) => Exit::Delivered,
        Outcome::NoMatch => Exit::NoMatch,
        Outcome::Ambiguous { .. } => Exit::Ambiguous,
        Outcome::SearchFailed { .. }
        | Outcome::PresentFailed { .. }
        | Outcome::RecordDiagnostic { .. }
        | Outcome::InitRejected(_)
        | Outcome::AccessRefused { .. } => Exit::Refused,
        Outcome::Unavailable { .. }
        | Outcome::ProtocolError { .. }
        | Outcome::ProtocolClosed { .. } => Exit::Transport,
        Outcome::PortRefused { .. } => Exit::PortRefused,
    };
    let mut message = outcome.to_string();
    let mut cause = outcome.source();
    while let Some(error) = cause {
        let _ = write!(message, ": {error}");
        cause = error.source();
    }
    match outcome {
        Outcome::SearchFailed { diagnostics } | Outcome::PresentFailed { diagnostics } => {
            message.push_str(&advice(diagnostics));
        }
        Outcome::RecordDiagnostic { diagnostic } => {
            message.push_str(&advice(&Diagnostics(vec![diagnostic.clone()])));
        }
        _ => {}
    }
    (exit, message)
}

/// What may help against the first diagnostic that one knows something about.
fn advice(diagnostics: &Diagnostics) -> String {
    let known = diagnostics
        .0
        .iter()
        .find_map(|diagnostic| match diagnostic {
            DiagRec::DefaultFormat(diagnostic) => hint(diagnostic.condition),
            DiagRec::ExternallyDefined(_) => None,
        });
    known.map_or_else(String::new, |hint| format!("; {hint}"))
}

fn hint(condition: i64) -> Option<&'static str> {
    Some(match Condition(condition) {
        Condition::DATABASE_UNAVAILABLE | Condition::DATABASE_DOES_NOT_EXIST => {
            "check the database"
        }
        Condition::USE => "this server cannot search by this attribute",
        Condition::STRUCTURE => "--fallback structure asks without the Structure attribute",
        Condition::ELEMENT_SET_NAME => "leave out esn=, or try esn=F or esn=B",
        Condition::NOT_AVAILABLE_IN_SYNTAX | Condition::RECORD_SYNTAX => {
            "try another rs=, or name several and use --fallback syntax"
        }
        Condition::DATABASE_ACCESS_DENIED => "the database may need credentials",
        _ => return None,
    })
}
