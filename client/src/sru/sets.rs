//! The state of a session with an SRU server: its result sets, which are stored as queries, and the schema that the
//! server uses for MARC.

use std::collections::HashMap;

use z3950_asn1::apdu::NamePlusRecord;
use z3950_asn1::sru::{FacetParameters, SruSortKey};
use z3950_asn1::types::InternationalString;

use super::query::{SruQuery, Translations};
use super::records::Form;
use super::server::SruServer;

/// A server, with the result sets that a session has made there. The modules `search` and `scan` implement its
/// operations.
pub(super) struct SruExchange {
    pub(super) server: SruServer,
    pub(super) sets: ResultSets,
    pub(super) translations: Translations,
}

/// The result sets of a session, and the schemas that the server has accepted or refused.
#[derive(Default)]
pub(super) struct ResultSets {
    pub(super) by_name: HashMap<InternationalString, StoredSearch>,
    pub(super) schemas: Schemas,
    /// Whether a server's count that is lower than the number of its records has already been reported.
    pub(super) has_told_miscount: bool,
}

/// A search, which is stored so that it can be sent again.
#[derive(Clone)]
pub(super) struct StoredSearch {
    pub(super) database: String,
    pub(super) query: SruQuery,
    pub(super) sort: Vec<SruSortKey>,
    pub(super) hits: u64,
    /// Whether `hits` may differ from the true number.
    pub(super) is_estimate: bool,
    pub(super) form: Form,
    /// The first records, in the form of the field `form`.
    pub(super) first: Vec<NamePlusRecord>,
    /// The facets to request with the next request.
    pub(super) facets: FacetParameters,
    /// The position of the last record that can be reached; `None` if there is no such limit.
    pub(super) end: Option<u64>,
}

/// The schema for MARC records at this server.
#[derive(Default)]
pub(super) struct Schemas {
    /// The schema in use; `None` for the first schema.
    pub(super) chosen: Option<String>,
    /// Whether the server has refused all schemas, after which the first one is requested again.
    pub(super) are_exhausted: bool,
}

impl ResultSets {
    pub(super) fn remove(&mut self, name: &InternationalString) -> bool {
        self.by_name.remove(name).is_some()
    }
}
