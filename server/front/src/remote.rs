//! Databases whose records are at other Z39.50 or SRU servers, which are called targets. A search is sent to all targets of a
//! database at the same time. Their records are fetched page by page and listed round robin by rank (Z39.50-2003 §3.2.2, §3.2.3).
//!
//! ```text
//!  search ─▶ shared ─▶ upstream ─▶ z3950::Connection     one search at each target, shared by equal searches
//!    hits ─▶ set ────▶ upstream                           position ─▶ target and rank ─▶ a page
//!                 records                                 pages, cached and converted
//!    hits ─▶ window ─▶ merge                              records of one edition, merged into one hit
//!    scan ─▶ upstream                                     the terms of all targets, merged into one list
//!    sort ─▶ sorted                                       sorted lists, merged as far as the list is read
//!  search ─▶ operands                                     earlier sets in a query, replaced by their queries at each target
//! ```

mod cache;
mod facets;
mod failure;
mod form;
mod health;
mod hits;
pub mod merge;
mod merged;
mod operands;
mod queue;
mod records;
mod scan;
mod search;
mod set;
mod shared;
mod sort;
mod sorted;
mod term_counts;
mod upstream;
mod via;
mod window;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use z3950::profile::ProfileError;
use z3950::target::Target;
use z3950::{Client, Timeouts};
use z3950_asn1::apdu::{DatabaseName, Schema};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_server::MemoryBackend;
use z3950_server::backend::{
    Answer, Backend, Caller, DatabaseInfo, DatabasePart, Found, Hits, Retrieve, RetrieveMany,
    Retrieved, Scan, Scanned, Search, Sort,
};
use z3950_server::memory::forms;
use z3950_server::{Diagnostic, diagnostic};

use self::cache::RecordCache;
pub use self::health::TargetCounts;
use self::health::TargetHealth;
use self::upstream::Upstream;
use self::via::Chains;

/// The options of a database at other servers: name, targets, times and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// The name of the database. `NAME@TARGET` is the part of the database at one target.
    pub name: String,
    /// The title of the database, as shown to people.
    pub title: Option<String>,
    /// The description of the database, as shown to people.
    pub description: Option<String>,
    /// The targets: names of profiles, or addresses accepted by [`Client::connect`].
    pub targets: Vec<String>,
    /// The time for which equal searches share an answer that has arrived; by default, 10 s. Searches in progress are always
    /// shared.
    pub fresh: Duration,
    /// The maximum time to wait for a connection to a target, and for each of its answers; by default, 10 s.
    pub target_time: Duration,
    /// The maximum time to wait for all targets together; by default, 20 s.
    pub total_time: Duration,
    /// The maximum number of sessions with each target; by default, 8. The profile of a target may allow fewer.
    pub sessions: usize,
    /// The maximum size of the record cache in octets; by default, 64 MiB.
    pub cache_octets: usize,
    /// Whether records of one edition are shown as one hit ([`merge`]) if they are among the first records from their targets;
    /// by default, `false`.
    pub merge: bool,
    /// The number of records at the beginning of each target's result that are read for merging; by default, 100, and at most
    /// [`Self::MAX_MERGE_RECORDS`].
    pub merge_records: u64,
    /// The maximum number of records from several targets that a sort puts in order; by default, 1000, and at most
    /// [`Self::MAX_SORTED_RECORDS`]. Records beyond this number cannot be retrieved.
    pub sorted_records: u64,
}

impl RemoteOptions {
    /// The limit for [`Self::merge_records`].
    pub const MAX_MERGE_RECORDS: u64 = 1000;

    /// The limit for [`Self::sorted_records`].
    pub const MAX_SORTED_RECORDS: u64 = 100_000;

    /// Creates the options of a database at these targets, with the default times and limits.
    pub fn new(
        name: impl Into<String>,
        targets: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            targets: targets.into_iter().map(Into::into).collect(),
            fresh: Duration::from_secs(10),
            target_time: Duration::from_secs(10),
            total_time: Duration::from_secs(20),
            sessions: 8,
            cache_octets: 64 << 20,
            merge: false,
            merge_records: 100,
            sorted_records: 1000,
        }
    }
}

/// A backend for a database at other servers. The connection to a target is opened when the target is first searched.
///
/// ```
/// use std::sync::Arc;
///
/// use z3950_front::remote::{RemoteDatabase, RemoteOptions};
/// use z3950_front::z3950::Client;
/// use z3950_server::{Limits, MemoryBackend, Target};
///
/// let options = RemoteOptions::new("union", ["lx2.loc.gov:210/LCDB", "http://lib.example/sru"]);
/// let union = RemoteDatabase::new(&Client::new(), options).expect("targets");
/// let own = Arc::new(MemoryBackend::demo());
/// let target = Target::new(own, Limits::default()).with_database("union", Arc::new(union));
/// ```
pub struct RemoteDatabase {
    options: RemoteOptions,
    chains: Chains,
    cache: Arc<RecordCache>,
    /// The health of each target.
    health: Vec<TargetHealth>,
    /// The descriptions of the database and its parts. They are created once, because each page of the web interface needs them.
    databases: Vec<DatabaseInfo>,
}

