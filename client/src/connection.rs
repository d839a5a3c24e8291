//! A connection to a target with the operations of ZOOM's Connection. Its session is reopened after a loss, and the
//! profile of the target is applied.

pub(crate) mod inner;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use z3950_asn1::apdu;
use z3950_asn1::apdu::{ExtendedServicesRequest, External};
use z3950_asn1::es::update::{Action, EsRequest, SuppliedRecord};
use z3950_asn1::format::facets::FacetList;
use z3950_asn1::oid::DATABASE_UPDATE;
use z3950_asn1::record::marc_syntax;
use z3950_marc::{MarcRecord, iso2709};

use self::inner::Inner;
use crate::error::Error;
use crate::plan::{self, Hints, PlanOptions};
use crate::pool::Lease;
use crate::protocol::service::explain::{ExplainOptions, ExplainResult};
use crate::protocol::service::extended::{Order, TaskResult, update_task};
use crate::protocol::service::scan::{ScanOptions, cql_clause};
use crate::protocol::service::search::{SearchOptions, type_104};
use crate::protocol::session::{Repeat, Session};
use crate::query::Query;
use crate::record::Record;
use crate::result_set::ResultSet;
use crate::retrieve;
use crate::scan_set::ScanSet;
#[cfg(feature = "sru")]
use crate::sru::SruDescription;
use crate::target::adapt::{DEFAULT_DATABASE, RecordForm};
use crate::target::profile::Resolved;
use crate::url::{Kind, Octets, Z3950Url};

/// A connection to a target. Cloning it creates another handle to the same session.
///
/// [`Client::connect`] opens the session. If the server has dropped the session, an operation that changes nothing at
/// the server is repeated once in a new session, unless it was the first operation in its session. If the session ended
/// during an operation, for example because no response arrived in time, the next operation opens another session,
/// unless the server closed the session because of cost or security. When the last handle and the last result set are
/// dropped, the session returns to the client's pool, where it stays open until [`Client::close_all`] is called.
/// [`close`](Self::close) ends the session.
///
/// A session ends with the tokio runtime in which it was opened. A connection that is used in another runtime continues
/// with that session while the session's runtime runs, and opens another session after that.
///
/// [`Client::connect`]: crate::Client::connect
/// [`Client::close_all`]: crate::Client::close_all
#[derive(Clone)]
pub struct Connection {
    pub(crate) inner: Arc<Inner>,
    pub(crate) form: RecordForm,
    facets: FacetList,
}

