//! Judges both sides of Z39.50, and SRU servers, by the standards: [`server`] sends requests that a client may send and compares
//! the answers with the requirements of the standard; [`client`] watches the sessions of a server and reports the rules that its
//! clients break.
//!
//! The programs `z3950 probe --conformance` and `z3950d --judge` use these two modules.

pub mod client;
mod hidden;
mod junit;
mod level;
pub mod server;

pub use self::hidden::{HIDDEN, digits};
pub use self::level::Level;

/// APDUs for the tests of both modules.
#[cfg(test)]
#[allow(dead_code, reason = "some are only for the tests of the client")]
#[path = "../../../client/src/testing/messages.rs"]
mod answers;
#[cfg(test)]
#[allow(dead_code, reason = "some are only for the tests of the server")]
#[path = "../../../server/src/requests/messages.rs"]
mod requests;

/// The code blocks of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
