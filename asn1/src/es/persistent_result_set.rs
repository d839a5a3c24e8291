//! Persistent Result Set: a result set kept beyond the session (Z39.50-2003 Appendix EXT.1).

use super::Null;
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// PersistentResultSet.
    pub enum PersistentResultSet {
        [1] EsRequest(EsRequest),
        [2] TaskPackage(TaskPackage),
    }

    /// What the client asks for.
    #[derive(Default)]
    pub struct EsRequest {
        [1] to_keep: Null,
        [explicit 2] not_to_keep: Option<OriginPartNotToKeep>,
    }

    /// What the server keeps.
    #[derive(Default)]
    pub struct TaskPackage {
        [1] origin_part: Null,
        [explicit 2] target_part: Option<TargetPart>,
    }

    /// The part of the request that the package does not keep.
    #[derive(Default)]
    pub struct OriginPartNotToKeep {
        /// The result set of the session to keep; on any function but delete.
        [1] origin_supplied_result_set: Option<InternationalString>,
        /// On modify.
        [2] replace_or_append: Option<ReplaceOrAppend>,
    }

    /// What happens to the records kept before.
    pub integer ReplaceOrAppend { REPLACE = 1 "replace", APPEND = 2 "append" }

    /// The server's part of the package.
    #[derive(Default)]
    pub struct TargetPart {
        /// A result set of this session with the records kept; when the package is presented.
        [1] target_supplied_result_set: Option<InternationalString>,
        [2] number_of_records: Option<i64>,
    }
}
