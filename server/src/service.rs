//! Passes requests to the services, or refuses them (Z39.50-2003 §3.2). Each service has its own file, which computes the answer
//! from a request and the association, without any I/O. [`crate::session`] sets the referenceIds.

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
    DuplicateDetectionStatus, ExtendedServicesResponse, ListEntries, OperationStatus, Options,
    PresentResponse, PresentStatus, Records, ResourceReportResponse, ResourceReportStatus,
    ScanResponse, ScanStatus, SearchResponse, SortResponse, SortResultSetStatus, SortStatus,
};

use self::resource::Held;
use crate::association::Operation;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::units::count;

/// The result of an operation.
pub(crate) enum Conclusion {
    Answer(Vec<Apdu>),
    /// An answer that is held back until the client permits it, and the question to send first.
    Question(Box<Held>, Apdu),
}

/// Returns the option that must be in effect for a request; `None` for a request that is not an operation.
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

/// Performs the operation that a request asks for.
///
/// # Errors
/// The reason why the request is a protocol error.
pub(crate) async fn answer(
    operation: &Operation,
    request: &Apdu,
) -> Result<Conclusion, &'static str> {
    let answer: Result<Apdu, Diagnostic> = match request {
        Apdu::SearchRequest(request) => {
            let response = search::answer(operation, request).await;
            operation.open_persistent_sets();
            let ask_above = operation.target.offer.ask_above;
            let is_asked = ask_above.is_some_and(|most| response.result_count > count(most));
            if is_asked && operation.terms.options.contains(Options::RESOURCE_CONTROL) {
                let (held, question) = resource::ask(request, response);
                return Ok(Conclusion::Question(Box::new(held), question));
            }
            Ok(response.into())
        }
        Apdu::PresentRequest(present) => {
            let responses = present::answer(operation, present).await;
            operation.open_persistent_sets();
            let answer = responses.unwrap_or_else(|why| refuse(request, why));
            return Ok(Conclusion::Answer(answer));
        }
        Apdu::DeleteResultSetRequest(request) => Ok(delete::answer(operation, request)
            .ok_or("with a deleteFunction neither list nor all")?
            .into()),
        Apdu::ScanRequest(request) => scan::answer(operation, request).await.map(Into::into),
        Apdu::SortRequest(request) => Ok(sort::answer(operation, request).await),
        Apdu::ExtendedServicesRequest(request) => {
            // The box keeps the futures of other operations small.
            let response = Box::pin(extended::answer(operation, request)).await;
            response.map(Into::into)
        }
        Apdu::ResourceReportRequest(request) => Ok(resource::report(operation, request).into()),
        Apdu::DuplicateDetectionRequest(_) => {
            Err(diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, ""))
        }
        _ => return Err("from a client"),
    };
    let answer = answer.map(|answer| vec![answer]);
    Ok(Conclusion::Answer(
        answer.unwrap_or_else(|why| refuse(request, why)),
    ))
}

/// Returns the response that refuses a request without ending the session; empty for a request that has no response.
pub(crate) fn refuse(request: &Apdu, why: Diagnostic) -> Vec<Apdu> {
    let mut response: Apdu = match request {
        Apdu::SearchRequest(_) => SearchResponse::default().into(),
        Apdu::PresentRequest(_) => PresentResponse::default().into(),
        Apdu::ScanRequest(_) => ScanResponse::default().into(),
        Apdu::SortRequest(_) => SortResponse {
            result_set_status: Some(SortResultSetStatus::UNCHANGED),
            ..SortResponse::default()
        }
        .into(),
        Apdu::ExtendedServicesRequest(_) => ExtendedServicesResponse::default().into(),
        Apdu::DuplicateDetectionRequest(_) => DuplicateDetectionResponse::default().into(),
        Apdu::ResourceReportRequest(_) => ResourceReportResponse {
            resource_report_status: ResourceReportStatus::FAILURE_1,
            ..ResourceReportResponse::default()
        }
        .into(),
        Apdu::DeleteResultSetRequest(_) => {
            let response = DeleteResultSetResponse {
                delete_operation_status: DeleteSetStatus::ACCESS_NOT_ALLOWED,
                delete_message: Some(why.to_string().into()),
                ..DeleteResultSetResponse::default()
            };
            return vec![response.into()];
        }
        _ => return Vec::new(),
    };
    fail(&mut response, &why);
    vec![response]
}

/// Changes a response to a failure with this diagnostic; the response to Init is not changed.
pub(crate) fn fail(response: &mut Apdu, why: &Diagnostic) {
    let diagnostics = Some(vec![DiagRec::DefaultFormat(why.clone())]);
    match response {
        Apdu::SearchResponse(search) => {
            **search = SearchResponse {
                reference_id: search.reference_id.take(),
                ..search::failed(why.clone())
            };
        }
        Apdu::PresentResponse(present) => {
            present.number_of_records_returned = 0;
            present.next_result_set_position = 0;
            present.present_status = PresentStatus::FAILURE;
            present.records = Records::NonSurrogateDiagnostic(why.clone()).into();
        }
        Apdu::DeleteResultSetResponse(delete) => {
            delete.delete_operation_status = DeleteSetStatus::SYSTEM_PROBLEM_AT_TARGET;
            delete.delete_message = Some(why.to_string().into());
        }
        Apdu::ScanResponse(scan) => {
            scan.scan_status = ScanStatus::FAILURE;
            scan.number_of_entries_returned = 0;
            scan.entries = Some(ListEntries {
                entries: None,
                nonsurrogate_diagnostics: diagnostics,
            });
        }
        Apdu::SortResponse(sort) => {
            sort.sort_status = SortStatus::FAILURE;
            sort.diagnostics = diagnostics;
        }
        Apdu::ExtendedServicesResponse(extended) => {
            extended.operation_status = OperationStatus::FAILURE;
            extended.diagnostics = diagnostics;
        }
        Apdu::DuplicateDetectionResponse(duplicates) => {
            duplicates.status = DuplicateDetectionStatus::FAILURE;
            duplicates.diagnostics = diagnostics;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
