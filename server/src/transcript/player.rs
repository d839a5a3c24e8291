//! Replays recorded conversations.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::{Apdu, Close, CloseReason, InitializeRequest, InitializeResponse};
use z3950_asn1::codec;
use z3950_asn1::codec::frame::Header;
use z3950_asn1::format::user_info1::UserInfo1;

use super::redact::redacted;
use super::sameness::{Identity, Origins};
use super::{Direction, Recording, TranscriptEntry};
use crate::diagnostic::{Condition, diagnostic};
use crate::fault::{Item, Output};
use crate::service::refuse;

/// The sessions of a recording, and how answers are found in it.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    sessions: Vec<Vec<Exchange>>,
    in_order: bool,
}

/// A request and what followed it.
#[derive(Debug)]
struct Exchange {
    request: Bytes,
    identity: Identity,
    answers: Vec<Bytes>,
}

impl Replay {
    /// Replays by comparing requests, or by their order.
    pub(crate) fn new(recording: &Recording, in_order: bool) -> Self {
        let mut sessions: BTreeMap<u64, Vec<&TranscriptEntry>> = BTreeMap::new();
        for entry in &recording.entries {
            sessions.entry(entry.session).or_default().push(entry);
        }
        let sessions = sessions.into_values().map(|session| exchanges(&session));
        Self {
            sessions: sessions.collect(),
            in_order,
        }
    }
}

/// The replay of one session.
///
/// A request gets the answer to the same request: the next of this session that has not been replayed, otherwise the last,
/// otherwise that of another session. A request that was not recorded gets a diagnostic, or Close if the service has none.
///
/// In order, only octets are compared: a request that equals none gets the answer to the next request with the same
/// APDU.
///
/// What the server sent before any request goes out with the first answer.
pub(crate) struct Player {
    replay: Arc<Replay>,
    session: usize,
    /// Which requests of the session have been replayed.
    done: Vec<bool>,
    origins: Origins,
    /// Whether a request has been answered.
    pub(crate) begun: bool,
}

impl Player {
    /// The replay of the session of this number, from 1; after the last recorded session the first is replayed again.
    pub(crate) fn new(replay: &Arc<Replay>, number: u64) -> Self {
        let count = u64::try_from(replay.sessions.len())
            .unwrap_or(u64::MAX)
            .max(1);
        let session = usize::try_from(number.saturating_sub(1) % count).unwrap_or_default();
        Self {
            done: vec![false; replay.sessions.get(session).map_or(0, Vec::len)],
            replay: Arc::clone(replay),
            session,
            origins: Origins::default(),
            begun: false,
        }
    }

    /// The recorded answer to this request.
    pub(crate) fn answer(&mut self, octets: &Bytes) -> Output {
        self.begun = true;
        let request = codec::decode(octets).ok();
        let replay = Arc::clone(&self.replay);
        let found = match replay.in_order {
            true => self.by_order(&replay, octets),
            false => self.by_identity(&replay, octets),
        };
        let Some(exchange) = found else {
            return never_recorded(request.as_ref());
        };
        let recorded = codec::decode(&exchange.request).ok();
        let id = |apdu: &Option<Apdu>| apdu.as_ref().and_then(Apdu::reference_id).cloned();
        let (asked, known) = (id(&request), id(&recorded));
        let answers = exchange.answers.iter();
        let items = answers.map(|octets| match (asked == known, codec::decode(octets)) {
            (false, Ok(mut apdu)) => {
                apdu.set_reference_id(asked.clone());
                Item::Apdu(apdu)
            }
            _ => Item::Octets(octets.clone()),
        });
        Output {
            items: items.collect(),
            hang_up: exchange
                .answers
                .iter()
                .any(|answer| tag(answer) == Some(CLOSE)),
            ..Output::default()
        }
    }

