//! A database in a distributed search engine: type-1 queries become queries of the engine, records are the octets that it keeps.
//!
//! ```text
//!  search ─▶ query ─▶ sphinx ─▶ replicas ─▶ the engine, which asks its nodes
//!    hits ─▶ pages ───────────▶ replicas    position ─▶ record
//!    load, update ─▶ layout ─▶ nodes        record ─▶ document, at the node of its identifier
//! ```

mod address;
mod answer;
mod cache;
mod check;
mod clause;
mod facets;
mod health;
mod hits;
mod layout;
mod link;
mod load;
mod mysql;
mod nodes;
pub mod opensearch;
mod pages;
mod plan;
mod query;
mod range;
mod replicas;
mod retrieved;
mod scan;
mod search;
mod setup;
mod sort;
mod sphinx;
mod statement;
mod token;
mod update;
mod uses;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use z3950_server::Diagnostic;
use z3950_server::asn1::apdu::{RpnQuery, Schema};
use z3950_server::asn1::oid::{Oid, UNIMARC, USMARC};
use z3950_server::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, Retrieve, RetrieveMany, Retrieved, Scan, Scanned,
    Search, Sort, Update,
};
use z3950_server::memory::forms;
use z3950_server::memory::index_map::XML_ELEMENT_SETS;

pub use self::address::{NodeAddress, NodeAddressError, read_addresses};
use self::cache::RecordCache;
pub use self::check::EngineCheckError;
use self::health::NodeHealth;
pub use self::health::ServerCounts;
pub use self::layout::EngineLayout;
use self::link::Link;
pub use self::link::{EngineAddress, EngineAddressError};
pub use self::load::{
    EngineChange, EngineChanges, EngineLoad, EngineLoadError, LoadMark, LoadedTerms, SlowNode,
};
use self::nodes::Nodes;
use self::pages::CACHE_OCTETS;
use self::replicas::Replicas;
pub use self::setup::EngineSetup;
pub use self::uses::{IndexNameError, IndexUses, named_indexes};

/// A database in an engine: its name, where its records are, and how long to wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The name of the database.
    pub name: String,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The servers that distribute searches, all with the same records; they take turns.
    pub replicas: Vec<EngineAddress>,
    /// The nodes that hold the records, as `HOST:PORT`, for updates; without any, there are none.
    pub nodes: Vec<String>,
    /// The longest wait for an answer; 10 s.
    pub answer_time: Duration,
    /// The most connections with each server; 16.
    pub connections: usize,
    /// Whether a search fails if a node does not answer; otherwise it finds what the others have.
    pub strict: bool,
}

impl EngineOptions {
    /// A database in the engine at these addresses, with the default times and limits.
    pub fn new(name: impl Into<String>, replicas: Vec<EngineAddress>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            replicas,
            nodes: Vec::new(),
            answer_time: Duration::from_secs(10),
            connections: 16,
            strict: false,
        }
    }
}

/// A database in an engine, as a backend. Connections are opened when they are first needed.
pub struct EngineDatabase {
    options: EngineOptions,
    layout: Arc<EngineLayout>,
    replicas: Replicas,
    nodes: Arc<Nodes>,
    health: NodeHealth,
    /// The index to search.
    index: String,
    /// Whether the engine is not used, since a node is not as the settings say.
    refused: AtomicBool,
    /// Held by the update in progress.
    updating: Arc<tokio::sync::Mutex<()>>,
    /// Marks the result sets of this database.
    origin: Arc<()>,
    /// The number of the next one.
    sets: AtomicU64,
    cache: RecordCache,
    /// Made once: every page asks for it.
    databases: Vec<DatabaseInfo>,
}

impl EngineDatabase {
    /// The database with this layout.
    ///
    /// # Errors
    /// See [`NodeAddressError`].
    pub fn new(
        options: EngineOptions,
        layout: Arc<EngineLayout>,
    ) -> Result<Self, NodeAddressError> {
        let links = options.replicas.iter().map(|address| {
            let EngineAddress { host, port, .. } = address;
            Link::new(host, *port, options.connections, options.answer_time)
        });
        let index = options.replicas.first().map(|first| first.index.clone());
        let index = index.unwrap_or_default();
        let EngineOptions {
            nodes,
            connections,
            answer_time,
            ..
        } = &options;
        let nodes = Nodes::new(nodes, &index, &layout, *connections, *answer_time)?;
        Ok(Self {
            health: NodeHealth::new(&options.name, &options.nodes),
            nodes: Arc::new(nodes),
            replicas: Replicas::new(links),
            index,
            refused: AtomicBool::default(),
            updating: Arc::default(),
            origin: Arc::default(),
            sets: AtomicU64::default(),
            cache: RecordCache::new(CACHE_OCTETS),
            databases: vec![described(&options, &layout)],
            layout,
            options,
        })
    }

    /// The statement of a search for its first records, as the engine gets it.
    ///
    /// # Errors
    /// The first unsupported part of the query.
    pub fn statement(&self, query: &RpnQuery, records: usize) -> Result<Vec<u8>, Diagnostic> {
        self.first_select(query, records)
    }

    /// Whether it was made with the same options and layout.
    pub fn is_same(&self, options: &EngineOptions, layout: &EngineLayout) -> bool {
        self.options == *options && *self.layout == *layout
    }

    /// The servers of the engine, distributors first, and how often each did not answer.
    pub fn servers(&self) -> Vec<ServerCounts> {
        let mut counts = self.replicas.counts();
        counts.extend(self.health.counts());
        counts
    }

    /// # Errors
    /// 109 if the engine is not used.
    fn usable(&self) -> Result<(), Diagnostic> {
        if self.refused.load(Ordering::Relaxed) || self.replicas.are_refused() {
            Err(check::unfit())
        } else {
            Ok(())
        }
    }

    /// What it was made with.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }
}

fn described(options: &EngineOptions, layout: &EngineLayout) -> DatabaseInfo {
    let mut info = DatabaseInfo::default();
    info.name = options.name.clone();
    info.title = options.title.clone();
    info.description = options.description.clone();
    info.syntaxes = [USMARC, UNIMARC]
        .into_iter()
        .chain(forms::SYNTAXES)
        .collect();
    info.element_sets = XML_ELEMENT_SETS.map(str::to_owned).into();
    info.attributes = layout.attributes();
    info.scan = true;
    info.sort = true;
    info.update = !options.nodes.is_empty();
    info
}

impl Backend for EngineDatabase {
    fn databases(&self) -> Vec<DatabaseInfo> {
        self.databases.clone()
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        Box::pin(async move {
            self.usable()?;
            self.find(search).await
        })
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::SYNTAXES.contains(syntax) || [USMARC, UNIMARC].contains(syntax)
    }

    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        forms::has_element_set(name, syntax)
    }

    fn element_set_of_schema(&self, schema: &Schema, syntax: Option<&Oid>) -> Option<String> {
        forms::element_set_of_schema(schema, syntax)
    }

    fn prepare<'a>(&'a self, wanted: RetrieveMany<'a>) -> Option<Answer<'a, ()>> {
        Some(Box::pin(self.fetch(wanted)))
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        Box::pin(self.retrieve(wanted))
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        Box::pin(async move {
            self.usable()?;
            self.scanned(scan).await
        })
    }

    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        Box::pin(async move {
            self.usable()?;
            self.sorted(sort).await
        })
    }

    fn update<'a>(&'a self, update: Update<'a>) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        Box::pin(async move {
            self.usable()?;
            self.changed(update).await
        })
    }
}

impl fmt::Debug for EngineDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

#[cfg(test)]
mod tests;
