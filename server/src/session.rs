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
//! control), or whether to go on (resource control). An operation runs by itself between [`Session::begin`] and
//! [`Session::finish`], so that there may be several at a time.
//!
//! A faulty peer is told why by Close(protocolError) if the session is open and of version 3; to any other the connection
//! just ends, because version 2 has no such Close and before Init no version is agreed.

mod association;
mod interrupt;
mod operation;
mod pending;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use z3950_asn1::apdu::{Apdu, Close, CloseReason, InitializeRequest, Options, ReferenceId};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec;

pub(crate) use self::association::{Association, Terms};
pub(crate) use self::interrupt::CANCELLED;
pub use self::interrupt::Interrupt;
use self::operation::option_of;
pub(crate) use self::operation::{Conclusion, Done, Operation};
use self::pending::Pending;
use crate::diagnostic::diagnostic;
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
    Open(Box<Open>),
    Closed,
}

struct Open {
    association: Arc<Association>,
    pending: Pending,
}

/// What comes of a request at first.
pub(crate) enum Begun {
    /// An operation that is to be run with the request, and then finished.
    Operation(Operation),
    /// The answer.
    Reply(Reply),
}

/// What is to be done with a request.
enum Next {
    /// It is answered.
    Reply(Reply),
    /// The request of this referenceId is answered, which goes on with it.
    ReplyTo(Option<ReferenceId>, Reply),
    /// It is carried out, or one that was held.
    Operation(Arc<Association>, Option<Box<Apdu>>),
}

