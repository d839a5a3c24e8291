//! A database in an index of OpenSearch, which this server makes and fills.

pub(crate) mod address;
mod check;
pub(crate) mod document;
#[cfg(test)]
pub(crate) mod fake;
mod index;
pub(crate) mod link;
mod load;
mod options;
mod reload;

pub use self::address::{
    ClusterAccess, ClusterAddress, ClusterAddressError, ClusterCredentials, ClusterCredentialsError,
};
pub use self::index::{ClusterIndex, IndexError};
pub use self::load::{
    IndexChange, IndexChanges, IndexLoad, IndexLoadError, IndexLoadMark, LoadPart, LoadWork,
    RecordPlace, RefusedRecord, SlowCluster,
};
pub use self::options::ClusterOptions;
