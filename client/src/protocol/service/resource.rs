//! Resource control and report: what an operation costs, whether it is to go on, and how to stop it
//! (Z39.50-2003 §3.2.6).

use z3950_asn1::apdu::{
    Apdu, External, ExternalValue, Options, OtherInformation, PartialResultsAvailable, ReferenceId,
    RequestedAction, ResourceControlRequest, ResourceReportRequest, ResourceReportStatus,
    TriggerResourceControlRequest,
};
use z3950_asn1::oid::Oid;

use crate::error::{Error, Phase};
use crate::session::Session;
use crate::transport::BoxFuture;

/// What the server tells of an operation in progress.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResourceQuestion {
    /// The operation it is part of; [`Phase::Idle`] if it is about the session.
    pub phase: Phase,
    /// Whether the operation stands still until it is answered, where the server says so.
    pub is_suspended: Option<bool>,
    /// What it has cost.
    pub report: Option<External>,
    /// What the operation would leave behind if it ended now.
    pub partial_results_available: Option<PartialResultsAvailable>,
    /// Whether the server wants an answer; otherwise the [`Decision`] is not sent.
    pub is_answer_required: bool,
    /// Whether the server says so because it was asked to.
    pub is_triggered: Option<bool>,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

impl ResourceQuestion {
    /// What `request` asks, in the course of the operation `phase`.
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

    /// The report as a value of its format, `resource_report1` or `resource_report2` of [`z3950_asn1::format`]; `None` if
    /// it is in another.
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        T::from_external(self.report.as_ref()?).ok()
    }
}

/// Whether an operation is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is; otherwise the server ends it and answers with what it has.
    pub is_to_go_on: bool,
    /// Of a search that ends: whether its result set is wanted all the same.
    pub result_set_wanted: Option<bool>,
}

impl Decision {
    /// Go on, whatever it costs.
    pub const GO_ON: Self = Self {
        is_to_go_on: true,
        result_set_wanted: None,
    };
    /// Stop; what was found is not wanted.
    pub const STOP: Self = Self {
        is_to_go_on: false,
        result_set_wanted: Some(false),
    };
}

/// Decides on operations that cost something, given to a session in
/// [`SessionOptions`](crate::session::SessionOptions). A session without one lets them go on.
///
/// A closure that takes a [`ResourceQuestion`] and returns a [`Decision`] is one, if it need not wait for anything.
pub trait ResourceControl: Send + Sync {
    /// Whether to go on. Called for every report, also where no answer is required.
    ///
    /// The server's answer is waited for anew afterwards; only [`Timeouts::deadline`](crate::Timeouts::deadline) passes
    /// meanwhile.
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

/// What is wanted of the operations in progress. By default their end, without a result set.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TriggerOptions {
    /// A report, a question whether to go on, or the end.
    pub action: RequestedAction,
    /// The preferred format of the report.
    pub report_format: Option<Oid>,
    /// Of a search that is cancelled: whether its result set is wanted all the same.
    pub result_set_wanted: Option<bool>,
    /// Whatever else the server is to know.
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
    /// The request that says so; each operation's referenceId is put in when it is sent.
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

/// Sends the trigger for every operation in progress; it has no answer of its own.
pub(crate) async fn trigger(session: &Session, options: &TriggerOptions) -> Result<usize, Error> {
    session.require_granted(
        Phase::ResourceReport,
        Options::TRIGGER_RESOURCE_CONTROL,
        "triggerResourceCtrl",
    )?;
    session.trigger(options.request()).await
}

/// What to report on. By default the session as a whole, in the server's choice of format.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ResourceReportOptions {
    /// The referenceId of a finished operation; `None` for the session.
    pub operation: Option<ReferenceId>,
    /// The preferred format of the report.
    pub report_format: Option<Oid>,
    /// Whatever else the server is to know.
    pub other_info: Option<OtherInformation>,
}

impl ResourceReportOptions {
    /// The request that these options make.
    pub fn request(&self) -> ResourceReportRequest {
        ResourceReportRequest {
            reference_id: None,
            op_id: self.operation.clone(),
            pref_resource_report_format: self.report_format,
            other_info: self.other_info.clone(),
        }
    }
}

/// What an operation or the session has cost.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResourceReport {
    /// Whether the report could be given, as asked for or otherwise.
    pub status: ResourceReportStatus,
    /// The report, in the format its EXTERNAL names.
    pub report: Option<External>,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

impl ResourceReport {
    /// As [`ResourceQuestion::value`].
    pub fn value<T: ExternalValue>(&self) -> Option<T> {
        T::from_external(self.report.as_ref()?).ok()
    }
}

/// Sends the request. A failure status is data: it says which kind of report cannot be had.
pub(crate) async fn report(
    session: &Session,
    options: &ResourceReportOptions,
) -> Result<ResourceReport, Error> {
    session.require(
        Phase::ResourceReport,
        Options::RESOURCE_REPORT,
        "resourceReport",
    )?;
    let response = match session.ask(options.request().into()).await? {
        Apdu::ResourceReportResponse(response) => *response,
        other => return Err(super::unexpected(Phase::ResourceReport, &other)),
    };
    Ok(ResourceReport {
        status: response.resource_report_status,
        report: response.resource_report,
        other_info: response.other_info,
    })
}
