//! Extended services: what the parameters of a task and its package hold, a file for each service
//! (Z39.50-2003 §3.2.9, Appendix EXT; record syntax ESTaskPackage of Appendix REC).
//!
//! Every service has one type with two alternatives: `EsRequest`, which a client sends, with a part that the task package
//! keeps and one that it does not; and `TaskPackage`, with which the server answers: the part kept, and the server's own.
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

/// NULL: an element that is only present or absent.
pub type Null = ();

#[cfg(test)]
mod tests;
