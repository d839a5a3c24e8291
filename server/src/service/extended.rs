//! Extended services (Z39.50-2003 §3.2.9, Appendix EXT): updates, orders, persistent result sets and queries, and XML documents.
//! Updates need permission ([`crate::access`]). A task is performed before the response is sent. Its package is then kept in
//! IR-Extend-1, except for an update without a package name. Where the standard leaves a choice:
//!
//! - the package of a failed task is sent, but not kept in the database;
//! - packages are kept until the server ends, whatever retention time the client requests;
//! - an order is accepted but never completed by the server, because people have to fulfil it.

mod order;
mod persistent;
mod update;
mod xml;

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use z3950_asn1::apdu::{
    DiagRec, ExtendedServicesFunction, ExtendedServicesRequest, ExtendedServicesResponse,
    ExternalError, ExternalValue, OperationStatus, WaitAction,
};
use z3950_asn1::es::{TaskParameters, TaskStatus};
use z3950_files::moment::Moment;

use crate::association::{Association, Operation};
use crate::backend::ResultSet;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::extended::{EXTENDED_SERVICES, Function, Task, TaskKind};

/// The result of a task.
struct Outcome {
    status: TaskStatus,
    /// The contents of the package: the alternative `taskPackage` of the service's type.
    parameters: TaskParameters,
    /// The reason why the task failed, if it did.
    failure: Option<Diagnostic>,
    /// The records to keep with the task, if any.
    result_set: Option<ResultSet>,
}

impl Outcome {
    fn of(status: TaskStatus, parameters: impl Into<TaskParameters>) -> Self {
        Self {
            status,
            parameters: parameters.into(),
            failure: None,
            result_set: None,
        }
    }

    /// Returns the result of an update. The status of its task is `complete`, or `aborted` if the update failed.
    fn of_update(failure: Option<Diagnostic>, parameters: impl Into<TaskParameters>) -> Self {
        let status = match failure {
            None => TaskStatus::COMPLETE,
            Some(_) => TaskStatus::ABORTED,
        };
        Self {
            failure,
            ..Self::of(status, parameters)
        }
    }
}

/// Performs the task and answers with its package, unless the client does not want the package.
///
/// # Errors
/// The diagnostic for a failed response.
pub(super) async fn answer(
    operation: &Operation,
    request: &ExtendedServicesRequest,
) -> Result<ExtendedServicesResponse, Diagnostic> {
    let user = user(operation, request)?;
    let kind = TaskKind {
        package_type: request.package_type,
        name: request.package_name.clone(),
    };
    if !EXTENDED_SERVICES.contains(&kind.package_type) {
        let service = kind.package_type.to_string();
        return Err(diagnostic(Condition::EXTENDED_SERVICE_TYPE, service));
    }
    if !(WaitAction::WAIT.0..=WaitAction::DONT_RETURN_PACKAGE.0).contains(&request.wait_action.0) {
        return Err(diagnostic(
            Condition::WAIT_ACTION,
            request.wait_action.to_string(),
        ));
    }
    match request.function {
        ExtendedServicesFunction::CREATE => create(operation, request, kind, user).await,
        ExtendedServicesFunction::MODIFY => modify(operation, request, &kind, user.as_deref()),
        ExtendedServicesFunction::DELETE => delete(operation, &kind, user.as_deref()),
        other => Err(diagnostic(Condition::TASK_FUNCTION, other.to_string())),
    }
}

/// Returns the name of the authenticated user.
///
/// # Errors
/// Condition 222 if the request is on behalf of another user and the server has a list of users.
fn user(
    association: &Association,
    request: &ExtendedServicesRequest,
) -> Result<Option<String>, Diagnostic> {
    let proved = association.user().map(|user| user.name.clone());
    let named = request.user_id.as_ref().map(|user| user.to_string_lossy());
    let other = named.filter(|named| proved.as_deref() != Some(named));
    match other.filter(|_| association.target.has_logins()) {
        Some(other) => Err(diagnostic(Condition::TASK_USER, &*other)),
        None => Ok(proved),
    }
}

