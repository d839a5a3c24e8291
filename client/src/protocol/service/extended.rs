//! Extended services: tasks that outlive the operation which asks for them, such as updates and orders
//! (Z39.50-2003 §3.2.9). What a task is about travels in an EXTERNAL of its own module, [`z3950_asn1::es`].

mod export;
mod ill;
mod order;
mod periodic;
mod persistent;
mod update;

use z3950_asn1::apdu::{
    Apdu, ElementSetName, ExtendedServicesFunction, ExtendedServicesRequest,
    ExtendedServicesResponse, External, ExternalValue, IntUnit, OperationStatus, Options,
    OtherInformation, Permission, WaitAction,
};
use z3950_asn1::error::EncodeError;
pub use z3950_asn1::es::update::Action;
use z3950_asn1::es::{TaskPackage, TaskParameters};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::InternationalString;

pub use self::export::{Delivery, Export};
pub use self::ill::{IllError, ill_request, ill_request_for, ill_request_of};
pub use self::order::Order;
pub use self::periodic::PeriodicQuery;
pub use self::persistent::{KeptQuery, KeptResultSet};
pub use self::update::{DatabaseUpdate, UpdateVersion};
use crate::error::{Diagnostics, Error, Phase};
use crate::session::Session;

/// What is to be done: the type of the task and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The service.
    pub package_type: Oid,
    /// Its parameters; none where a package is named only to be deleted.
    pub parameters: Option<External>,
}

impl Task {
    /// A task of any service.
    ///
    /// # Errors
    /// Only for values that no BER can carry.
    pub fn new(parameters: &TaskParameters) -> Result<Self, EncodeError> {
        Ok(Self {
            package_type: parameters.package_type(),
            parameters: Some(parameters.to_external()?),
        })
    }

    /// A document whose meaning the two sides know, by the XML service of Index Data.
    pub fn xml(document: &[u8]) -> Self {
        Self {
            package_type: oid::XML_ES,
            parameters: Some(External::octet_aligned(oid::XML_ES, document)),
        }
    }

    /// A package of this type, known by its name: what [`ExtendedServicesFunction::DELETE`] needs.
    pub fn named(package_type: Oid) -> Self {
        Self {
            package_type,
            parameters: None,
        }
    }
}

/// How to have a task done. By default its package is created under no name, and waited for if the server can.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskOptions {
    /// Whether to create, delete or modify the task package.
    pub function: ExtendedServicesFunction,
    /// The name of the task package, by which it is found again.
    pub package_name: Option<InternationalString>,
    /// Whose package it is.
    pub user_id: Option<InternationalString>,
    /// How long the package is kept once the task is done.
    pub retention_time: Option<IntUnit>,
    /// Who may do what with the package.
    pub permissions: Option<Vec<Permission>>,
    /// What the task is, for people.
    pub description: Option<InternationalString>,
    /// Whether the answer is to wait for the task.
    pub wait_action: WaitAction,
    /// The element set of the task package in the answer.
    pub elements: Option<InternationalString>,
    /// Whatever else the server is to know.
    pub other_info: Option<OtherInformation>,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            function: ExtendedServicesFunction::CREATE,
            package_name: None,
            user_id: None,
            retention_time: None,
            permissions: None,
            description: None,
            wait_action: WaitAction::WAIT_IF_POSSIBLE,
            elements: None,
            other_info: None,
        }
    }
}

impl TaskOptions {
    /// The request that these options make of a task.
    pub fn request(&self, task: Task) -> ExtendedServicesRequest {
        ExtendedServicesRequest {
            reference_id: None,
            function: self.function,
            package_type: task.package_type,
            package_name: self.package_name.clone(),
            user_id: self.user_id.clone(),
            retention_time: self.retention_time.clone(),
            permissions: self.permissions.clone(),
            description: self.description.clone(),
            task_specific_parameters: task.parameters,
            wait_action: self.wait_action,
            elements: self.elements.clone().map(ElementSetName),
            other_info: self.other_info.clone(),
        }
    }
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskResult {
    /// Whether it was done, only taken on, or failed.
    pub status: OperationStatus,
    /// What the server says about it.
    pub diagnostics: Diagnostics,
    /// The task package as it came, where the server gives it.
    pub task_package: Option<External>,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

impl TaskResult {
    /// The task package; `None` if there is none, or it is malformed.
    pub fn package(&self) -> Option<TaskPackage> {
        TaskPackage::from_external(self.task_package.as_ref()?).ok()
    }

    /// What the package says of the service itself; `None` if it says nothing, or the service is not known here.
    pub fn parameters(&self) -> Option<TaskParameters> {
        TaskParameters::from_external(&self.package()?.task_specific_parameters).ok()
    }
}

impl From<ExtendedServicesResponse> for TaskResult {
    fn from(response: ExtendedServicesResponse) -> Self {
        Self {
            status: response.operation_status,
            diagnostics: Diagnostics(response.diagnostics.unwrap_or_default()),
            task_package: response.task_package,
            other_info: response.other_info,
        }
    }
}

/// Sends `request`; the status failure is [`Error::Refused`].
pub(crate) async fn task(
    session: &Session,
    request: ExtendedServicesRequest,
) -> Result<TaskResult, Error> {
    let result = outcome(session, request).await?;
    match result.status {
        OperationStatus::FAILURE => Err(Error::Refused {
            phase: Phase::ExtendedServices,
            diagnostics: result.diagnostics,
        }),
        _ => Ok(result),
    }
}

/// The same, the status failure being a result like others.
pub(crate) async fn outcome(
    session: &Session,
    request: ExtendedServicesRequest,
) -> Result<TaskResult, Error> {
    session.require_granted(
        Phase::ExtendedServices,
        Options::EXTENDED_SERVICES,
        "extendedServices",
    )?;
    let response = match session.ask(request.into()).await? {
        Apdu::ExtendedServicesResponse(response) => *response,
        other => return Err(super::unexpected(Phase::ExtendedServices, &other)),
    };
    Ok(response.into())
}
