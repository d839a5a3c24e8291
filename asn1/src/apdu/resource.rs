//! Resource control and resource reports: the APDUs `[30]` to `[34]` (Z39.50-2003 §3.2.6).

use super::{External, OtherInformation, ReferenceId};
use crate::oid::Oid;
use crate::production::productions;

productions! {
    /// The server's report on the cost of an operation, in which it may ask whether to continue.
    #[derive(Default)]
    pub struct ResourceControlRequest {
        reference_id: Option<ReferenceId>,
        [39] suspended_flag: Option<bool>,
        [explicit 40] resource_report: Option<External>,
        [41] partial_results_available: Option<PartialResultsAvailable>,
        [42] response_required: bool,
        [43] triggered_request_flag: Option<bool>,
        other_info: Option<OtherInformation>,
    }

    /// The client's decision on whether the operation should continue.
    pub struct ResourceControlResponse {
        reference_id: Option<ReferenceId>,
        [44] continue_flag: bool,
        [45] result_set_wanted: Option<bool>,
        other_info: Option<OtherInformation>,
    }

    /// The client's request for a report on the operation in progress, or to end that operation. The server does not
    /// respond to the request directly.
    pub struct TriggerResourceControlRequest {
        reference_id: Option<ReferenceId>,
        [46] requested_action: RequestedAction,
        [47] pref_resource_report_format: Option<Oid>,
        [48] result_set_wanted: Option<bool>,
        other_info: Option<OtherInformation>,
    }

    /// A request for a report on a finished operation or the session.
    #[derive(Default)]
    pub struct ResourceReportRequest {
        reference_id: Option<ReferenceId>,
        [210] op_id: Option<ReferenceId>,
        [49] pref_resource_report_format: Option<Oid>,
        other_info: Option<OtherInformation>,
    }

    /// The requested report on resources, and whether it is available.
    #[derive(Default)]
    pub struct ResourceReportResponse {
        reference_id: Option<ReferenceId>,
        [50] resource_report_status: ResourceReportStatus,
        [explicit 51] resource_report: Option<External>,
        other_info: Option<OtherInformation>,
    }

    /// The results that remain if a suspended operation is ended now.
    pub integer PartialResultsAvailable { SUBSET = 1 "subset", INTERIM = 2 "interim", NONE = 3 "none" }

    /// The action that the client requests with a trigger.
    pub integer RequestedAction { RESOURCE_REPORT = 1 "resourceReport", RESOURCE_CONTROL = 2 "resourceControl", CANCEL = 3 "cancel" }

    /// Whether the requested report is available (Z39.50-2003 §3.2.6.3).
    pub integer ResourceReportStatus {
        SUCCESS = 0 "success", PARTIAL = 1 "partial", FAILURE_1 = 2 "failure-1", FAILURE_2 = 3 "failure-2",
        FAILURE_3 = 4 "failure-3", FAILURE_4 = 5 "failure-4", FAILURE_5 = 6 "failure-5", FAILURE_6 = 7 "failure-6",
    }
}

impl TriggerResourceControlRequest {
    /// Creates a request to end the operation in progress without a result set.
    pub fn cancel() -> Self {
        Self {
            reference_id: None,
            requested_action: RequestedAction::CANCEL,
            pref_resource_report_format: None,
            result_set_wanted: Some(false),
            other_info: None,
        }
    }
}
