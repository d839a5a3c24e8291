//! What stands behind the server: databases, searches and records (Z39.50-2003 §3.1.2). A method left out
//! answers that it is not supported.

use std::fmt;
use std::sync::Arc;

use z3950_asn1::apdu::{DatabaseName, External, RpnQuery};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{Oid, USMARC};

use crate::diagnostic::{Diagnostic, diagnostic};

/// A record of a backend, by a number that the backend gives it and that stays while the server runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub u32);

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// The records found, in the order in which they are presented.
pub type Hits = Arc<[RecordId]>;

/// A search, as a backend is asked for it.
pub struct Search<'a> {
    /// The databases as named in the request; at least one.
    pub databases: &'a [DatabaseName],
    /// The query, of type 1 or 101, which mean the same in version 3 (Z39.50-2003 §3.7.1).
    pub query: &'a RpnQuery,
    /// The session's result sets by name, for operands of the query.
    pub result_set: &'a dyn Fn(&[u8]) -> Option<Hits>,
}

/// Databases that can be searched, and their records.
///
/// One backend serves all sessions at once. Its methods answer from memory: they are called on the thread that serves the
/// connection.
pub trait Backend: Send + Sync {
    /// The names of the databases, for people.
    fn databases(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The records that a query finds.
    ///
    /// # Errors
    /// Why there is no result set: a database that does not exist (235), or a part of the query that is not supported.
    fn search(&self, search: &Search<'_>) -> Result<Hits, Diagnostic> {
        let _ = search;
        Err(diagnostic(Condition::UNSUPPORTED_SEARCH, ""))
    }

    /// The name of the database a record belongs to.
    fn database_of(&self, record: RecordId) -> &str {
        let _ = record;
        ""
    }

    /// Whether any record can be had in the syntax; where none can, a Present fails with condition 239.
    fn has_syntax(&self, syntax: &Oid) -> bool {
        let _ = syntax;
        false
    }

    /// The syntax of a record where the client leaves it to the server.
    fn default_syntax(&self, record: RecordId) -> Oid {
        let _ = record;
        USMARC
    }

    /// Whether the syntax has the element set (`None`: that of [`Backend::default_syntax`]); where it has not, a Present fails
    /// with condition 25. Names are caseless, and `F` (full) and `B` (brief) always work (Z39.50-2003 §3.6.2).
    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        let _ = syntax;
        name.eq_ignore_ascii_case("F") || name.eq_ignore_ascii_case("B")
    }

    /// A record in one of the syntaxes and element sets that the backend has.
    ///
    /// # Errors
    /// The diagnostic that goes in the place of the record.
    fn record(
        &self,
        record: RecordId,
        syntax: &Oid,
        element_set: &str,
    ) -> Result<External, Diagnostic> {
        let _ = (record, element_set);
        Err(diagnostic(
            Condition::NOT_AVAILABLE_IN_SYNTAX,
            syntax.to_string(),
        ))
    }
}
