//! SRU behind a [`Session`](crate::session::Session): searches, records, sorting, scans and updates of Z39.50 by requests of SRU 1.1,
//! 1.2 or 2.0 over HTTP, so that everything above a session works at servers of either protocol.
//!
//! | module | what it does |
//! |---|---|
//! | `task` | takes the requests of a session as values, never encoded, and answers them |
//! | `search` | result sets, which SRU does not have: a query that is asked again for each range of records |
//! | `scan` | lists of terms |
//! | `update` | updates, by SOAP |
//! | `facets` | the counts of terms that a search asks for |
//! | `explain` | what a server says about itself |
//! | `query` | type-1 queries as CQL, and sort keys |
//! | `records` | which schema to ask for; records and diagnostics as those of Z39.50 |
//! | `sets` | what a session keeps |
//! | `server` | one request of SRU and its answer, and what the status of HTTP means |
//!
//! What SRU does not have is refused with a diagnostic: result sets shared with other sessions, several databases at once, Explain
//! databases, orders, segmentation, resource control.

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

/// Why a request is not carried out.
enum Refused {
    /// A refusal of this side or of the server: the answer has it.
    For(Vec<DiagRec>),
    /// There is no answer.
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
