//! Persistent Query: a query that is kept beyond the session (Z39.50-2003 Appendix EXT.2).

use crate::apdu::{OtherInformation, Query};
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// PersistentQuery: the client's request, or the task package at the server.
    pub enum PersistentQuery {
        [1] EsRequest(EsRequest),
        [2] TaskPackage(TaskPackage),
    }

    /// The client's request.
    pub struct EsRequest {
        [explicit 1] to_keep: Option<OriginPartToKeep>,
        [2] not_to_keep: OriginPartNotToKeep,
    }

    /// The task package at the server.
    pub struct TaskPackage {
        [explicit 1] origin_part: Option<OriginPartToKeep>,
        /// The query that is kept.
        [2] target_part: Query,
    }

    /// The part of the request that the package keeps.
    #[derive(Default)]
    pub struct OriginPartToKeep {
        [2] db_names: Option<Vec<InternationalString>>,
        [explicit 3] additional_search_info: Option<OtherInformation>,
    }

    /// The query to keep, or the name of the package that contains it.
    pub enum OriginPartNotToKeep {
        [1] Package(InternationalString),
        [2] Query(Box<Query>),
    }
}
