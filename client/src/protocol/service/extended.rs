//! Extended services: tasks that may continue after the operation that requested them, such as updates and orders
//! (Z39.50-2003 §3.2.9). The module [`z3950_asn1::es`] has a submodule for the parameters of each task.

mod ill;

use z3950_asn1::apdu::{
    ExtendedServicesRequest, ExtendedServicesResponse, External, ExternalValue, OperationStatus,
    Options, OtherInformation,
};
use z3950_asn1::error::EncodeError;
use z3950_asn1::es::item_order::{
    Billing, Contact, EsRequest, ItemOrder, OriginPartNotToKeep, OriginPartToKeep, ResultSetItem,
};
use z3950_asn1::es::update::{self, Update};
use z3950_asn1::es::{TaskPackage, TaskParameters};
use z3950_asn1::oid::{DATABASE_UPDATE_1, Oid};
use z3950_asn1::types::InternationalString;

pub use self::ill::{IllError, ill_request_for, ill_request_of};
use super::diagnostics::with_information;
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// Builds the request for a task of any service, such as the `EsRequest` of a
/// [`PersistentQuery`](z3950_asn1::es::persistent_query::PersistentQuery), or a document for Index Data's XML service.
///
/// # Errors
/// Fails only if BER cannot encode a value.
pub fn task(parameters: impl Into<TaskParameters>) -> Result<ExtendedServicesRequest, EncodeError> {
    let parameters = parameters.into();
    let external = parameters.to_external()?;
    let package_type = parameters.package_type();
    Ok(ExtendedServicesRequest::create(
        package_type,
        Some(external),
    ))
}

/// Builds a task that inserts, replaces or deletes records in a database (Z39.50-2003 Appendix EXT.5 and its revision
/// 1, which is called version 3). `version` is [`DATABASE_UPDATE`](z3950_asn1::oid::DATABASE_UPDATE) or
/// [`DATABASE_UPDATE_1`], which has no qualifiers.
///
/// # Errors
/// Fails only if BER cannot encode a value.
pub fn update_task(
    version: Oid,
    mut update: update::EsRequest,
) -> Result<ExtendedServicesRequest, EncodeError> {
    if version == DATABASE_UPDATE_1 {
        update.to_keep.action_qualifier = None;
    }
    let parameters = Update::EsRequest(Box::new(update)).to_external_as(version)?;
    Ok(ExtendedServicesRequest::create(version, Some(parameters)))
}

/// An order for the item that a record in a result set describes, for the item that a request in another protocol
/// describes, or for both (Z39.50-2003 Appendix EXT.4).
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Order {
    /// The name of the result set, and the 1-based position of the record.
    pub item: Option<(InternationalString, i64)>,
    /// A request in another protocol, such as an ISO 10161 ILL-Request.
    pub request: Option<External>,
    /// The person whom the supplier can contact about the order.
    pub contact: Option<Contact>,
    /// How the order is paid for.
    pub billing: Option<Billing>,
    /// Further information about the item, for the supplier.
    pub description: Option<External>,
}

impl Order {
    /// Builds the task for this order.
    ///
    /// # Errors
    /// Fails only if BER cannot encode a value.
    pub fn task(self) -> Result<ExtendedServicesRequest, EncodeError> {
        let item = self.item.map(|(result_set_id, item)| ResultSetItem {
            result_set_id,
            item,
        });
        task(ItemOrder::EsRequest(Box::new(EsRequest {
            // This part is always present, because yaz-ztest 5.34 reads it without checking.
            to_keep: Some(OriginPartToKeep {
                suppl_description: self.description,
                contact: self.contact,
                addl_billing: self.billing,
            }),
            not_to_keep: OriginPartNotToKeep {
                result_set_item: item,
                item_request: self.request,
            },
        })))
    }
}

/// The server's response to a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskResult {
    /// Whether the task was done, was accepted, or failed.
    pub status: OperationStatus,
    /// The server's diagnostics, including those in the task package. A task that is done or accepted may also have
    /// diagnostics.
    pub diagnostics: Diagnostics,
    /// The task package, if the server sent it.
    pub task_package: Option<External>,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl TaskResult {
    /// Returns the decoded task package, or `None` if it is missing or malformed.
    pub fn package(&self) -> Option<TaskPackage> {
        TaskPackage::from_external(self.task_package.as_ref()?).ok()
    }

    /// Returns the parameters in the task package, or `None` if they are missing or belong to an unknown service.
    pub fn parameters(&self) -> Option<TaskParameters> {
        TaskParameters::from_external(&self.package()?.task_specific_parameters).ok()
    }
}

impl From<ExtendedServicesResponse> for TaskResult {
    fn from(response: ExtendedServicesResponse) -> Self {
        let diagnostics = Diagnostics(response.diagnostics.unwrap_or_default());
        let mut diagnostics = with_information(diagnostics, response.other_info.as_ref());
        let package = response.task_package.as_ref();
        let package = package.and_then(|package| TaskPackage::from_external(package).ok());
        let of_package = package.and_then(|package| package.package_diagnostics);
        diagnostics.extend(of_package.into_iter().flatten());
        Self {
            status: response.operation_status,
            diagnostics,
            task_package: response.task_package,
            other_info: response.other_info,
        }
    }
}

impl Session {
    /// Requests a task, such as an update or an order.
    ///
    /// # Errors
    /// [`Error::Refused`] if the task failed, or [`ProtocolFault::NotGranted`] if the server does not offer extended
    /// services. The session continues after these errors. Other errors end the session. If the answer to a request
    /// does not arrive, the server may still have performed the request.
    pub async fn task(&self, task: ExtendedServicesRequest) -> Result<TaskResult, Error> {
        let result = self.task_outcome(task).await?;
        match result.status {
            OperationStatus::FAILURE => Err(Error::Refused {
                phase: Phase::ExtendedServices,
                diagnostics: result.diagnostics,
            }),
            _ => Ok(result),
        }
    }

    /// Requests a task. A failed task is not an error here, because its task package may contain a reason for each
    /// record.
    ///
    /// # Errors
    /// The errors of [`task`](Self::task), except [`Error::Refused`].
    pub async fn task_outcome(&self, task: ExtendedServicesRequest) -> Result<TaskResult, Error> {
        let phase = Phase::ExtendedServices;
        self.require_granted(phase, Options::EXTENDED_SERVICES)?;
        let response: ExtendedServicesResponse = self.ask(task).await?;
        Ok(response.into())
    }
}
