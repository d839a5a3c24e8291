//! Resource control and report: the APDUs `[30]` to `[34]` (Z39.50-2003 §3.2.6).

use rasn::prelude::*;

use super::{External, OtherInformation, ReferenceId};
use crate::oid::Oid;
use crate::types::named_integer;

/// The server tells what an operation costs, and may ask whether to go on.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ResourceControlRequest {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(39))]
    pub suspended_flag: Option<bool>,
    #[rasn(tag(explicit(40)))]
    pub resource_report: Option<External>,
    #[rasn(tag(41))]
    pub partial_results_available: Option<PartialResultsAvailable>,
    #[rasn(tag(42))]
    pub response_required: bool,
    #[rasn(tag(43))]
    pub triggered_request_flag: Option<bool>,
    pub other_info: Option<OtherInformation>,
}

/// Whether to go on.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ResourceControlResponse {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(44))]
    pub continue_flag: bool,
    #[rasn(tag(45))]
    pub result_set_wanted: Option<bool>,
    pub other_info: Option<OtherInformation>,
}

/// The client asks for a report on, or the end of, the operation in progress; it has no answer of its own.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct TriggerResourceControlRequest {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(46))]
    pub requested_action: RequestedAction,
    #[rasn(tag(47))]
    pub pref_resource_report_format: Option<Oid>,
    #[rasn(tag(48))]
    pub result_set_wanted: Option<bool>,
    pub other_info: Option<OtherInformation>,
}

/// A request for a report on a finished operation or the session.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ResourceReportRequest {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(210))]
    pub op_id: Option<ReferenceId>,
    #[rasn(tag(49))]
    pub pref_resource_report_format: Option<Oid>,
    pub other_info: Option<OtherInformation>,
}

/// The report.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ResourceReportResponse {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(50))]
    pub resource_report_status: ResourceReportStatus,
    #[rasn(tag(explicit(51)))]
    pub resource_report: Option<External>,
    pub other_info: Option<OtherInformation>,
}

named_integer!(
    /// What a suspended operation leaves behind if it ends now.
    PartialResultsAvailable { SUBSET = 1 "subset", INTERIM = 2 "interim", NONE = 3 "none" }
);

named_integer!(
    /// What the client wants by a trigger.
    RequestedAction { RESOURCE_REPORT = 1 "resourceReport", RESOURCE_CONTROL = 2 "resourceControl", CANCEL = 3 "cancel" }
);

named_integer!(
    /// Whether a report could be given (Z39.50-2003 §3.2.6.3).
    ResourceReportStatus {
        SUCCESS = 0 "success", PARTIAL = 1 "partial", FAILURE_1 = 2 "failure-1", FAILURE_2 = 3 "failure-2",
        FAILURE_3 = 4 "failure-3", FAILURE_4 = 5 "failure-4", FAILURE_5 = 6 "failure-5", FAILURE_6 = 7 "failure-6",
    }
);
