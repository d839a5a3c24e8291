//! A session as a state machine without I/O: it takes requests and returns the APDUs to send (Z39.50-2003 §3.1.1, §4.2).
//!
//! ```text
//!             Init granted
//!  Greeting ───────────────▶ Open ◀─┐ Init again: a new Open without result sets,
//!   ▲    │                  │ │ └───┘ or Greeting if it is refused
//!   └────┼── Init refused ──┘ │
//!        │ anything but Init  │ Close; a fault of the peer; shutdown; no activity
//!        ▼                    ▼
//!        Closed: requests are no longer answered
//! ```
//!
//! In an open session, a request may be held back until the client has answered a question from the server: what its credentials
//! are (access control), or whether to continue (resource control). An operation runs between [`Session::begin`] and
//! [`Session::finish`] without borrowing the session, so that several can run concurrently.
//!
//! After a protocol error, an open session of version 3 sends Close(protocolError). In any other session, the connection is
//! closed without a Close: version 2 does not have Close(protocolError), and before Init no version has been agreed on.

mod pending;
mod reply;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use z3950_asn1::apdu::{
    Apdu, Close, CloseReason, DatabaseName, InitializeRequest, MAX_RPN_DEPTH, Query, ReferenceId,
    SearchRequest,
};
use z3950_asn1::codec;
use z3950_asn1::error::DecodeError;
use z3950_asn1::types::OctetString;
use z3950_asn1::via::Via;

use self::pending::{Pending, Waiting};
pub use self::reply::Reply;
use self::reply::octets_in;
use crate::access::Credentials;
use crate::association::{Association, Interrupt, Operation};
use crate::budget::{Account, Charge, DECODED};
use crate::caught::caught;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::guesses::Penalty;
use crate::logins::{LoginCheck, Proof};
use crate::service::resource;
use crate::service::{self, Conclusion, access, init};
use crate::target::Target;

/// The server's side of a session.
pub struct Session {
    target: Arc<Target>,
    interrupt: Interrupt,
    /// The account that is charged for the memory used for this client.
    account: Arc<Account>,
    peer: Option<IpAddr>,
    /// The number of times that the client has failed to authenticate.
    refusals: u32,
    /// The time until which answers to the client are withheld; `None` if they are not.
    silent_until: Option<Instant>,
    state: State,
}

/// The state of a session. The open state is boxed, so that sessions that have not received Init take little memory.
enum State {
    Greeting,
    Open(Box<Established>),
    Closed,
}

struct Established {
    association: Arc<Association>,
    pending: Pending,
}

/// The result of a request that has been performed, from which the session creates the reply.
pub(crate) enum Done {
    /// The operation with this referenceId, and its result.
    Operation(Option<ReferenceId>, Result<Conclusion, String>),
    /// A reply that is already complete.
    Reply(Reply),
}

impl Session {
    /// Creates a session that waits for Init.
    pub fn new(target: Arc<Target>) -> Self {
        Self {
            account: target.budget.account(&target.limits),
            target,
            interrupt: Interrupt::default(),
            peer: None,
            refusals: 0,
            silent_until: None,
            state: State::Greeting,
        }
    }

    /// Sets the client's address, which may be blocked or may not be permitted to update databases. A client without an address
    /// counts as being on the server's host.
    pub fn with_peer(mut self, address: IpAddr) -> Self {
        self.peer = Some(address.to_canonical());
        self
    }

    /// Answers an encoded APDU; octets that cannot be decoded cause a protocol error.
    pub async fn receive(&mut self, octets: &[u8]) -> Reply {
        match codec::decode(octets) {
            Ok(request) => self.answer(&request).await,
            Err(error) => self.refuse_octets(octets, &error),
        }
    }

    /// Answers a request. Every answer has the referenceId of its request (Z39.50-2003 §3.4). Dropping the future cancels the
    /// operation.
    pub async fn answer(&mut self, request: &Apdu) -> Reply {
        let proof = match self.login_check(request) {
            Some(check) => Box::pin(check.run()).await,
            None => Proof::default(),
        };
        match self.begin(request, proof) {
            Ok(operation) => {
                // The box keeps the futures of idle sessions small.
                let done = Box::pin(carry_out(operation, request)).await;
                self.finish(done)
            }
            Err(reply) => reply,
        }
    }

