//! What the server tells its operator, as the page `/metrics` in the text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use z3950_server::MemoryBackend;
use z3950_server::backend::Backend;
use z3950_server::metrics::{
    ConnectionRefusal, Metrics, OperationKind, OperationOutcome, SessionEnd,
};
use z3950_server::tls::Tls;

/// What is told.
pub(crate) struct Status {
    started: SystemTime,
    metrics: Arc<Metrics>,
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
        metrics: Arc<Metrics>,
        backend: Option<MemoryBackend>,
        sessions: usize,
        certificates: Vec<(String, Tls)>,
    ) -> Self {
        Self {
            started: SystemTime::now(),
            metrics,
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
        let metrics = &self.metrics;
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
        let name = "z3950d_sessions_ended_total";
        page.family(name, "counter", "Sessions by how they ended.");
        for end in SessionEnd::ALL {
            page.sample(name, &[("end", end.name())], metrics.sessions_ended(*end));
        }
        let name = "z3950d_connections_refused_total";
        page.family(name, "counter", "Connections closed at once, by reason.");
        for refusal in ConnectionRefusal::ALL {
            let reason = [("reason", refusal.name())];
            page.sample(name, &reason, metrics.refused(*refusal));
        }
    }

    fn of_operations(&self, page: &mut Page) {
        let metrics = &self.metrics;
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

    fn of_service(&self, page: &mut Page) {
        if let Some(backend) = &self.backend {
            let name = "z3950d_database_records";
            page.family(name, "gauge", "Records of each database.");
            for database in backend.databases() {
                let label = [("database", &*database.name)];
                page.sample(name, &label, database.records.unwrap_or_default());
            }
        }
        let name = "z3950d_reloads_total";
        page.family(name, "counter", "Reloads on SIGHUP, by outcome.");
        for (outcome, count) in [("ok", &self.reloads), ("refused", &self.refused_reloads)] {
            let count = count.load(Ordering::Relaxed);
            page.sample(name, &[("outcome", outcome)], count);
        }
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
        let name = "z3950d_certificate_expiry_timestamp_seconds";
        let expiries = self.certificates.iter().filter_map(|(listener, tls)| {
            let expiry = seconds(tls.expires()?);
            Some((listener, expiry))
        });
        let mut expiries = expiries.peekable();
        if expiries.peek().is_some() {
            let help = "When the certificate of a listener expires, in seconds since 1970.";
            page.family(name, "gauge", help);
        }
        for (listener, expiry) in expiries {
            page.sample(name, &[("listener", &**listener)], expiry);
        }
    }
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

    /// A family of one sample without labels.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use z3950_server::marc::mrk;

    use super::*;

    #[test]
    fn labels_are_escaped() {
        let record =
            mrk::parse_all("=LDR  00000nam a2200000 a 4500\n=001  b1\n").expect("a record");
        let builder = MemoryBackend::builder().add_records("a\\b\"c\nd", record);
        let backend = builder.expect("encodes").build();
        let status = Status::new(Arc::default(), Some(backend), 7, Vec::new());
        let page = status.metrics();
        assert!(
            page.contains("\nz3950d_database_records{database=\"a\\\\b\\\"c\\nd\"} 1\n"),
            "{page}"
        );
        assert!(page.contains("\nz3950d_sessions_limit 7\n"), "{page}");
    }

    #[test]
    fn the_last_reload_is_told() {
        let status = Status::new(Arc::default(), None, 1, Vec::new());
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
}
