//! Translates the requests of a [`Session`](crate::session::Session) to SRU 1.1, 1.2 or 2.0 over HTTP: searches,
//! retrieval, sorting, scans and updates. Code that uses a session therefore works with servers of both protocols.
//!
//! | module | what it does |
//! |---|---|
//! | `task` | takes the requests of a session as values, which are never encoded, and answers them |
//! | `search` | result sets, which SRU lacks, as queries that are sent again for each range of records |
//! | `scan` | lists the terms of an index |
//! | `update` | updates, sent in SOAP |
//! | `facets` | the counts of terms that a search requests |
//! | `explain` | the server's description of itself |
//! | `query` | type-1 queries as CQL, and sort keys |
//! | `records` | the choice of the schema; records and diagnostics converted to those of Z39.50 |
//! | `sets` | the state that a session keeps |
//! | `server` | one SRU request and its answer, and the meaning of the HTTP status |
//!
//! Services without an equivalent in SRU are refused with a diagnostic: result sets shared with other sessions, several
//! databases at the same time, Explain databases, orders, segmentation, resource control.

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
