//! Checks of resource reports and triggers (Z39.50-2003 §3.2.6).

use z3950_asn1::apdu::{
    Options, RequestedAction, ResourceReportRequest, ResourceReportResponse, ResourceReportStatus,
    TriggerResourceControlRequest,
};
use z3950_asn1::oid::Oid;

use crate::server::check::{Check, checks};
use crate::server::requests::id;
use crate::server::trial::{Trial, summary};
use crate::server::verdict::{Checked, want};

const REPORT: &str = "Z39.50-2003 §3.2.6.3";
const TRIGGER: &str = "Z39.50-2003 §3.2.6.2";

pub(super) const CHECKS: &[Check] = checks! {
    "resource-report.session" Shall REPORT:
        "A request for a resource report on the session is answered by a resourceReportResponse."
        => of_session;
    "resource-report.status" Shall REPORT:
        "The status of a resourceReportResponse is one that the standard has."
        => status;
    "resource-report.success" Should REPORT:
        "A resourceReportResponse with the status success has a report."
        => with_report;
    "resource-report.operation.unknown" Should REPORT:
        "A resource report on an operation that never was does not succeed."
        => unknown_operation;
    "resource-report.format.unknown" Practice REPORT:
        "A request for a resource report in an unknown format is answered by a resourceReportResponse."
        => unknown_format;
    "trigger.no-answer" Shall TRIGGER:
        "A trigger that asks for a report, without an operation in progress, has no answer of its own."
        => trigger(RequestedAction::RESOURCE_REPORT);
    "trigger.cancel" Shall TRIGGER:
        "A trigger that is to cancel, without an operation in progress, has no answer of its own."
        => trigger(RequestedAction::CANCEL);
    "trigger.unknown-operation" Practice TRIGGER:
        "A trigger for an operation that never was has no answer of its own."
        => unknown_trigger;
};

async fn reported(
    trial: &mut Trial,
    request: ResourceReportRequest,
) -> Checked<ResourceReportResponse> {
    trial.session().await?;
    trial.needs(Options::RESOURCE_REPORT)?;
    trial.ask(request).await
}

async fn of_session(trial: &mut Trial) -> Checked {
    reported(trial, ResourceReportRequest::default())
        .await
        .map(drop)
}

async fn status(trial: &mut Trial) -> Checked {
    let response = reported(trial, ResourceReportRequest::default()).await?;
    let holds = (0..=7).contains(&response.resource_report_status.0);
    want(holds, "a status from 0 to 7", || summary(&response.into()))
}

async fn with_report(trial: &mut Trial) -> Checked {
    let response = reported(trial, ResourceReportRequest::default()).await?;
    let has_report = response.resource_report.is_some();
    let succeeded = response.resource_report_status == ResourceReportStatus::SUCCESS;
    want(has_report || !succeeded, "a report", || {
        summary(&response.into())
    })
}

async fn unknown_operation(trial: &mut Trial) -> Checked {
    let request = ResourceReportRequest {
        op_id: id(b"never"),
        ..ResourceReportRequest::default()
    };
    let response = reported(trial, request).await?;
    let succeeded = response.resource_report_status == ResourceReportStatus::SUCCESS;
    want(!succeeded, "a status other than success", || {
        summary(&response.into())
    })
}

async fn unknown_format(trial: &mut Trial) -> Checked {
    let request = ResourceReportRequest {
        pref_resource_report_format: Some(Oid::z3950(&[7, 9999])),
        ..ResourceReportRequest::default()
    };
    reported(trial, request).await.map(drop)
}

/// Sends a TriggerResourceControl, which has no response, and sends a search after a pause. Some servers need the pause, because
/// when two requests arrive together, they read the second one only after further octets have arrived.
async fn triggered(trial: &mut Trial, trigger: TriggerResourceControlRequest) -> Checked {
    trial.session().await?;
    trial.needs(Options::TRIGGER_RESOURCE_CONTROL)?;
    let search = trial.good_search()?;
    trial.send(&trigger.into()).await?;
    trial.silence().await?;
    trial.ask(search).await.map(drop)
}

async fn trigger(trial: &mut Trial, action: RequestedAction) -> Checked {
    let trigger = TriggerResourceControlRequest {
        requested_action: action,
        ..TriggerResourceControlRequest::cancel()
    };
    triggered(trial, trigger).await
}

async fn unknown_trigger(trial: &mut Trial) -> Checked {
    let trigger = TriggerResourceControlRequest {
        reference_id: id(b"never"),
        ..TriggerResourceControlRequest::cancel()
    };
    triggered(trial, trigger).await
}
