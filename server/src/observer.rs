//! Observers of sessions: a transcript, a log of APDUs, a test.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use z3950_asn1::apdu::Apdu;
use z3950_asn1::error::DecodeError;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// The address of the client.
    Ip(SocketAddr),
    /// A client on the same machine, over a Unix socket.
    Unix,
}

impl Peer {
    /// Its address without the port.
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

/// Receives the events of all sessions, in order for each session, on the thread that serves it.
///
/// Sessions are numbered from 1 in the order in which connections were accepted. The octets contain the clients' credentials:
/// keep them out of logs, or list them with [`z3950_asn1::codec::dump::dump`], which omits these.
#[expect(unused_variables, reason = "the names document the methods")]
pub trait Observer: Send + Sync {
    /// A connection was accepted.
    fn opened(&self, session: u64, peer: Peer) {}

    /// A complete APDU was received.
    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {}

    /// An APDU is about to be sent; `None` for octets that a fault sends instead of one.
    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {}

    /// The connection has ended.
    fn closed(&self, session: u64) {}
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Several observers, called in order.
impl Observer for Vec<Arc<dyn Observer>> {
    fn opened(&self, session: u64, peer: Peer) {
        self.iter().for_each(|each| each.opened(session, peer));
    }

    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        self.iter()
            .for_each(|each| each.received(session, octets, apdu));
    }

    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        self.iter()
            .for_each(|each| each.sent(session, octets, apdu));
    }

    fn closed(&self, session: u64) {
        self.iter().for_each(|each| each.closed(session));
    }
}
