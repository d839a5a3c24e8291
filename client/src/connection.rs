//! A server to ask, by whatever name it goes: the operations of ZOOM's Connection, on a session that is opened again where it
//! was lost, with what the target's profile says applied.

mod names;

use std::fmt;
use std::sync::Arc;

use tokio::sync::{Mutex, MutexGuard};
use z3950_asn1::apdu;
use z3950_asn1::apdu::External;
use z3950_asn1::es::update::Action;
use z3950_asn1::record::marc_syntax;
use z3950_marc::{MarcRecord, iso2709};

pub(crate) use self::names::Name;
use self::names::Names;
use crate::client::{Client, Lease};
use crate::error::Error;
use crate::lookup::{self, Identifier, LookupOptions};
use crate::plan;
use crate::query::Query;
use crate::record::Record;
use crate::result_set::ResultSet;
use crate::retrieve;
use crate::scan_set::ScanSet;
use crate::service::explain::{ExplainOptions, ExplainResult};
use crate::service::extended::{DatabaseUpdate, Order, Task, TaskOptions, TaskResult};
use crate::service::records::ResultRecord;
use crate::service::scan::ScanOptions;
use crate::service::search::SearchOptions;
use crate::session::{Repeat, Session};
use crate::target::adapt::{DEFAULT_DATABASE, RecordForm};
use crate::target::profile::Resolved;
use crate::url::{Kind, Octets, Z3950Url};

/// A server to ask. Cloning it gives another handle on the same session.
///
/// The session is opened by [`Client::connect`] and opened again, once for each operation, where the server has dropped it;
/// what changes something at the server is never made twice. When the last handle and the last result set are gone, the
/// session goes back to the client's pool, until [`Client::close_all`].
#[derive(Clone)]
pub struct Connection {
    shared: Arc<Shared>,
    form: RecordForm,
}

struct Shared {
    client: Client,
    target: Resolved,
    lease: Mutex<Lease>,
    names: Arc<Names>,
}

/// The records that an identifier names, as [`Connection::lookup`] found them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LookupResult {
    /// The search that found them, as PQF.
    pub query: String,
    /// How many records match.
    pub hits: u64,
    /// The first of them, up to 20; a diagnostic that stands in the place of a record is an error there.
    pub records: Vec<Result<Record, Error>>,
}

impl Connection {
    pub(crate) fn new(client: Client, target: Resolved, lease: Lease) -> Self {
        let names = Names::new(lease.server_info());
        Self {
            shared: Arc::new(Shared {
                client,
                target,
                names: Arc::new(names),
                lease: Mutex::new(lease),
            }),
            form: RecordForm::default(),
        }
    }

    /// Searches. The records stay at the server until they are asked for.
    ///
    /// # Errors
    /// [`Error::Refused`] with the server's diagnostics; [`Error::Term`] for a term that the target's character set
    /// cannot write; others if the server went away.
    pub async fn search(&self, query: impl Into<Query>) -> Result<ResultSet, Error> {
        let query = self.adapted(query)?;
        let name = self.shared.names.take();
        let search = SearchOptions {
            result_set: name.name(),
            ..self.shared.target.search_options(&self.form)
        };
        let mut options = self.shared.target.pager_options(&self.form);
        let mut turn = name.turn().await;
        // Even a search that fails leaves no other set under the name.
        turn.take();
        let mut lease = self.lease().await;
        options.reconnect = Some(lease.reconnect());
        let pager = lease
            .run(Repeat::IfLost, |session| {
                let (query, search, options) = (query.clone(), search.clone(), options.clone());
                async move { session.pager(query, &search, options).await }
            })
            .await?;
        drop(turn);
        Ok(ResultSet::new(self.clone(), name, pager))
    }

