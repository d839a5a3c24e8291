//! A session as a state machine without input or output: one request in, what to send out (Z39.50-2003 §3.1.1, §4.2).
//!
//! ```text
//!             Init granted
//!  Greeting ───────────────▶ Open ◀─┐ Init again: a new Open without result sets,
//!   ▲    │                  │ │ └───┘ or Greeting if it is refused
//!   └────┼── Init refused ──┘ │
//!        │ anything but Init  │ Close; a fault of the peer; shutdown; no activity
//!        ▼                    ▼
//!        Closed: nothing is answered any more
//! ```
//!
//! In an open session a request may be held until the client has answered a question of the server's: who it is (access
//! control), or whether to go on (resource control).
//!
//! A faulty peer is told why by Close(protocolError) if the session is open and of version 3; to any other the connection
//! just ends, because version 2 has no such Close and before Init no version is agreed.

mod association;
mod interrupt;

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use z3950_asn1::apdu::{Apdu, Close, CloseReason, InitializeRequest, Options, ReferenceId};
use z3950_asn1::codec;

pub(crate) use self::association::{Association, Pending, Terms};
pub(crate) use self::interrupt::CANCELLED;
pub use self::interrupt::Interrupt;
use crate::result_sets::ResultSets;
use crate::service::resource::Usage;
use crate::service::{access, close, init, refuse, resource};
use crate::target::Target;

/// One side of a session: the server's.
pub struct Session {
    target: Arc<Target>,
    interrupt: Interrupt,
    peer: Option<IpAddr>,
    /// How often the client was refused for its credentials.
    refusals: usize,
    state: State,
}

/// Where a session stands. An open one takes its room elsewhere, so that those that wait take little.
enum State {
    Greeting,
    Open(Box<Association>),
    Closed,
}

/// What the session wants sent, and whether the connection ends behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The APDUs, in this order.
    pub apdus: Vec<Apdu>,
    /// Whether the connection is to be closed once they are sent.
    pub hang_up: bool,
}

impl Reply {
    /// The end of the connection without a word.
    pub fn hang_up() -> Self {
        Self {
            apdus: Vec::new(),
            hang_up: true,
        }
    }
}

impl From<Apdu> for Reply {
    fn from(apdu: Apdu) -> Self {
        Self::from(vec![apdu])
    }
}

impl From<Vec<Apdu>> for Reply {
    fn from(apdus: Vec<Apdu>) -> Self {
        Self {
            apdus,
            hang_up: false,
        }
    }
}

