//! Records the sessions of a test server, and lets a test wait for events.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::error::DecodeError;

use crate::lock::lock;
use crate::observer::{Observer, Peer};
use crate::transcript::{Direction, TranscriptEntry};

/// The transcript so far.
#[derive(Default)]
pub(super) struct Recorder {
    state: Mutex<RecorderState>,
    changed: Condvar,
}

#[derive(Default)]
struct RecorderState {
    entries: Vec<TranscriptEntry>,
    opened: u64,
    closed: u64,
}

impl Recorder {
    pub(super) fn entries(&self) -> Vec<TranscriptEntry> {
        self.lock().entries.clone()
    }

    /// The number of sessions opened.
    pub(super) fn opened(&self) -> u64 {
        self.lock().opened
    }

    /// Waits until the condition holds for the transcript; `None` after the time limit.
    pub(super) fn wait(
        &self,
        limit: Duration,
        condition: impl Fn(&[TranscriptEntry]) -> bool,
    ) -> Option<Vec<TranscriptEntry>> {
        self.wait_for_state(limit, |state| condition(&state.entries))
    }

    /// Waits until at least one session was opened and all have ended.
    pub(super) fn wait_for_end(&self, limit: Duration) -> Option<Vec<TranscriptEntry>> {
        self.wait_for_state(limit, |state| {
            state.opened > 0 && state.opened == state.closed
        })
    }

    fn wait_for_state(
        &self,
        limit: Duration,
        condition: impl Fn(&RecorderState) -> bool,
    ) -> Option<Vec<TranscriptEntry>> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        while !condition(&state) {
            let left = deadline.checked_duration_since(Instant::now())?;
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(state.entries.clone())
    }

    fn change(&self, change: impl FnOnce(&mut RecorderState)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, RecorderState> {
        lock(&self.state)
    }

    fn note(&self, session: u64, direction: Direction, octets: &[u8], apdu: Option<&Apdu>) {
        let entry = TranscriptEntry {
            time: SystemTime::now(),
            session,
            direction,
            octets: Bytes::copy_from_slice(octets),
            apdu: apdu.cloned(),
        };
        self.change(|state| state.entries.push(entry));
    }
}

impl Observer for Recorder {
    fn opened(&self, _: u64, _: Peer) {
        self.change(|state| state.opened += 1);
    }

    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.note(session, Direction::Received, octets, apdu.ok());
    }

    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        self.note(session, Direction::Sent, octets, apdu);
    }

    fn closed(&self, _: u64) {
        self.change(|state| state.closed += 1);
    }
}