    /// Returns the check of the login in a request, which must be completed before the request begins; `None` if there is nothing
    /// to check.
    pub(crate) fn login_check(&self, request: &Apdu) -> Option<LoginCheck> {
        let authenticate = self.target.authenticate()?;
        let of = |given: Credentials<'_>| {
            let target = &self.target;
            LoginCheck::new(
                &target.logins,
                &target.panics,
                authenticate,
                &target.limits,
                self.peer,
                given,
            )
        };
        match (&self.state, request) {
            (State::Closed, _) => None,
            (_, Apdu::InitializeRequest(request)) => {
                Credentials::of(request.id_authentication.as_ref()?).map(of)
            }
            (State::Open(open), Apdu::AccessControlResponse(response))
                if open.association.is_unproved() =>
            {
                access::with_credentials(response, of)
            }
            _ => None,
        }
    }

    /// Begins a request as an operation, which the caller must perform and then finish. `proof` is the result of its
    /// [`login_check`]. Concurrent operations must have different referenceIds, and must not change a result set that another one
    /// uses.
    ///
    /// [`login_check`]: Self::login_check
    ///
    /// # Errors
    /// The reply to a request that is not an operation, or that is refused.
    pub(crate) fn begin(&mut self, request: &Apdu, proof: Proof) -> Result<Operation, Reply> {
        let mut reference_id = request.reference_id().cloned();
        let begun = self.begin_request(request, &mut reference_id, proof);
        begun.map_err(|reply| reply.bearing(reference_id))
    }

    /// Returns the reply for an operation that has been performed.
    pub(crate) fn finish(&mut self, done: Done) -> Reply {
        let (reference_id, conclusion) = match done {
            Done::Operation(reference_id, conclusion) => (reference_id, conclusion),
            Done::Reply(reply) => return reply,
        };
        let reply = match conclusion {
            Ok(Conclusion::Answer(apdus)) => apdus.into(),
            Ok(Conclusion::Question(held, question)) => {
                let mut charge = self.no_charge();
                let charged = charge.set(2 * octets_in(&held.response.records));
                if let Err(why) = charged {
                    let mut answer = Apdu::from(held.response);
                    service::fail(&mut answer, &why);
                    answer.into()
                } else {
                    if let State::Open(open) = &mut self.state {
                        open.pending.keep(Waiting::Answer(held), charge);
                    }
                    question.into()
                }
            }
            Err(misplaced) => self.fault(&misplaced),
        };
        reply.bearing(reference_id)
    }

    /// Charges a request of this many octets to the session, until the charge is dropped.
    ///
    /// # Errors
    /// The reply that refuses the request.
    pub(crate) fn charge(&self, request: &Apdu, octets: usize) -> Result<Charge, Reply> {
        let mut charge = Charge::to(&self.account);
        let charged = charge.set(octets.saturating_mul(DECODED));
        match charged.map_err(|why| refused(request, why)) {
            // A request without a response cannot be refused, so it is carried out without a charge.
            Err(reply) if !reply.apdus.is_empty() => Err(reply),
            _ => Ok(charge),
        }
    }

    /// Returns a new charge of zero octets to the session's account.
    pub(crate) fn no_charge(&self) -> Charge {
        Charge::to(&self.account)
    }

    /// Returns a handle that stops operations in progress, for example because of a request that arrives while they run.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Answers octets that cannot be decoded. A search whose query is too deep fails with condition 31; anything else is a protocol
    /// error.
    pub(crate) fn refuse_octets(&mut self, octets: &[u8], error: &DecodeError) -> Reply {
        if !(error.is_too_deep && self.is_open()) {
            return self.fault(error);
        }
        let words = format!("a query of more than {MAX_RPN_DEPTH} levels");
        let why = diagnostic(Condition::RESOURCES_EXHAUSTED, words);
        let nothing = Query::Type2(OctetString::default());
        let mut request = SearchRequest::new(None::<DatabaseName>, nothing);
        request.reference_id = codec::reference_id(octets);
        refused(&request.into(), why)
    }

    /// Ends the session after a protocol error: a frame or APDU that is malformed or not allowed in this state.
    pub fn fault(&mut self, fault: &dyn fmt::Display) -> Reply {
        self.end(CloseReason::PROTOCOL_ERROR, Some(&fault.to_string()))
    }

    /// Ends the session from the server's side, for example at shutdown or for lack of activity; `message` is meant for the
    /// client's log. While answers are withheld, nothing is sent.
    pub fn end(&mut self, reason: CloseReason, message: Option<&str>) -> Reply {
        let mut reply = Reply::hang_up();
        if let State::Open(open) = &self.state
            && open.association.terms.version >= 3
            && self.silence().is_zero()
        {
            reply.apdus.push(Close::new(reason, message).into());
        }
        self.state = State::Closed;
        reply
    }

    /// Returns whether Init was granted and the session has not ended.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(..))
    }

    /// Returns whether the client has reached the maximum number of failed attempts to authenticate.
    pub(crate) fn is_refused(&self) -> bool {
        usize::try_from(self.refusals).is_ok_and(|refusals| refusals >= self.target.limits.refusals)
    }

    /// Returns the time for which the last reply and all further replies must be withheld, because the client guesses passwords
    /// ([`Limits::refusal_delay`]).
    ///
    /// [`Limits::refusal_delay`]: crate::Limits::refusal_delay
    pub fn silence(&self) -> Duration {
        let until = self.silent_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    /// Returns the address of the client; `None` for a Unix socket.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// Returns the name of the user; `None` if the client has not authenticated.
    pub(crate) fn user(&self) -> Option<&str> {
        match &self.state {
            State::Open(open) => open.association.user().map(|user| user.name.as_str()),
            State::Greeting | State::Closed => None,
        }
    }

    /// Returns the state shared by the operations; `None` if the session is not open.
    #[cfg(feature = "sru")]
    pub(crate) fn association(&self) -> Option<&Association> {
        match &self.state {
            State::Open(open) => Some(&open.association),
            State::Greeting | State::Closed => None,
        }
    }

    /// Returns the size limit of the next APDU, in octets.
    pub fn max_apdu_size(&self) -> usize {
        match self.state {
            State::Open(..) => self.target.limits.apdu_size,
            State::Greeting | State::Closed => self.target.limits.apdu_size_before_init,
        }
    }

    /// Returns the maximum number of concurrent operations.
    pub(crate) fn most_operations(&self) -> usize {
        match &self.state {
            // While the server withholds its answers, the client must not find out whether the session is open.
            State::Open(_) if !self.silence().is_zero() => 1,
            State::Open(open) => open.association.most_operations(),
            State::Greeting | State::Closed => 1,
        }
    }

    /// Begins a request. If it answers the server's question about a request that was held back, sets `reference_id` to the
    /// referenceId of the request that was held back.
    fn begin_request(
        &mut self,
        request: &Apdu,
        reference_id: &mut Option<ReferenceId>,
        proof: Proof,
    ) -> Result<Operation, Reply> {
        let Established {
            association,
            pending,
        } = match (&mut self.state, request) {
            (State::Closed, _) => return Err(Reply::hang_up()),
            (_, Apdu::InitializeRequest(request)) => return Err(self.initialize(request, proof)),
            (State::Greeting, _) => {
                return Err(self.fault(&format_args!("{} before Init", request.name())));
            }
            (State::Open(open), _) => &mut **open,
        };
        let why = match request {
            Apdu::Close(_) => {
                // A Close is answered in version 2 too, as other servers do (Z39.50-2003 §3.2.11).
                self.state = State::Closed;
                return Err(Reply {
                    apdus: vec![Close::new(CloseReason::FINISHED, None).into()],
                    hang_up: true,
                });
            }
            Apdu::AccessControlResponse(response) => {
                match pending.take(response.reference_id.as_ref()) {
                    Some(Waiting::Request(held)) => {
                        *reference_id = held.reference_id().cloned();
                        let mut penalty = Penalty::default();
                        let proved =
                            access::prove(association, self.peer, response, proof, &mut penalty);
                        let association = Arc::clone(association);
                        if let Err(why) = proved {
                            let reply = service::refuse(&held, why).into();
                            return Err(self.refused(reply, penalty));
                        }
                        self.withhold(penalty.delay);
                        let id = reference_id.clone();
                        return Ok(self.interrupt.begin(association, id, Some(held)));
                    }
                    _ => UNASKED,
                }
            }
            Apdu::ResourceControlResponse(response) => {
                match pending.take(response.reference_id.as_ref()) {
                    Some(Waiting::Answer(held)) => {
                        *reference_id = held.reference_id.clone();
                        let answer = resource::resume(association, *held, response);
                        return Err(Apdu::from(answer).into());
                    }
                    _ => UNASKED,
                }
            }
            // This request does not have a response, and its operation has ended (Z39.50-2003 §3.2.6.2).
            Apdu::TriggerResourceControlRequest(_) => return Err(Reply::default()),
            request => match service::option_of(request) {
                Some(option) if !self.target.offer.options.contains(option) => {
                    let name = option.names().next().unwrap_or_default();
                    let missing = diagnostic(Condition::NEGOTIATION_OPTION_REQUIRED, name);
                    return Err(service::refuse(request, missing).into());
                }
                Some(_) if association.is_unproved() => {
                    let asked = if pending.waiting.is_empty() {
                        access::challenge(association)
                    } else {
                        Err(diagnostic(Condition::ACCESS_CONTROL_FAILURE, ""))
                    };
                    return Err(match asked {
                        Ok(question) => {
                            let octets = codec::encode(request).map_or(0, |octets| octets.len());
                            let mut charge = Charge::to(&self.account);
                            match charge.set(octets.saturating_mul(DECODED)) {
                                Ok(()) => {
                                    let held = Box::new(request.clone());
                                    pending.keep(Waiting::Request(held), charge);
                                    question.into()
                                }
                                Err(why) => service::refuse(request, why).into(),
                            }
                        }
                        Err(why) => service::refuse(request, why).into(),
                    });
                }
                Some(_) => {
                    let (association, id) = (Arc::clone(association), reference_id.clone());
                    return Ok(self.interrupt.begin(association, id, None));
                }
                None => "from a client",
            },
        };
        Err(self.fault(&format_args!("{} {why}", request.name())))
    }

    /// Handles Init. In an open session, Init restarts the session, as with other servers.
    fn initialize(&mut self, request: &InitializeRequest, proof: Proof) -> Reply {
        // End the previous session first, so that its permit is free for the new session.
        self.state = State::Greeting;
        let (response, granted, penalty) = init::answer(request, &self.target, self.peer, proof);
        if let Some((terms, permit)) = granted {
            let target = Arc::clone(&self.target);
            let via = Via::of_version(request.implementation_version.as_ref());
            let association =
                Association::new(target, terms, permit, self.peer, via, &self.account);
            self.state = State::Open(Box::new(Established {
                pending: Pending {
                    waiting: Vec::new(),
                    most: association.most_operations(),
                },
                association: Arc::new(association),
            }));
            self.withhold(penalty.delay);
            return response.into();
        }
        self.refused(response.into(), penalty)
    }

    /// Counts a failed attempt to authenticate. The last permitted attempt ends the connection, to make guessing credentials
    /// harder.
    fn refused(&mut self, mut reply: Reply, penalty: Penalty) -> Reply {
        self.refusals = if penalty.hang_up {
            u32::MAX
        } else {
            self.refusals.saturating_add(1)
        };
        self.silent_until = None;
        if self.is_refused() {
            let end = self.end(CloseReason::SECURITY_VIOLATION, None);
            reply.apdus.extend(end.apdus);
            reply.hang_up = true;
        }
        self.withhold(penalty.delay);
        reply
    }

    fn withhold(&mut self, delay: Duration) {
        self.silent_until = Instant::now()
            .checked_add(delay)
            .filter(|_| !delay.is_zero());
    }
}

/// Returns the reply that refuses a request.
pub(crate) fn refused(request: &Apdu, why: Diagnostic) -> Reply {
    let reply = Reply::from(service::refuse(request, why));
    reply.bearing(request.reference_id().cloned())
}

/// Performs an operation that was begun with this request; if the backend panics, the request fails. Dropping the future cancels
/// the operation.
pub(crate) async fn carry_out(operation: Operation, request: &Apdu) -> Done {
    let request = operation.held.as_deref().unwrap_or(request);
    let conclusion = match caught(service::answer(&operation, request)).await {
        Ok(conclusion) => conclusion.map_err(|why| format!("{} {why}", request.name())),
        Err(panic) => {
            let why = operation.target.panics.diagnostic(panic);
            Ok(Conclusion::Answer(service::refuse(request, why)))
        }
    };
    Done::Operation(operation.reference_id.clone(), conclusion)
}

/// The additional information for a client's answer to a question that the server did not ask.
const UNASKED: &str = "without a request from the server";

#[cfg(test)]
mod tests;
