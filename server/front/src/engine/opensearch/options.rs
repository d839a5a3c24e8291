//! The settings of a database in an index of OpenSearch.

use std::time::Duration;

use crate::engine::link::address::{ClusterAccess, ClusterAddress};

/// A database in an index of OpenSearch: its name, where its records are, and how long to wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// The name of the database.
    pub name: String,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Nodes of one cluster, all with the same index; they take turns.
    pub addresses: Vec<ClusterAddress>,
    /// What the nodes ask of clients, and what they have to show themselves.
    pub access: ClusterAccess,
    /// The number of shards of an index that is created; 3.
    pub shards: u32,
    /// The number of copies of each shard of an index that is created, besides the first one; 1.
    pub replicas: u32,
    /// The longest wait for an answer; 10 s.
    pub answer_time: Duration,
    /// The most connections with each node; 16.
    pub connections: usize,
    /// Whether a search fails if a shard is missing; otherwise it finds what the others have.
    pub strict: bool,
}

impl ClusterOptions {
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

    /// Returns the name of the index, or of the alias that stands for it; empty without an address.
    pub fn index(&self) -> &str {
        self.addresses.first().map_or("", |first| &first.index)
    }
}
