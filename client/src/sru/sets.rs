//! The state kept by a session with an SRU server: its result sets, which are queries, and the schema that the server uses for
//! MARC.

use std::collections::HashMap;

use z3950_asn1::apdu::NamePlusRecord;
use z3950_asn1::sru::{FacetParameters, SruSortKey};
use z3950_asn1::types::InternationalString;

use super::query::{SruQuery, Translations};
use super::records::Form;
use super::server::SruServer;

/// A server, and the result sets that a session has made there. The modules `search` and `scan` have its operations.
pub(super) struct SruExchange {
    pub(super) server: SruServer,
    pub(super) sets: ResultSets,
    pub(super) translations: Translations,
}

/// The result sets of a session, and what was learnt about schemas.
#[derive(Default)]
pub(super) struct ResultSets {
    pub(super) by_name: HashMap<InternationalString, StoredSearch>,
    pub(super) schemas: Schemas,
    /// Whether a count lower than the number of records sent has been reported.
    pub(super) has_told_miscount: bool,
}

/// A search that can be sent again.
#[derive(Clone)]
pub(super) struct StoredSearch {
    pub(super) database: String,
    pub(super) query: SruQuery,
    pub(super) sort: Vec<SruSortKey>,
    pub(super) hits: u64,
    /// Whether `hits` may be wrong.
    pub(super) is_estimate: bool,
    pub(super) form: Form,
    /// The first records, in the form `form`.
    pub(super) first: Vec<NamePlusRecord>,
    /// The facets that the next request asks for.
    pub(super) facets: FacetParameters,
    /// The position of the last record, if the answer that contains it does not lead to later records.
    pub(super) end: Option<u64>,
}

/// The schema that represents MARC at this server.
#[derive(Default)]
pub(super) struct Schemas {
    /// The schema in use, unless it is the first one.
    pub(super) chosen: Option<String>,
    /// Whether all schemas were refused, so that the first one is requested again.
    pub(super) are_exhausted: bool,
}

impl ResultSets {
    pub(super) fn remove(&mut self, name: &InternationalString) -> bool {
        self.by_name.remove(name).is_some()
    }
}
