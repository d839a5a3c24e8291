//! Interprets refusals to send records, and decides which of them another request may avoid.

use z3950_asn1::apdu::{DefaultDiagFormat, DiagRec};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::sru::{ResponseError, XmlError};

use crate::error::{Cause, Diagnostics, Error, ProtocolFault, SruFault};
use crate::protocol::service::ResultRecord;
pub(super) use crate::protocol::service::diagnostics::OF_SYNTAX;
use crate::protocol::service::diagnostics::is_one_of;
use crate::protocol::service::present::PresentResult;

pub(super) fn is_timeout(error: &Error) -> bool {
    let is_late = |cause: &Cause| matches!(cause, Cause::Timeout(_));
    matches!(error, Error::Unavailable { cause, .. } if is_late(cause))
}

/// The Bib-1 conditions that a request for fewer records may avoid.
pub(super) const TOO_MANY: [i64; 6] = [14, 16, 17, 31, 32, 33];

/// The Bib-1 conditions that concern a single record.
pub(super) const OF_ONE_RECORD: [i64; 5] = [14, 15, 16, 17, 238];

pub(super) fn has_any(diagnostics: &Diagnostics, conditions: &[i64]) -> bool {
    let mut conditions = conditions.iter();
    conditions.any(|condition| diagnostics.has(*condition))
}

/// After this number of consecutive records that cannot be read, no further records are requested.
pub(super) const MAX_UNREADABLE: u32 = 20;

/// If an SRU response is not well-formed XML, returns the reason. A single record may be the cause, so responses with
/// other records may be well-formed.
pub(super) fn unreadable(error: &Error) -> Option<&XmlError> {
    let Error::ProtocolError {
        fault: ProtocolFault::Sru(SruFault::Response(ResponseError::Xml(fault))),
        ..
    } = error
    else {
        return None;
    };
    let is_of_contents = matches!(
        fault,
        XmlError::Syntax { .. }
            | XmlError::DocumentType { .. }
            | XmlError::TooDeep { .. }
            | XmlError::Unfinished
    );
    is_of_contents.then_some(fault)
}

/// Creates the diagnostic that replaces a record that cannot be read.
pub(super) fn in_place_of_unreadable(fault: &XmlError) -> ResultRecord {
    let words = format!("the record cannot be read: {fault}");
    let diagnostic = DefaultDiagFormat::bib1(Condition::SYSTEM_ERROR_PRESENTING.0, words);
    ResultRecord::Diagnostic {
        database: None,
        diagnostic: DiagRec::DefaultFormat(diagnostic),
    }
}

/// Returns whether a diagnostic concerns a single record.
pub(super) fn is_of_one_record(diagnostic: &DiagRec) -> bool {
    is_one_of(diagnostic, &OF_ONE_RECORD)
}

/// Returns whether the first record was refused because of the record syntax.
pub(super) fn is_syntax_refused(result: &Result<PresentResult, Error>) -> bool {
    match result {
        Ok(presented) => match presented.records.first() {
            Some(first) => is_in_no_such_syntax(first),
            None => has_any(&presented.diagnostics, &OF_SYNTAX),
        },
        Err(Error::Refused { diagnostics, .. }) => has_any(diagnostics, &OF_SYNTAX),
        Err(_) => false,
    }
}

/// Returns whether there is a diagnostic in place of a record, because the record is not available in the requested
/// syntax.
pub(super) fn is_in_no_such_syntax(record: &ResultRecord) -> bool {
    is_diagnostic(record, &OF_SYNTAX)
}

pub(super) fn is_diagnostic(record: &ResultRecord, conditions: &[i64]) -> bool {
    match record {
        ResultRecord::Diagnostic { diagnostic, .. } => is_one_of(diagnostic, conditions),
        ResultRecord::Record { .. } => false,
    }
}
