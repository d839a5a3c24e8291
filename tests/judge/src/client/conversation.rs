//! A session that is being judged, message by message.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use z3950_asn1::apdu::{Apdu, InitializeRequest};
use z3950_asn1::codec::frame::{Header, StreamError};
use z3950_asn1::error::DecodeError;

use super::checks;
use super::knowledge::{Knowledge, Stage, reference};
use super::reactions::Reactions;
use super::report::JudgedSession;
use super::rules::RuleId;
use super::sheet::{Message, SessionResults};
use z3950_server::Peer;
use z3950_server::metrics::SessionEnd;

/// The maximum number of characters of a client's name.
const MAX_NAME: usize = 200;

/// Limits on the data that a judge stores about sessions. When a limit has been reached, further sessions and findings are
/// counted but not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeLimits {
    /// The maximum number of sessions that are reported individually; by default, 500.
    pub sessions: usize,
    /// The maximum number of octets that are stored from a message that breaks a rule; by default, 1024.
    pub octets: usize,
    /// The maximum number of faults and reactions that are stored for a session; by default, 100.
    pub faults: usize,
    /// The maximum number of result sets, of requests in progress and of earlier requests that are remembered for a session; by
    /// default, 256 each.
    pub remembered: usize,
}

impl Default for JudgeLimits {
    fn default() -> Self {
        Self {
            sessions: 500,
            octets: 1024,
            faults: 100,
            remembered: 256,
        }
    }
}

/// A session that is being judged.
#[derive(Debug)]
pub(super) struct Conversation {
    number: u64,
    peer: Peer,
    begun: SystemTime,
    started: Instant,
    limits: JudgeLimits,
    known: Knowledge,
    sheet: SessionResults,
    reactions: Reactions,
    /// The number of requests of each kind that were received.
    requests: BTreeMap<&'static str, u64>,
    implementation: Option<String>,
}

impl Conversation {
    pub(super) fn new(number: u64, peer: Peer, limits: JudgeLimits) -> Self {
        Self {
            number,
            peer,
            begun: SystemTime::now(),
            started: Instant::now(),
            known: Knowledge::new(limits.remembered),
            limits,
            sheet: SessionResults::default(),
            reactions: Reactions::default(),
            requests: BTreeMap::new(),
            implementation: None,
        }
    }

    /// Returns whether the client has sent any message that can be judged.
    pub(super) fn has_spoken(&self) -> bool {
        !self.requests.is_empty()
    }

    pub(super) fn sheet(&self) -> &SessionResults {
        &self.sheet
    }

    /// Judges an APDU from the client.
    pub(super) fn received(&mut self, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        let name = apdu.map_or("octets", Apdu::name);
        let is_first = self.requests.is_empty();
        *self.requests.entry(name).or_default() += 1;
        let message = self.message(name, octets);
        let unknown = unknown_tag(octets);
        self.sheet
            .mark(message, RuleId::ApduKnown, unknown.is_none(), || {
                format!("the tag {}", unknown.unwrap_or_default())
            });
        let apdu = match apdu {
            Ok(apdu) => apdu,
            Err(error) => {
                self.reactions.unreadable();
                self.sheet
                    .mark(message, RuleId::ApduReadable, unknown.is_some(), || {
                        error.to_string()
                    });
                return;
            }
        };
        self.sheet
            .mark(message, RuleId::ApduReadable, true, String::new);
        let is_init = matches!(apdu, Apdu::InitializeRequest(_));
        if is_first {
            let first = || name.to_owned();
            self.sheet.mark(message, RuleId::InitFirst, is_init, first);
        }
        if self.known.client_closed {
            let came = || format!("{name} after Close");
            return self.sheet.mark(message, RuleId::CloseLast, false, came);
        }
        self.reactions.received(apdu);
        let is_refused = self.known.stage == Stage::BeforeInit && !is_first;
        if is_refused && !matches!(apdu, Apdu::Close(_)) {
            let came = || format!("{name} in a session that was refused");
            self.sheet
                .mark(message, RuleId::InitAccepted, is_init, came);
        }
        self.in_order(message, apdu);
        if let Apdu::InitializeRequest(init) = apdu {
            self.init(message, init);
        }
        checks::check(&mut self.sheet, &mut self.known, message, apdu);
        match apdu {
            Apdu::Close(_) => {
                let answers = self.known.server_closed;
                if answers {
                    self.sheet
                        .mark(message, RuleId::CloseAnswered, true, String::new);
                } else if self.known.version >= 3 {
                    self.sheet
                        .mark(message, RuleId::CloseSent, true, String::new);
                }
                self.known.client_closed = true;
            }
            Apdu::AccessControlResponse(_)
            | Apdu::ResourceControlResponse(_)
            | Apdu::TriggerResourceControlRequest(_) => {}
            request => self.known.begin(request),
        }
    }

