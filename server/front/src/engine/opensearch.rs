//! A database in an OpenSearch index that this server creates and fills: type-1 queries become clauses, and clauses
//! become JSON.
//!
//! ```text
//!  search ─▶ clause ─▶ plan ─▶ request ─▶ link ─▶ a node of the cluster
//!    hits ◀────────── answer ◀─ response ◀──┘
//!    pages, scan, sort ─▶ plan …           update, load ─▶ document ─▶ link
//! ```

mod check;
mod database;
pub(crate) mod document;
mod index;
mod leaf;
mod load;
mod pattern;
mod reload;
mod request;
mod response;
mod scan;
mod search;
mod update;

pub use self::check::IndexReport;
pub use self::database::ClusterDatabase;
pub use self::index::{ClusterIndex, IndexError};
pub use self::load::{
    IndexChange, IndexChanges, IndexLoad, IndexLoadError, IndexLoadMark, Leftover, LoadPart,
    LoadWork, RecordPlace, RefusedRecord,
};
pub use self::reload::ReplacedIndex;
pub use super::link::address::{
    ClusterAccess, ClusterAddress, ClusterAddressError, ClusterCredentials, ClusterCredentialsError,
};

/// The options of a database in an OpenSearch index: its name, the location of its records, and the time limits.
pub type ClusterOptions = super::EngineOptions;

#[cfg(test)]
mod tests;
