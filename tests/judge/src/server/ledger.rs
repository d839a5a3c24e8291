//! Records the messages and the cost of a check in either protocol, and limits the rate of its requests.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

/// The maximum number of messages of a check that are stored for its report.
const MAX_EXCHANGES: usize = 200;
/// The maximum number of octets of a message that are stored for the report.
pub(super) const MAX_KEPT: usize = 4096;

/// An APDU, an HTTP message, or other octets, sent or received.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Whether the message was sent by the judge, not by the server.
    pub is_sent: bool,
    /// The first 4096 octets of the message, in which credentials are replaced with `*`.
    pub octets: Bytes,
    /// The length of the message in octets.
    pub length: usize,
    /// A summary of the message: the name of the APDU and its elements in JSON, or the start of the HTTP message, shortened.
    pub summary: String,
}

/// The messages and the cost of a check.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The messages that were exchanged.
    pub(super) exchanges: Vec<Exchange>,
    /// The number of requests sent.
    pub(super) requests: u32,
    /// The number of octets received.
    pub(super) octets: u64,
    /// The total time for which requests were delayed to limit their rate.
    pub(super) paused: Duration,
    /// Whether the server could not be reached, or did not begin a session.
    pub(super) is_unreachable: bool,
    /// Whether the server did not answer a request in time.
    pub(super) is_silent: bool,
    /// Whether the server ended a connection or rejected a session.
    pub(super) is_ended: bool,
    next_request: Option<Instant>,
}

/// Limits the rate of requests. It stores the earliest time at which any session may send the next request.
#[derive(Debug, Default)]
pub(super) struct Pacer(Mutex<Option<Instant>>);

impl Pacer {
    /// Reserves the earliest available time that is not before `earliest`, followed by a pause.
    fn take(&self, earliest: Instant, pause: Duration) -> Instant {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let moment = free.map_or(earliest, |free| free.max(earliest));
        *free = Some(moment + pause);
        moment
    }
}

impl Ledger {
    /// Returns whether the server refused the connection, ended it or did not answer. The number of open connections may have
    /// been the reason.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_unreachable || self.is_silent || self.is_ended
    }

    /// Adds the cost of another ledger.
    pub(super) fn add_cost(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.octets = self.octets.saturating_add(other.octets);
    }

    /// Waits until a request may be sent, and counts the request.
    pub(super) async fn pace(&mut self, pacer: &Pacer, pause: Duration) {
        let began = Instant::now();
        if let Some(next) = self.next_request {
            sleep_until(pacer.take(next.max(began), pause)).await;
        }
        let now = Instant::now();
        self.paused += now - began;
        self.next_request = Some(now + pause);
        self.requests += 1;
    }

    /// Adds a message to the ledger. `octets` contains the first octets of the message, and `length` is its full length.
    pub(super) fn note(
        &mut self,
        is_sent: bool,
        octets: &Bytes,
        length: usize,
        summary: impl FnOnce() -> String,
    ) {
        if self.exchanges.len() == MAX_EXCHANGES {
            return;
        }
        self.exchanges.push(Exchange {
            is_sent,
            octets: octets.slice(..octets.len().min(MAX_KEPT)),
            length,
            summary: summary(),
        });
    }
}
