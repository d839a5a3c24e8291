//! Resource control and reports (Z39.50-2003 §3.2.6): the client is asked whether to go on before a large result is kept, and
//! told what the session has cost (resource-1, Appendix RSC.1).

use z3950_asn1::apdu::{
    Apdu, External, ExternalValue, Options, PartialResultsAvailable, ReferenceId,
    ResourceControlRequest, ResourceControlResponse, ResourceReportRequest, ResourceReportResponse,
    ResourceReportStatus, ResultSetStatus, SearchResponse,
};
use z3950_asn1::format::resource_report1::{Estimate, EstimateType, ResourceReport};

use super::{count, search};
use crate::diagnostic::diagnostic;
use crate::session::{Association, CANCELLED};

/// What a session has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) searches: usize,
    /// Records found by the last search.
    pub(crate) found: usize,
    /// Records sent in all.
    pub(crate) records: usize,
}

impl Usage {
    /// Counts a search that has found so many records and sent so many of them.
    pub(crate) fn count_search(&mut self, found: usize, records: usize) {
        self.searches += 1;
        self.found = found;
        self.records += records;
    }
}

/// The answer to a Search that waits for the client's leave.
pub(crate) struct Held {
    pub(crate) reference_id: Option<ReferenceId>,
    pub(crate) result_set: Vec<u8>,
    pub(crate) response: SearchResponse,
}

/// Whether the client is to be asked before a search is answered that has found so many records.
pub(crate) fn is_to_be_asked(association: &Association, found: usize) -> bool {
    let most = association.target.offer.ask_above;
    most.is_some_and(|most| found > most)
        && association
            .terms
            .options
            .contains(Options::RESOURCE_CONTROL)
}

/// Asks whether to go on with an answer that is held.
pub(crate) fn question(held: &Held) -> Apdu {
    let found = held.response.result_count;
    ResourceControlRequest {
        reference_id: None,
        suspended_flag: Some(true),
        resource_report: estimates(
            vec![estimate(EstimateType::FINAL_SEARCH_RECORDS, found)],
            format!("{found} records found"),
        ),
        partial_results_available: Some(PartialResultsAvailable::SUBSET),
        response_required: true,
        triggered_request_flag: Some(false),
        other_info: None,
    }
    .into()
}

/// The answer held, if the client wants to go on; if not, a failed one, and the result set only if it is wanted.
pub(crate) fn resume(
    association: &Association,
    held: Held,
    leave: &ResourceControlResponse,
) -> Apdu {
    if leave.continue_flag {
        return held.response.into();
    }
    let mut response = search::failed(diagnostic(CANCELLED, ""));
    if leave.result_set_wanted == Some(true) {
        response.result_count = held.response.result_count;
        response.result_set_status = Some(ResultSetStatus::SUBSET);
    } else {
        association.result_sets().delete(&held.result_set);
    }
    response.into()
}

/// What the session has done. There is a report of the session only, and in this format whatever is preferred.
pub(crate) fn report(association: &Association, request: &ResourceReportRequest) -> Apdu {
    let Usage {
        searches,
        found,
        records,
    } = *association.usage();
    let estimates = estimates(
        vec![
            estimate(EstimateType::FINAL_SEARCH_RECORDS, count(found)),
            estimate(EstimateType::FINAL_PRESENT_RECORDS, count(records)),
        ],
        format!("{searches} searches, {records} records sent"),
    );
    let report = estimates.filter(|_| request.op_id.is_none());
    ResourceReportResponse {
        reference_id: None,
        resource_report_status: match report {
            Some(_) => ResourceReportStatus::SUCCESS,
            None => ResourceReportStatus::FAILURE_1,
        },
        resource_report: report,
        other_info: None,
    }
    .into()
}

fn estimate(r#type: EstimateType, value: i64) -> Estimate {
    Estimate {
        r#type,
        value,
        currency_code: None,
    }
}

fn estimates(estimates: Vec<Estimate>, message: String) -> Option<External> {
    let report = ResourceReport {
        estimates,
        message: message.into(),
    };
    report.to_external().ok()
}
