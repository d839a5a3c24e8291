//! Judges clients by Z39.50-2003. An observer checks the messages of clients against rules, each of which cites a section of the
//! standard. For each session, it reports the rules that were kept, the rules that were broken, together with the octets that
//! broke them, and the client's reactions to the server's faults.
//!
//! ```
//! use std::sync::Arc;
//! use z3950_judge::client::ClientJudge;
//! use z3950_server::{MemoryBackend, Server, Target, Limits};
//!
//! # async fn example() -> std::io::Result<()> {
//! let judge = Arc::new(ClientJudge::default());
//! let target = Target::new(Arc::new(MemoryBackend::demo()), Limits::default());
//! let server = Server::new(target).with_observer(judge.clone());
//! let server = server.and_bind("127.0.0.1:2100").await?;
//! // … let clients talk to it …
//! # let _ = server;
//! let report = judge.report();
//! std::fs::write("report.xml", report.to_junit())?;
//! # Ok(())
//! # }
//! ```

mod checks;
mod conversation;
mod knowledge;
mod reactions;
mod report;
mod rules;
mod sheet;
mod text;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec;
use z3950_asn1::codec::frame::StreamError;
use z3950_asn1::error::DecodeError;

use self::conversation::Conversation;
pub use self::conversation::JudgeLimits;
pub use self::reactions::Reaction;
pub use self::report::{ClientFinding, ClientReport, JudgedSession, RuleCount};
pub use self::rules::rules;
use z3950_server::{Observer, Peer, SessionTotals};

/// Judges the messages of clients, as an [`Observer`] of all sessions. HTTP sessions, and sessions that the server opens with
/// itself, are not judged.
#[derive(Debug)]
pub struct ClientJudge {
    limits: JudgeLimits,
    begun: SystemTime,
    started: Instant,
    state: Mutex<JudgeState>,
}

#[derive(Debug, Default)]
struct JudgeState {
    /// The sessions that are open.
    open: HashMap<u64, Conversation>,
    /// The judged sessions that have ended, up to the limit.
    ended: Vec<JudgedSession>,
    /// The number of sessions judged.
    judged: u64,
    counts: Vec<RuleCount>,
}

impl Default for ClientJudge {
    fn default() -> Self {
        Self::new(JudgeLimits::default())
    }
}

impl ClientJudge {
    /// Creates a judge that has not seen any session.
    pub fn new(limits: JudgeLimits) -> Self {
        Self {
            limits,
            begun: SystemTime::now(),
            started: Instant::now(),
            state: Mutex::default(),
        }
    }

    /// Returns the findings so far. Open sessions are judged by what has happened in them so far.
    pub fn report(&self) -> ClientReport {
        let state = self.lock();
        let mut counts = state.counts.clone();
        counts.resize(rules().len(), RuleCount::default());
        let mut judged = state.judged;
        let mut sessions = state.ended.clone();
        let mut open: Vec<(&u64, &Conversation)> = state.open.iter().collect();
        open.sort_by_key(|(number, _)| **number);
        for (_, conversation) in open.into_iter().filter(|(_, one)| one.has_spoken()) {
            judged += 1;
            conversation.sheet().count(&mut counts);
            if sessions.len() < self.limits.sessions {
                sessions.push(conversation.judged(None));
            }
        }
        ClientReport::new(self.begun, self.started.elapsed(), judged, sessions, counts)
    }

    fn lock(&self) -> MutexGuard<'_, JudgeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, session: u64, work: impl FnOnce(&mut Conversation)) {
        if let Some(conversation) = self.lock().open.get_mut(&session) {
            work(conversation);
        }
    }
}

impl Observer for ClientJudge {
    fn opened(&self, session: u64, peer: Peer) {
        let conversation = Conversation::new(session, peer, self.limits);
        self.lock().open.insert(session, conversation);
    }

    /// Ignores sessions that the server opens with itself, because they do not show the behaviour of a client.
    fn opened_within(&self, _: u64, _: Peer) {}

    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.with(session, |one| one.received(octets, apdu));
    }

    fn unreadable(&self, session: u64, octets: &[u8], fault: &StreamError) {
        self.with(session, |one| one.unreadable(octets, fault));
    }

    fn pipelined(&self, session: u64, octets: &[u8]) {
        self.with(session, |one| one.pipelined(octets));
    }

    fn discarded(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.with(session, |one| one.discarded(octets, apdu));
    }

    fn struck(&self, session: u64, rule: &str) {
        self.with(session, |one| one.struck(rule));
    }

    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        match apdu {
            Some(_) => self.with(session, |one| one.sent(apdu)),
            // Replays and some faults send octets instead of an APDU, but the octets may still encode one.
            None => {
                let decoded = codec::decode(octets).ok();
                self.with(session, |one| one.sent(decoded.as_ref()));
            }
        }
    }

    fn wants_totals(&self) -> bool {
        true
    }

    fn ended(&self, totals: &SessionTotals) {
        let mut state = self.lock();
        let Some(mut conversation) = state.open.remove(&totals.session) else {
            return;
        };
        if !conversation.has_spoken() {
            return;
        }
        conversation.ended(totals.end, totals.client_left);
        state.judged += 1;
        state.counts.resize(rules().len(), RuleCount::default());
        conversation.sheet().count(&mut state.counts);
        if state.ended.len() < self.limits.sessions {
            state.ended.push(conversation.judged(Some(totals.end)));
        }
    }
}

#[cfg(test)]
mod tests;
