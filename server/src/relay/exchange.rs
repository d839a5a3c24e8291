//! The state of a relayed session: the requests that have not been answered, the faults that strike them, and the sides that have
//! closed.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};
use tracing::debug;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec;

use super::RelayEnd;
use crate::connection::tally::{Requester, Tally};
use crate::connection::{Client, Context};
use crate::fault::{Fault, Item, Output, Script};
use crate::limits::Limits;
use crate::lock::lock;
use crate::metrics::{OperationTimer, SessionEnd};
use crate::recorded::RecordedServer;
use crate::session::Reply;

/// The state of a relayed session, shared by both directions.
pub(super) struct RelayedSession<'a> {
    client: &'a Client,
    context: &'a Context,
    state: Mutex<RelayState<'a>>,
}

struct RelayState<'a> {
    tally: &'a mut Tally,
    /// The faults of the session; `None` if there are none.
    script: Option<Script>,
    waiting: VecDeque<WaitingRequest>,
    /// Octets from the client that are not an APDU, and have not been reported to the observer yet.
    raw: Vec<u8>,
    /// The time at which either side last sent something.
    heard: Instant,
    client_ended: bool,
    /// Whether either side has sent Close.
    is_closed: bool,
    is_writing: bool,
}

/// A request that the server has not answered.
struct WaitingRequest {
    request: Apdu,
    striking: Vec<Fault>,
    timer: Option<OperationTimer>,
}

/// The maximum number of unanswered requests that are remembered; if there are more, the oldest are forgotten.
const MAX_WAITING: usize = 1_000;
/// The number of collected octets, other than APDUs, at which these octets are reported to the observer. A report may exceed this
/// number by the length of the last piece.
const MAX_RAW: usize = 4096;
/// The time for which the server may be silent after the client has closed its sending side.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// What to do with a request from the client.
pub(super) enum Passed {
    /// Pass these octets on to the server.
    On(Bytes),
    /// Do not pass the request on, because a fault answers it with this output.
    Answered(Output),
}

impl<'a> RelayedSession<'a> {
    pub(super) fn new(client: &'a Client, context: &'a Context, tally: &'a mut Tally) -> Self {
        let faults = &context.faults;
        let script = || Script::new(faults.clone(), client.number);
        Self {
            client,
            context,
            state: Mutex::new(RelayState {
                tally,
                script: (!faults.is_empty()).then(script),
                waiting: VecDeque::new(),
                raw: Vec::new(),
                heard: Instant::now(),
                client_ended: false,
                is_closed: false,
                is_writing: false,
            }),
        }
    }

    /// Handles a request from the client; returns what to do with it.
    pub(super) fn request(&self, octets: Bytes) -> Passed {
        let decoded = codec::decode(&octets);
        let number = self.client.number;
        self.context
            .observer
            .received(number, &octets, decoded.as_ref());
        let state = &mut *lock(&self.state);
        state.heard = Instant::now();
        state.tally.received(octets.len(), decoded.as_ref().ok());
        let Ok(mut request) = decoded else {
            return Passed::On(octets);
        };
        debug!(apdu = request.name(), octets = octets.len(), "received");
        if let Some(slot) = &self.client.slot {
            slot.busy();
        }
        state.is_closed |= matches!(request, Apdu::Close(_));
        let timer = state.tally.timer(&request);
        let (striking, octets) = match &mut state.script {
            None => (Vec::new(), octets),
            Some(script) => {
                let sent = request.clone();
                let striking = match script.request(&mut request) {
                    Ok(striking) => {
                        for rule in script.take_struck() {
                            self.context.observer.struck(number, &rule);
                        }
                        striking
                    }
                    Err(output) => return Passed::Answered(output),
                };
                let changed = (request != sent)
                    .then(|| codec::encode(&request))
                    .and_then(Result::ok);
                (striking, changed.map_or(octets, Bytes::from))
            }
        };
        if is_answered(&request) {
            if state.waiting.len() == MAX_WAITING {
                state.waiting.pop_front();
            }
            state.waiting.push_back(WaitingRequest {
                request,
                striking,
                timer,
            });
        }
        Passed::On(octets)
    }

    /// Collects octets from the client that are not an APDU. They are reported together, even if they arrive in several packets.
    pub(super) fn raw_request(&self, octets: &[u8]) {
        let state = &mut *lock(&self.state);
        state.heard = Instant::now();
        state.raw.extend_from_slice(octets);
        if state.raw.len() >= MAX_RAW {
            self.tell_raw(state);
        }
    }

    /// Reports the collected octets that are not an APDU to the observer, so that later events are reported after them.
    fn tell_raw(&self, state: &mut RelayState<'_>) {
        let octets = std::mem::take(&mut state.raw);
        if octets.is_empty() {
            return;
        }
        let decoded = codec::decode(&octets);
        let number = self.client.number;
        self.context
            .observer
            .received(number, &octets, decoded.as_ref());
        state.tally.received(octets.len(), None);
    }

