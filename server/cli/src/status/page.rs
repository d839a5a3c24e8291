//! What the server tells its operator, as the page `/metrics` in the text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use z3950_server::backend::Backend;
use z3950_server::memory::JournalTotals;
use z3950_server::metrics::{ConnectionRefusal, OperationKind, OperationOutcome, SessionEnd};
use z3950_server::tls::Tls;
use z3950_server::{MemoryBackend, ServerHandle};

/// What is told.
pub(crate) struct Status {
    started: SystemTime,
    server: ServerHandle,
    backend: Option<MemoryBackend>,
    /// The most sessions at once.
    sessions: usize,
    /// The listeners with TLS.
    certificates: Vec<(String, Tls)>,
    is_stopping: AtomicBool,
    reloads: AtomicU64,
    refused_reloads: AtomicU64,
    /// The last reload, and whether it succeeded.
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
            sessions,
            certificates,
            is_stopping: AtomicBool::new(false),
            reloads: AtomicU64::new(0),
            refused_reloads: AtomicU64::new(0),
            last_reload: Mutex::default(),
        }
    }

    /// Notes that the server is stopping.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Notes a reload, and whether it succeeded.
    pub(crate) fn reloaded(&self, has_succeeded: bool) {
        let count = match has_succeeded {
            true => &self.reloads,
            false => &self.refused_reloads,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let mut last = self.last_reload.lock();
        let last = last.as_deref_mut();
        if let Ok(last) = last {
            *last = Some((SystemTime::now(), has_succeeded));
        }
    }

    /// The page `/metrics`.
    pub(crate) fn metrics(&self) -> String {
        let mut page = Page::default();
        self.of_process(&mut page);
        self.of_sessions(&mut page);
        self.of_operations(&mut page);
        self.of_limits(&mut page);
        if let Some(backend) = &self.backend {
            of_databases(backend, &mut page);
        }
        self.of_service(&mut page);
        page.0
    }

    fn of_process(&self, page: &mut Page) {
        page.family("z3950d_build_info", "gauge", "Version of the program.");
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.sample("z3950d_build_info", &version, 1);
        let start = seconds(self.started);
        page.single(
            "process_start_time_seconds",
            "gauge",
            "When the server started, in seconds since 1970.",
            start,
        );
        if let Some(octets) = resident_octets() {
            page.single(
                "process_resident_memory_bytes",
                "gauge",
                "Memory of the process.",
                octets,
            );
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            page.single(
                "process_open_fds",
                "gauge",
                "Open files and sockets of the process.",
                open.count(),
            );
        }
    }

    fn of_sessions(&self, page: &mut Page) {
        let metrics = &self.server.metrics();
        page.single(
            "z3950d_sessions",
            "gauge",
            "Connections that are open.",
            metrics.sessions(),
        );
        page.single(
            "z3950d_sessions_limit",
            "gauge",
            "The most connections at once.",
            self.sessions,
        );
        page.single(
            "z3950d_sessions_total",
            "counter",
            "Connections accepted.",
            metrics.sessions_begun(),
        );
        let ends = SessionEnd::ALL.iter();
        page.each(
            "z3950d_sessions_ended_total",
            "counter",
            "Sessions by how they ended.",
            "end",
            ends.map(|end| (end.name(), metrics.sessions_ended(*end))),
        );
        let refusals = ConnectionRefusal::ALL.iter();
        page.each(
            "z3950d_connections_refused_total",
            "counter",
            "Connections closed at once, by reason.",
            "reason",
            refusals.map(|refusal| (refusal.name(), metrics.refused(*refusal))),
        );
    }

    fn of_operations(&self, page: &mut Page) {
        let metrics = &self.server.metrics();
        page.single(
            "z3950d_operations_in_progress",
            "gauge",
            "Operations that are not answered yet.",
            metrics.operations_in_progress(),
        );
        let name = "z3950d_operations_total";
        page.family(name, "counter", "Operations by kind and outcome.");
        for kind in OperationKind::ALL {
            for outcome in OperationOutcome::ALL {
                let labels = [("operation", kind.name()), ("outcome", outcome.name())];
                page.sample(name, &labels, metrics.operations(*kind, *outcome));
            }
        }
        let name = "z3950d_operation_duration_seconds";
        page.family(name, "histogram", "Time from a request to its answer.");
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
        page.single(
            "z3950d_records_sent_total",
            "counter",
            "Records sent, including surrogate diagnostics.",
            metrics.records_sent(),
        );
        page.single(
            "z3950d_received_bytes_total",
            "counter",
            "Octets of the requests received.",
            metrics.octets_received(),
        );
        page.single(
            "z3950d_sent_bytes_total",
            "counter",
            "Octets sent.",
            metrics.octets_sent(),
        );
    }

    fn of_limits(&self, page: &mut Page) {
        let octets = self.server.kept_octets();
        page.single(
            "z3950d_kept_bytes",
            "gauge",
            "Octets kept for clients.",
            octets.kept,
        );
        page.single(
            "z3950d_kept_limit_bytes",
            "gauge",
            "The most octets kept for clients.",
            octets.limit,
        );
    }

    fn of_service(&self, page: &mut Page) {
        let outcomes = [("ok", &self.reloads), ("refused", &self.refused_reloads)];
        page.each(
            "z3950d_reloads_total",
            "counter",
            "Reloads on SIGHUP, by outcome.",
            "outcome",
            outcomes.map(|(outcome, count)| (outcome, count.load(Ordering::Relaxed))),
        );
        let last = self.last_reload.lock();
        if let Some((time, has_succeeded)) = *last.unwrap_or_else(PoisonError::into_inner) {
            page.single(
                "z3950d_last_reload_successful",
                "gauge",
                "Whether the last reload was carried out.",
                u8::from(has_succeeded),
            );
            page.single(
                "z3950d_last_reload_timestamp_seconds",
                "gauge",
                "When the last reload ended, in seconds since 1970.",
                seconds(time),
            );
        }
        let certificates = self.certificates.iter();
        page.each(
            "z3950d_certificate_expiry_timestamp_seconds",
            "gauge",
            "When the certificate of a listener expires, in seconds since 1970.",
            "listener",
            certificates.filter_map(|(listener, tls)| Some((&**listener, seconds(tls.expires()?)))),
        );
    }
}

