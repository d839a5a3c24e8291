//! Persistent Query: a query kept beyond the session (Z39.50-2003 Appendix EXT.2).

use crate::apdu::{ExternalValue, OtherInformation, Query};
use crate::describe::{choice, sequence};
use crate::oid::{self, Oid};
use crate::types::InternationalString;

choice! {
    /// PersistentQuery.
    pub enum PersistentQuery {
        [1] EsRequest(EsRequest),
        [2] TaskPackage(TaskPackage),
    }
}

impl ExternalValue for PersistentQuery {
    const SYNTAX: Oid = oid::PERSISTENT_QUERY;
}

sequence! {
    /// What the client asks for.
    pub struct EsRequest {
        [explicit 1] to_keep: Option<OriginPartToKeep>,
        [2] not_to_keep: OriginPartNotToKeep,
    }
}

sequence! {
    /// What the server keeps.
    pub struct TaskPackage {
        [explicit 1] origin_part: Option<OriginPartToKeep>,
        /// The query kept.
        [2] target_part: Query,
    }
}

sequence! {
    /// The part of the request that the package keeps.
    #[derive(Default)]
    pub struct OriginPartToKeep {
        [2] db_names: Option<Vec<InternationalString>>,
        [explicit 3] additional_search_info: Option<OtherInformation>,
    }
}

choice! {
    /// The query to keep, or the package that has it.
    pub enum OriginPartNotToKeep {
        [1] Package(InternationalString),
        [2] Query(Box<Query>),
    }
}