    /// Judges octets that are not an APDU.
    pub(super) fn unreadable(&mut self, octets: &[u8], fault: &StreamError) {
        *self.requests.entry("octets").or_default() += 1;
        let message = self.message("octets", octets);
        let came = || fault.to_string();
        self.sheet.mark(message, RuleId::ApduReadable, false, came);
        self.reactions.unreadable();
    }

    /// Records that octets of a later request arrived before an earlier request was answered.
    pub(super) fn pipelined(&mut self, later: &[u8]) {
        if self.known.client_closed || may_overtake(later) {
            return;
        }
        let message = self.message("octets", later);
        match self.known.stage {
            Stage::InInit => {
                let came = || "octets after the initRequest, before its answer".to_owned();
                self.sheet.mark(message, RuleId::InitAlone, false, came);
            }
            Stage::Open if !self.may_be_concurrent() => {
                let before = self.known.pending.first().map_or("", |one| one.name);
                let came = || format!("a further request before the answer to {before}");
                self.sheet
                    .mark(message, RuleId::OperationsSerial, false, came);
            }
            _ => {}
        }
    }

    /// Judges octets that arrived after the server had ended the session. A Close is judged as the answer to the server's Close.
    /// Other requests that the client sent before its own Close are not errors.
    pub(super) fn discarded(&mut self, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        match apdu {
            Ok(apdu) if self.known.client_closed || matches!(apdu, Apdu::Close(_)) => {
                self.received(octets, Ok(apdu));
            }
            // A part of a message after the client's Close breaks the same rule as a whole message.
            Err(_) if self.known.client_closed => {
                let message = self.message("octets", octets);
                let came = || "octets after Close".to_owned();
                self.sheet.mark(message, RuleId::CloseLast, false, came);
            }
            _ => {}
        }
    }

    /// Records a fault in the answer to the last request.
    pub(super) fn struck(&mut self, rule: &str) {
        self.reactions.struck(rule, self.limits.faults);
    }

    /// Records an APDU that the server sends.
    pub(super) fn sent(&mut self, apdu: Option<&Apdu>) {
        self.known.answered(apdu);
        self.reactions.sent();
    }

    /// Records the end of the connection; `client_left` is true if the client closed its side.
    pub(super) fn ended(&mut self, end: SessionEnd, client_left: bool) {
        self.reactions.ended(end);
        let is_open = self.known.stage == Stage::Open && self.known.version >= 3;
        let message = self.message("octets", &[]);
        if self.known.client_closed {
            self.sheet
                .mark(message, RuleId::CloseLast, true, String::new);
            return;
        }
        // A connection that the client did not end says nothing about the client.
        if !is_open || !client_left {
            return;
        }
        let came = || format!("the end of the connection ({})", end.name());
        // A server that is stopping does not wait for the client's Close, so a missing Close is not the client's fault.
        if self.known.server_closed && end != SessionEnd::Stopped {
            self.sheet.mark(message, RuleId::CloseAnswered, false, came);
        } else if matches!(end, SessionEnd::Left | SessionEnd::Lost) {
            self.sheet.mark(message, RuleId::CloseSent, false, came);
        }
    }

