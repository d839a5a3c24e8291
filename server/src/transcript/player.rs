//! Answers a client as a server did in a recorded conversation.

use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::{Apdu, Close, CloseReason};
use z3950_asn1::codec;
use z3950_asn1::codec::frame::Header;

use super::redact::redacted;
use super::{Direction, Entry, Recording};
use crate::fault::{Item, Output};

/// One session of a recording, answered again.
///
/// A request gets what followed the first recorded request of the same octets that has not been answered yet, or else the
/// first of the same APDU, whose answers then bear the referenceId of the request. What the server said before any request
/// goes out with the first answer. A request that is not in the recording is answered by Close(systemProblem).
pub(crate) struct Player {
    exchanges: Vec<Exchange>,
    begun: bool,
}

/// A request and what followed it.
struct Exchange {
    request: Bytes,
    answers: Vec<Bytes>,
    done: bool,
}

impl Player {
    /// The session of this number, from 1; after the last recorded one the first comes again.
    pub(crate) fn new(recording: &Arc<Recording>, number: u64) -> Self {
        let mut sessions: Vec<u64> = recording
            .entries
            .iter()
            .map(|entry| entry.session)
            .collect();
        sessions.sort_unstable();
        sessions.dedup();
        let count = u64::try_from(sessions.len()).unwrap_or(u64::MAX).max(1);
        let index = usize::try_from(number.saturating_sub(1) % count).unwrap_or_default();
        let session = sessions.get(index).copied();
        let mut exchanges: Vec<Exchange> = Vec::new();
        let mut early = Vec::new();
        let entries = recording.entries.iter();
        for Entry {
            direction, octets, ..
        } in entries.filter(|entry| Some(entry.session) == session)
        {
            match (direction, exchanges.last_mut()) {
                (Direction::Received, _) => exchanges.push(Exchange {
                    request: octets.clone(),
                    answers: std::mem::take(&mut early),
                    done: false,
                }),
                (Direction::Sent, Some(exchange)) => exchange.answers.push(octets.clone()),
                (Direction::Sent, None) => early.push(octets.clone()),
            }
        }
        Self {
            exchanges,
            begun: false,
        }
    }

    /// Whether a request has been answered.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// What was answered to a request of these octets.
    pub(crate) fn answer(&mut self, request: &Bytes) -> Output {
        self.begun = true;
        let (plain, tag) = (redacted(request), tag(request));
        let mut left = self.exchanges.iter_mut().filter(|exchange| !exchange.done);
        let same = |exchange: &&mut Exchange| redacted(&exchange.request) == plain;
        let exact = left.find(same);
        let is_exact = exact.is_some();
        let found = match exact {
            Some(exchange) => Some(exchange),
            None => {
                let mut left = self.exchanges.iter_mut().filter(|exchange| !exchange.done);
                left.find(|exchange| self::tag(&exchange.request) == tag)
            }
        };
        let Some(exchange) = found else {
            let close = Close::new(CloseReason::SYSTEM_PROBLEM, Some("not in the recording"));
            return Output {
                items: vec![Item::Apdu(close.into())],
                hang_up: true,
                ..Output::default()
            };
        };
        exchange.done = true;
        let request = codec::decode(request).ok();
        let answers = exchange.answers.iter();
        let items = answers.map(|octets| match (is_exact, codec::decode(octets)) {
            (false, Ok(mut apdu)) => {
                let id = request.as_ref().and_then(Apdu::reference_id);
                apdu.set_reference_id(id.cloned());
                Item::Apdu(apdu)
            }
            _ => Item::Octets(octets.clone()),
        });
        let items: Vec<_> = items.collect();
        Output {
            hang_up: exchange
                .answers
                .iter()
                .any(|answer| self::tag(answer) == Some(CLOSE)),
            items,
            ..Output::default()
        }
    }
}

/// The context tag of Close.
const CLOSE: u32 = 48;

fn tag(apdu: &[u8]) -> Option<u32> {
    Header::read(apdu).ok().flatten().map(|header| header.tag)
}
