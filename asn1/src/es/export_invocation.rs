//! Export Invocation: records of a result set delivered as an export specification says (Z39.50-2003 Appendix EXT.7).

use rasn::prelude::*;

use super::export_specification::ExportSpecification;
use crate::apdu::{ExternalValue, IntUnit};
use crate::describe::{choice, sequence};
use crate::oid::{self, Oid};
use crate::types::InternationalString;

choice! {
    /// ExportInvocation.
    pub enum ExportInvocation {
        #[rasn(tag(1))] EsRequest(Box<EsRequest>),
        #[rasn(tag(2))] TaskPackage(Box<TaskPackage>),
    }
}

impl ExternalValue for ExportInvocation {
    const SYNTAX: Oid = oid::EXPORT_INVOCATION;
}

sequence! {
    /// What the client asks for.
    pub struct EsRequest {
        #[rasn(tag(explicit(1)))] to_keep: OriginPartToKeep,
        #[rasn(tag(explicit(2)))] not_to_keep: OriginPartNotToKeep,
    }
}

sequence! {
    /// What the server keeps.
    pub struct TaskPackage {
        #[rasn(tag(explicit(1)))] origin_part: OriginPartToKeep,
        #[rasn(tag(explicit(2)))] target_part: Option<TargetPart>,
    }
}

sequence! {
    /// The part of the request that the package keeps.
    pub struct OriginPartToKeep {
        #[rasn(tag(1))] export_spec: ExportSpec,
        #[rasn(tag(2))] number_of_copies: i64,
    }
}

choice! {
    /// How records are delivered: as another package says, or as specified here.
    pub enum ExportSpec {
        #[rasn(tag(1))] PackageName(InternationalString),
        #[rasn(tag(explicit(2)))] PackageSpec(Box<ExportSpecification>),
    }
}

sequence! {
    /// The part of the request that the package does not keep.
    pub struct OriginPartNotToKeep {
        #[rasn(tag(1))] result_set_id: InternationalString,
        #[rasn(tag(2))] records: RecordsWanted,
    }
}

choice! {
    /// Which records of the result set are delivered.
    pub enum RecordsWanted {
        #[rasn(tag(1))] All,
        #[rasn(tag(2))] Ranges(Vec<RecordRange>),
    }
}

sequence! {
    /// Records from the 1-based `start`; the last range without `count` has all that follow.
    pub struct RecordRange {
        #[rasn(tag(1))] start: i64,
        #[rasn(tag(2))] count: Option<i64>,
    }
}

sequence! {
    /// The server's part of the package.
    #[derive(Default)]
    pub struct TargetPart {
        #[rasn(tag(1))] estimated_quantity: Option<IntUnit>,
        #[rasn(tag(2))] quantity_so_far: Option<IntUnit>,
        #[rasn(tag(3))] estimated_cost: Option<IntUnit>,
        #[rasn(tag(4))] cost_so_far: Option<IntUnit>,
    }
}
