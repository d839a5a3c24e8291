//! The page `/metrics`, which shows operators the state of the server in the text format of Prometheus, version 0.0.4.

mod families;

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use tokio::time::timeout;
use z3950_front::engine::ServerCounts;
use z3950_front::engine::catalogue::CatalogueDatabase;
use z3950_front::engine::opensearch::ClusterDatabase;
use z3950_front::remote::{RemoteDatabase, TargetCounts};
use z3950_server::backend::Backend;
use z3950_server::memory::JournalTotals;
use z3950_server::metrics::{ConnectionRefusal, OperationKind, OperationOutcome, SessionEnd};
use z3950_server::tls::Tls;
use z3950_server::{MemoryBackend, ServerHandle, lock};

use self::families::Family;

/// The maximum time that the page waits for the numbers of records in search engines.
const COUNT_TIME: Duration = Duration::from_secs(1);

/// The state of the server that the page `/metrics` shows.
pub(crate) struct Status {
    started: SystemTime,
    server: ServerHandle,
    backend: Option<MemoryBackend>,
    /// The databases whose records are at other servers.
    remotes: Mutex<Vec<Arc<RemoteDatabase>>>,
    /// The databases whose records are in search engines.
    clusters: Mutex<Vec<Arc<ClusterDatabase>>>,
    /// The databases whose records are in indexes that belong to other programs.
    catalogues: Mutex<Vec<Arc<CatalogueDatabase>>>,
    /// The maximum number of sessions at once.
    sessions: usize,
    /// The listeners with TLS: their addresses and configurations.
    certificates: Vec<(String, Tls)>,
    is_stopping: AtomicBool,
    reloads: AtomicU64,
    refused_reloads: AtomicU64,
    /// The time of the last reload, and whether it succeeded.
    last_reload: Mutex<Option<(SystemTime, bool)>>,
}

impl Status {
    pub(crate) fn new(
        server: ServerHandle,
        backend: Option<MemoryBackend>,
        sessions: usize,
        certificates: Vec<(String, Tls)>,
    ) -> Self {
        Self {
            started: SystemTime::now(),
            server,
            backend,
            remotes: Mutex::default(),
            clusters: Mutex::default(),
            catalogues: Mutex::default(),
            sessions,
            certificates,
            is_stopping: AtomicBool::new(false),
            reloads: AtomicU64::new(0),
            refused_reloads: AtomicU64::new(0),
            last_reload: Mutex::default(),
        }
    }

    /// Sets the databases at other servers and in search engines, at the start and after each reload.
    pub(crate) fn serves(
        &self,
        remotes: &[Arc<RemoteDatabase>],
        clusters: &[Arc<ClusterDatabase>],
        catalogues: &[Arc<CatalogueDatabase>],
    ) {
        *lock(&self.remotes) = remotes.to_vec();
        *lock(&self.clusters) = clusters.to_vec();
        *lock(&self.catalogues) = catalogues.to_vec();
    }

    /// Marks the server as stopping.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Sets the time and the result of the last reload.
    pub(crate) fn reloaded(&self, has_succeeded: bool) {
        let count = if has_succeeded {
            &self.reloads
        } else {
            &self.refused_reloads
        };
        count.fetch_add(1, Ordering::Relaxed);
        *lock(&self.last_reload) = Some((SystemTime::now(), has_succeeded));
    }

    /// Returns the page `/metrics`.
    pub(crate) fn metrics(&self) -> String {
        let mut page = Page::default();
        self.of_process(&mut page);
        self.of_sessions(&mut page);
        self.of_operations(&mut page);
        self.of_limits(&mut page);
        self.of_records(&mut page);
        if let Some(backend) = &self.backend {
            of_jobs(backend, &mut page);
        }
        of_targets(&lock(&self.remotes), &mut page);
        of_engines(&lock(&self.clusters), &lock(&self.catalogues), &mut page);
        self.of_service(&mut page);
        page.0
    }

    fn of_process(&self, page: &mut Page) {
        page.family(families::BUILD_INFO);
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.sample(families::BUILD_INFO.name, &version, 1);
        let start = seconds(self.started);
        page.single(families::PROCESS_START_TIME_SECONDS, start);
        if let Some(octets) = resident_octets() {
            page.single(families::PROCESS_RESIDENT_MEMORY_BYTES, octets);
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            page.single(families::PROCESS_OPEN_FDS, open.count());
        }
    }