    /// Returns the output for an answer from the server: the same octets, unless a fault strikes.
    pub(super) fn answer(&self, octets: Bytes) -> Output {
        let state = &mut *lock(&self.state);
        state.heard = Instant::now();
        let Ok(answer) = codec::decode(&octets) else {
            return Item::Octets(octets).into();
        };
        if let (Apdu::InitializeResponse(init), Some(slot)) = (&answer, &self.client.slot)
            && init.result
        {
            slot.open();
        }
        state.is_closed |= matches!(answer, Apdu::Close(_));
        let Some(waiting) = state.answered(&answer) else {
            return Item::Octets(octets).into();
        };
        let from = Requester {
            peer: self.client.peer.ip(),
            user: None,
        };
        state
            .tally
            .answered(waiting.timer, &waiting.request, Some(&answer), from);
        if let Some(slot) = self
            .client
            .slot
            .as_ref()
            .filter(|_| state.waiting.is_empty())
        {
            slot.idle(Instant::now());
        }
        match &mut state.script {
            Some(script) if script.holds() || !waiting.striking.is_empty() => {
                script.reply(&waiting.striking, &waiting.request, Reply::from(answer))
            }
            _ => Item::Octets(octets).into(),
        }
    }

    /// Encodes and reports items that are about to be sent to the client.
    pub(super) fn sent(&self, items: Vec<Item>) -> io::Result<Bytes> {
        let mut all: Vec<Bytes> = Vec::with_capacity(items.len());
        let state = &mut *lock(&self.state);
        state.heard = Instant::now();
        self.tell_raw(state);
        for item in items {
            let (octets, apdu) = match item {
                Item::Octets(octets) => {
                    let apdu = codec::decode(&octets).ok();
                    (octets, apdu)
                }
                Item::Apdu(apdu) => {
                    let octets = codec::encode(&apdu).map_err(io::Error::other)?;
                    (octets.into(), Some(apdu))
                }
            };
            state.tally.sent(octets.len(), apdu.as_ref());
            let number = self.client.number;
            self.context.observer.sent(number, &octets, apdu.as_ref());
            all.push(octets);
        }
        Ok(match &*all {
            [one] => one.clone(),
            _ => all.concat().into(),
        })
    }

    /// Marks an answer as being written, until the returned value is dropped.
    pub(super) fn writing(&self) -> Writing<'_, 'a> {
        lock(&self.state).is_writing = true;
        Writing(&self.state)
    }

    /// Records that the client has closed its sending side.
    pub(super) fn client_ended(&self) {
        let state = &mut *lock(&self.state);
        state.client_ended = true;
        state.heard = Instant::now();
    }

    /// Returns how the connection ends after the server has closed its side.
    pub(super) fn server_ended(&self, server: &dyn RecordedServer) -> RelayEnd {
        let state = lock(&self.state);
        let owed = state.waiting.len();
        if state.is_closed || owed == 0 {
            return if state.client_ended {
                RelayEnd::Closed
            } else {
                RelayEnd::ServerClosed
            };
        }
        debug!(%server, requests = owed, "not answered");
        RelayEnd::Died(None)
    }

    /// Waits until both sides have been silent for longer than the limit.
    pub(super) async fn fell_silent(&self, limits: &Limits) {
        loop {
            let now = Instant::now();
            let deadline = {
                let mut state = lock(&self.state);
                if state.is_writing {
                    // Writing has a separate time limit, so it does not count as silence.
                    state.heard = now;
                }
                let limit = if state.client_ended {
                    Some(LAST_ANSWERS)
                } else {
                    limits.idle_time
                };
                limit.and_then(|limit| state.heard.checked_add(limit))
            };
            if deadline.is_some_and(|deadline| deadline <= now) {
                return;
            }
            // The client may shut down its side while this task sleeps, which makes the deadline earlier. The task therefore
            // sleeps only for a short time.
            let soon = now + LAST_ANSWERS;
            sleep_until(deadline.map_or(soon, |deadline| deadline.min(soon))).await;
        }
    }

    /// Adjusts an end that can occur at any time. If an answer is being written, the connection is torn down, because nothing
    /// more can be sent.
    pub(super) fn interrupted(&self, end: RelayEnd) -> RelayEnd {
        let state = &mut *lock(&self.state);
        self.tell_raw(state);
        match end {
            RelayEnd::Stopped if state.is_writing => RelayEnd::Torn(SessionEnd::Stopped),
            RelayEnd::GaveWay if state.is_writing => RelayEnd::Torn(SessionEnd::GaveWay),
            RelayEnd::Idle if state.is_writing => RelayEnd::Torn(SessionEnd::Idle),
            end => end,
        }
    }
}

impl RelayState<'_> {
    /// Removes and returns the request that an APDU from the server answers; `None` if it does not answer a waiting request.
    fn answered(&mut self, answer: &Apdu) -> Option<WaitingRequest> {
        let is_close = match answer {
            // These APDUs come before the answer, so the request is still waiting.
            Apdu::Segment(_) | Apdu::AccessControlRequest(_) | Apdu::ResourceControlRequest(_) => {
                return None;
            }
            other => matches!(other, Apdu::Close(_)),
        };
        let id = answer.reference_id();
        let index = self.waiting.iter().position(|waiting| {
            waiting.request.reference_id() == id
                && matches!(waiting.request, Apdu::Close(_)) == is_close
        })?;
        self.waiting.remove(index)
    }
}

/// Marks that an answer is being written, until the value is dropped.
pub(super) struct Writing<'a, 'b>(&'a Mutex<RelayState<'b>>);

impl Drop for Writing<'_, '_> {
    fn drop(&mut self) {
        lock(self.0).is_writing = false;
    }
}

/// Returns whether servers answer requests of this kind.
fn is_answered(request: &Apdu) -> bool {
    !matches!(
        request,
        Apdu::AccessControlResponse(_)
            | Apdu::ResourceControlResponse(_)
            | Apdu::TriggerResourceControlRequest(_)
    )
}
