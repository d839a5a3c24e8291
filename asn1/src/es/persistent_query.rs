//! Persistent Query: a query kept beyond the session (Z39.50-2003 Appendix EXT.2).

use rasn::prelude::*;

use crate::apdu::{ExternalValue, OtherInformation, Query};
use crate::describe::{choice, sequence};
use crate::oid::{self, Oid};
use crate::types::InternationalString;

choice! {
    /// PersistentQuery.
    pub enum PersistentQuery {
        #[rasn(tag(1))] EsRequest(EsRequest),
        #[rasn(tag(2))] TaskPackage(TaskPackage),
    }
}

impl ExternalValue for PersistentQuery {
    const SYNTAX: Oid = oid::PERSISTENT_QUERY;
}

sequence! {
    /// What the client asks for.
    pub struct EsRequest {
        #[rasn(tag(explicit(1)))] to_keep: Option<OriginPartToKeep>,
        #[rasn(tag(2))] not_to_keep: OriginPartNotToKeep,
    }
}

sequence! {
    /// What the server keeps.
    pub struct TaskPackage {
        #[rasn(tag(explicit(1)))] origin_part: Option<OriginPartToKeep>,
        /// The query kept.
        #[rasn(tag(2))] target_part: Query,
    }
}

sequence! {
    /// The part of the request that the package keeps.
    #[derive(Default)]
    pub struct OriginPartToKeep {
        #[rasn(tag(2))] db_names: Option<Vec<InternationalString>>,
        #[rasn(tag(explicit(3)))] additional_search_info: Option<OtherInformation>,
    }
}

choice! {
    /// The query to keep, or the package that has it.
    pub enum OriginPartNotToKeep {
        #[rasn(tag(1))] Package(InternationalString),
        #[rasn(tag(2))] Query(Box<Query>),
    }
}
