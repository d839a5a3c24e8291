//! Failures of SRU requests: the diagnostics for the answer, and the cause for the HTTP status.

use z3950_asn1::apdu::{DiagRec, Records};
use z3950_asn1::sru::{Request, SruCondition, SruDiagnostic};

use super::SruStatus;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The diagnostics of a failed request, and the cause of the failure.
#[derive(Debug)]
pub(super) struct SruFailure {
    pub(super) diagnostics: Vec<SruDiagnostic>,
    cause: FailureCause,
}

/// The cause of a failure, on which the HTTP status depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureCause {
    Request,
    Database,
    /// The credentials are wrong or missing.
    Credentials,
    /// There were too many wrong credentials from the same address.
    Attempts,
    /// The client lacks a permission that users can have.
    Rights,
}

impl SruFailure {
    /// Creates the failure for a session that has ended and does not answer.
    pub(super) fn unanswered() -> Self {
        SruDiagnostic::new(SruCondition::TEMPORARILY_UNAVAILABLE, "").into()
    }

    /// Replaces each diagnostic of the failure with the result of a function.
    pub(super) fn mapped(mut self, with: impl FnMut(SruDiagnostic) -> SruDiagnostic) -> Self {
        self.diagnostics = self.diagnostics.into_iter().map(with).collect();
        self
    }

    /// Adds an explanation of what the client lacks: credentials or permission.
    pub(super) fn explained(mut self, is_anonymous: bool) -> Self {
        let words = match self.cause {
            FailureCause::Credentials | FailureCause::Rights if is_anonymous => {
                "give a user and a password"
            }
            FailureCause::Rights => "the client may not do this",
            _ => return self,
        };
        for one in &mut self.diagnostics {
            if one.condition() == Some(SruCondition::AUTHENTICATION) {
                one.message = Some(words.to_owned());
            }
        }
        self
    }

    /// Returns the status of the answer. If permission is missing and the client did not authenticate, the status asks it to
    /// authenticate.
    pub(super) fn status(&self, is_anonymous: bool) -> SruStatus {
        match self.cause {
            FailureCause::Database => SruStatus::UnknownDatabase,
            FailureCause::Credentials => SruStatus::Unauthorized,
            FailureCause::Attempts => SruStatus::TooManyAttempts,
            FailureCause::Rights if is_anonymous => SruStatus::Unauthorized,
            FailureCause::Rights | FailureCause::Request => SruStatus::Answered,
        }
    }
}

impl From<SruDiagnostic> for SruFailure {
    fn from(diagnostic: SruDiagnostic) -> Self {
        vec![diagnostic].into()
    }
}

impl From<Vec<SruDiagnostic>> for SruFailure {
    fn from(diagnostics: Vec<SruDiagnostic>) -> Self {
        Self {
            diagnostics,
            cause: FailureCause::Request,
        }
    }
}

impl From<Diagnostic> for SruFailure {
    fn from(diagnostic: Diagnostic) -> Self {
        let cause = match Condition(diagnostic.condition) {
            Condition::DATABASE_DOES_NOT_EXIST => FailureCause::Database,
            Condition::DATABASE_ACCESS_DENIED | Condition::TASK_USER => FailureCause::Rights,
            Condition::ACCESS_CONTROL_FAILURE | Condition::CANNOT_CHALLENGE => {
                FailureCause::Credentials
            }
            Condition(1010..=1011 | 1021..=1023) => FailureCause::Credentials,
            Condition(why) if [1012, 1013, 1016, 1017].contains(&why) => FailureCause::Rights,
            Condition::TEMPORARILY_OUT_OF_RESOURCES => FailureCause::Attempts,
            _ => FailureCause::Request,
        };
        Self {
            diagnostics: vec![SruDiagnostic::from_bib1(&diagnostic)],
            cause,
        }
    }
}

/// Converts a diagnostic to the default format, which this server always uses.
pub(super) fn default_form(diagnostic: DiagRec) -> Diagnostic {
    match diagnostic {
        DiagRec::DefaultFormat(diagnostic) => diagnostic,
        DiagRec::ExternallyDefined(_) => unspecified(),
    }
}

/// Returns the diagnostic that was sent instead of records.
pub(super) fn non_surrogate(records: Option<Records>) -> Diagnostic {
    match records {
        Some(Records::NonSurrogateDiagnostic(diagnostic)) => diagnostic,
        _ => unspecified(),
    }
}

fn unspecified() -> Diagnostic {
    diagnostic(Condition::PERMANENT_SYSTEM_ERROR, "")
}

/// Checks the requested stylesheet.
///
/// # Errors
/// Diagnostic 110 if the server is to apply the stylesheet, 111 if it is not available over HTTP.
pub(super) fn check_stylesheet(request: &Request) -> Result<(), SruFailure> {
    let is_here = |by: &String| by.eq_ignore_ascii_case("server");
    let Some(stylesheet) = &request.stylesheet else {
        return Ok(());
    };
    if request.rendered_by.as_ref().is_some_and(is_here) {
        let refused = SruDiagnostic::new(SruCondition::STYLESHEETS, "renderedBy");
        let message = "the server names stylesheets, but does not apply them";
        return Err(refused.with_message(message).into());
    }
    let scheme = stylesheet.split_once(':').map(|(scheme, _)| scheme);
    let is_other = |scheme: &str| {
        !["http", "https"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    };
    if scheme.is_some_and(is_other) {
        Err(SruDiagnostic::new(SruCondition::STYLESHEET, stylesheet).into())
    } else {
        Ok(())
    }
}
