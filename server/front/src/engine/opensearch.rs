//! A database in an index of OpenSearch, which this server makes and fills: type-1 queries become clauses, clauses become JSON.
//!
//! ```text
//!  search ─▶ clause ─▶ plan ─▶ request ─▶ link ─▶ a node of the cluster
//!    hits ◀────────── answer ◀─ response ◀──┘
//!    pages, scan, sort ─▶ plan …           update, load ─▶ document ─▶ link
//! ```

pub(crate) mod address;
pub(crate) mod document;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod link;
mod pattern;
mod request;

pub use self::address::{
    ClusterAccess, ClusterAddress, ClusterAddressError, ClusterCredentials, ClusterCredentialsError,
};
