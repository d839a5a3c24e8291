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
//! A faulty peer is told why by Close(protocolError) if the session is open and of version 3; to any other the connection
//! just ends, because version 2 has no such Close and before Init no version is agreed.

use std::fmt;
use std::sync::Arc;

use z3950_asn1::apdu::{Apdu, Close, CloseReason, InitializeRequest};
use z3950_asn1::codec;

use crate::backend::Backend;
use crate::limits::Limits;
use crate::result_sets::ResultSets;
use crate::service::{close, delete, init, present, search, unsupported};

/// One side of a session: the server's.
pub struct Session {
    backend: Arc<dyn Backend>,
    limits: Arc<Limits>,
    state: State,
}

/// Where a session stands.
enum State {
    Greeting,
    Open(Association),
    Closed,
}

/// What is agreed on and kept in an open session.
pub(crate) struct Association {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) terms: Terms,
    pub(crate) result_sets: ResultSets,
}

/// What Init has settled (Z39.50-2003 §3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The protocol version, 1 to 3.
    pub(crate) version: u8,
    /// Octets of the records in one response.
    pub(crate) preferred_message_size: usize,
    /// Octets of a record asked for by itself; not less than the preferred message size.
    pub(crate) exceptional_record_size: usize,
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
        Self {
            apdus: vec![apdu],
            hang_up: false,
        }
    }
}

impl Session {
    /// A session that waits for Init.
    pub fn new(backend: Arc<dyn Backend>, limits: Arc<Limits>) -> Self {
        Self {
            backend,
            limits,
            state: State::Greeting,
        }
    }

    /// Takes the octets of one APDU and answers it; octets that are none are a fault of the peer.
    pub fn receive(&mut self, octets: &[u8]) -> Reply {
        match codec::decode(octets) {
            Ok(request) => self.answer(&request),
            Err(error) => self.fault(&error),
        }
    }

    /// Answers a request. Every answer bears the referenceId of its request (Z39.50-2003 §3.4).
    pub fn answer(&mut self, request: &Apdu) -> Reply {
        let mut reply = self.serve(request);
        for apdu in &mut reply.apdus {
            apdu.set_reference_id(request.reference_id().cloned());
        }
        reply
    }

    /// Ends the session because of what the peer sent: a frame or APDU that cannot be read, or does not belong here.
    pub fn fault(&mut self, fault: &dyn fmt::Display) -> Reply {
        self.end(CloseReason::PROTOCOL_ERROR, Some(&fault.to_string()))
    }

    /// Ends the session from this side, as for shutdown or lack of activity; `words` are for the peer's log.
    pub fn end(&mut self, reason: CloseReason, words: Option<&str>) -> Reply {
        let mut reply = Reply::hang_up();
        if let State::Open(Association {
            terms: Terms { version: 3, .. },
            ..
        }) = self.state
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
            State::Open(_) => self.limits.apdu_size,
            State::Greeting | State::Closed => self.limits.apdu_size_before_init,
        }
    }

    fn serve(&mut self, request: &Apdu) -> Reply {
        let association = match (&mut self.state, request) {
            (State::Closed, _) => return Reply::hang_up(),
            (_, Apdu::InitializeRequest(request)) => return self.initialize(request),
            (State::Greeting, _) => return self.fault(&Misplaced(request.name(), "before Init")),
            (State::Open(association), _) => association,
        };
        match request {
            Apdu::SearchRequest(request) => search::answer(association, request).into(),
            Apdu::PresentRequest(request) => present::answer(association, request).into(),
            Apdu::DeleteResultSetRequest(request) => match delete::answer(association, request) {
                Some(response) => response.into(),
                None => self.fault(&"deleteFunction neither list nor all"),
            },
            Apdu::ScanRequest(_) => unsupported::scan().into(),
            Apdu::SortRequest(_) => unsupported::sort().into(),
            Apdu::DuplicateDetectionRequest(_) => unsupported::duplicate_detection().into(),
            Apdu::ExtendedServicesRequest(request) => {
                unsupported::extended_services(request.package_type).into()
            }
            Apdu::ResourceReportRequest(_) => unsupported::resource_report().into(),
            // It has no answer of its own, and the operation it is about is over (Z39.50-2003 §3.2.6.2).
            Apdu::TriggerResourceControlRequest(_) => Reply::default(),
            Apdu::Close(_) => {
                self.state = State::Closed;
                Reply {
                    apdus: vec![close::answer()],
                    hang_up: true,
                }
            }
            Apdu::AccessControlResponse(_) | Apdu::ResourceControlResponse(_) => self.fault(
                &Misplaced(request.name(), "without a request of the server"),
            ),
            _ => self.fault(&Misplaced(request.name(), "from a client")),
        }
    }

    /// Init may come again in an open session and then begins it anew, as the servers of the field have it.
    fn initialize(&mut self, request: &InitializeRequest) -> Reply {
        let (response, terms) = init::answer(request, &self.limits);
        self.state = match terms {
            None => State::Greeting,
            Some(terms) => State::Open(Association {
                backend: Arc::clone(&self.backend),
                limits: Arc::clone(&self.limits),
                terms,
                result_sets: ResultSets::new(self.limits.result_sets, self.limits.hits),
            }),
        };
        response.into()
    }
}

/// A well-formed APDU where it does not belong.
struct Misplaced(&'static str, &'static str);

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests;