fn of_databases(backend: &MemoryBackend, page: &mut Page) {
    let databases = backend.databases();
    let records = databases.iter();
    page.each(
        "z3950d_database_records",
        "gauge",
        "Records of each database.",
        "database",
        records.map(|database| (&*database.name, database.records.unwrap_or_default())),
    );
    let jobs = backend.jobs();
    page.each(
        "z3950d_jobs",
        "gauge",
        "Long searches, scans and sorts, by state.",
        "state",
        [("running", jobs.running), ("waiting", jobs.waiting)],
    );
    page.single(
        "z3950d_jobs_running_limit",
        "gauge",
        "The most long searches, scans and sorts that run at once.",
        jobs.places,
    );
    of_journals(&backend.journals(), page);
}

fn of_journals(journals: &[JournalTotals], page: &mut Page) {
    let mut family = |name, kind, help, value: fn(&JournalTotals) -> Option<f64>| {
        let samples = journals.iter();
        let samples = samples.filter_map(|journal| Some((&*journal.database, value(journal)?)));
        page.each(name, kind, help, "database", samples);
    };
    family(
        "z3950d_journal_bytes",
        "gauge",
        "Octets of changes that are not folded into the file yet.",
        |journal| Some(journal.octets as f64),
    );
    family(
        "z3950d_journal_limit_bytes",
        "gauge",
        "Octets of changes from which they are folded into the file.",
        |journal| Some(journal.limit as f64),
    );
    family(
        "z3950d_journal_commits_total",
        "counter",
        "Commits of changes to the journal.",
        |journal| Some(journal.commits as f64),
    );
    family(
        "z3950d_journal_folds_total",
        "counter",
        "Folds of the journal into the file.",
        |journal| Some(journal.folds as f64),
    );
    family(
        "z3950d_journal_failures_total",
        "counter",
        "Commits and folds that failed.",
        |journal| Some(journal.failures as f64),
    );
    family(
        "z3950d_journal_last_failure_timestamp_seconds",
        "gauge",
        "When a commit or fold failed last, in seconds since 1970.",
        |journal| journal.last_failure.map(seconds),
    );
}

fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// The memory of the process, where the system tells it.
fn resident_octets() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Lines in the text format.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Begins a family of samples.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
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

    /// A family of samples with one label each; nothing if there are none.
    fn each<'a, V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, V)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_some() {
            self.family(name, kind, help);
        }
        for (value, sample) in samples {
            self.sample(name, &[(label, value)], sample);
        }
    }

    /// A family of one sample without labels.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::{Context, Waker};

    use tokio::runtime;
    use z3950_server::asn1::apdu::DatabaseName;
    use z3950_server::backend::Search;
    use z3950_server::marc::mrk;
    use z3950_server::{Limits, Server, Target};

    use super::*;

    fn status(backend: Option<MemoryBackend>, sessions: usize) -> Status {
        let served = MemoryBackend::builder().build();
        let server = Server::new(Target::new(Arc::new(served), Limits::default()));
        Status::new(server.handle(), backend, sessions, Vec::new())
    }

    fn backend(name: &str, title: &str) -> MemoryBackend {
        let record = format!("=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$a{title}\n");
        let record = mrk::parse_all(&record).expect("a record");
        let builder = MemoryBackend::builder().add_records(name, record);
        builder.expect("encodes").build()
    }

    #[test]
    fn labels_are_escaped() {
        let status = status(Some(backend("a\\b\"c\nd", "One")), 7);
        let page = status.metrics();
        assert!(
            page.contains("\nz3950d_database_records{database=\"a\\\\b\\\"c\\nd\"} 1\n"),
            "{page}"
        );
        for line in [
            "z3950d_sessions_limit 7",
            "z3950d_kept_bytes 0",
            "z3950d_kept_limit_bytes 268435456",
        ] {
            assert!(page.contains(&format!("\n{line}\n")), "{page}");
        }
        assert!(!page.contains("z3950d_journal"), "nothing is saved");
    }

    #[test]
    fn the_last_reload_is_told() {
        let status = status(None, 1);
        assert!(!status.metrics().contains("last_reload"));
        for (has_succeeded, told) in [(true, "1"), (false, "0")] {
            status.reloaded(has_succeeded);
            let page = status.metrics();
            let line = format!("\nz3950d_last_reload_successful {told}\n");
            assert!(page.contains(&line), "{page}");
        }
        let page = status.metrics();
        for outcome in ["ok", "refused"] {
            let line = format!("\nz3950d_reloads_total{{outcome=\"{outcome}\"}} 1\n");
            assert!(page.contains(&line), "{page}");
        }
    }

    /// Two long searches of one session, of which one may run at a time.
    #[test]
    fn long_searches_are_jobs() {
        let backend = backend("cat", &"a ".repeat(3000));
        let status = status(Some(backend.clone()), 1);
        let check = |running: u8, waiting: u8| {
            let page = status.metrics();
            let expected = format!(
                "\nz3950d_jobs{{state=\"running\"}} {running}\n\
                 z3950d_jobs{{state=\"waiting\"}} {waiting}\n"
            );
            assert!(page.contains(&expected), "{page}");
        };
        let mut builder = runtime::Builder::new_current_thread();
        let runtime = builder.max_blocking_threads(1).build().expect("a runtime");
        let _entered = runtime.enter();
        // The only thread for long work is kept from it until `go` is dropped.
        let (go, wait) = mpsc::channel::<()>();
        let held = runtime.spawn_blocking(move || wait.recv().is_err());
        let databases = [DatabaseName::from("cat")];
        let query = "@prox 0 9999 0 3 k 2 @attr 1=4 a @attr 1=4 a";
        let query = query.parse().expect("a query");
        let search = Search::new(&databases, &query);
        let mut searches = [backend.search(search), backend.search(search)];
        check(0, 0);
        for search in &mut searches {
            let polled = search
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        check(1, 1);
        drop(go);
        assert!(runtime.block_on(held).expect("no panic"));
        for (search, running) in searches.into_iter().zip([1, 0]) {
            let found = runtime.block_on(search).expect("an answer");
            assert!(found.hits.is_empty());
            check(running, 0);
        }
    }
}
