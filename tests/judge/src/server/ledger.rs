//! What a check said and cost, whichever protocol it spoke, and when it may speak again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

/// The most messages kept of a check for its report.
const MAX_EXCHANGES: usize = 200;
/// The most octets kept of a message for the report.
pub(super) const MAX_KEPT: usize = 4096;

/// An APDU, a message of HTTP, or other octets, sent or received.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Whether the judge sent it, not the server.
    pub is_sent: bool,
    /// Its octets, the first 4096 of them; credentials are `*`.
    pub octets: Bytes,
    /// How many octets it has.
    pub length: usize,
    /// What it says, shortened: the name of the APDU and its elements in JSON, or the start of the message of HTTP.
    pub summary: String,
}

/// What a check said and cost.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// What was said.
    pub(super) exchanges: Vec<Exchange>,
    /// How many requests were sent.
    pub(super) requests: u32,
    /// How many octets were received.
    pub(super) octets: u64,
    /// How long requests were held back.
    pub(super) paused: Duration,
    /// Whether the server could not be reached, or did not begin a session.
    pub(super) is_unreachable: bool,
    /// Whether a request had no answer in time.
    pub(super) is_silent: bool,
    /// Whether the server ended a connection, or rejected a session.
    pub(super) is_ended: bool,
    next_request: Option<Instant>,
}

/// When the next request may be sent, in whichever session it is.
#[derive(Debug, Default)]
pub(super) struct Pacer(Mutex<Option<Instant>>);

impl Pacer {
    /// Takes the first free moment from `earliest` on; that of the next request is `pause` later.
    fn take(&self, earliest: Instant, pause: Duration) -> Instant {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let moment = free.map_or(earliest, |free| free.max(earliest));
        *free = Some(moment + pause);
        moment
    }
}

impl Ledger {
    /// Whether the server did something to the connection that it may do because others are open.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_unreachable || self.is_silent || self.is_ended
    }

    /// Adds what another one cost.
    pub(super) fn add_cost(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.octets = self.octets.saturating_add(other.octets);
    }

    /// Waits until the next request may be sent, and counts it.
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

    /// Keeps a message for the report, of which `octets` are the first ones.
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