    fn of_sessions(&self, page: &mut Page) {
        let metrics = &self.server.metrics();
        page.single(families::SESSIONS, metrics.sessions());
        page.single(families::SESSIONS_LIMIT, self.sessions);
        page.single(families::SESSIONS_TOTAL, metrics.sessions_begun());
        let ends = SessionEnd::ALL.iter();
        page.each(
            families::SESSIONS_ENDED_TOTAL,
            "end",
            ends.map(|end| (end.name(), metrics.sessions_ended(*end))),
        );
        let refusals = ConnectionRefusal::ALL.iter();
        page.each(
            families::CONNECTIONS_REFUSED_TOTAL,
            "reason",
            refusals.map(|refusal| (refusal.name(), metrics.refused(*refusal))),
        );
    }

    fn of_operations(&self, page: &mut Page) {
        let metrics = &self.server.metrics();
        page.single(
            families::OPERATIONS_IN_PROGRESS,
            metrics.operations_in_progress(),
        );
        let name = families::OPERATIONS_TOTAL.name;
        page.family(families::OPERATIONS_TOTAL);
        for kind in OperationKind::ALL {
            for outcome in OperationOutcome::ALL {
                let labels = [("operation", kind.name()), ("outcome", outcome.name())];
                page.sample(name, &labels, metrics.operations(*kind, *outcome));
            }
        }
        let name = families::OPERATION_DURATION_SECONDS.name;
        page.family(families::OPERATION_DURATION_SECONDS);
        for kind in OperationKind::ALL {
            let durations = metrics.durations(*kind);
            let bucket = format!("{name}_bucket");
            for (bound, count) in &durations.within {
                let bound = bound.as_secs_f64().to_string();
                let labels = [("operation", kind.name()), ("le", &*bound)];
                page.sample(&bucket, &labels, count);
            }
            let labels = [("operation", kind.name()), ("le", "+Inf")];
            page.sample(&bucket, &labels, durations.count);
            let label = [("operation", kind.name())];
            let sum = durations.sum.as_secs_f64();
            page.sample(&format!("{name}_sum"), &label, sum);
            page.sample(&format!("{name}_count"), &label, durations.count);
        }
        page.single(families::RECORDS_SENT_TOTAL, metrics.records_sent());
        page.single(families::RECEIVED_BYTES_TOTAL, metrics.octets_received());
        page.single(families::SENT_BYTES_TOTAL, metrics.octets_sent());
    }

    fn of_limits(&self, page: &mut Page) {
        let octets = self.server.kept_octets();
        page.single(families::KEPT_BYTES, octets.kept);
        page.single(families::KEPT_LIMIT_BYTES, octets.limit);
    }

    /// Requests the numbers of records in search engines, unless they were requested in the last minute, and waits a short time
    /// for them.
    pub(crate) async fn count_records(&self) {
        let clusters = lock(&self.clusters).clone();
        let catalogues = lock(&self.catalogues).clone();
        let counts = async {
            let clusters = join_all(clusters.iter().map(|one| one.count_records()));
            let catalogues = join_all(catalogues.iter().map(|one| one.count_records()));
            tokio::join!(clusters, catalogues)
        };
        // If the count takes too long, the page shows the counts that are known.
        let _ = timeout(COUNT_TIME, counts).await;
    }

    /// Adds the number of records in each database, if the number is known.
    fn of_records(&self, page: &mut Page) {
        let own = self
            .backend
            .iter()
            .flat_map(|backend| backend.databases())
            .filter_map(|one| Some((one.name, u64::try_from(one.records?).ok()?)));
        let mut records: Vec<(String, u64)> = own.collect();
        for cluster in lock(&self.clusters).iter() {
            let count = cluster.records();
            records.extend(count.map(|count| (cluster.options().name.clone(), count)));
        }
        for catalogue in lock(&self.catalogues).iter() {
            let count = catalogue.records();
            records.extend(count.map(|count| (catalogue.options().name.clone(), count)));
        }
        let samples = records.iter().map(|(name, count)| (&**name, *count));
        page.each(families::DATABASE_RECORDS, "database", samples);
    }

    fn of_service(&self, page: &mut Page) {
        let outcomes = [("ok", &self.reloads), ("refused", &self.refused_reloads)];
        page.each(
            families::RELOADS_TOTAL,
            "outcome",
            outcomes.map(|(outcome, count)| (outcome, count.load(Ordering::Relaxed))),
        );
        let last = *lock(&self.last_reload);
        if let Some((time, has_succeeded)) = last {
            page.single(families::LAST_RELOAD_SUCCESSFUL, u8::from(has_succeeded));
            page.single(families::LAST_RELOAD_TIMESTAMP_SECONDS, seconds(time));
        }
        let certificates = self.certificates.iter();
        page.each(
            families::CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS,
            "listener",
            certificates.filter_map(|(listener, tls)| Some((&**listener, seconds(tls.expires()?)))),
        );
    }
}