    /// Returns the report on the session.
    pub(super) fn judged(&self, end: Option<SessionEnd>) -> JudgedSession {
        let (passed, not_seen) = self.sheet.names();
        JudgedSession {
            number: self.number,
            peer: self.peer,
            begun: self.begun,
            time: self.started.elapsed(),
            implementation: self.implementation.clone(),
            version: self.known.version,
            requests: self.requests.clone(),
            end,
            findings: self.sheet.findings(),
            passed,
            not_seen,
            reactions: self.reactions.all(),
            reactions_left_out: self.reactions.left_out,
        }
    }

    fn message<'a>(&self, name: &'static str, octets: &'a [u8]) -> Message<'a> {
        Message {
            name,
            octets,
            kept: self.limits.octets,
        }
    }

    fn may_be_concurrent(&self) -> bool {
        let concurrent = z3950_asn1::apdu::Options::CONCURRENT_OPERATIONS;
        self.known.granted.contains(concurrent)
    }

    /// Checks whether the request may be sent while others are in progress, and checks its referenceId (Z39.50-2003 §3.1.2, §3.4,
    /// §3.5).
    fn in_order(&mut self, message: Message<'_>, request: &Apdu) {
        if self.known.client_closed || may_overtake(message.octets) {
            return;
        }
        let concurrent = self.may_be_concurrent();
        let (sheet, pending) = (&mut self.sheet, &self.known.pending);
        if self.known.stage == Stage::InInit {
            let came = || format!("{} before the initResponse", message.name);
            return sheet.mark(message, RuleId::InitAlone, false, came);
        }
        if self.known.stage == Stage::Open && !concurrent {
            let before = pending.first().map_or("", |one| one.name);
            sheet.mark(
                message,
                RuleId::OperationsSerial,
                pending.is_empty(),
                || format!("{} before the answer to {before}", message.name),
            );
        }
        if pending.is_empty() {
            return;
        }
        let id = request.reference_id().map(reference);
        let is_used = pending.iter().any(|one| one.reference == id);
        match id {
            Some(_) => sheet.mark(message, RuleId::ReferenceIdUnique, !is_used, || {
                "the referenceId of a request that is not answered".to_owned()
            }),
            None if concurrent => sheet.mark(message, RuleId::ReferenceIdNeeded, !is_used, || {
                "a second request without referenceId".to_owned()
            }),
            None => {}
        }
    }

    fn init(&mut self, message: Message<'_>, init: &InitializeRequest) {
        let texts = [
            &init.implementation_id,
            &init.implementation_name,
            &init.implementation_version,
        ];
        let texts = texts.into_iter().flatten();
        let texts: Vec<_> = texts.map(|text| text.to_string_lossy()).collect();
        if !texts.is_empty() {
            self.implementation = Some(texts.join(" ").chars().take(MAX_NAME).collect());
        }
        if self.known.stage == Stage::Open {
            let came = || "another initRequest".to_owned();
            return self.sheet.mark(message, RuleId::InitOnce, false, came);
        }
        self.sheet
            .mark(message, RuleId::InitOnce, true, String::new);
        self.sheet
            .mark(message, RuleId::InitAlone, true, String::new);
        self.known.stage = Stage::InInit;
    }
}

/// Returns the tag of octets that begin like an APDU, if the standard does not define an APDU with this tag.
fn unknown_tag(octets: &[u8]) -> Option<u32> {
    let header = Header::read(octets).ok()??;
    Apdu::name_of_tag(header.tag)
        .is_none()
        .then_some(header.tag)
}

/// Returns whether an APDU may be sent while a request is in progress: a Close, or an APDU that belongs to the request in
/// progress.
fn may_overtake(octets: &[u8]) -> bool {
    let header = Header::read(octets).ok().flatten();
    header.is_some_and(|header| [29, 31, 32, 48].contains(&header.tag))
}
