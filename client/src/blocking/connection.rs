//! A connection to a target.

use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::es::update::Action;
use z3950_asn1::format::facets::FacetList;
use z3950_marc::MarcRecord;

use super::result_set::ResultSet;
use super::runtime::Runtime;
use crate::connection;
use crate::error::Error;
use crate::find::LookupResult;
use crate::protocol::service::explain::{ExplainOptions, ExplainResult};
use crate::protocol::service::extended::{Order, TaskResult};
use crate::protocol::service::scan::ScanOptions;
use crate::query::Query;
use crate::record::Record;
use crate::scan_set::ScanSet;
#[cfg(feature = "sru")]
use crate::sru::SruDescription;
use crate::target::adapt::RecordForm;
use crate::target::profile::Resolved;

/// A connection to a target; see [`Connection`](crate::Connection), whose methods have the same names and errors.
/// Cloning it creates another handle to the same session.
#[derive(Clone, Debug)]
pub struct Connection {
    connection: connection::Connection,
    runtime: Arc<Runtime>,
}

impl Connection {
    pub(super) fn new(connection: connection::Connection, runtime: &Arc<Runtime>) -> Self {
        Self {
            connection,
            runtime: Arc::clone(runtime),
        }
    }

    /// Returns a handle to the same connection whose calls take at most `limit` each; see
    /// [`Connection::within`](crate::Connection::within).
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        Self::new(self.connection.within(limit), &self.runtime)
    }

    /// Searches the databases of the target. The records stay on the server until they are read.
    ///
    /// # Errors
    /// The errors of [`Connection::search`](crate::Connection::search).
    pub fn search(&self, query: impl Into<Query>) -> Result<ResultSet, Error> {
        self.search_first(query, 0)
    }

    /// Searches, and asks the server to include the first `count` records in the search response.
    ///
    /// # Errors
    /// The errors of [`search`](Self::search).
    pub fn search_first(&self, query: impl Into<Query>, count: u64) -> Result<ResultSet, Error> {
        let hits = self
            .runtime
            .run(self.connection.search_first(query, count))?;
        Ok(ResultSet::new(hits, &self.runtime))
    }

    /// Lists twenty terms of an index, beginning with the query's term.
    ///
    /// # Errors
    /// The errors of [`Connection::scan`](crate::Connection::scan).
    pub fn scan(&self, query: impl Into<Query>) -> Result<ScanSet, Error> {
        self.runtime.run(self.connection.scan(query))
    }

    /// Lists terms of an index, with options for their number and position.
    ///
    /// # Errors
    /// The errors of [`scan`](Self::scan).
    pub fn scan_with(
        &self,
        query: impl Into<Query>,
        options: ScanOptions,
    ) -> Result<ScanSet, Error> {
        self.runtime.run(self.connection.scan_with(query, options))
    }

    /// Looks up an identifier. Returns `None` if no record is found.
    ///
    /// # Errors
    /// The errors of [`Connection::lookup`](crate::Connection::lookup).
    pub fn lookup(&self, identifier: &str) -> Result<Option<LookupResult>, Error> {
        self.runtime.run(self.connection.lookup(identifier))
    }

    /// Retrieves the record with this docid.
    ///
    /// # Errors
    /// The errors of [`Connection::get`](crate::Connection::get).
    pub fn get(&self, docid: impl AsRef<[u8]>) -> Result<Record, Error> {
        self.runtime.run(self.connection.get(docid))
    }

    /// Inserts, replaces or deletes records.
    ///
    /// # Errors
    /// The errors of [`Connection::update`](crate::Connection::update).
    pub fn update<'a>(
        &self,
        action: Action,
        records: impl IntoIterator<Item = &'a MarcRecord>,
    ) -> Result<TaskResult, Error> {
        self.runtime.run(self.connection.update(action, records))
    }

    /// Orders the record at a 1-based position in a result set of this connection.
    ///
    /// # Errors
    /// The errors of [`Connection::order`](crate::Connection::order).
    pub fn order(
        &self,
        hits: &ResultSet,
        position: u64,
        order: Order,
    ) -> Result<TaskResult, Error> {
        let ordered = self.connection.order(hits.set(), position, order);
        self.runtime.run(ordered)
    }

    /// Requests the server's description of itself from its Explain database.
    ///
    /// # Errors
    /// The errors of [`Connection::explain`](crate::Connection::explain).
    pub fn explain(&self, options: &ExplainOptions) -> Result<ExplainResult, Error> {
        self.runtime.run(self.connection.explain(options))
    }

    /// Returns an SRU server's description of its database.
    ///
    /// # Errors
    /// The errors of [`Connection::describe`](crate::Connection::describe).
    #[cfg(feature = "sru")]
    pub fn describe(&self) -> Result<SruDescription, Error> {
        self.runtime.run(self.connection.describe())
    }

    /// Returns the target, with its endpoint, databases and profile.
    pub fn target(&self) -> &Resolved {
        self.connection.target()
    }

    /// Returns a handle to the same connection that requests records in the given form.
    #[must_use]
    pub fn with_form(self, form: RecordForm) -> Self {
        Self {
            connection: self.connection.with_form(form),
            ..self
        }
    }

    /// Returns a handle to the same connection whose searches request these facets.
    #[must_use]
    pub fn with_facets(self, facets: FacetList) -> Self {
        Self {
            connection: self.connection.with_facets(facets),
            ..self
        }
    }

    /// Closes the session for all handles and result sets.
    ///
    /// # Errors
    /// Fails if the session had already ended in another way.
    pub fn close(self) -> Result<(), Error> {
        self.runtime.run(self.connection.close())
    }
}
