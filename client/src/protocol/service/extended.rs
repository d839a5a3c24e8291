//! Extended services: tasks that outlive their operation, such as updates and orders (Z39.50-2003 §3.2.9). The parameters of
//! each task have a module of their own in [`z3950_asn1::es`].

mod ill;
mod order;
mod update;

use z3950_asn1::apdu::{
    ElementSetName, ExtendedServicesFunction, ExtendedServicesRequest, ExtendedServicesResponse,
    External, ExternalValue, IntUnit, OperationStatus, Options, OtherInformation, Permission,
    WaitAction,
};
use z3950_asn1::error::EncodeError;
pub use z3950_asn1::es::update::Action;
use z3950_asn1::es::{TaskPackage, TaskParameters};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::InternationalString;

pub use self::ill::{IllError, ill_request, ill_request_for, ill_request_of};
pub use self::order::Order;
pub use self::update::{DatabaseUpdate, UpdateVersion};
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// A task: its type and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The type of the task package.
    pub package_type: Oid,
    /// The parameters; none to delete a package.
    pub parameters: Option<External>,
}

impl Task {
    /// A task of any service, such as the `EsRequest` of a [`PersistentQuery`](z3950_asn1::es::persistent_query::PersistentQuery).
    ///
    /// # Errors
    /// Only for values that cannot be encoded.
    pub fn new(parameters: impl Into<TaskParameters>) -> Result<Self, EncodeError> {
        let parameters = parameters.into();
        Ok(Self {
            package_type: parameters.package_type(),
            parameters: Some(parameters.to_external()?),
        })
    }

    /// A document for the XML service of Index Data.
    pub fn xml(document: &[u8]) -> Self {
        Self {
            package_type: oid::XML_ES,
            parameters: Some(External::octet_aligned(oid::XML_ES, document)),
        }
    }

    /// A task without parameters, for [`ExtendedServicesFunction::DELETE`] of a named package.
    pub fn named(package_type: Oid) -> Self {
        Self {
            package_type,
            parameters: None,
        }
    }
}

/// How to request a task. By default an unnamed package is created, and the server waits for the task if it can.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskOptions {
    /// Whether to create, delete or modify the task package.
    pub function: ExtendedServicesFunction,
    /// The name of the task package.
    pub package_name: Option<InternationalString>,
    /// The owner of the package.
    pub user_id: Option<InternationalString>,
    /// How long to keep the package after the task is done.
    pub retention_time: Option<IntUnit>,
    /// The permissions on the package.
    pub permissions: Option<Vec<Permission>>,
    /// A description for people.
    pub description: Option<InternationalString>,
    /// Whether to answer only after the task is done.
    pub wait_action: WaitAction,
    /// The element set of the task package in the answer.
    pub elements: Option<InternationalString>,
    /// Additional information for the server.
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
    /// The request for a task.
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

/// The result of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskResult {
    /// Whether it is done, accepted, or failed.
    pub status: OperationStatus,
    /// The server's diagnostics.
    pub diagnostics: Diagnostics,
    /// The task package, if the server sent it.
    pub task_package: Option<External>,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl TaskResult {
    /// The decoded task package; `None` if it is absent or malformed.
    pub fn package(&self) -> Option<TaskPackage> {
        TaskPackage::from_external(self.task_package.as_ref()?).ok()
    }

    /// The parameters in the package; `None` if they are absent or of an unknown service.
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

impl Session {
    /// Requests a task, such as an update or an order.
    ///
    /// # Errors
    /// [`Error::Refused`] if the task failed, [`ProtocolFault::NotGranted`] if the server does not offer extended services;
    /// the session continues. Others end it. A request whose answer did not arrive may have been carried out.
    pub async fn task(&self, task: Task, options: &TaskOptions) -> Result<TaskResult, Error> {
        let result = self.task_outcome(task, options).await?;
        match result.status {
            OperationStatus::FAILURE => Err(Error::Refused {
                phase: Phase::ExtendedServices,
                diagnostics: result.diagnostics,
            }),
            _ => Ok(result),
        }
    }

    /// Requests a task. A failed task is a result, because its package may give the reason for each record.
    ///
    /// # Errors
    /// Those of [`task`](Self::task) except [`Error::Refused`].
    pub async fn task_outcome(
        &self,
        task: Task,
        options: &TaskOptions,
    ) -> Result<TaskResult, Error> {
        let phase = Phase::ExtendedServices;
        self.require_granted(phase, Options::EXTENDED_SERVICES)?;
        let response: ExtendedServicesResponse = self.ask(options.request(task)).await?;
        Ok(response.into())
    }
}
