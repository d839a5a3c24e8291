//! Requests that are not carried out at all: each fails in its own response, so that the session goes on
//! (Z39.50-2003 §3.2.2 to §3.2.9).

use z3950_asn1::apdu::{
    Apdu, DeleteResultSetResponse, DeleteSetStatus, DiagRec, DuplicateDetectionResponse,
    DuplicateDetectionStatus, ExtendedServicesResponse, OperationStatus, ResourceReportResponse,
    ResourceReportStatus,
};

use super::{present, scan, search, sort};
use crate::diagnostic::Diagnostic;
use crate::session::Reply;

/// The response in which a request fails; nothing for what has no response.
pub(crate) fn answer(request: &Apdu, diagnostic: Diagnostic) -> Reply {
    let diagnostics = |diagnostic| Some(vec![DiagRec::DefaultFormat(diagnostic)]);
    let response: Apdu = match request {
        Apdu::SearchRequest(_) => search::failed(diagnostic).into(),
        Apdu::PresentRequest(_) => present::failed(diagnostic).into(),
        Apdu::ScanRequest(_) => scan::failed(diagnostic).into(),
        Apdu::SortRequest(_) => sort::failed(diagnostic).into(),
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
            diagnostics: diagnostics(diagnostic),
            other_info: None,
        }
        .into(),
        Apdu::ExtendedServicesRequest(_) => ExtendedServicesResponse {
            reference_id: None,
            operation_status: OperationStatus::FAILURE,
            diagnostics: diagnostics(diagnostic),
            task_package: None,
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
        _ => return Reply::default(),
    };
    response.into()
}
