//! Extended services: the parameters and the task package of each service, with a file for each service (Z39.50-2003
//! §3.2.9, Appendix EXT; record syntax ESTaskPackage of Appendix REC).
//!
//! Each service has one type with two alternatives. The client sends an `EsRequest`, which consists of a part that the
//! task package keeps and a part that the package does not keep. The server answers with a `TaskPackage`, which
//! consists of the kept part and the server's own part.
#![allow(
    missing_docs,
    reason = "fields and variants are the standard's; a type's doc names its part"
)]

pub mod export_invocation;
pub mod export_specification;
pub mod item_order;
mod parameters;
pub mod periodic_query;
pub mod persistent_query;
pub mod persistent_result_set;
mod task_package;
pub mod update;

pub use parameters::TaskParameters;
pub use task_package::{TaskPackage, TaskStatus};

use crate::apdu::external::external_values;

/// NULL: an element without a value, which is either present or absent.
pub type Null = ();

external_values! {
    persistent_result_set::PersistentResultSet: PERSISTENT_RESULT_SET;
    persistent_query::PersistentQuery: PERSISTENT_QUERY;
    periodic_query::PeriodicQuerySchedule: PERIODIC_QUERY_SCHEDULE;
    item_order::ItemOrder: ITEM_ORDER;
    update::Update: DATABASE_UPDATE, DATABASE_UPDATE_2, DATABASE_UPDATE_1;
    export_specification::ExportSpecification: EXPORT_SPECIFICATION;
    export_invocation::ExportInvocation: EXPORT_INVOCATION;
    TaskPackage: TASK_PACKAGE;
}

#[cfg(test)]
mod tests;