fn of_jobs(backend: &MemoryBackend, page: &mut Page) {
    let jobs = backend.jobs();
    page.each(
        families::JOBS,
        "state",
        [("running", jobs.running), ("waiting", jobs.waiting)],
    );
    page.single(families::JOBS_RUNNING_LIMIT, jobs.places);
    of_journals(&backend.journals(), page);
}

/// Adds the samples for targets. Only targets that are named in the settings have samples, which limits the number of samples.
fn of_targets(remotes: &[Arc<RemoteDatabase>], page: &mut Page) {
    let counts = remotes.iter().flat_map(|remote| {
        let name = &*remote.options().name;
        remote
            .counts()
            .into_iter()
            .map(move |counts| (name, counts))
    });
    let counts: Vec<(&str, TargetCounts)> = counts.collect();
    if counts.is_empty() {
        return;
    }
    type Value = fn(&TargetCounts) -> u64;
    let values: [(Family, Value); 3] = [
        (families::TARGET_SEARCHES_TOTAL, |one| one.searches),
        (families::TARGET_FAILURES_TOTAL, |one| one.failures),
        (families::TARGET_UP, |one| u64::from(one.is_up)),
    ];
    for (family, value) in values {
        page.family(family);
        for (database, counts) in &counts {
            let labels = [("database", *database), ("target", &*counts.target)];
            page.sample(family.name, &labels, value(counts));
        }
    }
}

/// Adds the samples for the engines' servers. Only servers that are named in the settings have samples.
fn of_engines(
    clusters: &[Arc<ClusterDatabase>],
    catalogues: &[Arc<CatalogueDatabase>],
    page: &mut Page,
) {
    let clusters = clusters
        .iter()
        .map(|cluster| (&*cluster.options().name, cluster.servers()));
    let catalogues = catalogues
        .iter()
        .map(|own| (&*own.options().name, own.servers()));
    let counts = clusters.chain(catalogues).flat_map(|(name, counts)| {
        let counts = counts.into_iter();
        counts.map(move |counts| (name, counts))
    });
    let counts: Vec<(&str, ServerCounts)> = counts.collect();
    if counts.is_empty() {
        return;
    }
    type Value = fn(&ServerCounts) -> u64;
    let values: [(Family, Value); 2] = [
        (families::ENGINE_FAILURES_TOTAL, |one| one.failures),
        (families::ENGINE_UP, |one| u64::from(one.is_up)),
    ];
    for (family, value) in values {
        page.family(family);
        for (database, counts) in &counts {
            let labels = [("database", *database), ("server", &*counts.server)];
            page.sample(family.name, &labels, value(counts));
        }
    }
}

fn of_journals(journals: &[JournalTotals], page: &mut Page) {
    type Value = fn(&JournalTotals) -> Option<f64>;
    let values: [(Family, Value); 6] = [
        (families::JOURNAL_BYTES, |one| Some(one.octets as f64)),
        (families::JOURNAL_LIMIT_BYTES, |one| Some(one.limit as f64)),
        (families::JOURNAL_COMMITS_TOTAL, |one| {
            Some(one.commits as f64)
        }),
        (families::JOURNAL_FOLDS_TOTAL, |one| Some(one.folds as f64)),
        (families::JOURNAL_FAILURES_TOTAL, |one| {
            Some(one.failures as f64)
        }),
        (families::JOURNAL_LAST_FAILURE_TIMESTAMP_SECONDS, |one| {
            one.last_failure.map(seconds)
        }),
    ];
    for (family, value) in values {
        let samples = journals
            .iter()
            .filter_map(|journal| Some((&*journal.database, value(journal)?)));
        page.each(family, "database", samples);
    }
}

fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// Returns the resident memory of the process in octets, if the system reports it.
fn resident_octets() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// A page in Prometheus' text format.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Begins a family of samples, with its help and type.
    fn family(&mut self, family: Family) {
        let Family { name, kind, help } = family;
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let between = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{between}{label}=\"");
            for character in value.chars() {
                match character {
                    '\\' | '"' => self.0.extend(['\\', character]),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// Adds a family of samples with one label each; adds nothing if `samples` is empty.
    fn each<'a, V: Display>(
        &mut self,
        family: Family,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, V)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.family(family);
        }
        for (value, sample) in samples {
            self.sample(family.name, &[(label, value)], sample);
        }
    }

    /// Adds a family with one sample, without labels.
    fn single(&mut self, family: Family, value: impl Display) {
        self.family(family);
        self.sample(family.name, &[], value);
    }
}

#[cfg(test)]
mod tests;
