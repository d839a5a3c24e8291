//! Translates requests in a [`Session`](crate::session::Session) to SRU 1.1, 1.2 or 2.0 over HTTP: searches, retrieval,
//! sorting, scans and updates. Code that uses a session therefore works with servers of both protocols.
//!
//! | module | what it does |
//! |---|---|
//! | `task` | takes the requests in a session as values, which are never encoded, and answers them |
//! | `search` | searches; sends the query again for each range of records, because SRU has no result sets |
//! | `scan` | lists the terms of an index |
//! | `update` | sends updates in SOAP |
//! | `facets` | requests and reads term counts |
//! | `explain` | reads the server's description of itself |
//! | `query` | converts type-1 queries and sort keys to CQL |
//! | `records` | chooses the schema; converts records and diagnostics to Z39.50 forms |
//! | `sets` | keeps the state of a session |
//! | `server` | sends one SRU request, and interprets its answer and HTTP status |
//!
//! Services without an equivalent in SRU are refused with a diagnostic. These are result sets shared with other
//! sessions, several databases at the same time, Explain databases, orders, segmentation and resource control.

mod explain;
mod facets;
mod query;
mod records;
mod scan;
mod search;
mod server;
mod sets;
pub(crate) mod task;
mod update;

pub use self::explain::SruDescription;
pub use self::server::{login, path};
pub use crate::error::SruFault;
pub use crate::target::profile::{SruMethod, SruOptions};

use z3950_asn1::apdu::{DefaultDiagFormat, DiagRec};
use z3950_asn1::bib1::diagnostics::Condition;

/// The reason why a request is not performed.
enum Refused {
    /// A refusal by the client or by the server, with the diagnostics for the answer.
    For(Vec<DiagRec>),
    /// An error that ends the request without an answer.
    Error(crate::error::Error),
}

impl Refused {
    fn because(condition: Condition, addinfo: impl AsRef<str>) -> Self {
        let diagnostic = DefaultDiagFormat::bib1(condition.0, addinfo.as_ref());
        Self::For(vec![DiagRec::DefaultFormat(diagnostic)])
    }
}

impl From<crate::error::Error> for Refused {
    fn from(error: crate::error::Error) -> Self {
        Self::Error(error)
    }
}

#[cfg(test)]
mod tests;