impl Session {
    /// A session that waits for Init.
    pub fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            interrupt: Interrupt::default(),
            peer: None,
            refusals: 0,
            state: State::Greeting,
        }
    }

    /// The same with a client of this address, which may be among those that are refused.
    pub fn with_peer(self, address: IpAddr) -> Self {
        Self {
            peer: Some(address.to_canonical()),
            ..self
        }
    }

    /// Takes the octets of one APDU and answers it; octets that are none are a fault of the peer.
    pub async fn receive(&mut self, octets: &[u8]) -> Reply {
        match codec::decode(octets) {
            Ok(request) => self.answer(&request).await,
            Err(error) => self.fault(&error),
        }
    }

    /// Answers a request. Every answer bears the referenceId of its request (Z39.50-2003 §3.4).
    ///
    /// Whoever drops the future before it is ready ends the operation; then the session can only be ended as well.
    pub async fn answer(&mut self, request: &Apdu) -> Reply {
        let reference_id = self.operation_of(request).cloned();
        let resource_control = self.agreed(Options::RESOURCE_CONTROL);
        self.interrupt.begin(reference_id.clone(), resource_control);
        // In a box, so that a session that waits for a request takes no room for one.
        let mut reply = Box::pin(self.serve(request)).await;
        self.interrupt.end();
        for apdu in &mut reply.apdus {
            apdu.set_reference_id(reference_id.clone());
        }
        reply
    }

    /// A handle on what the session is busy with, for requests that come meanwhile.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Ends the session because of what the peer sent: a frame or APDU that cannot be read, or does not belong here.
    pub fn fault(&mut self, fault: &dyn fmt::Display) -> Reply {
        self.end(CloseReason::PROTOCOL_ERROR, Some(&fault.to_string()))
    }

    /// Ends the session from this side, as for shutdown or lack of activity; `words` are for the peer's log.
    pub fn end(&mut self, reason: CloseReason, words: Option<&str>) -> Reply {
        let mut reply = Reply::hang_up();
        if let State::Open(association) = &self.state
            && association.terms.version >= 3
        {
            reply.apdus.push(Close::new(reason, words).into());
        }
        self.state = State::Closed;
        reply
    }

    /// Whether Init was granted and the session has not ended.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// The largest APDU to be taken now, in octets.
    pub fn max_apdu_size(&self) -> usize {
        match self.state {
            State::Open(_) => self.target.limits.apdu_size,
            State::Greeting | State::Closed => self.target.limits.apdu_size_before_init,
        }
    }

    fn agreed(&self, option: Options) -> bool {
        matches!(&self.state, State::Open(association) if association.terms.options.contains(option))
    }

    /// The referenceId of the operation that a request begins or goes on with.
    fn operation_of<'a>(&'a self, request: &'a Apdu) -> Option<&'a ReferenceId> {
        let pending = match &self.state {
            State::Open(association) => association.pending.as_ref(),
            _ => None,
        };
        match (request, pending) {
            (Apdu::AccessControlResponse(_), Some(Pending::Request(held))) => held.reference_id(),
            (Apdu::ResourceControlResponse(_), Some(Pending::Answer(held))) => {
                held.reference_id.as_ref()
            }
            _ => request.reference_id(),
        }
    }

    async fn serve(&mut self, request: &Apdu) -> Reply {
        let association = match (&mut self.state, request) {
            (State::Closed, _) => return Reply::hang_up(),
            (_, Apdu::InitializeRequest(request)) => return self.initialize(request),
            (State::Greeting, _) => return self.fault(&Misplaced(request.name(), "before Init")),
            (State::Open(association), _) => association,
        };
        let answered = match request {
            Apdu::Close(_) => {
                self.state = State::Closed;
                return Reply {
                    apdus: vec![close::answer()],
                    hang_up: true,
                };
            }
            Apdu::AccessControlResponse(response) => match association.pending.take() {
                Some(Pending::Request(held)) => match access::prove(association, response) {
                    Ok(()) => association.operate(&held).await,
                    Err(refused) => {
                        let reply = refuse::answer(&held, refused);
                        return self.refused(reply);
                    }
                },
                _ => Err(UNASKED),
            },
            Apdu::ResourceControlResponse(response) => match association.pending.take() {
                Some(Pending::Answer(held)) => {
                    Ok(resource::resume(association, *held, response).into())
                }
                _ => Err(UNASKED),
            },
            request => association.operate(request).await,
        };
        answered.unwrap_or_else(|why| self.fault(&Misplaced(request.name(), why)))
    }

    /// Init may come again in an open session and then begins it anew, as the servers of the field have it.
    fn initialize(&mut self, request: &InitializeRequest) -> Reply {
        // The seat of the session that ends is free for this one.
        self.state = State::Greeting;
        let (response, granted) = init::answer(request, &self.target, self.peer);
        if let Some((terms, seat)) = granted {
            self.state = State::Open(Box::new(Association {
                result_sets: ResultSets::new(&self.target.limits),
                target: Arc::clone(&self.target),
                interrupt: self.interrupt.clone(),
                terms,
                seat,
                pending: None,
                usage: Usage::default(),
                packages: OnceLock::new(),
            }));
            return response.into();
        }
        self.refused(response.into())
    }

    /// Notes that the client was refused; one time too many ends the connection, so that credentials cannot be guessed.
    fn refused(&mut self, mut reply: Reply) -> Reply {
        self.refusals = self.refusals.saturating_add(1);
        if self.refusals >= self.target.limits.refusals {
            let end = self.end(CloseReason::SECURITY_VIOLATION, None);
            reply.apdus.extend(end.apdus);
            reply.hang_up = true;
        }
        reply
    }
}

/// What is wrong with an answer to a question that was not asked.
const UNASKED: &str = "without a request of the server";

/// A well-formed APDU where it does not belong.
struct Misplaced(&'static str, &'static str);

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests;