impl RemoteDatabase {
    /// Creates the database, with the profiles, routes and credentials of a client.
    ///
    /// # Errors
    /// Fails if a target is neither a profile nor an address.
    pub fn new(client: &Client, options: RemoteOptions) -> Result<Self, ProfileError> {
        let mut of_client = client.options().clone();
        let mut timeouts = Timeouts::default().with_answer(options.target_time);
        timeouts.connect = Some(options.target_time);
        of_client.timeouts = timeouts;
        // Each target keeps its own idle sessions, so the client need not keep unused sessions for long.
        of_client.idle_time = Some(Duration::from_secs(1));
        let client = client.with_options(of_client);
        let cache = Arc::new(RecordCache::new(options.cache_octets));
        let chains = Chains::new(client, &options, Arc::clone(&cache))?;
        let names = chains.direct.iter().map(|target| target.name());
        Ok(Self {
            health: names.map(TargetHealth::new).collect(),
            databases: described(&options, &chains),
            chains,
            cache,
            options,
        })
    }

    /// Returns the options with which the database was created.
    pub fn options(&self) -> &RemoteOptions {
        &self.options
    }

    /// Returns the number of searches at each target, and whether the target answered the last search.
    pub fn counts(&self) -> Vec<TargetCounts> {
        self.health.iter().map(TargetHealth::counts).collect()
    }

    /// Returns whether a database created with this client and these options would be the same. This database can then be kept,
    /// with its sessions and cached records.
    pub fn is_same(&self, client: &Client, options: &RemoteOptions) -> bool {
        let resolved = |client: &Client, target| client.profiles().resolve(target).ok();
        self.options == *options
            && options.targets.iter().all(|target| {
                let known = resolved(self.chains.client(), target);
                known.is_some() && known == resolved(client, target)
            })
    }

    /// Returns the targets selected by a request: all, or the one in `NAME@TARGET`.
    ///
    /// # Errors
    /// Fails with condition 235 if the database does not have the target, or with condition 109 for a search that this database
    /// itself sent to a target and that has come back.
    fn named(
        &self,
        databases: &[DatabaseName],
        caller: &Caller,
    ) -> Result<Vec<Arc<Upstream>>, Diagnostic> {
        let upstreams = self.chains.upstreams(&self.options, caller.via())?;
        let name = databases
            .first()
            .map(|name| name.0.to_string_lossy())
            .unwrap_or_default();
        if !name.contains('@') {
            return Ok(upstreams);
        }
        let upstreams = upstreams.into_iter();
        let one: Vec<_> = upstreams
            .filter(|one| one.name().eq_ignore_ascii_case(&name))
            .collect();
        if one.is_empty() {
            Err(diagnostic(
                Condition::DATABASE_DOES_NOT_EXIST,
                name.as_bytes(),
            ))
        } else {
            Ok(one)
        }
    }
}

/// Returns the instant after a duration from now; if `Instant` cannot represent it, an instant in a year.
fn after(time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + YEAR)
}

/// Returns the description of a database at these targets. Its indexes and syntaxes are those of the server's own databases,
/// although a target may have others.
fn described(options: &RemoteOptions, chains: &Chains) -> Vec<DatabaseInfo> {
    let RemoteOptions {
        name,
        title,
        description,
        ..
    } = options;
    let shown = title.as_deref().unwrap_or(name);
    let description = description.as_deref().unwrap_or_default();
    let own = MemoryBackend::builder().describe(name, shown, description);
    let mut databases = own.build().databases();
    for database in &mut databases {
        database.records = None;
        database.update = false;
        let upstreams = chains.direct.iter();
        let mut parts: Vec<DatabasePart> = options
            .targets
            .iter()
            .zip(upstreams)
            .map(|(target, upstream)| part(chains.client(), target, upstream.name()))
            .collect();
        match &mut *parts {
            [only] => database.address = only.address.take(),
            _ => database.parts = parts,
        }
        database.is_merged = options.merge && !database.parts.is_empty();
    }
    databases
}

/// Returns the description of the part of the database at a target.
fn part(client: &Client, target: &str, name: &str) -> DatabasePart {
    let mut part = DatabasePart::new(name);
    if let Ok(resolved) = client.profiles().resolve(target) {
        part.title = resolved.profile.title;
        let mut at = Target::new(resolved.endpoint);
        at.databases = resolved.databases;
        part.address = Some(at.to_string());
    }
    part
}

impl Backend for RemoteDatabase {
    /// Returns the descriptions of the database and its parts. The database offers a service if all of its targets
    /// do, as far as is known.
    fn databases(&self) -> Vec<DatabaseInfo> {
        let targets = &self.chains.direct;
        let mut databases = self.databases.clone();
        for database in &mut databases {
            database.scan = targets.iter().all(|target| target.scans());
            database.sort = targets.iter().all(|target| target.sorts());
        }
        databases
    }

    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        Box::pin(self.find(search))
    }

    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        Box::pin(self.browse(scan))
    }

    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        Box::pin(self.sorted(sort))
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
        Some(Box::pin(self.fetch_all(wanted)))
    }

    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        Box::pin(self.retrieve(wanted))
    }
}

impl fmt::Debug for RemoteDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options.fmt(f)
    }
}

#[cfg(test)]
mod tests;
