//! Export Invocation: delivers records from a result set according to an export specification (Z39.50-2003 Appendix EXT.7).

use super::export_specification::ExportSpecification;
use crate::apdu::IntUnit;
use crate::describe::described;
use crate::types::InternationalString;

described! {
    /// ExportInvocation: the client's request, or the task package at the server.
    pub enum ExportInvocation {
        [1] EsRequest(Box<EsRequest>),
        [2] TaskPackage(Box<TaskPackage>),
    }

    /// The client's request.
    pub struct EsRequest {
        [explicit 1] to_keep: OriginPartToKeep,
        [explicit 2] not_to_keep: OriginPartNotToKeep,
    }

    /// The task package at the server.
    pub struct TaskPackage {
        [explicit 1] origin_part: OriginPartToKeep,
        [explicit 2] target_part: Option<TargetPart>,
    }

    /// The part of the request that the package keeps.
    pub struct OriginPartToKeep {
        [1] export_spec: ExportSpec,
        [2] number_of_copies: i64,
    }

    /// The specification of the delivery: the name of another package that contains it, or the specification itself.
    pub enum ExportSpec {
        [1] PackageName(InternationalString),
        [explicit 2] PackageSpec(Box<ExportSpecification>),
    }

    /// The part of the request that the package does not keep.
    pub struct OriginPartNotToKeep {
        [1] result_set_id: InternationalString,
        [2] records: RecordsWanted,
    }

    /// The records to deliver from the result set.
    pub enum RecordsWanted {
        [1] All,
        [2] Ranges(Vec<RecordRange>),
    }

    /// A range of records, from the 1-based position `start`. If the last range has no `count`, it extends to the end
    /// of the result set.
    pub struct RecordRange {
        [1] start: i64,
        [2] count: Option<i64>,
    }

    /// The server's part of the task package.
    #[derive(Default)]
    pub struct TargetPart {
        [1] estimated_quantity: Option<IntUnit>,
        [2] quantity_so_far: Option<IntUnit>,
        [3] estimated_cost: Option<IntUnit>,
        [4] cost_so_far: Option<IntUnit>,
    }
}
