//! Delete: DeleteResultSetRequest `[26]`, DeleteResultSetResponse `[27]` (Z39.50-2003 §3.2.4).

use super::{OtherInformation, ReferenceId, ResultSetId};
use crate::production::productions;
use crate::types::InternationalString;

productions! {
    /// A request to delete result sets.
    pub struct DeleteResultSetRequest {
        reference_id: Option<ReferenceId>,
        [32] delete_function: DeleteFunction,
        /// The result sets to delete, if `delete_function` is `list`.
        result_set_list: Option<Vec<ResultSetId>>,
        other_info: Option<OtherInformation>,
    }

    /// The result of a request to delete result sets: a status for the whole request, and one for each set.
    #[derive(Default)]
    pub struct DeleteResultSetResponse {
        reference_id: Option<ReferenceId>,
        [0] delete_operation_status: DeleteSetStatus,
        [1] delete_list_statuses: Option<Vec<ListStatus>>,
        [34] number_not_deleted: Option<i64>,
        [35] bulk_statuses: Option<Vec<ListStatus>>,
        [36] delete_message: Option<InternationalString>,
        other_info: Option<OtherInformation>,
    }

    /// The result for one result set.
    pub struct ListStatus {
        id: ResultSetId,
        status: DeleteSetStatus,
    }

    /// Whether to delete the listed result sets or all result sets in the session.
    pub integer DeleteFunction { LIST = 0 "list", ALL = 1 "all" }

    /// The result of deleting a result set, or the reason why it was not deleted (Z39.50-2003 §3.2.4.1.3).
    [33] pub integer DeleteSetStatus {
        SUCCESS = 0 "success", RESULT_SET_DID_NOT_EXIST = 1 "resultSetDidNotExist",
        PREVIOUSLY_DELETED_BY_TARGET = 2 "previouslyDeletedByTarget",
        SYSTEM_PROBLEM_AT_TARGET = 3 "systemProblemAtTarget", ACCESS_NOT_ALLOWED = 4 "accessNotAllowed",
        RESOURCE_CONTROL_AT_ORIGIN = 5 "resourceControlAtOrigin", RESOURCE_CONTROL_AT_TARGET = 6 "resourceControlAtTarget",
        BULK_DELETE_NOT_SUPPORTED = 7 "bulkDeleteNotSupported",
        NOT_ALL_REQUESTED_RESULT_SETS_DELETED = 8 "notAllRsltSetsDeletedOnBulkDlte",
        NOT_ALL_RESULT_SETS_DELETED = 9 "notAllRequestedResultSetsDeleted", RESULT_SET_IN_USE = 10 "resultSetInUse",
    }
}
