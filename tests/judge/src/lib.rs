//! Judges both sides of Z39.50, and servers of SRU, by the standards: [`server`] asks a server what a client may ask and compares the
//! answers with what the standard demands; [`client`] watches the sessions of a server and says which rules its clients break.
//!
//! `z3950 probe --conformance` and `z3950d --judge` are these two as programs.

pub mod client;
mod hidden;
mod junit;
mod level;
pub mod server;

pub use self::hidden::{HIDDEN, digits};
pub use self::level::Level;

/// APDUs as the tests of both libraries make them.
#[cfg(test)]
#[allow(dead_code, reason = "some are only for the tests of the client")]
#[path = "../../../client/src/testing/messages.rs"]
mod answers;
#[cfg(test)]
#[allow(dead_code, reason = "some are only for the tests of the server")]
#[path = "../../../server/src/requests/messages.rs"]
mod requests;
