//! Checks of extended services: requests that a server has to refuse without changing anything (Z39.50-2003 §3.2.9.1).

use z3950_asn1::apdu::{
    DiagRec, ExtendedServicesFunction, ExtendedServicesRequest, ExtendedServicesResponse, External,
    OperationStatus, Options, Query, RpnQuery, RpnStructure, WaitAction,
};
use z3950_asn1::oid::{DATABASE_UPDATE, Oid, PERSISTENT_QUERY};

use crate::server::answers::{Reaction, Refusable};
use crate::server::check::{Check, checks};
use crate::server::requests::search;
use crate::server::trial::{Trial, summary};
use crate::server::verdict::{Checked, want};

const SERVICE: &str = "Z39.50-2003 §3.2.9.1";

pub(super) const CHECKS: &[Check] = checks! {
    "extended.unknown-type" Shall SERVICE:
        "A task of an unknown type fails with a diagnostic."
        => unknown_type;
    "extended.unknown-type.code" Should "Bib-1 diagnostic 221":
        "A task of an unknown type is refused with 221."
        => unknown_type_code;
    "extended.delete.unknown" Shall SERVICE:
        "The deletion of a task package that does not exist fails with a diagnostic."
        => unknown_package(ExtendedServicesFunction::DELETE);
    "extended.modify.unknown" Shall SERVICE:
        "The modification of a task package that does not exist fails with a diagnostic."
        => unknown_package(ExtendedServicesFunction::MODIFY);
    "extended.function.unknown" Practice SERVICE:
        "A task with an unknown function fails with a diagnostic, or ends the session."
        => unknown_function;
    "extended.parameters.missing" Should SERVICE:
        "An update without parameters fails with a diagnostic."
        => without_parameters;
    "extended.parameters.malformed" Practice SERVICE:
        "An update whose parameters do not decode fails with a diagnostic, or ends the session."
        => malformed_parameters;
    "extended.database" Practice "Z39.50-2003 §3.2.9.2":
        "The database of task packages is searched, or refused with a diagnostic."
        => database;
    "extended.then-search" Shall SERVICE:
        "After a task that failed, the session goes on."
        => then_search;
};

async fn tried(
    trial: &mut Trial,
    task: ExtendedServicesRequest,
) -> Checked<ExtendedServicesResponse> {
    trial.session().await?;
    trial.needs(Options::EXTENDED_SERVICES)?;
    trial.ask(task).await
}

fn failed(response: &ExtendedServicesResponse) -> Checked {
    let has_diagnostic = response
        .diagnostics
        .as_ref()
        .is_some_and(|all| !all.is_empty());
    let holds = response.operation_status == OperationStatus::FAILURE && has_diagnostic;
    want(holds, "operationStatus failure with a diagnostic", || {
        summary(&response.clone().into())
    })
}

/// Returns a request for a task that no server supports.
fn odd_task() -> ExtendedServicesRequest {
    ExtendedServicesRequest::create(Oid::z3950(&[9, 9999]), None)
}

async fn unknown_type(trial: &mut Trial) -> Checked {
    failed(&tried(trial, odd_task()).await?)
}

async fn unknown_type_code(trial: &mut Trial) -> Checked {
    let response = tried(trial, odd_task()).await?;
    let says = summary(&response.clone().into());
    let diagnostics = response.diagnostics.unwrap_or_default();
    let is_221 = diagnostics.iter().any(|one| match one {
        DiagRec::DefaultFormat(one) => one.condition == 221,
        DiagRec::ExternallyDefined(_) => false,
    });
    want(is_221, "diagnostic 221", || says)
}

async fn unknown_package(trial: &mut Trial, function: ExtendedServicesFunction) -> Checked {
    let task = ExtendedServicesRequest {
        function,
        package_name: Some("z3950-conformance-none".into()),
        ..ExtendedServicesRequest::create(PERSISTENT_QUERY, None)
    };
    failed(&tried(trial, task).await?)
}

async fn failed_or_over(trial: &mut Trial, task: ExtendedServicesRequest) -> Checked {
    trial.session().await?;
    trial.needs(Options::EXTENDED_SERVICES)?;
    match trial.ask_or_end(task).await? {
        Some(response) => failed(&response),
        None => Ok(()),
    }
}

async fn unknown_function(trial: &mut Trial) -> Checked {
    let task = ExtendedServicesRequest {
        function: ExtendedServicesFunction(9),
        ..odd_task()
    };
    failed_or_over(trial, task).await
}

async fn without_parameters(trial: &mut Trial) -> Checked {
    let task = ExtendedServicesRequest {
        wait_action: WaitAction::WAIT,
        ..ExtendedServicesRequest::create(DATABASE_UPDATE, None)
    };
    failed(&tried(trial, task).await?)
}

async fn malformed_parameters(trial: &mut Trial) -> Checked {
    let odd = External::octet_aligned(DATABASE_UPDATE, "not an update");
    let task = ExtendedServicesRequest {
        wait_action: WaitAction::WAIT,
        ..ExtendedServicesRequest::create(DATABASE_UPDATE, Some(odd))
    };
    failed_or_over(trial, task).await
}

async fn database(trial: &mut Trial) -> Checked {
    trial.session().await?;
    trial.needs(Options::EXTENDED_SERVICES)?;
    let rpn = RpnStructure::term(trial.attributes()?, "z3950-conformance-none");
    let query = Query::Type1(RpnQuery::bib1(rpn));
    let response = trial.ask(search(vec!["IR-Extend-1".into()], query)).await?;
    match response.reaction()? {
        Reaction::Refused(_) => Ok(()),
        Reaction::Accepted => want(response.result_count == 0, "no hits", || response.summary()),
    }
}

async fn then_search(trial: &mut Trial) -> Checked {
    tried(trial, odd_task()).await?;
    let search = trial.good_search()?;
    let response = trial.ask(search).await?;
    want(response.search_status, "a successful search", || {
        response.summary()
    })
}
