//! Resource control and reports (Z39.50-2003 §3.2.6): asks the client whether to continue with a large result, and sends reports
//! on the work of the session (resource-1, Appendix RSC.1).

use z3950_asn1::apdu::{
    Apdu, External, ExternalValue, PartialResultsAvailable, ReferenceId, ResourceControlRequest,
    ResourceControlResponse, ResourceReportRequest, ResourceReportResponse, ResourceReportStatus,
    ResultSetStatus, SearchRequest, SearchResponse,
};
use z3950_asn1::format::resource_report1::{Estimate, EstimateType, ResourceReport};

use super::search;
use crate::association::{Association, Usage};
use crate::diagnostic::{Condition, diagnostic};
use crate::units::count;

/// The answer to a Search that is held back until the client permits it.
pub(crate) struct Held {
    pub(crate) reference_id: Option<ReferenceId>,
    result_set: Vec<u8>,
    pub(crate) response: SearchResponse,
}

/// Holds back the answer to a Search, and asks the client whether to continue.
pub(super) fn ask(request: &SearchRequest, response: SearchResponse) -> (Held, Apdu) {
    let found = response.result_count;
    let question = ResourceControlRequest {
        suspended_flag: Some(true),
        resource_report: estimates(
            &[(EstimateType::FINAL_SEARCH_RECORDS, found)],
            format!("{found} records found"),
        ),
        partial_results_available: Some(PartialResultsAvailable::SUBSET),
        response_required: true,
        triggered_request_flag: Some(false),
        ..ResourceControlRequest::default()
    };
    let held = Held {
        reference_id: request.reference_id.clone(),
        result_set: request.result_set_name.as_bytes().to_vec(),
        response,
    };
    (held, question.into())
}

/// Returns the answer that was held back, if the client wants to continue; otherwise, a failed response. In the latter case, the
/// result set is kept only if the client wants it.
pub(crate) fn resume(
    association: &Association,
    held: Held,
    reply: &ResourceControlResponse,
) -> SearchResponse {
    if reply.continue_flag {
        return held.response;
    }
    let mut response = search::failed(diagnostic(Condition::CANCELLED, ""));
    if reply.result_set_wanted == Some(true) {
        response.result_count = held.response.result_count;
        response.result_set_status = Some(ResultSetStatus::SUBSET);
    } else {
        association.result_sets().delete(&held.result_set);
    }
    response
}

/// Returns a report on the work of the session. The report always has the same format; reports on single operations are not
/// supported.
pub(super) fn report(
    association: &Association,
    request: &ResourceReportRequest,
) -> ResourceReportResponse {
    let Usage {
        searches,
        found,
        records,
    } = *association.usage();
    let report = estimates(
        &[
            (EstimateType::FINAL_SEARCH_RECORDS, count(found)),
            (EstimateType::FINAL_PRESENT_RECORDS, count(records)),
        ],
        format!("{searches} searches, {records} records sent"),
    );
    let resource_report = report.filter(|_| request.op_id.is_none());
    ResourceReportResponse {
        resource_report_status: match resource_report {
            Some(_) => ResourceReportStatus::SUCCESS,
            None => ResourceReportStatus::FAILURE_1,
        },
        resource_report,
        ..ResourceReportResponse::default()
    }
}

fn estimates(estimates: &[(EstimateType, i64)], message: String) -> Option<External> {
    let estimates = estimates.iter().map(|(r#type, value)| Estimate {
        r#type: *r#type,
        value: *value,
        currency_code: None,
    });
    let report = ResourceReport {
        estimates: estimates.collect(),
        message: message.into(),
    };
    report.to_external().ok()
}
