//! A database in an index of OpenSearch, which this server makes and fills.

pub(crate) mod document;
pub(crate) mod link;

pub use self::link::{ClusterAddress, ClusterAddressError};
