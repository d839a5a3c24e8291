//! Judges Z39.50 servers, Z39.50 clients and SRU servers by the standards. [`server`] sends requests that a client may send and
//! compares the answers with the requirements of the standard. [`client`] observes the sessions of a server and reports the rules
//! that its clients break.
//!
//! The programs `z3950 probe --conformance` and `z3950d --judge` use these two modules.

pub mod client;
mod report;
pub mod server;

pub use self::report::{HIDDEN, digits};

/// The strength of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Required by the standard: an implementation that does not meet the requirement does not conform.
    Shall,
    /// Recommended by the standard, or by a clarification or agreement of its maintenance agency.
    Should,
    /// Not required by the standard, but expected by other programs or useful to them.
    Practice,
}

impl Level {
    /// Returns the name of the level used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shall => "shall",
            Self::Should => "should",
            Self::Practice => "practice",
        }
    }
}

/// A requirement or recommendation for servers or clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirement {
    /// The name of the requirement in the form `service.subject`, which does not change between versions.
    pub name: &'static str,
    /// The strength of the requirement.
    pub level: Level,
    /// The section of the standard, or another source, that contains the requirement.
    pub section: &'static str,
    /// The requirement, in one sentence.
    pub text: &'static str,
}

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
