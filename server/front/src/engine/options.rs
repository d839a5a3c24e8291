//! The settings of a database in an engine.

use std::time::Duration;

use z3950_asn1::oid::{UNIMARC, USMARC};
use z3950_server::backend::{AttributeInfo, DatabaseInfo};
use z3950_server::memory::forms;
use z3950_server::memory::index_map::XML_ELEMENT_SETS;

use super::link::address::{ClusterAccess, ClusterAddress};

/// The options of a database in an engine: its name, the location of its index, and the time limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The name of the database.
    pub name: String,
    /// The human-readable title of the database.
    pub title: Option<String>,
    /// The human-readable description of the database.
    pub description: Option<String>,
    /// The servers of one engine, all of which have the same index. Requests are distributed among them.
    pub addresses: Vec<ClusterAddress>,
    /// The credentials for the servers, and the certificates to trust.
    pub access: ClusterAccess,
    /// The number of shards if this server creates the index; 3 by default.
    pub shards: u32,
    /// The number of copies of each shard, in addition to the primary, if this server creates the index; 1 by
    /// default.
    pub replicas: u32,
    /// The maximum time to wait for an answer; 10 s by default.
    pub answer_time: Duration,
    /// The maximum number of connections to each server; 16 by default.
    pub connections: usize,
    /// Whether a search fails if a part of the index is missing; otherwise, it finds the records in the other parts.
    pub strict: bool,
}

impl EngineOptions {
    /// Creates options for an index at these addresses, with the default times and limits.
    pub fn new(name: impl Into<String>, addresses: Vec<ClusterAddress>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            addresses,
            access: ClusterAccess::default(),
            shards: 3,
            replicas: 1,
            answer_time: Duration::from_secs(10),
            connections: 16,
            strict: false,
        }
    }

    /// Returns the name of the index or alias; empty if there is no address.
    pub fn index(&self) -> &str {
        self.addresses.first().map_or("", |first| &first.index)
    }

    /// Returns the information about the database that clients can read.
    pub(super) fn described(&self, attributes: Vec<AttributeInfo>) -> DatabaseInfo {
        let mut info = DatabaseInfo::default();
        info.name = self.name.clone();
        info.title = self.title.clone();
        info.description = self.description.clone();
        let own = [USMARC, UNIMARC].into_iter();
        info.syntaxes = own.chain(forms::SYNTAXES).collect();
        info.element_sets = XML_ELEMENT_SETS.map(str::to_owned).into();
        info.attributes = attributes;
        info
    }
}
