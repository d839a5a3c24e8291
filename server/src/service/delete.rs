//! Delete (Z39.50-2003 §3.2.4): deletes result sets by name, or all result sets of the session.

use z3950_asn1::apdu::{
    DeleteFunction, DeleteResultSetRequest, DeleteResultSetResponse, DeleteSetStatus, ListStatus,
    ResultSetId,
};
use z3950_asn1::bib1::diagnostics::Condition;

use crate::association::Operation;

/// Deletes the result sets. Returns `None` if the standard does not define the requested function.
///
/// If a single set is named, its status is the status of the operation. If several sets are named and one of them does not exist,
/// the status is notAllRequestedResultSetsDeleted.
pub(super) fn answer(
    operation: &Operation,
    request: &DeleteResultSetRequest,
) -> Option<DeleteResultSetResponse> {
    let statuses: Option<Vec<ListStatus>> = match request.delete_function {
        DeleteFunction::LIST => {
            let names = request.result_set_list.iter().flatten();
            Some(names.map(|name| delete(operation, name)).collect())
        }
        DeleteFunction::ALL => {
            operation.result_sets().clear();
            None
        }
        _ => return None,
    };
    Some(DeleteResultSetResponse {
        delete_operation_status: operation_status(statuses.as_deref().unwrap_or_default()),
        delete_list_statuses: statuses,
        ..DeleteResultSetResponse::default()
    })
}

fn delete(operation: &Operation, name: &ResultSetId) -> ListStatus {
    let octets = name.0.as_bytes();
    let status = match operation.result_sets().find(octets) {
        Ok(_) => DeleteSetStatus::SUCCESS,
        Err(why) if why.condition == Condition::RESULT_SET_DELETED.0 => {
            DeleteSetStatus::PREVIOUSLY_DELETED_BY_TARGET
        }
        Err(_) => DeleteSetStatus::RESULT_SET_DID_NOT_EXIST,
    };
    operation.result_sets().delete(octets);
    ListStatus {
        id: name.clone(),
        status,
    }
}

fn operation_status(statuses: &[ListStatus]) -> DeleteSetStatus {
    match statuses {
        [only] => only.status,
        all if all.iter().all(|one| one.status == DeleteSetStatus::SUCCESS) => {
            DeleteSetStatus::SUCCESS
        }
        _ => DeleteSetStatus::NOT_ALL_RESULT_SETS_DELETED,
    }
}