    /// The same request: the next in this session, the last in it, or the first of another session.
    fn by_identity<'a>(&mut self, replay: &'a Replay, octets: &[u8]) -> Option<&'a Exchange> {
        let identity = self.origins.identify(octets);
        let same = |exchange: &Exchange| exchange.identity == identity;
        let own = replay.sessions.get(self.session)?;
        if let Some(next) = self.next(own, same) {
            return Some(next);
        }
        let mut all = replay.sessions.iter().flatten();
        own.iter()
            .rfind(|exchange| same(exchange))
            .or_else(|| all.find(|exchange| same(exchange)))
    }

    /// The first request with the same octets that has not been replayed yet, otherwise the first with the same APDU.
    fn by_order<'a>(&mut self, replay: &'a Replay, octets: &[u8]) -> Option<&'a Exchange> {
        let (plain, kind) = (redacted(octets), tag(octets));
        let own = replay.sessions.get(self.session)?;
        self.next(own, |exchange| redacted(&exchange.request) == plain)
            .or_else(|| self.next(own, |exchange| tag(&exchange.request) == kind))
    }

    /// Finds the first request of the session that fits and has not been replayed, and marks it.
    fn next<'a>(
        &mut self,
        own: &'a [Exchange],
        fits: impl Fn(&Exchange) -> bool,
    ) -> Option<&'a Exchange> {
        let mut left = own.iter().zip(&mut self.done);
        let (exchange, done) = left.find(|(exchange, done)| !**done && fits(exchange))?;
        *done = true;
        Some(exchange)
    }
}

/// The requests of a session, each with what the server sent until the next.
fn exchanges(session: &[&TranscriptEntry]) -> Vec<Exchange> {
    let mut origins = Origins::default();
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut early = Vec::new();
    for TranscriptEntry {
        direction, octets, ..
    } in session
    {
        match (direction, exchanges.last_mut()) {
            (Direction::Received, _) => exchanges.push(Exchange {
                request: octets.clone(),
                identity: origins.identify(octets),
                answers: std::mem::take(&mut early),
            }),
            (Direction::Sent, Some(exchange)) => exchange.answers.push(octets.clone()),
            (Direction::Sent, None) => early.push(octets.clone()),
        }
    }
    exchanges
}

/// The message for an unknown request.
const UNKNOWN: &str = "this request is not in the recording";

/// The failure of a request. A Close is answered; a request without a failing response ends the session.
fn never_recorded(request: Option<&Apdu>) -> Output {
    let why = || diagnostic(Condition::UNSPECIFIED, UNKNOWN);
    let mut answers = match request {
        Some(Apdu::InitializeRequest(init)) => vec![refused(init).into()],
        Some(Apdu::Close(_)) => vec![Close::new(CloseReason::FINISHED, None).into()],
        Some(request) => refuse(request, why()),
        None => Vec::new(),
    };
    if answers.is_empty() {
        answers.push(Close::new(CloseReason::SYSTEM_PROBLEM, Some(UNKNOWN)).into());
    }
    let id = request.and_then(Apdu::reference_id);
    for answer in &mut answers {
        answer.set_reference_id(id.cloned());
    }
    Output {
        hang_up: answers
            .iter()
            .any(|answer| matches!(answer, Apdu::Close(_))),
        items: answers.into_iter().map(Item::Apdu).collect(),
        ..Output::default()
    }
}

fn refused(init: &InitializeRequest) -> InitializeResponse {
    let why = diagnostic(Condition::UNSPECIFIED, UNKNOWN);
    InitializeResponse {
        protocol_version: init.protocol_version,
        options: init.options,
        preferred_message_size: init.preferred_message_size,
        exceptional_record_size: init.exceptional_record_size,
        user_information_field: UserInfo1::diagnostic(why).ok(),
        ..InitializeResponse::default()
    }
}

/// The context tag of Close.
const CLOSE: u32 = 48;

fn tag(apdu: &[u8]) -> Option<u32> {
    Header::read(apdu).ok().flatten().map(|header| header.tag)
}
