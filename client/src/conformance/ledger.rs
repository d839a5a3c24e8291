//! What a check said and cost, whichever protocol it spoke, and when it may speak again.

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
    next_request: Option<Instant>,
}

impl Ledger {
    /// Waits until the next request may be sent, and counts it.
    pub(super) async fn pace(&mut self, pause: Duration) {
        let began = Instant::now();
        if let Some(next) = self.next_request {
            sleep_until(next).await;
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
