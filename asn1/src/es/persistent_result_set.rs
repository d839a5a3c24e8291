//! Persistent Result Set: a result set kept beyond the session (Z39.50-2003 Appendix EXT.1).

use rasn::prelude::*;

use super::Null;
use crate::apdu::ExternalValue;
use crate::describe::{choice, described_by_name, sequence};
use crate::oid::{self, Oid};
use crate::types::{InternationalString, named_integer};

choice! {
    /// PersistentResultSet.
    pub enum PersistentResultSet {
        #[rasn(tag(1))] EsRequest(EsRequest),
        #[rasn(tag(2))] TaskPackage(TaskPackage),
    }
}

impl ExternalValue for PersistentResultSet {
    const SYNTAX: Oid = oid::PERSISTENT_RESULT_SET;
}

sequence! {
    /// What the client asks for.
    #[derive(Default)]
    pub struct EsRequest {
        #[rasn(tag(1))] to_keep: Null,
        #[rasn(tag(explicit(2)))] not_to_keep: Option<OriginPartNotToKeep>,
    }
}

sequence! {
    /// What the server keeps.
    #[derive(Default)]
    pub struct TaskPackage {
        #[rasn(tag(1))] origin_part: Null,
        #[rasn(tag(explicit(2)))] target_part: Option<TargetPart>,
    }
}

sequence! {
    /// The part of the request that the package does not keep.
    #[derive(Default)]
    pub struct OriginPartNotToKeep {
        /// The result set of the session to keep; on any function but delete.
        #[rasn(tag(1))] origin_supplied_result_set: Option<InternationalString>,
        /// On modify.
        #[rasn(tag(2))] replace_or_append: Option<ReplaceOrAppend>,
    }
}

named_integer!(
    /// What happens to the records kept before.
    ReplaceOrAppend { REPLACE = 1 "replace", APPEND = 2 "append" }
);
described_by_name!(ReplaceOrAppend);

sequence! {
    /// The server's part of the package.
    #[derive(Default)]
    pub struct TargetPart {
        /// A result set of this session with the records kept; when the package is presented.
        #[rasn(tag(1))] target_supplied_result_set: Option<InternationalString>,
        #[rasn(tag(2))] number_of_records: Option<i64>,
    }
}