impl Connection {
    /// Creates a connection. If `limit` is given, each of its calls takes at most that long.
    pub(crate) fn new(
        plan: PlanOptions,
        target: Resolved,
        lease: Lease,
        limit: Option<Duration>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner::new(plan, target, lease, limit)),
            form: RecordForm::default(),
            facets: FacetList::default(),
        }
    }

    /// Searches, and sorts the result if the query has sort keys. The records stay on the server until they are read.
    ///
    /// # Errors
    /// [`Error::Refused`] with the server's diagnostics; [`Error::Term`] for a term that the target's character set cannot
    /// represent; other errors if the connection failed.
    pub async fn search(&self, query: impl Into<Query>) -> Result<ResultSet, Error> {
        self.search_first(query, 0).await
    }

    /// Searches, and asks the server to include the first `count` records in the search response, which saves a round
    /// trip.
    ///
    /// # Errors
    /// The errors of [`search`](Self::search).
    pub async fn search_first(
        &self,
        query: impl Into<Query>,
        count: u64,
    ) -> Result<ResultSet, Error> {
        let query = query.into();
        let (query, keys) = match query.as_cql().filter(|_| self.is_sru()) {
            // The CQL text already includes its sort keys.
            Some(text) => (type_104(text), Vec::new()),
            None => {
                let keys = query.sort_keys().to_vec();
                (self.adapted(query)?, keys)
            }
        };
        let name = self.inner.names.take();
        let target = &self.inner.target;
        let mut options = target.pager_options(&self.form);
        let search = SearchOptions {
            result_set: name.name(),
            ..target.search_options(&self.form)
        };
        let mut search = search.with_records(count.min(options.chunk_size));
        if !self.facets.0.is_empty() {
            search = search.with_facets(&self.facets).map_err(unwritable)?;
        }
        options.reconnect = Some(Arc::clone(&self.inner.reconnect));
        let (query, search, options, keys) = (&query, &search, &options, &keys);
        let pager = |session: Session| async move {
            let (query, options) = (query.clone(), options.clone());
            let mut search = search.clone();
            if session.sorts_searches() {
                search.sort.clone_from(keys);
            }
            let is_sorted = keys.is_empty() || !search.sort.is_empty();
            let mut set = session.pager(query, &search, options).await?;
            if !is_sorted && set.found().count().is_none_or(|hits| hits > 1) {
                set.sort(keys.clone()).await?;
            }
            Ok(set)
        };
        let work = Box::pin(async {
            let mut guard = name.lock().await;
            // Even a failed search deletes the previous result set with this name.
            guard.take();
            self.inner.run_now(Repeat::IfLost, pager).await
        });
        let pager = self.inner.until_closed(work).await?;
        Ok(ResultSet::new(Arc::clone(&self.inner), name, pager))
    }

    /// Lists twenty terms of an index, beginning with the query's term.
    ///
    /// # Errors
    /// The errors of [`search`](Self::search), and [`Error::NotOneTerm`] for a query of several terms.
    pub async fn scan(&self, query: impl Into<Query>) -> Result<ScanSet, Error> {
        self.scan_with(query, ScanOptions::default()).await
    }

    /// Lists terms of an index. The options give the number of terms, and the position of the query's term among them.
    /// The databases of the target and the attribute set of the query are used.
    ///
    /// # Errors
    /// The errors of [`scan`](Self::scan).
    pub async fn scan_with(
        &self,
        query: impl Into<Query>,
        options: ScanOptions,
    ) -> Result<ScanSet, Error> {
        let query = query.into();
        let cql = query.as_cql().filter(|_| self.is_sru()).map(cql_clause);
        let apdu::Query::Type1(query) = self.adapted(query)? else {
            return Err(Error::NotOneTerm);
        };
        let apdu::RpnStructure::Op(apdu::Operand::AttributesPlusTerm(start)) = query.rpn else {
            return Err(Error::NotOneTerm);
        };
        let start = cql.unwrap_or(start);
        let options = ScanOptions {
            databases: self.inner.target.databases(),
            attribute_set: Some(query.attribute_set),
            ..options
        };
        let (start, options) = (&start, &options);
        let result = self.inner.run(Repeat::IfLost, |session| async move {
            session.scan(start.clone(), options).await
        });
        Ok(ScanSet::new(result.await?))
    }

    /// Retrieves the record with this docid (RFC 2056 §4). If [`with_form`](Self::with_form) has set a form, the record
    /// is requested in it.
    ///
    /// # Errors
    /// [`Error::NoMatch`], [`Error::Incomplete`], [`Error::Ambiguous`], [`Error::Refused`], or another error if the
    /// connection failed.
    pub async fn get(&self, docid: impl AsRef<[u8]>) -> Result<Record, Error> {
        let target = &self.inner.target;
        let databases = target.databases();
        let names = databases.iter().map(|name| Octets::from(name.0.as_bytes()));
        let mut url = Z3950Url::builder(Kind::Retrieval, target.endpoint.host())
            .port(target.endpoint.port())
            .databases(names)
            .docid(docid.as_ref());
        for syntax in target.named_syntaxes(&self.form) {
            url = url.record_syntax(syntax.to_string());
        }
        if let Some(name) = &self.form.element_set {
            url = url.element_set(name.as_str());
        }
        // The caller has chosen this form, so it is preferred, unlike a hint in a URL of unknown origin.
        let mut options = PlanOptions {
            hints: Hints::Prefer,
            ..(*self.inner.plan).clone()
        };
        options.fallback.syntax |= self.form.holdings;
        let plan = plan::plan(&url.build()?, &options)?;
        let plan = &plan.with_profile(&target.profile);
        let retrieval = self.inner.run(Repeat::IfLost, |session| async move {
            retrieve::attempt(&session, plan, None, None).await
        });
        let record = retrieval.await?.into_record()?;
        Ok(record.with_charset(target.profile.record_charset))
    }

    /// Inserts, replaces or deletes records in the first database with the Update service (Z39.50-2003 §3.2.9.1.5). The
    /// request is sent only once. After errors other than [`Error::Refused`], the records may or may not have been
    /// changed.
    ///
    /// # Errors
    /// [`Error::Refused`]; [`Error::Unwritable`] for a record too large for ISO 2709; other errors if the connection failed.
    pub async fn update<'a>(
        &self,
        action: Action,
        records: impl IntoIterator<Item = &'a MarcRecord>,
    ) -> Result<TaskResult, Error> {
        let databases = self.inner.target.databases();
        let database = databases
            .into_iter()
            .next()
            .map_or_else(|| DEFAULT_DATABASE.into(), |name| name.0);
        let mut supplied = Vec::new();
        for (number, record) in (0..).zip(records) {
            let octets = iso2709::encode(record).map_err(unwritable)?;
            let external = External::octet_aligned(marc_syntax(record), octets);
            supplied.push(SuppliedRecord::new(external, None, Some(number)));
        }
        let update = EsRequest::new(action, database, supplied);
        let task = update_task(DATABASE_UPDATE, update).map_err(unwritable)?;
        self.task(&task).await
    }

    /// Orders the record at a 1-based position in a result set of this connection (Item Order, Z39.50-2003 §3.2.9.1.4).
    /// The order is sent only once.
    ///
    /// # Errors
    /// The errors of [`update`](Self::update), and [`Error::ForeignResultSet`].
    pub async fn order(
        &self,
        hits: &ResultSet,
        position: u64,
        order: Order,
    ) -> Result<TaskResult, Error> {
        // A result set of another connection may have the same name as one of this connection.
        if !hits.is_of(&self.inner) {
            return Err(Error::ForeignResultSet);
        }
        let _held = hits.held().await?;
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let item = Some((hits.name(), position));
        let task = Order { item, ..order }.task();
        self.task(&task.map_err(unwritable)?).await
    }

    /// Requests the server's description of itself from its Explain database (Z39.50-2003 §3.2.10).
    ///
    /// # Errors
    /// [`Error::Refused`] by a server without an Explain database; other errors if the connection failed.
    pub async fn explain(&self, options: &ExplainOptions) -> Result<ExplainResult, Error> {
        let explain = |session: Session| async move { session.explain(options).await };
        self.inner.run(Repeat::IfLost, explain).await
    }

    /// Returns an SRU server's description of its database.
    ///
    /// # Errors
    /// The errors of [`Session::describe`].
    #[cfg(feature = "sru")]
    pub async fn describe(&self) -> Result<SruDescription, Error> {
        let databases = self.inner.target.databases();
        let database = databases.first().map(|name| name.0.to_string_lossy());
        let database = &database.unwrap_or_default();
        let describe = |session: Session| async move { session.describe(database).await };
        self.inner.run(Repeat::IfLost, describe).await
    }

    async fn task(&self, task: &ExtendedServicesRequest) -> Result<TaskResult, Error> {
        let perform = |session: Session| async move { session.task(task.clone()).await };
        self.inner.run(Repeat::IfUnsent, perform).await
    }

    /// Returns the Z39.50 session, for services that have no method here. The session must not be used after the
    /// connection is dropped.
    ///
    /// Returns `None` after the connection is closed, and for an SRU server.
    pub async fn as_z3950(&self) -> Option<Session> {
        if self.is_sru() {
            None
        } else {
            self.inner.session().await
        }
    }

    /// Returns the target, with its endpoint, databases and profile.
    pub fn target(&self) -> &Resolved {
        &self.inner.target
    }

    /// Returns a handle to the same connection whose calls take at most `limit` each. The limit also applies to calls
    /// on its result sets. A call that takes longer fails with [`Error::Unavailable`] in the phase
    /// [`Phase::Call`](crate::Phase::Call); the session stays open if the server still answers within
    /// [`Timeouts::abandoned`](crate::Timeouts::abandoned).
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        Self {
            inner: Arc::new(self.inner.within(limit)),
            ..self.clone()
        }
    }

    /// Returns a handle to the same connection whose searches, lookups and retrievals request records in the given
    /// form.
    #[must_use]
    pub fn with_form(self, form: RecordForm) -> Self {
        Self { form, ..self }
    }

    /// Returns a handle to the same connection whose searches request these facets. [`ResultSet::found`] then contains
    /// the facets counted by the server.
    #[must_use]
    pub fn with_facets(self, facets: FacetList) -> Self {
        Self { facets, ..self }
    }

    /// Closes the session for all handles and result sets. Their requests, including those in progress, fail with
    /// [`Error::Ended`].
    ///
    /// # Errors
    /// Fails if the session had already ended in another way.
    pub async fn close(self) -> Result<(), Error> {
        self.inner.close().await
    }

    fn is_sru(&self) -> bool {
        self.inner.target.endpoint.is_sru()
    }

    fn adapted(&self, query: impl Into<Query>) -> Result<apdu::Query, Error> {
        let query = self.inner.target.adapted(query.into().as_rpn());
        query.map(apdu::Query::Type1).map_err(Error::Term)
    }
}

fn unwritable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Unwritable(Arc::new(error))
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("endpoint", &self.inner.target.endpoint)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
