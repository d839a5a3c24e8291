//! A database in an OpenSearch index, as a backend.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use z3950::transport::TlsError;
use z3950_asn1::apdu::{RpnQuery, Schema};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_server::Diagnostic;
use z3950_server::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, Retrieve, RetrieveMany, Retrieved, Scan, Scanned,
    Search, Sort, Update,
};
use z3950_server::diagnostic;
use z3950_server::memory::forms;

use super::ClusterOptions;
use super::leaf::Plan;
use crate::engine::elastic::request;
use crate::engine::health::DatabaseHealth;
use crate::engine::hits::ResultSets;
use crate::engine::layout::EngineLayout;
use crate::engine::link::{Link, ServerCounts};
use crate::engine::plan::Page;
use crate::engine::search::{self, EngineDatabase, clause_of};
use crate::engine::{pages, sort};

/// A database in an OpenSearch index, as a backend. Connections are opened when they are first needed.
pub struct ClusterDatabase {
    pub(super) options: ClusterOptions,
    pub(super) layout: Arc<EngineLayout>,
    pub(super) link: Arc<Link>,
    /// The name of the index, or of its alias.
    pub(super) index: String,
    /// Whether the index is not used because it does not match the settings.
    refused: AtomicBool,
    pub(super) sets: ResultSets,
    pub(super) health: DatabaseHealth,
    /// The description of the database, which is created once because every page needs it.
    databases: Vec<DatabaseInfo>,
}

impl ClusterDatabase {
    /// Creates the database with this layout.
    ///
    /// # Errors
    /// Fails if the certificates to trust cannot be used.
    pub fn new(options: ClusterOptions, layout: Arc<EngineLayout>) -> Result<Self, TlsError> {
        let ClusterOptions {
            addresses,
            access,
            connections,
            answer_time,
            ..
        } = &options;
        let link = Link::with_access(addresses, access, *connections, *answer_time)?;
        Ok(Self {
            link: Arc::new(link),
            index: options.index().to_owned(),
            refused: AtomicBool::default(),
            sets: ResultSets::default(),
            health: DatabaseHealth::default(),
            databases: vec![described(&options, &layout)],
            layout,
            options,
        })
    }

    /// Returns the search for the first records that a query finds, in JSON as sent to the engine.
    ///
    /// # Errors
    /// The diagnostic for the first unsupported part of the query.
    pub fn statement(&self, query: &RpnQuery, records: usize) -> Result<Vec<u8>, Diagnostic> {
        let clause = clause_of(&*self.layout, query)?;
        let plan = Plan {
            page: Page::first(records),
            ..Plan::count(&clause, self.deadline())
        };
        let body = request::search(&*self.layout, &plan)?;
        Ok(body.to_string().into_bytes())
    }

    /// Returns whether the database was created with the same options and layout.
    pub fn is_same(&self, options: &ClusterOptions, layout: &EngineLayout) -> bool {
        self.options == *options && *self.layout == *layout
    }

    /// Returns the options with which the database was created.
    pub fn options(&self) -> &ClusterOptions {
        &self.options
    }

    /// Sets whether the index is refused because it does not match the settings. Searches, scans, sorts and updates then fail
    /// with condition 109, and earlier result sets can still be presented.
    pub fn set_refused(&self, is_refused: bool) {
        self.refused.store(is_refused, Ordering::Relaxed);
    }

    /// Checks that the index is not refused.
    ///
    /// # Errors
    /// Fails with condition 109 if the index is refused because it does not match the settings.
    pub(super) fn usable(&self) -> Result<(), Diagnostic> {
        if self.refused.load(Ordering::Relaxed) {
            let words = "the search engine does not fit the settings of the server";
            Err(diagnostic(Condition::DATABASE_UNAVAILABLE, words))
        } else {
            Ok(())
        }
    }

    /// Returns the number of failed requests for each node.
    pub fn servers(&self) -> Vec<ServerCounts> {
        self.link.counts()
    }

    /// Counts all records for [`Self::records`], if a minute has passed since the last time.
    pub async fn count_records(&self) {
        search::count_records(self).await;
    }

    /// Returns the number of records at the last count; `None` if they have not been counted, or the count was
    /// incomplete.
    pub fn records(&self) -> Option<u64> {
        self.health.records()
    }
}

fn described(options: &ClusterOptions, layout: &EngineLayout) -> DatabaseInfo {
    let mut info = options.described(layout.attributes());
    info.scan = layout.has_scanned();
    info.sort = layout.has_sorted();
    info.update = true;
    info
}

impl Backend for ClusterDatabase {
    fn databases(&self) -> Vec<DatabaseInfo> {
        self.databases.clone()
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        Box::pin(search::find(self, search))
    }

    fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::has_syntax(syntax)
    }

    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        forms::has_element_set(name, syntax)
    }

    fn element_set_of_schema(&self, schema: &Schema, syntax: Option<&Oid>) -> Option<String> {
        forms::element_set_of_schema(schema, syntax)
    }

    fn prepare<'a>(&'a self, wanted: RetrieveMany<'a>) -> Option<Answer<'a, ()>> {
        Some(Box::pin(pages::fetch(self, wanted)))
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        Box::pin(pages::retrieve(self, wanted))
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        Box::pin(self.scanned(scan))
    }

    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        Box::pin(sort::sorted(self, sort))
    }

    fn update<'a>(&'a self, update: Update<'a>) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        Box::pin(async move {
            self.usable()?;
            self.changed(update).await
        })
    }
}

impl fmt::Debug for ClusterDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}
