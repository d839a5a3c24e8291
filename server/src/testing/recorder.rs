//! The observer of a test server: keeps the transcript, and lets a test wait for events.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use z3950_asn1::apdu::Apdu;
use z3950_asn1::error::DecodeError;

use crate::lock::lock;
use crate::observer::{HttpMessage, Observer, Peer};
use crate::transcript::{Direction, HttpEntry, TranscriptEntry};

/// The observer of a test server, which keeps the transcript so far.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) state: Mutex<RecorderState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct RecorderState {
    pub(super) entries: Vec<TranscriptEntry>,
    pub(super) messages: Vec<HttpEntry>,
    /// The requests that a replay could not answer.
    pub(super) not_recorded: Vec<TranscriptEntry>,
    /// The number of sessions opened.
    pub(super) opened: u64,
    pub(super) closed: u64,
}

impl Recorder {
    /// Waits until the condition is true, and returns the transcript; returns `None` after the time limit.
    pub(super) fn wait(
        &self,
        limit: Duration,
        condition: impl Fn(&RecorderState) -> bool,
    ) -> Option<Vec<TranscriptEntry>> {
        let deadline = Instant::now() + limit;
        let mut state = lock(&self.state);
        while !condition(&state) {
            let left = deadline.checked_duration_since(Instant::now())?;
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(state.entries.clone())
    }

    fn change(&self, change: impl FnOnce(&mut RecorderState)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }

    fn note(&self, session: u64, direction: Direction, octets: &[u8], apdu: Option<&Apdu>) {
        let entry = TranscriptEntry::now(session, direction, octets, apdu);
        self.change(|state| state.entries.push(entry));
    }

    fn http(&self, session: u64, direction: Direction, message: &HttpMessage) {
        let entry = HttpEntry::now(session, direction, message);
        self.change(|state| state.messages.push(entry));
    }
}

impl Observer for Recorder {
    fn opened(&self, _: u64, _: Peer) {
        self.change(|state| state.opened += 1);
    }

    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.note(session, Direction::Received, octets, apdu.ok());
    }

    fn discarded(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.received(session, octets, apdu);
    }

    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        self.note(session, Direction::Sent, octets, apdu);
    }

    fn not_recorded(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>, _: &str) {
        let entry = TranscriptEntry::now(session, Direction::Received, octets, apdu);
        self.change(|state| state.not_recorded.push(entry));
    }

    fn wants_http(&self) -> bool {
        true
    }

    fn http_received(&self, session: u64, message: &HttpMessage) {
        self.http(session, Direction::Received, message);
    }

    fn http_sent(&self, session: u64, message: &HttpMessage) {
        self.http(session, Direction::Sent, message);
    }

    fn closed(&self, _: u64) {
        self.change(|state| state.closed += 1);
    }
}
