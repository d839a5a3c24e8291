//! What a session with a server of SRU keeps: its result sets, which are queries, and the schema that the server has for MARC.

use std::collections::HashMap;

use z3950_asn1::apdu::NamePlusRecord;
use z3950_asn1::sru::{FacetParameters, SruSortKey};
use z3950_asn1::types::InternationalString;

use super::query::{SruQuery, Translations};
use super::records::Form;
use super::server::SruServer;

/// A server, and the result sets that a session has made there. `search` and `scan` have its operations.
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
    /// Whether a count that is less than the records sent was told.
    pub(super) has_told_miscount: bool,
}

/// A search that can be asked again.
#[derive(Clone)]
pub(super) struct StoredSearch {
    pub(super) database: String,
    pub(super) query: SruQuery,
    pub(super) sort: Vec<SruSortKey>,
    pub(super) hits: u64,
    /// Whether `hits` may be wrong.
    pub(super) is_estimate: bool,
    pub(super) form: Form,
    /// The first records in this form.
    pub(super) first: Vec<NamePlusRecord>,
    /// What the next request counts.
    pub(super) facets: FacetParameters,
    /// The last record, if the answer with it does not lead to later ones.
    pub(super) end: Option<u64>,
}

/// The schema that stands for MARC at this server.
#[derive(Default)]
pub(super) struct Schemas {
    /// The one in use, unless it is the first.
    pub(super) chosen: Option<String>,
    /// Whether all were refused, so that the first is asked for again.
    pub(super) are_exhausted: bool,
}

impl ResultSets {
    pub(super) fn remove(&mut self, name: &InternationalString) -> bool {
        self.by_name.remove(name).is_some()
    }
}