/// What the session wants sent, and whether the connection ends behind it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
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

    /// The same as the answer to the request of this referenceId.
    fn bearing(mut self, reference_id: Option<ReferenceId>) -> Self {
        for apdu in &mut self.apdus {
            apdu.set_reference_id(reference_id.clone());
        }
        self
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
    /// Whoever drops the future before it is ready ends the operation.
    pub async fn answer(&mut self, request: &Apdu) -> Reply {
        match self.begin(request) {
            Begun::Operation(operation) => {
                // In a box, so that a session that waits for a request takes no room for one.
                let done = Box::pin(operation.run(request)).await;
                self.finish(done)
            }
            Begun::Reply(reply) => reply,
        }
    }

    /// Begins what a request asks for. Of operations that run at the same time none may change a result set that another uses,
    /// and their referenceIds have to differ.
    pub(crate) fn begin(&mut self, request: &Apdu) -> Begun {
        let mut reference_id = request.reference_id().cloned();
        let reply = match self.look_at(request) {
            Next::Reply(reply) => reply,
            Next::ReplyTo(held, reply) => {
                reference_id = held;
                reply
            }
            Next::Operation(association, held) => {
                if let Some(held) = &held {
                    reference_id = held.reference_id().cloned();
                }
                let controlled = association
                    .terms
                    .options
                    .contains(Options::RESOURCE_CONTROL);
                let interruptible = self.interrupt.begin(reference_id.clone(), controlled);
                let operation = Operation::new(association, interruptible, reference_id, held);
                return Begun::Operation(operation);
            }
        };
        Begun::Reply(reply.bearing(reference_id))
    }

    /// The reply to the request of an operation that has ended.
    pub(crate) fn finish(&mut self, done: Done) -> Reply {
        let Done {
            reference_id,
            conclusion,
        } = done;
        let reply = match conclusion {
            Ok(Conclusion::Reply(reply)) => reply,
            Ok(Conclusion::Asked(held, question)) => {
                if let State::Open(open) = &mut self.state {
                    open.pending.keep_answer(held);
                }
                question.into()
            }
            Err((request, why)) => self.fault(&Misplaced(request, why)),
        };
        reply.bearing(reference_id)
    }

    /// A handle on the operations that the session is busy with, for requests that come meanwhile.
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
        if let State::Open(open) = &self.state
            && open.association.terms.version >= 3
        {
            reply.apdus.push(Close::new(reason, words).into());
        }
        self.state = State::Closed;
        reply
    }

    /// Whether Init was granted and the session has not ended.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(..))
    }

    /// The largest APDU to be taken now, in octets.
    pub fn max_apdu_size(&self) -> usize {
        match self.state {
            State::Open(..) => self.target.limits.apdu_size,
            State::Greeting | State::Closed => self.target.limits.apdu_size_before_init,
        }
    }

    /// How many operations may run at the same time.
    pub(crate) fn most_operations(&self) -> usize {
        match &self.state {
            State::Open(open) => open.association.most_operations(),
            State::Greeting | State::Closed => 1,
        }
    }

    /// What is to be done with a request.
    fn look_at(&mut self, request: &Apdu) -> Next {
        let Open {
            association,
            pending,
        } = match (&mut self.state, request) {
            (State::Closed, _) => return Next::Reply(Reply::hang_up()),
            (_, Apdu::InitializeRequest(request)) => return Next::Reply(self.initialize(request)),
            (State::Greeting, _) => {
                return Next::Reply(self.fault(&Misplaced(request.name(), "before Init")));
            }
            (State::Open(open), _) => &mut **open,
        };
        let why = match request {
            Apdu::Close(_) => {
                self.state = State::Closed;
                return Next::Reply(Reply {
                    apdus: vec![close::answer()],
                    hang_up: true,
                });
            }
            Apdu::AccessControlResponse(response) => {
                if let Some(held) = pending.take_request(response.reference_id.as_ref()) {
                    return match access::prove(association, response) {
                        Ok(()) => Next::Operation(Arc::clone(association), Some(held)),
                        Err(refused) => {
                            let reply = self.refused(refuse::answer(&held, refused));
                            Next::ReplyTo(held.reference_id().cloned(), reply)
                        }
                    };
                }
                UNASKED
            }
            Apdu::ResourceControlResponse(response) => {
                if let Some(held) = pending.take_answer(response.reference_id.as_ref()) {
                    let reference_id = held.reference_id.clone();
                    let answer = resource::resume(association, *held, response);
                    return Next::ReplyTo(reference_id, answer.into());
                }
                UNASKED
            }
            // It has no answer of its own, and the operation it is about is over (Z39.50-2003 §3.2.6.2).
            Apdu::TriggerResourceControlRequest(_) => return Next::Reply(Reply::default()),
            request => match option_of(request) {
                Some(option) if !self.target.offer.options.contains(option) => {
                    let name = option.names().next().unwrap_or_default();
                    let missing = diagnostic(Condition::NEGOTIATION_OPTION_REQUIRED, name);
                    return Next::Reply(refuse::answer(request, missing));
                }
                Some(_) if association.is_unproved() => {
                    let asked = match pending.is_empty() {
                        true => access::challenge(association),
                        false => Err(diagnostic(Condition::ACCESS_CONTROL_FAILURE, "")),
                    };
                    return Next::Reply(match asked {
                        Ok(question) => {
                            pending.keep_request(request);
                            question.into()
                        }
                        Err(refused) => refuse::answer(request, refused),
                    });
                }
                Some(_) => return Next::Operation(Arc::clone(association), None),
                None => "from a client",
            },
        };
        Next::Reply(self.fault(&Misplaced(request.name(), why)))
    }

    /// Init may come again in an open session and then begins it anew, as the servers of the field have it.
    fn initialize(&mut self, request: &InitializeRequest) -> Reply {
        // The seat of the session that ends is free for this one.
        self.state = State::Greeting;
        let (response, granted) = init::answer(request, &self.target, self.peer);
        if let Some((terms, seat)) = granted {
            let association = Association::new(Arc::clone(&self.target), terms, seat);
            let pending = Pending::new(association.most_operations());
            self.state = State::Open(Box::new(Open {
                association: Arc::new(association),
                pending,
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
