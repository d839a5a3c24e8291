//! Services that are not granted at Init and asked for all the same: each fails in its own response, so that the
//! session goes on (Z39.50-2003 §3.2.6 to §3.2.9).

use z3950_asn1::apdu::{
    Apdu, DiagRec, DuplicateDetectionResponse, DuplicateDetectionStatus, ExtendedServicesResponse,
    ListEntries, OperationStatus, ResourceReportResponse, ResourceReportStatus, ScanResponse,
    ScanStatus, SortResponse, SortResultSetStatus, SortStatus,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;

use crate::diagnostic::diagnostic;

/// Scan fails.
pub(crate) fn scan() -> Apdu {
    let entries = ListEntries {
        entries: None,
        nonsurrogate_diagnostics: Some(not_offered("scan")),
    };
    ScanResponse {
        reference_id: None,
        step_size: None,
        scan_status: ScanStatus::FAILURE,
        number_of_entries_returned: 0,
        position_of_term: None,
        entries: Some(entries),
        attribute_set: None,
        other_info: None,
    }
    .into()
}

/// Sort fails and leaves the result set as it is.
pub(crate) fn sort() -> Apdu {
    SortResponse {
        reference_id: None,
        sort_status: SortStatus::FAILURE,
        result_set_status: Some(SortResultSetStatus::UNCHANGED),
        diagnostics: Some(not_offered("sort")),
        result_count: None,
        other_info: None,
    }
    .into()
}

/// Duplicate detection fails.
pub(crate) fn duplicate_detection() -> Apdu {
    DuplicateDetectionResponse {
        reference_id: None,
        status: DuplicateDetectionStatus::FAILURE,
        result_set_count: None,
        diagnostics: Some(not_offered("duplicateDetection")),
        other_info: None,
    }
    .into()
}

/// Every extended service fails; the diagnostic names the package type asked for.
pub(crate) fn extended_services(package_type: Oid) -> Apdu {
    let unsupported = diagnostic(Condition::EXTENDED_SERVICE_TYPE, package_type.to_string());
    ExtendedServicesResponse {
        reference_id: None,
        operation_status: OperationStatus::FAILURE,
        diagnostics: Some(vec![DiagRec::DefaultFormat(unsupported)]),
        task_package: None,
        other_info: None,
    }
    .into()
}

/// There is no report to give.
pub(crate) fn resource_report() -> Apdu {
    ResourceReportResponse {
        reference_id: None,
        resource_report_status: ResourceReportStatus::FAILURE_1,
        resource_report: None,
        other_info: None,
    }
    .into()
}

fn not_offered(service: &str) -> Vec<DiagRec> {
    let unsupported = diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, service);
    vec![DiagRec::DefaultFormat(unsupported)]
}