async fn create(
    operation: &Operation,
    request: &ExtendedServicesRequest,
    kind: TaskKind,
    owner: Option<String>,
) -> Result<ExtendedServicesResponse, Diagnostic> {
    let tasks = Arc::clone(&operation.target.tasks);
    let parameters = parameters(request)?;
    let is_update = matches!(
        parameters,
        TaskParameters::Update(_) | TaskParameters::Xml(_)
    );
    if is_update {
        operation.check_update()?;
    }
    // The package of an update is kept only if a name makes it accessible.
    let is_kept = !is_update || kind.name.is_some();
    if is_kept {
        tasks.check_room(&kind, owner.as_deref())?;
    }
    let outcome = match &parameters {
        TaskParameters::Update(update) => {
            update::answer(operation, kind.package_type, update).await?
        }
        TaskParameters::Xml(document) => xml::answer(operation, document).await?,
        TaskParameters::ItemOrder(order) => {
            if request.wait_action == WaitAction::WAIT {
                return Err(diagnostic(Condition::IMMEDIATE_EXECUTION, ""));
            }
            order::answer(operation, order).await?
        }
        TaskParameters::PersistentResultSet(set) => persistent::result_set(operation, set)?,
        TaskParameters::PersistentQuery(query) => {
            persistent::query(operation, query, owner.as_deref())?
        }
        other => {
            let service = other.package_type().to_string();
            return Err(diagnostic(Condition::EXTENDED_SERVICE_TYPE, service));
        }
    };
    let is_kept = is_kept && outcome.failure.is_none();
    let failure = outcome.failure;
    let task = Task {
        kind,
        user_id: request
            .user_id
            .clone()
            .or_else(|| owner.as_deref().map(Into::into)),
        owner,
        permissions: request.permissions.clone(),
        description: request.description.clone(),
        created: Some(Moment::from(SystemTime::now()).generalized().into()),
        status: outcome.status,
        parameters: outcome.parameters,
        result_set: outcome.result_set,
    };
    let (number, not_kept) = match is_kept.then(|| tasks.add(task.clone())) {
        Some(Ok(number)) => (number, None),
        // The update is done even if there is no room for its package.
        Some(Err(full)) if is_update => (0, Some(full)),
        Some(Err(full)) => return Err(full),
        None => (0, None),
    };
    let status = match (&failure, task.status) {
        (Some(_), _) => OperationStatus::FAILURE,
        (None, TaskStatus::COMPLETE) => OperationStatus::DONE,
        (None, _) => OperationStatus::ACCEPTED,
    };
    let diagnostics: Vec<_> = failure.into_iter().chain(not_kept).collect();
    let diagnostics = diagnostics.into_iter().map(DiagRec::DefaultFormat);
    Ok(ExtendedServicesResponse {
        diagnostics: (diagnostics.len() > 0).then(|| diagnostics.collect()),
        ..with_package(request, status, number, &task)?
    })
}

/// Returns the response, with the task package if the client wants it.
///
/// # Errors
/// Condition 14 if the package cannot be encoded.
fn with_package(
    request: &ExtendedServicesRequest,
    operation_status: OperationStatus,
    number: u32,
    task: &Task,
) -> Result<ExtendedServicesResponse, Diagnostic> {
    let lost = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
    let mut task_package = None;
    if request.wait_action != WaitAction::DONT_RETURN_PACKAGE {
        let mut package = task.package(number).ok_or_else(lost)?;
        // A package that is not kept has no reference.
        package.target_reference = package.target_reference.filter(|_| number > 0);
        task_package = Some(package.to_external().map_err(|_| lost())?);
    }
    Ok(ExtendedServicesResponse {
        operation_status,
        task_package,
        ..ExtendedServicesResponse::default()
    })
}