    /// The terms around the one of a query with one term, in its index: twenty from that place on.
    ///
    /// # Errors
    /// Those of [`search`](Self::search), and a query of several terms.
    pub async fn scan(&self, query: impl Into<Query>) -> Result<ScanSet, Error> {
        let apdu::Query::Type1(query) = self.adapted(query)? else {
            return Err(Error::NotOneTerm);
        };
        let apdu::RpnStructure::Op(apdu::Operand::AttributesPlusTerm(start)) = query.rpn else {
            return Err(Error::NotOneTerm);
        };
        let options = ScanOptions {
            databases: self.shared.target.databases(),
            attribute_set: Some(query.attribute_set),
            ..ScanOptions::default()
        };
        let mut lease = self.lease().await;
        let result = lease
            .run(Repeat::IfLost, |session| {
                let (start, options) = (start.clone(), options.clone());
                async move { session.scan(start, &options).await }
            })
            .await?;
        Ok(ScanSet::new(result))
    }

    /// The one record with a docid, as RFC 2056 §4 retrieves it.
    ///
    /// # Errors
    /// [`Error::NoMatch`], [`Error::Ambiguous`], [`Error::Refused`], or that the server went away.
    pub async fn get(&self, docid: impl AsRef<[u8]>) -> Result<Record, Error> {
        let target = &self.shared.target;
        let databases = target.databases();
        let names = databases.iter().map(|name| Octets::from(name.0.as_bytes()));
        let url = Z3950Url::builder(Kind::Retrieval, target.endpoint.host())
            .port(target.endpoint.port())
            .databases(names)
            .docid(docid.as_ref())
            .build()?;
        let plan = plan::plan(&url, &self.shared.client.options().plan)?;
        let plan = plan.with_profile(&target.profile);
        let mut lease = self.lease().await;
        let retrieval = lease
            .run(Repeat::IfLost, |session| {
                let plan = plan.clone();
                async move { retrieve::attempt(&session, &plan).await }
            })
            .await?;
        retrieval
            .into_record()
            .map(|record| record.with_charset(target.profile.record_charset))
    }

    /// The records with a number that people know them by, however it is written: `isbn:0-14-143951-3`, `issn:`, `lccn:`,
    /// `oclc:`, `local:`, `docid:`, or a number by its shape. The searches for it are made one after the other until one
    /// finds something; `None` where none does.
    ///
    /// # Errors
    /// [`Error::Identifier`]; [`Error::Refused`] if every search was refused; that the server went away.
    pub async fn lookup(&self, identifier: &str) -> Result<Option<LookupResult>, Error> {
        let identifier: Identifier = identifier.parse().map_err(Error::Identifier)?;
        let attempts = lookup::attempts(&identifier);
        let target = &self.shared.target;
        let mut options = LookupOptions {
            search: target.search_options(&self.form),
            records: target.pager_options(&self.form),
            count: lookup::SHOWN,
        };
        let mut adapted = attempts.clone();
        for attempt in &mut adapted {
            attempt.query = target.adapted(&attempt.query).map_err(Error::Term)?;
        }
        let name = self.shared.names.take();
        options.search.result_set = name.name();
        let mut turn = name.turn().await;
        turn.take();
        let mut lease = self.lease().await;
        options.records.reconnect = Some(lease.reconnect());
        let (adapted, options) = (&adapted, &options);
        let found = lease
            .run(Repeat::IfLost, |session| async move {
                lookup::lookup(&session, adapted, options).await
            })
            .await?;
        Ok(found.map(|found| LookupResult {
            query: found.attempt.query.to_string(),
            hits: found.hits,
            records: (1..)
                .zip(found.records)
                .map(|(position, record)| self.record(record, Some(position)))
                .collect(),
        }))
    }

