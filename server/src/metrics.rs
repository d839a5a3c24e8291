//! Counters that inform operators about a running server: sessions, octets, and operations with their outcomes and durations.
//! Counting costs a few atomic additions per request.

mod names;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tracing::warn;
use z3950_asn1::apdu::Apdu;

pub use self::names::{
    ConnectionRefusal, LoggedRefusal, OperationKind, OperationOutcome, SessionEnd,
};
use crate::lock::lock;

/// The counters of a server since its start.
#[derive(Debug, Default)]
pub struct Metrics {
    begun: AtomicU64,
    ended: [AtomicU64; SessionEnd::ALL.len()],
    refused: [AtomicU64; ConnectionRefusal::ALL.len()],
    operations: [Counters; OperationKind::ALL.len()],
    in_progress: AtomicU64,
    records: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    refusals: Mutex<RefusalLog>,
}

/// The refusals in the current [`PERIOD`].
#[derive(Debug, Default)]
struct RefusalLog {
    since: Option<Instant>,
    logged: u64,
    /// The numbers of refusals that were not logged, by kind.
    more: [u64; LoggedRefusal::ALL.len()],
}

impl RefusalLog {
    /// Formats the numbers of refusals that were not logged: `12 (Init), 3 (update)`.
    fn words(&self) -> String {
        let counts = LoggedRefusal::ALL.iter().zip(self.more);
        let words = counts
            .filter(|(_, count)| *count > 0)
            .map(|(refusal, count)| format!("{count} ({})", refusal.name()));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The maximum number of refusals that are logged in each [`PERIOD`], so that clients cannot flood the log.
const LOGGED_REFUSALS: u64 = 10;
pub(crate) const PERIOD: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Counters {
    outcomes: [AtomicU64; OperationOutcome::ALL.len()],
    /// The number of operations in each duration class. The class of an operation is the first bound in [`BOUNDS`] that its
    /// duration does not exceed.
    durations: [AtomicU64; BOUNDS.len()],
    nanoseconds: AtomicU64,
}

/// The upper bounds of the duration classes.
const BOUNDS: [Duration; 12] = [
    Duration::from_micros(100),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

/// The durations of operations of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OperationDurations {
    /// Upper bounds in ascending order, each with the number of operations that took at most this time.
    pub within: Vec<(Duration, u64)>,
    /// The total number of operations.
    pub count: u64,
    /// The sum of all durations.
    pub sum: Duration,
}

impl Metrics {
    /// Returns the number of connections accepted.
    pub fn sessions_begun(&self) -> u64 {
        self.begun.load(Relaxed)
    }

    /// Returns the number of connections that ended for this reason.
    pub fn sessions_ended(&self, end: SessionEnd) -> u64 {
        read(&self.ended, end as usize)
    }

    /// Returns the number of open connections.
    pub fn sessions(&self) -> u64 {
        let ends = SessionEnd::ALL.iter();
        let ended: u64 = ends.map(|end| self.sessions_ended(*end)).sum();
        self.sessions_begun().saturating_sub(ended)
    }

    /// Returns the number of connections that were refused for this reason.
    pub fn refused(&self, refusal: ConnectionRefusal) -> u64 {
        read(&self.refused, refusal as usize)
    }

    /// Returns the number of operations of this kind with this outcome.
    pub fn operations(&self, kind: OperationKind, outcome: OperationOutcome) -> u64 {
        let counters = self.operations.get(kind as usize);
        counters.map_or(0, |counters| read(&counters.outcomes, outcome as usize))
    }

    /// Returns the durations of operations of this kind from the request to the answer, whatever their outcome.
    pub fn durations(&self, kind: OperationKind) -> OperationDurations {
        let Some(counters) = self.operations.get(kind as usize) else {
            return OperationDurations::default();
        };
        let mut sum = 0;
        let within: Vec<_> = BOUNDS
            .iter()
            .zip(&counters.durations)
            .map(|(bound, count)| {
                sum += count.load(Relaxed);
                (*bound, sum)
            })
            .collect();
        OperationDurations {
            within,
            // The total is incremented first and read last, so no count in `within` exceeds it.
            count: counters
                .outcomes
                .iter()
                .map(|count| count.load(Relaxed))
                .sum(),
            sum: Duration::from_nanos(counters.nanoseconds.load(Relaxed)),
        }
    }

    /// Returns the number of operations that are not answered yet.
    pub fn operations_in_progress(&self) -> u64 {
        self.in_progress.load(Relaxed)
    }

    /// Returns the number of records sent, including surrogate diagnostics.
    pub fn records_sent(&self) -> u64 {
        self.records.load(Relaxed)
    }

    /// Returns the number of octets in the APDUs received.
    pub fn octets_received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Returns the number of octets sent.
    pub fn octets_sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    pub(crate) fn session_began(&self) {
        self.begun.fetch_add(1, Relaxed);
    }

    pub(crate) fn session_ended(&self, end: SessionEnd) {
        add(&self.ended, end as usize, 1);
    }

    pub(crate) fn connection_refused(&self, refusal: ConnectionRefusal) {
        add(&self.refused, refusal as usize, 1);
    }

    /// Returns whether to log a refusal; if not, counts it.
    pub(crate) fn may_log(&self, refusal: LoggedRefusal) -> bool {
        self.log_refusals(PERIOD);
        let mut log = lock(&self.refusals);
        log.since.get_or_insert_with(Instant::now);
        if log.logged < LOGGED_REFUSALS {
            log.logged += 1;
            return true;
        }
        if let Some(more) = log.more.get_mut(refusal as usize) {
            *more += 1;
        }
        false
    }

    /// Logs the number of refusals that were not logged individually, if they have been counted for at least `period`.
    pub(crate) fn log_refusals(&self, period: Duration) {
        let mut log = lock(&self.refusals);
        if log.since.is_some_and(|since| since.elapsed() >= period) {
            let words = std::mem::take(&mut *log).words();
            if !words.is_empty() {
                warn!("refusals that were not logged: {words}");
            }
        }
    }

    pub(crate) fn received(&self, octets: usize) {
        self.received.fetch_add(octets as u64, Relaxed);
    }

    pub(crate) fn sent(&self, octets: usize, records: usize) {
        self.sent.fetch_add(octets as u64, Relaxed);
        if records > 0 {
            self.records.fetch_add(records as u64, Relaxed);
        }
    }
}

fn read(counters: &[AtomicU64], place: usize) -> u64 {
    let counter = counters.get(place);
    counter.map_or(0, |counter| counter.load(Relaxed))
}

fn add(counters: &[AtomicU64], place: usize, number: u64) {
    if let Some(counter) = counters.get(place) {
        counter.fetch_add(number, Relaxed);
    }
}

/// The timer of an operation in progress. Dropping it counts the operation.
pub(crate) struct OperationTimer {
    metrics: Arc<Metrics>,
    pub(crate) kind: OperationKind,
    pub(crate) begun: Instant,
    outcome: OperationOutcome,
}

impl OperationTimer {
    /// Starts the timer for a request; returns `None` for a request that is not an operation.
    pub(crate) fn of(request: &Apdu, metrics: &Arc<Metrics>) -> Option<Self> {
        let kind = OperationKind::of(request)?;
        Some(Self::begin(kind, metrics))
    }

    /// Starts the timer for a request of this kind.
    pub(crate) fn begin(kind: OperationKind, metrics: &Arc<Metrics>) -> Self {
        metrics.in_progress.fetch_add(1, Relaxed);
        Self {
            metrics: Arc::clone(metrics),
            kind,
            begun: Instant::now(),
            outcome: OperationOutcome::Abandoned,
        }
    }

    /// Stops the timer, and counts the operation as answered with this outcome.
    pub(crate) fn answered(mut self, outcome: OperationOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for OperationTimer {
    fn drop(&mut self) {
        let time = self.begun.elapsed();
        self.metrics.in_progress.fetch_sub(1, Relaxed);
        let Some(counters) = self.metrics.operations.get(self.kind as usize) else {
            return;
        };
        add(&counters.outcomes, self.outcome as usize, 1);
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        counters.nanoseconds.fetch_add(nanoseconds, Relaxed);
        if let Some(class) = BOUNDS.iter().position(|bound| time <= *bound) {
            add(&counters.durations, class, 1);
        }
    }
}

#[cfg(test)]
mod tests;