/// Returns the parameters of the request.
///
/// # Errors
/// Condition 1008 if there are no parameters, 1043 if they belong to another service, 1057 if they are malformed.
fn parameters(request: &ExtendedServicesRequest) -> Result<TaskParameters, Diagnostic> {
    let external = request
        .task_specific_parameters
        .as_ref()
        .ok_or_else(|| missing("taskSpecificParameters"))?;
    if external.direct_reference != Some(request.package_type) {
        let syntax = external.direct_reference.map(|syntax| syntax.to_string());
        return Err(diagnostic(
            Condition::TASK_PARAMETERS_SYNTAX,
            syntax.unwrap_or_default(),
        ));
    }
    TaskParameters::from_external(external).map_err(|error| {
        let why = match error {
            ExternalError::Value(error) => error.reason,
            error => error.to_string(),
        };
        unsupported(&format!("taskSpecificParameters: {why}"))
    })
}

/// Replaces the contents, permissions and description of a task, if the request gives new values for them.
fn modify(
    operation: &Operation,
    request: &ExtendedServicesRequest,
    kind: &TaskKind,
    user: Option<&str>,
) -> Result<ExtendedServicesResponse, Diagnostic> {
    let tasks = Arc::clone(&operation.target.tasks);
    let (number, task) = tasks.named(kind, user, Function::PRESENT)?;
    let mut task = Task::clone(&task);
    if request.permissions.is_some() {
        tasks.named(kind, user, Function::MODIFY_PERMISSIONS)?;
        task.permissions.clone_from(&request.permissions);
    }
    if request.task_specific_parameters.is_some() || request.description.is_some() {
        tasks.named(kind, user, Function::MODIFY_CONTENTS)?;
    }
    if request.description.is_some() {
        task.description.clone_from(&request.description);
    }
    if request.task_specific_parameters.is_some() {
        let outcome = match parameters(request)? {
            TaskParameters::PersistentResultSet(set) => persistent::result_set(operation, &set)?,
            TaskParameters::PersistentQuery(query) => persistent::query(operation, &query, user)?,
            // Other tasks, such as updates and orders, have been carried out or placed already and cannot be changed.
            _ => {
                return Err(diagnostic(
                    Condition::TASK_FUNCTION,
                    request.function.to_string(),
                ));
            }
        };
        task.parameters = outcome.parameters;
        task.result_set = outcome.result_set;
    }
    tasks.replace(number, task.clone())?;
    with_package(request, OperationStatus::DONE, number, &task)
}

fn delete(
    association: &Association,
    kind: &TaskKind,
    user: Option<&str>,
) -> Result<ExtendedServicesResponse, Diagnostic> {
    let tasks = &association.target.tasks;
    let (number, _) = tasks.named(kind, user, Function::DELETE)?;
    tasks.remove(number);
    Ok(ExtendedServicesResponse {
        operation_status: OperationStatus::DONE,
        ..ExtendedServicesResponse::default()
    })
}

/// Returns the reason why an update failed, which is the diagnostic of one of its records; `None` if the update succeeded.
fn failure_of(outcomes: &[Result<Bytes, Diagnostic>]) -> Option<Diagnostic> {
    let why = outcomes.iter().find_map(|outcome| outcome.as_ref().err())?;
    Some(match why.addinfo.as_bytes() {
        b"" => diagnostic(Condition::EXECUTION_FAILED, why.to_string()),
        addinfo => diagnostic(Condition::EXECUTION_FAILED, addinfo),
    })
}

fn missing(parameter: &str) -> Diagnostic {
    diagnostic(Condition::PARAMETER_MISSING, parameter)
}

fn unsupported(parameter: &str) -> Diagnostic {
    diagnostic(Condition::PARAMETER_VALUE, parameter)
}

#[cfg(test)]
pub(crate) mod tests;
