//! A database in an index of OpenSearch, which this server makes and fills.

pub(crate) mod address;
pub(crate) mod document;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod link;

pub use self::address::{
    ClusterAccess, ClusterAddress, ClusterAddressError, ClusterCredentials, ClusterCredentialsError,
};
