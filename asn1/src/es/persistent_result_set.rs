//! Persistent Result Set: a result set that is kept beyond the session (Z39.50-2003 Appendix EXT.1).

use super::Null;
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// PersistentResultSet: the client's request, or the task package at the server.
    pub enum PersistentResultSet {
        [1] EsRequest(EsRequest),
        [2] TaskPackage(TaskPackage),
    }

    /// The client's request.
    #[derive(Default)]
    pub struct EsRequest {
        [1] to_keep: Null,
        [explicit 2] not_to_keep: Option<OriginPartNotToKeep>,
    }

    /// The task package at the server.
    #[derive(Default)]
    pub struct TaskPackage {
        [1] origin_part: Null,
        [explicit 2] target_part: Option<TargetPart>,
    }

    /// The part of the request that the package does not keep.
    #[derive(Default)]
    pub struct OriginPartNotToKeep {
        /// The result set in the session that is to be kept; present unless the task is deleted.
        [1] origin_supplied_result_set: Option<InternationalString>,
        /// Whether to replace or append records; present when the task is modified.
        [2] replace_or_append: Option<ReplaceOrAppend>,
    }

    /// The treatment of records that were kept earlier.
    pub integer ReplaceOrAppend { REPLACE = 1 "replace", APPEND = 2 "append" }

    /// The server's part of the task package.
    #[derive(Default)]
    pub struct TargetPart {
        /// A result set of the current session that contains the kept records; present when the package is retrieved.
        [1] target_supplied_result_set: Option<InternationalString>,
        [2] number_of_records: Option<i64>,
    }
}
