//! Who watches the sessions: a transcript, a log of APDUs, a test.

use std::net::SocketAddr;

use z3950_asn1::apdu::Apdu;
use z3950_asn1::error::DecodeError;

/// Told of what happens in all sessions, in the order of each; called on the thread that serves the session.
///
/// Sessions are numbered from 1 in the order in which connections were accepted. The octets hold what clients send as
/// authentication: keep them from logs, or list them with [`z3950_asn1::codec::dump::dump`], which leaves it out.
pub trait Observer: Send + Sync {
    /// A connection was accepted.
    fn opened(&self, session: u64, peer: SocketAddr) {
        let _ = (session, peer);
    }

    /// An APDU came, whole.
    fn received(&self, session: u64, octets: &[u8], apdu: Result<&Apdu, &DecodeError>) {
        let _ = (session, octets, apdu);
    }

    /// An APDU is about to be sent; `None` for octets that a fault puts in the place of one.
    fn sent(&self, session: u64, octets: &[u8], apdu: Option<&Apdu>) {
        let _ = (session, octets, apdu);
    }

    /// The connection is gone.
    fn closed(&self, session: u64) {
        let _ = session;
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
