//! Delete: result sets the client no longer needs (Z39.50-2003 §3.2.4).

use z3950_asn1::apdu::{
    Apdu, DeleteFunction, DeleteResultSetRequest, DeleteSetStatus, ListStatus, Options,
    OtherInformation, ResultSetId,
};
use z3950_asn1::types::InternationalString;

use crate::error::{Error, Phase};
use crate::session::Session;

/// Which result sets to delete.
#[derive(Debug, Clone, PartialEq)]
pub enum Delete {
    /// The sets of these names.
    Sets(Vec<InternationalString>),
    /// All sets of the session.
    All,
}

impl Delete {
    /// The request that says so, without other information.
    pub fn request(self) -> DeleteResultSetRequest {
        let (delete_function, result_set_list) = match self {
            Self::Sets(names) => (
                DeleteFunction::LIST,
                Some(names.into_iter().map(ResultSetId).collect()),
            ),
            Self::All => (DeleteFunction::ALL, None),
        };
        DeleteResultSetRequest {
            reference_id: None,
            delete_function,
            result_set_list,
            other_info: None,
        }
    }
}

/// What became of the sets.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeleteResult {
    /// What became of the request as a whole.
    pub status: DeleteSetStatus,
    /// What became of each set, where the server says so.
    pub sets: Vec<ListStatus>,
    /// How many sets of all were not deleted.
    pub not_deleted: Option<i64>,
    /// A word from the server.
    pub message: Option<String>,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

/// Sends the request. A status other than success is data, as servers disagree on what counts as one.
pub(crate) async fn delete(
    session: &Session,
    request: DeleteResultSetRequest,
) -> Result<DeleteResult, Error> {
    session.require(Phase::Delete, Options::DELETE, "delSet")?;
    let response = match session.ask(request.into()).await? {
        Apdu::DeleteResultSetResponse(response) => *response,
        other => return Err(super::unexpected(Phase::Delete, &other)),
    };
    let lists = [response.delete_list_statuses, response.bulk_statuses];
    Ok(DeleteResult {
        status: response.delete_operation_status,
        sets: lists.into_iter().flatten().flatten().collect(),
        not_deleted: response.number_not_deleted,
        message: response
            .delete_message
            .map(|message| message.to_string_lossy().into_owned()),
        other_info: response.other_info,
    })
}
