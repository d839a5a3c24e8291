//! Delete: removes result sets that the client no longer needs (Z39.50-2003 §3.2.4).

use z3950_asn1::apdu::{
    DeleteResultSetRequest, DeleteResultSetResponse, DeleteSetStatus, ListStatus, Options,
    OtherInformation,
};
use z3950_asn1::types::InternationalString;

use super::diagnostics::with_information;
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// The result sets to delete.
#[derive(Debug, Clone, PartialEq)]
pub enum Delete {
    /// The sets with these names.
    Sets(Vec<InternationalString>),
    /// All sets of the session.
    All,
}

/// Creates the request to delete these result sets, without additional information.
impl From<Delete> for DeleteResultSetRequest {
    fn from(sets: Delete) -> Self {
        match sets {
            Delete::Sets(names) => Self::new(names),
            Delete::All => Self::all(),
        }
    }
}

/// The result of a deletion. A status other than success is not an error, because servers disagree about when a
/// deletion is successful.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeleteResult {
    /// The status of the complete request.
    pub status: DeleteSetStatus,
    /// The status of each set, if the server reports it.
    pub sets: Vec<ListStatus>,
    /// The number of sets that were not deleted. It is present only in the answer to a request to delete all sets.
    pub not_deleted: Option<i64>,
    /// The server's message about the deletion, if any.
    pub message: Option<String>,
    /// The server's diagnostics, in `other_info`.
    pub diagnostics: Diagnostics,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl DeleteResult {
    /// Returns whether everything was deleted: the request and each listed set have the status success, no set was left
    /// undeleted, and there are no diagnostics.
    pub fn is_success(&self) -> bool {
        let mut sets = self.sets.iter();
        self.status == DeleteSetStatus::SUCCESS
            && sets.all(|set| set.status == DeleteSetStatus::SUCCESS)
            && self.not_deleted.is_none_or(|count| count == 0)
            && self.diagnostics.is_empty()
    }
}

impl Session {
    /// Deletes result sets, given by a [`Delete`] or a complete request.
    ///
    /// # Errors
    /// [`ProtocolFault::NotGranted`] if the server does not offer Delete. Other errors end the session.
    pub async fn delete(
        &self,
        sets: impl Into<DeleteResultSetRequest>,
    ) -> Result<DeleteResult, Error> {
        self.require(Phase::Delete, Options::DELETE)?;
        let response: DeleteResultSetResponse = self.ask(sets.into()).await?;
        let lists = [response.delete_list_statuses, response.bulk_statuses];
        Ok(DeleteResult {
            status: response.delete_operation_status,
            sets: lists.into_iter().flatten().flatten().collect(),
            not_deleted: response.number_not_deleted,
            message: response
                .delete_message
                .map(|message| message.to_string_lossy().into_owned()),
            diagnostics: with_information(Diagnostics::default(), response.other_info.as_ref()),
            other_info: response.other_info,
        })
    }
}
