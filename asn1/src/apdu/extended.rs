//! Extended services: ExtendedServicesRequest `[46]`, ExtendedServicesResponse `[47]` (Z39.50-2003 §3.2.9).

use super::{DiagRec, ElementSetName, External, IntUnit, OtherInformation, ReferenceId};
use crate::describe::described;
use crate::oid::Oid;
use crate::production::productions;
use crate::types::InternationalString;

productions! {
    /// A request to create, delete or modify a task package of an extended service.
    pub struct ExtendedServicesRequest {
        reference_id: Option<ReferenceId>,
        [3] function: ExtendedServicesFunction,
        [4] package_type: Oid,
        [5] package_name: Option<InternationalString>,
        [6] user_id: Option<InternationalString>,
        [7] retention_time: Option<IntUnit>,
        [8] permissions: Option<Vec<Permission>>,
        [9] description: Option<InternationalString>,
        [10] task_specific_parameters: Option<External>,
        [11] wait_action: WaitAction,
        elements: Option<ElementSetName>,
        other_info: Option<OtherInformation>,
    }

    /// What to do with the task package.
    pub integer ExtendedServicesFunction { CREATE = 1 "create", DELETE = 2 "delete", MODIFY = 3 "modify" }

    /// Whether the server should answer immediately, or only after the task is done.
    pub integer WaitAction {
        WAIT = 1 "wait", WAIT_IF_POSSIBLE = 2 "waitIfPossible", DONT_WAIT = 3 "dontWait",
        DONT_RETURN_PACKAGE = 4 "dontReturnPackage",
    }

    /// The result of a request for an extended service.
    #[derive(Default)]
    pub struct ExtendedServicesResponse {
        reference_id: Option<ReferenceId>,
        [3] operation_status: OperationStatus,
        [4] diagnostics: Option<Vec<DiagRec>>,
        [5] task_package: Option<External>,
        other_info: Option<OtherInformation>,
    }

    /// Whether the task was done, was only accepted, or failed.
    pub integer OperationStatus { DONE = 1 "done", ACCEPTED = 2 "accepted", FAILURE = 3 "failure" }
}

described! {
    /// A user's permissions for a task package.
    pub struct Permission {
        [1] user_id: Option<InternationalString>,
        [2] allowable_functions: Vec<AllowableFunction>,
    }

    /// An action that a user may perform on a task package.
    pub integer AllowableFunction {
        DELETE = 1 "delete", MODIFY_CONTENTS = 2 "modifyContents", MODIFY_PERMISSIONS = 3 "modifyPermissions",
        PRESENT = 4 "present", INVOKE = 5 "invoke",
    }
}

impl ExtendedServicesRequest {
    /// Creates a request for an unnamed task package. It asks the server to answer after the task is done, if possible.
    pub fn create(package_type: Oid, parameters: Option<External>) -> Self {
        Self {
            reference_id: None,
            function: ExtendedServicesFunction::CREATE,
            package_type,
            package_name: None,
            user_id: None,
            retention_time: None,
            permissions: None,
            description: None,
            task_specific_parameters: parameters,
            wait_action: WaitAction::WAIT_IF_POSSIBLE,
            elements: None,
            other_info: None,
        }
    }
}