    /// Inserts, replaces or deletes records of the first database, as the server's Update service does it
    /// (Z39.50-2003 §3.2.9.1.5). It is sent once: after an error that is not [`Error::Refused`], look whether it was done.
    ///
    /// # Errors
    /// [`Error::Refused`]; [`Error::Unwritable`] for a record too large for ISO 2709; that the server went away.
    pub async fn update<'a>(
        &self,
        action: Action,
        records: impl IntoIterator<Item = &'a MarcRecord>,
    ) -> Result<TaskResult, Error> {
        let databases = self.shared.target.databases();
        let database = databases.into_iter().next();
        let database = database.map_or_else(|| DEFAULT_DATABASE.into(), |name| name.0);
        let mut supplied = Vec::new();
        for (number, record) in (0..).zip(records) {
            let octets = iso2709::encode(record).map_err(unwritable)?;
            let external = External::octet_aligned(marc_syntax(record), octets);
            supplied.push(DatabaseUpdate::record(external, None, Some(number)));
        }
        let task = DatabaseUpdate::new(action, database, supplied).task();
        self.task(task.map_err(unwritable)?).await
    }

    /// Orders the record at a position of a result set, 1-based (Item Order, Z39.50-2003 §3.2.9.1.4). It is sent once.
    ///
    /// # Errors
    /// Those of [`update`](Self::update).
    pub async fn order(
        &self,
        hits: &ResultSet,
        position: u64,
        order: Order,
    ) -> Result<TaskResult, Error> {
        let _held = hits.held().await?;
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let item = Some((hits.name(), position));
        let task = Order { item, ..order }.task();
        self.task(task.map_err(unwritable)?).await
    }

    /// What the server tells of itself in its Explain database (Z39.50-2003 §3.2.10).
    ///
    /// # Errors
    /// [`Error::Refused`] by a server without one; that the server went away.
    pub async fn explain(&self, options: &ExplainOptions) -> Result<ExplainResult, Error> {
        let mut lease = self.lease().await;
        lease
            .run(Repeat::IfLost, |session| async move {
                session.explain(options).await
            })
            .await
    }

    async fn task(&self, task: Task) -> Result<TaskResult, Error> {
        let mut lease = self.lease().await;
        let options = &TaskOptions::default();
        lease
            .run(Repeat::IfUnsent, |session| {
                let task = task.clone();
                async move { session.task(task, options).await }
            })
            .await
    }

    /// The session of Z39.50 beneath, for services that have no method here: Sort, Extended Services, Explain and so on.
    /// It must not outlive the connection.
    ///
    /// `None` for a server that is asked in another protocol; there is none yet.
    pub async fn as_z3950(&self) -> Option<Session> {
        Some((**self.lease().await).clone())
    }

    /// The target: where the server is, which databases are searched, and what is known of it.
    pub fn target(&self) -> &Resolved {
        &self.shared.target
    }

    /// The same connection, whose searches want records of another form.
    #[must_use]
    pub fn with_form(self, form: RecordForm) -> Self {
        Self { form, ..self }
    }

    /// Closes the session, for all handles and result sets.
    ///
    /// # Errors
    /// That the server did not answer the Close; the session is over all the same.
    pub async fn close(self) -> Result<(), Error> {
        Session::close(&**self.lease().await).await
    }

    /// What stands at a position, as a record or the reason why there is none.
    pub(crate) fn record(
        &self,
        record: ResultRecord,
        position: Option<u64>,
    ) -> Result<Record, Error> {
        Record::of(record, position)
            .map(|record| record.with_charset(self.shared.target.profile.record_charset))
    }

    fn adapted(&self, query: impl Into<Query>) -> Result<apdu::Query, Error> {
        let query = self.shared.target.adapted(query.into().as_rpn());
        query.map(apdu::Query::Type1).map_err(Error::Term)
    }

    async fn lease(&self) -> MutexGuard<'_, Lease> {
        self.shared.lease.lock().await
    }
}

/// A value that no record or APDU can hold.
fn unwritable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Unwritable(Arc::new(error))
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("endpoint", &self.shared.target.endpoint)
            .finish_non_exhaustive()
    }
}
