//! Observers of sessions, such as transcripts, logs of APDUs or sessions, and tests.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::codec::frame::StreamError;
use z3950_asn1::error::DecodeError;

use crate::metrics::{OperationKind, SessionEnd};

/// The client side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// A client over TCP, with its address.
    Ip(SocketAddr),
    /// A client on the same machine, over a Unix socket.
    Unix,
}

impl Peer {
    /// Returns the IP address without the port; `None` for a Unix socket.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(address.ip()),
            Self::Unix => None,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix => f.write_str("unix"),
        }
    }
}

/// Receives the events of all sessions. The events of a session arrive in order, on the thread that serves the session.
///
/// Sessions are numbered from 1 in the order in which connections were accepted. The octets contain clients' credentials, so they
/// should not be logged unchanged; [`z3950_asn1::codec::dump::dump`] lists them without credentials.
#[expect(unused_variables, reason = "the names document the methods")]
pub trait Observer: Send + Sync {
    /// A connection was accepted.
    fn opened(&self, session: u64, peer: Peer) {}

    /// The server opened a session with itself to answer an HTTP request from this client.
    fn opened_within(&self, session: u64, peer: Peer) {
        self.opened(session, peer);
    }

    /// A complete APDU was received.
    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {}

    /// Octets that are not an APDU were received. The session ends.
    fn unreadable(&self, session: u64, octets: &[u8], fault: &StreamError) {}

    /// An answer is about to be sent, and these octets of later requests have already been received.
    fn pipelined(&self, session: u64, octets: &[u8]) {}

    /// A complete APDU was received after the server had ended the session, so it is not answered. If octets follow that are not
    /// an APDU, they are reported last.
    fn discarded(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {}

    /// A fault was applied to the answer to the last request; `rule` is the text of its rule.
    fn struck(&self, session: u64, rule: &str) {}

    /// An APDU is about to be sent; `apdu` is `None` for octets that a fault sends instead of an APDU.
    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {}

    /// A request is missing from the recording that is being replayed; `why` says what is missing. If the client repeats the
    /// request, it is reported only once.
    fn not_recorded(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>, why: &str) {}

    /// Returns whether [`Observer::http_received`] and [`Observer::http_sent`] are implemented, so that messages must be
    /// collected for them.
    fn wants_http(&self) -> bool {
        false
    }

    /// A complete HTTP request was received.
    fn http_received(&self, session: u64, message: &HttpMessage) {}

    /// An HTTP answer is about to be sent.
    fn http_sent(&self, session: u64, message: &HttpMessage) {}

    /// The connection has ended.
    fn closed(&self, session: u64) {}

    /// Returns whether [`Observer::ended`] is implemented, so that totals must be collected for it.
    fn wants_totals(&self) -> bool {
        false
    }

    /// The connection of a session has ended with these totals.
    fn ended(&self, totals: &SessionTotals) {}
}

/// An HTTP message. It contains clients' credentials, so its `Debug` form shows only the length.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpMessage {
    /// The start line and the headers, each followed by a line feed.
    pub head: String,
    /// The body, without its transfer coding.
    pub body: Bytes,
}

impl fmt::Debug for HttpMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.head.len() + self.body.len();
        write!(f, "HttpMessage({length} octets)")
    }
}

/// The totals of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionTotals {
    /// The number of the session, from 1.
    pub session: u64,
    /// The client of the session.
    pub peer: Peer,
    /// The name of the user; `None` if the client has not authenticated.
    pub user: Option<String>,
    /// The time at which the connection was accepted.
    pub started: SystemTime,
    /// The time from accepting the connection to its end.
    pub duration: Duration,
    /// The number of answered operations of each kind.
    operations: [u64; OperationKind::ALL.len()],
    /// The number of answered operations that failed.
    pub failed: u64,
    /// The number of APDUs received.
    pub requests: u64,
    /// The number of records sent, including surrogate diagnostics.
    pub records: u64,
    /// The number of non-surrogate diagnostics sent.
    pub diagnostics: u64,
    /// The number of octets in the APDUs received.
    pub octets_received: u64,
    /// The number of octets sent.
    pub octets_sent: u64,
    /// The last error, cut off after 300 characters. It may contain text from the client.
    pub last_error: Option<String>,
    /// The reason for the end of the session.
    pub end: SessionEnd,
    /// Whether the client closed its side of the connection, even if the server had already ended the session.
    pub client_left: bool,
}

/// The maximum number of characters of an error in the totals.
const MAX_ERROR: usize = 300;

impl SessionTotals {
    /// Creates the totals of a new session.
    pub fn new(session: u64, peer: Peer, started: SystemTime) -> Self {
        Self {
            session,
            peer,
            user: None,
            started,
            duration: Duration::ZERO,
            operations: Default::default(),
            failed: 0,
            requests: 0,
            records: 0,
            diagnostics: 0,
            octets_received: 0,
            octets_sent: 0,
            last_error: None,
            end: SessionEnd::Left,
            client_left: false,
        }
    }

    /// Returns the number of answered operations of this kind.
    pub fn operations(&self, kind: OperationKind) -> u64 {
        self.operations.get(kind as usize).copied().unwrap_or(0)
    }

    /// Counts an answered operation.
    pub fn count(&mut self, kind: OperationKind) {
        if let Some(count) = self.operations.get_mut(kind as usize) {
            *count += 1;
        }
    }

    /// Sets the last error.
    pub fn fail(&mut self, error: &dyn fmt::Display) {
        self.last_error = Some(error.to_string().chars().take(MAX_ERROR).collect());
    }
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Calls several observers in order.
impl Observer for Vec<Arc<dyn Observer>> {
    fn opened(&self, session: u64, peer: Peer) {
        self.iter().for_each(|each| each.opened(session, peer));
    }

    fn opened_within(&self, session: u64, peer: Peer) {
        self.iter()
            .for_each(|each| each.opened_within(session, peer));
    }

    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.iter()
            .for_each(|each| each.received(session, octets, apdu));
    }

    fn unreadable(&self, session: u64, octets: &[u8], fault: &StreamError) {
        self.iter()
            .for_each(|each| each.unreadable(session, octets, fault));
    }

    fn pipelined(&self, session: u64, octets: &[u8]) {
        self.iter().for_each(|each| each.pipelined(session, octets));
    }

    fn discarded(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.iter()
            .for_each(|each| each.discarded(session, octets, apdu));
    }

    fn struck(&self, session: u64, rule: &str) {
        self.iter().for_each(|each| each.struck(session, rule));
    }

    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        self.iter()
            .for_each(|each| each.sent(session, octets, apdu));
    }

    fn not_recorded(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>, why: &str) {
        self.iter()
            .for_each(|each| each.not_recorded(session, octets, apdu, why));
    }

    fn wants_http(&self) -> bool {
        self.iter().any(|each| each.wants_http())
    }

    fn http_received(&self, session: u64, message: &HttpMessage) {
        self.iter()
            .for_each(|each| each.http_received(session, message));
    }

    fn http_sent(&self, session: u64, message: &HttpMessage) {
        self.iter()
            .for_each(|each| each.http_sent(session, message));
    }

    fn closed(&self, session: u64) {
        self.iter().for_each(|each| each.closed(session));
    }

    fn wants_totals(&self) -> bool {
        self.iter().any(|each| each.wants_totals())
    }

    fn ended(&self, totals: &SessionTotals) {
        self.iter().for_each(|each| each.ended(totals));
    }
}
