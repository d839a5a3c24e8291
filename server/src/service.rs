//! The services: which one answers which request, and how each is refused (Z39.50-2003 §3.2). A file each, from a request and
//! the association to the answer, without input or output. [`crate::session`] sets the referenceIds.

pub(crate) mod access;
mod delete;
pub(crate) mod extended;
pub(crate) mod init;
mod present;
mod records;
pub(crate) mod resource;
mod scan;
mod search;
mod sort;

use z3950_asn1::apdu::{
    Apdu, DeleteResultSetResponse, DeleteSetStatus, DiagRec, DuplicateDetectionResponse,
    DuplicateDetectionStatus, Options, ResourceReportResponse, ResourceReportStatus,
};
use z3950_asn1::bib1::diagnostics::Condition;

use self::resource::Held;
use crate::association::Operation;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::units::count;

/// The result of an operation.
pub(crate) enum Conclusion {
    Answer(Vec<Apdu>),
    /// An answer that waits for the client's permission, and the question to send.
    Question(Box<Held>, Apdu),
}

impl<T: Into<Apdu>> From<T> for Conclusion {
    fn from(answer: T) -> Self {
        Self::Answer(vec![answer.into()])
    }
}

/// The option that must be offered for a request to be served; `None` for a request that is no operation.
pub(crate) fn option_of(request: &Apdu) -> Option<Options> {
    Some(match request {
        Apdu::SearchRequest(_) => Options::SEARCH,
        Apdu::PresentRequest(_) => Options::PRESENT,
        Apdu::DeleteResultSetRequest(_) => Options::DELETE,
        Apdu::ScanRequest(_) => Options::SCAN,
        Apdu::SortRequest(_) => Options::SORT,
        Apdu::ExtendedServicesRequest(_) => Options::EXTENDED_SERVICES,
        Apdu::ResourceReportRequest(_) => Options::RESOURCE_REPORT,
        Apdu::DuplicateDetectionRequest(_) => Options::DUPLICATE_DETECTION,
        _ => return None,
    })
}

/// Carries out a request.
///
/// # Errors
/// Why the request is a protocol error.
pub(crate) async fn answer(
    operation: &Operation,
    request: &Apdu,
) -> Result<Conclusion, &'static str> {
    Ok(match request {
        Apdu::SearchRequest(request) => {
            let response = search::answer(operation, request).await;
            operation.open_persistent_sets();
            let ask_above = operation.target.offer.ask_above;
            let is_asked = ask_above.is_some_and(|most| response.result_count > count(most));
            match is_asked && operation.terms.options.contains(Options::RESOURCE_CONTROL) {
                true => {
                    let (held, question) = resource::ask(request, response);
                    Conclusion::Question(Box::new(held), question)
                }
                false => response.into(),
            }
        }
        Apdu::PresentRequest(request) => {
            let responses = present::answer(operation, request).await;
            operation.open_persistent_sets();
            Conclusion::Answer(responses)
        }
        Apdu::DeleteResultSetRequest(request) => delete::answer(operation, request)
            .ok_or("with a deleteFunction neither list nor all")?
            .into(),
        Apdu::ScanRequest(request) => scan::answer(operation, request).await.into(),
        Apdu::SortRequest(request) => sort::answer(operation, request).await.into(),
        Apdu::ExtendedServicesRequest(request) => {
            // Boxed, so that the futures of other operations stay small.
            Box::pin(extended::answer(operation, request)).await.into()
        }
        Apdu::ResourceReportRequest(request) => resource::report(operation, request).into(),
        Apdu::DuplicateDetectionRequest(_) => {
            let missing = diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "");
            Conclusion::Answer(refuse(request, missing))
        }
        _ => return Err("from a client"),
    })
}

/// The response with which a request fails, so that the session goes on; none for a request without a response.
pub(crate) fn refuse(request: &Apdu, diagnostic: Diagnostic) -> Vec<Apdu> {
    let response: Apdu = match request {
        Apdu::SearchRequest(_) => search::failed(diagnostic).into(),
        Apdu::PresentRequest(_) => present::failed(diagnostic).into(),
        Apdu::ScanRequest(_) => scan::failed(diagnostic).into(),
        Apdu::SortRequest(_) => sort::failed(diagnostic).into(),
        Apdu::ExtendedServicesRequest(_) => extended::failed(diagnostic).into(),
        Apdu::DeleteResultSetRequest(_) => DeleteResultSetResponse {
            reference_id: None,
            delete_operation_status: DeleteSetStatus::ACCESS_NOT_ALLOWED,
            delete_list_statuses: None,
            number_not_deleted: None,
            bulk_statuses: None,
            delete_message: Some(diagnostic.to_string().into()),
            other_info: None,
        }
        .into(),
        Apdu::DuplicateDetectionRequest(_) => DuplicateDetectionResponse {
            reference_id: None,
            status: DuplicateDetectionStatus::FAILURE,
            result_set_count: None,
            diagnostics: Some(vec![DiagRec::DefaultFormat(diagnostic)]),
            other_info: None,
        }
        .into(),
        Apdu::ResourceReportRequest(_) => ResourceReportResponse {
            reference_id: None,
            resource_report_status: ResourceReportStatus::FAILURE_1,
            resource_report: None,
            other_info: None,
        }
        .into(),
        _ => return Vec::new(),
    };
    vec![response]
}

#[cfg(test)]
mod tests;
