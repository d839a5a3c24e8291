//! Resource control and report: what an operation costs, whether it continues, and how to cancel it (Z39.50-2003 §3.2.6).

use z3950_asn1::apdu::{
    External, ExternalValue, OtherInformation, PartialResultsAvailable, ReferenceId,
    RequestedAction, ResourceControlRequest, ResourceReportRequest, ResourceReportResponse,
    ResourceReportStatus, TriggerResourceControlRequest,
};
use z3950_asn1::oid::Oid;

use crate::error::Phase;
use crate::transport::connect::BoxFuture;

/// A ResourceControlRequest: the server reports on an operation in progress.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResourceQuestion {
    /// The operation it belongs to; [`Phase::Idle`] for the session as a whole.
    pub phase: Phase,
    /// Whether the operation is suspended until it is answered, if the server says.
    pub is_suspended: Option<bool>,
    /// The cost so far.
    pub report: Option<External>,
    /// Which results the operation would leave if it ended now.
    pub partial_results_available: Option<PartialResultsAvailable>,
    /// Whether the server wants an answer; otherwise the [`Decision`] is not sent.
    pub is_answer_required: bool,
    /// Whether a TriggerResourceControl caused it.
    pub is_triggered: Option<bool>,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl ResourceQuestion {
    /// A request during the operation `phase`.
    pub fn new(phase: Phase, request: ResourceControlRequest) -> Self {
        Self {
            phase,
            is_suspended: request.suspended_flag,
            report: request.resource_report,
            partial_results_available: request.partial_results_available,
            is_answer_required: request.response_required,
            is_triggered: request.triggered_request_flag,
            other_info: request.other_info,
        }
    }

    /// The report in its format, `resource_report1` or `resource_report2` of [`z3950_asn1::format`]; `None` for another
    /// format.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        T::from_external(self.report.as_ref()?).ok()
    }
}

/// Whether an operation continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Otherwise the server ends it and answers with its partial results.
    pub is_to_go_on: bool,
    /// Whether the result set of a search that ends is wanted.
    pub result_set_wanted: Option<bool>,
}

impl Decision {
    /// Continue, whatever it costs.
    pub const GO_ON: Self = Self {
        is_to_go_on: true,
        result_set_wanted: None,
    };
    /// Stop, without a result set.
    pub const STOP: Self = Self {
        is_to_go_on: false,
        result_set_wanted: Some(false),
    };
}

/// Decides whether operations continue: see [`SessionOptions`](crate::session::SessionOptions). Without one, they do.
///
/// Implemented for closures from a [`ResourceQuestion`] to a [`Decision`], for decisions that need no waiting.
pub trait ResourceControl: Send + Sync {
    /// Whether to continue. Called for every report, even if no answer is required.
    ///
    /// The answer timeout starts again afterwards; only [`Timeouts::deadline`](crate::Timeouts::deadline) runs meanwhile.
    fn decide(&self, question: ResourceQuestion) -> BoxFuture<'_, Decision>;
}

impl<F> ResourceControl for F
where
    F: Fn(ResourceQuestion) -> Decision + Send + Sync,
{
    fn decide(&self, question: ResourceQuestion) -> BoxFuture<'_, Decision> {
        Box::pin(std::future::ready(self(question)))
    }
}

/// What to ask of the operations in progress. By default to cancel them, without a result set.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TriggerOptions {
    /// A report, resource control, or cancellation.
    pub action: RequestedAction,
    /// The preferred format of the report.
    pub report_format: Option<Oid>,
    /// Whether the result set of a cancelled search is wanted.
    pub result_set_wanted: Option<bool>,
    /// Additional information for the server.
    pub other_info: Option<OtherInformation>,
}

impl Default for TriggerOptions {
    fn default() -> Self {
        Self {
            action: RequestedAction::CANCEL,
            report_format: None,
            result_set_wanted: Some(false),
            other_info: None,
        }
    }
}

impl TriggerOptions {
    /// The request; the referenceId of each operation is set when it is sent.
    pub fn request(&self) -> TriggerResourceControlRequest {
        TriggerResourceControlRequest {
            reference_id: None,
            requested_action: self.action,
            pref_resource_report_format: self.report_format,
            result_set_wanted: self.result_set_wanted,
            other_info: self.other_info.clone(),
        }
    }
}

/// What to report on. By default the session as a whole, in a format that the server chooses.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ResourceReportOptions {
    /// The referenceId of a finished operation; `None` for the session.
    pub operation: Option<ReferenceId>,
    /// The preferred format of the report.
    pub report_format: Option<Oid>,
    /// Additional information for the server.
    pub other_info: Option<OtherInformation>,
}

impl ResourceReportOptions {
    /// The request with these options.
    pub fn request(&self) -> ResourceReportRequest {
        ResourceReportRequest {
            reference_id: None,
            op_id: self.operation.clone(),
            pref_resource_report_format: self.report_format,
            other_info: self.other_info.clone(),
        }
    }
}

/// A report on the cost of an operation or the session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResourceReport {
    /// Whether the report is available, and whether as requested.
    pub status: ResourceReportStatus,
    /// The report, in the format its EXTERNAL names.
    pub report: Option<External>,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl ResourceReport {
    /// As [`ResourceQuestion::value`].
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        T::from_external(self.report.as_ref()?).ok()
    }
}

impl From<ResourceReportResponse> for ResourceReport {
    fn from(response: ResourceReportResponse) -> Self {
        Self {
            status: response.resource_report_status,
            report: response.resource_report,
            other_info: response.other_info,
        }
    }
}
