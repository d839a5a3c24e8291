//! A database in an index of OpenSearch, which this server makes and fills: type-1 queries become clauses, clauses become JSON.
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

pub use self::database::ClusterDatabase;
pub use self::index::{ClusterIndex, IndexError};
pub use self::load::{
    IndexChange, IndexChanges, IndexLoad, IndexLoadError, IndexLoadMark, LoadPart, LoadWork,
    RecordPlace, RefusedRecord, SlowCluster,
};
pub use self::reload::ReplacedIndex;
pub use super::link::address::{
    ClusterAccess, ClusterAddress, ClusterAddressError, ClusterCredentials, ClusterCredentialsError,
};

/// A database in an index of OpenSearch: its name, where its records are, and how long to wait for them.
pub type ClusterOptions = super::EngineOptions;

#[cfg(test)]
mod tests;
