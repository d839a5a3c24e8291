//! A catalogue as a read-only backend.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use z3950::transport::TlsError;
use z3950_asn1::apdu::{RpnQuery, Schema};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_server::Diagnostic;
use z3950_server::backend::{
    Answer, Backend, DatabaseInfo, Found, Hits, Retrieve, RetrieveMany, Retrieved, Scan, Scanned,
    Search, Sort,
};
use z3950_server::diagnostic;
use z3950_server::lock;
use z3950_server::memory::forms;

use super::dialect::Dialect;
use super::map::{CatalogueMap, Role};
use super::offer::{MissingField, Offer};
use super::plan::{AskError, Clause, Plan};
use super::{CatalogueError, CatalogueOptions};
use crate::engine::health::DatabaseHealth;
use crate::engine::hits::ResultSets;
use crate::engine::link::ServerCounts;
use crate::engine::link::reading::ReadLink;
use crate::engine::plan::Page;
use crate::engine::search::{self, EngineDatabase, clause_of};
use crate::engine::{pages, sort};

/// The time for which the description of an index is used before it is read again, because fields may be renamed, and an
/// alias may be moved to another index.
const FRESH: Duration = Duration::from_secs(60);

/// A database in an index that belongs to another program, as a backend. Connections are opened when they are first needed.
/// Updates are refused, as by any backend that does not support them.
pub struct CatalogueDatabase {
    pub(super) options: CatalogueOptions,
    map: Arc<CatalogueMap>,
    pub(super) dialect: Dialect,
    index: String,
    known: Mutex<Known>,
    pub(super) sets: ResultSets,
    pub(super) health: DatabaseHealth,
}

/// The description of the index, as last read.
struct Known {
    offer: Arc<Offer>,
    /// The description of the database, which is created once because every page needs it.
    info: DatabaseInfo,
    missing: Vec<MissingField>,
    /// The time of the last comparison with the map; `None` before the first one.
    compared: Option<Instant>,
    /// Whether the engine has since refused a request in a way that suggests that fields have changed.
    is_doubtful: bool,
}

impl CatalogueDatabase {
    /// Creates the database with this map.
    ///
    /// # Errors
    /// Fails if the certificates to trust cannot be used.
    pub fn new(options: CatalogueOptions, map: Arc<CatalogueMap>) -> Result<Self, TlsError> {
        let CatalogueOptions {
            addresses,
            access,
            connections,
            answer_time,
            ..
        } = &options;
        let link = ReadLink::new(addresses, access, *connections, *answer_time)?;
        let index = link.index().to_owned();
        let (offer, _) = Offer::new(&map, None);
        Ok(Self {
            dialect: Dialect::new(map.engine(), link, options.strict),
            index,
            known: Mutex::new(Known {
                info: described(&options, &offer),
                offer: Arc::new(offer),
                missing: Vec::new(),
                compared: None,
                is_doubtful: false,
            }),
            sets: ResultSets::default(),
            health: DatabaseHealth::default(),
            map,
            options,
        })
    }

    /// Compares the map with the index, and offers the attributes for which the index has fields. Returns the fields
    /// of the map that the index does not have.
    ///
    /// # Errors
    /// See [`CatalogueError`].
    pub async fn check(&self) -> Result<Vec<MissingField>, CatalogueError> {
        let found = self
            .dialect
            .fields(&self.map)
            .await
            .map_err(|failure| CatalogueError::of_fields(&failure, &self.index))?;
        let (offer, missing) = Offer::new(&self.map, Some(&found));
        if let Err(what) = offer.usable() {
            // Compare the index with the map again before the next search: with the outdated comparison, searches would find
            // hidden records.
            self.doubt();
            return Err(CatalogueError::Foreign {
                index: self.index.clone(),
                engine: self.map.engine(),
                what,
            });
        }
        let mut known = lock(&self.known);
        if known.compared.is_some() && known.missing != missing {
            let database = &*self.options.name;
            for field in missing
                .iter()
                .filter(|field| !known.missing.contains(field))
            {
                tracing::warn!(database, %field, "the index has changed");
            }
        }
        known.info = described(&self.options, &offer);
        known.offer = Arc::new(offer);
        known.missing.clone_from(&missing);
        known.compared = Some(Instant::now());
        known.is_doubtful = false;
        Ok(missing)
    }

