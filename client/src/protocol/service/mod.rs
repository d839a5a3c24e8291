//! The services of Z39.50-2003 §3.2 that a session offers, a file for each: options in, what the server said out.
//! `examine` decides which APDU answers which, and whether an answer can be trusted.

pub mod access;
pub mod close;
pub mod delete;
pub mod duplicate;
pub mod explain;
pub mod extended;
pub mod init;
pub mod present;
pub mod records;
pub mod resource;
pub mod scan;
pub mod search;
pub mod sort;

use z3950_asn1::apdu::Apdu;

use crate::error::{Error, Phase, ProtocolFault};

/// Whether `answer` answers `request` and is consistent in itself.
///
/// # Errors
/// What ends the session: a [`ProtocolFault`], or the rejection of Init. A service that failed with a
/// diagnostic is no such error.
pub(crate) fn examine(request: &Apdu, answer: &Apdu) -> Result<(), Error> {
    let checked = match (request, answer) {
        (Apdu::InitializeRequest(_), Apdu::InitializeResponse(response)) => {
            return init::examine(response);
        }
        (Apdu::SearchRequest(_), Apdu::SearchResponse(response)) => search::examine(response),
        (Apdu::PresentRequest(request), Apdu::PresentResponse(response)) => {
            present::examine(request, response)
        }
        (Apdu::ScanRequest(request), Apdu::ScanResponse(response)) => {
            scan::examine(request, response)
        }
        (Apdu::DeleteResultSetRequest(_), Apdu::DeleteResultSetResponse(_))
        | (Apdu::ResourceReportRequest(_), Apdu::ResourceReportResponse(_))
        | (Apdu::SortRequest(_), Apdu::SortResponse(_))
        | (Apdu::ExtendedServicesRequest(_), Apdu::ExtendedServicesResponse(_))
        | (Apdu::DuplicateDetectionRequest(_), Apdu::DuplicateDetectionResponse(_)) => Ok(()),
        _ => Err(ProtocolFault::Unexpected(answer.name())),
    };
    checked.map_err(|fault| Error::fault(Phase::of(request), fault))
}

/// The fault of an answer that [`examine`] would not have let through.
pub(crate) fn unexpected(phase: Phase, answer: &Apdu) -> Error {
    Error::fault(phase, ProtocolFault::Unexpected(answer.name()))
}
