//! The state of a session with an SRU server: its result sets, which are stored as queries, and the schema that the
//! server uses for MARC.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use z3950_asn1::apdu::{NamePlusRecord, Record};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::sru::{FacetParameters, SearchRetrieveResponse, SruSortKey};
use z3950_asn1::types::InternationalString;

use super::query::{SruQuery, Translations};
use super::records::{AskedSchema, Form};
use super::server::SruServer;

/// The connection to a server, and the result sets of the session. Other modules, such as `search` and `scan`,
/// implement the services of a session.
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
    /// Whether the server has sent a count that is lower than the number of its records, and this has been logged.
    pub(super) has_logged_miscount: bool,
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
    /// The first records, in the form stored in `form`.
    pub(super) first: Vec<NamePlusRecord>,
    /// The facets for which the next request asks.
    pub(super) facets: FacetParameters,
    /// The position of the last record that can be reached, or `None` if there is no such limit.
    pub(super) end: Option<u64>,
    /// The records in the last answer, to detect repeated answers.
    pub(super) last: LastPage,
}

/// The records in an answer, stored to detect repeated answers.
#[derive(Clone, Default)]
pub(super) struct LastPage {
    /// The position of the first record.
    pub(super) start: u64,
    /// A hash of each record, in order.
    records: Vec<u64>,
    /// The number of immediately preceding answers with the same single record.
    same: u32,
}

/// The schema for MARC records on this server.
#[derive(Default)]
pub(super) struct Schemas {
    /// The schema in use, or `None` for the schema in the profile or, if the profile has none, MARCXML.
    pub(super) chosen: Option<String>,
    /// Whether the server has refused all schemas. Requests then name the first schema again.
    pub(super) are_exhausted: bool,
    /// The request for which the server refused all schemas, and its response.
    refused: Option<(RefusedRange, SearchRetrieveResponse)>,
}

/// A query, the position of the first record, and the number of records.
type RefusedRange = (String, u64, u64);

impl Schemas {
    /// Stops the search for a schema after this answer, because the server has refused all schemas.
    pub(super) fn exhaust(
        &mut self,
        set: &StoredSearch,
        start: u64,
        count: u64,
        answer: &SearchRetrieveResponse,
    ) {
        self.chosen = None;
        self.are_exhausted = true;
        self.refused = Some(((set.query.text.clone(), start, count), answer.clone()));
    }

    /// Returns the stored answer to the same request, if the server refused all schemas for it. A request for a
    /// different record syntax would only ask for the same schemas again.
    pub(super) fn refused_before(
        &self,
        set: &StoredSearch,
        start: u64,
        count: u64,
    ) -> Option<SearchRetrieveResponse> {
        let (range, answer) = self.refused.as_ref()?;
        let is_same = set.form.schema == AskedSchema::Default
            && (&*range.0, range.1, range.2) == (&*set.query.text, start, count);
        is_same.then(|| answer.clone())
    }
}

impl LastPage {
    /// Stores the records in an answer. `before` contains those of the previous answer.
    pub(super) fn of(start: u64, records: &[NamePlusRecord], before: &Self) -> Self {
        let records: Vec<u64> = records.iter().map(hash).collect();
        let same = match (records.as_slice(), before.records.as_slice()) {
            ([one], [other]) if one == other && start > before.start => before.same + 1,
            _ => 0,
        };
        Self {
            start,
            records,
            same,
        }
    }

    /// Returns whether an answer for later records repeats the records in the previous answer. A single record may occur twice in a
    /// row, but not three times.
    pub(super) fn repeats(&self, before: &Self) -> bool {
        let compared = self.records.len().min(before.records.len());
        let is_same = self.start > before.start
            && compared > 1
            && self
                .records
                .iter()
                .zip(&before.records)
                .all(|(one, other)| one == other);
        is_same || self.same > 1
    }
}

fn hash(record: &NamePlusRecord) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Record::RetrievalRecord(external) = &record.record {
        RetrievedRecord::octets_of(external).hash(&mut hasher);
    }
    hasher.finish()
}

impl ResultSets {
    pub(super) fn remove(&mut self, name: &InternationalString) -> bool {
        self.by_name.remove(name).is_some()
    }
}