    /// Searches for all records, to find out whether the engine accepts the values that the map uses to hide or select
    /// records. The types of the fields might not allow them.
    ///
    /// # Errors
    /// See [`CatalogueError`].
    pub async fn try_search(&self) -> Result<(), CatalogueError> {
        let everything = Clause::Everything;
        let plan = Plan::count(&everything, self.deadline());
        match self.dialect.search(&self.current(), &plan).await {
            Ok(_) => Ok(()),
            Err(AskError::Failed(failure)) => Err(CatalogueError::of(&failure, &self.index)),
            Err(error) => Err(CatalogueError::Malformed(error.to_string())),
        }
    }

    /// Returns the request for the first records that a query finds, as it would be sent to the engine. The engine is not
    /// asked how it folds words.
    ///
    /// # Errors
    /// The diagnostic for the first unsupported part of the query.
    pub fn statement(&self, query: &RpnQuery, records: usize) -> Result<String, Diagnostic> {
        let offer = self.current();
        let clause = clause_of(&*offer, query)?;
        let plan = Plan {
            page: Page::first(records),
            ..Plan::count(&clause, self.deadline())
        };
        self.dialect.statement(&offer, &plan)
    }

    /// Returns whether the database was created with the same options and map.
    pub fn is_same(&self, options: &CatalogueOptions, map: &CatalogueMap) -> bool {
        self.options == *options && *self.map == *map
    }

    /// Returns the options with which the database was created.
    pub fn options(&self) -> &CatalogueOptions {
        &self.options
    }

    /// Returns the number of failed requests for each server.
    pub fn servers(&self) -> Vec<ServerCounts> {
        self.dialect.servers()
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

    /// Returns the current offer, which may not have been compared with the index yet.
    pub(super) fn current(&self) -> Arc<Offer> {
        Arc::clone(&lock(&self.known).offer)
    }

    /// Returns the offer. Compares the index with the map first if the last comparison is out of date.
    ///
    /// # Errors
    /// Fails with condition 109 if the index cannot be used.
    pub(super) async fn offer(&self) -> Result<Arc<Offer>, Diagnostic> {
        let (compared, is_doubtful) = {
            let known = lock(&self.known);
            (known.compared, known.is_doubtful)
        };
        if !is_doubtful && compared.is_some_and(|compared| compared.elapsed() < FRESH) {
            return Ok(self.current());
        }
        match self.check().await {
            Ok(_) => Ok(self.current()),
            // The search is attempted with the result of the earlier comparison. If the problem persists, the search itself
            // reports it.
            Err(error) if compared.is_some() && !error.is_mismatch() => Ok(self.current()),
            Err(error) => Err(self.unusable(&error)),
        }
    }

    /// Requires the index to be compared with the map before the next search.
    pub(super) fn doubt(&self) {
        lock(&self.known).is_doubtful = true;
    }

    pub(super) fn unusable(&self, error: &CatalogueError) -> Diagnostic {
        let database = &*self.options.name;
        tracing::warn!(database, %error, "the catalogue cannot be used");
        let words = if error.is_mismatch() {
            "the index does not fit the settings of the server"
        } else {
            "the search engine cannot be reached"
        };
        diagnostic(Condition::DATABASE_UNAVAILABLE, words)
    }
}

fn described(options: &CatalogueOptions, offer: &Offer) -> DatabaseInfo {
    let mut info = options.described(offer.attributes());
    info.scan = offer.points().any(|point| point.has(Role::Scan));
    info.sort = offer.points().any(|point| point.has(Role::Sort));
    info
}

impl Backend for CatalogueDatabase {
    fn databases(&self) -> Vec<DatabaseInfo> {
        vec![lock(&self.known).info.clone()]
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
}

impl fmt::Debug for CatalogueDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}
