//! Answers (SRU 1.1, 1.2 and 2.0: `searchRetrieveResponse`, `scanResponse`, `explainResponse`; Record Update 1.0:
//! `updateResponse`).

mod read;
mod write;

use bytes::Bytes;

pub use self::read::ResponseError;
pub(super) use self::read::{
    body as read_body, record_and_count as read_record_and_count,
    record_versions as read_record_versions,
};
pub(super) use self::write::{put_identity, put_record};
use super::{Packing, Request, SruDiagnostic, Version};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "most answers are to searches")]
pub enum Response {
    /// An answer to a search.
    SearchRetrieve(SearchRetrieveResponse),
    /// An answer to a scan.
    Scan(ScanResponse),
    /// An answer with the server's description.
    Explain(ExplainResponse),
    /// An answer to a change to a record.
    Update(UpdateResponse),
}

macro_rules! responses {
    ($($variant:ident($type:ident);)*) => {
        $(impl From<$type> for Response {
            fn from(response: $type) -> Self {
                Self::$variant(response)
            }
        })*

        impl Response {
            /// Returns the version of the answer.
            pub fn version(&self) -> Version {
                match self {
                    $(Self::$variant(response) => response.version,)*
                }
            }

            /// Returns the errors in the request as a whole.
            pub fn diagnostics(&self) -> &[SruDiagnostic] {
                match self {
                    $(Self::$variant(response) => &response.diagnostics,)*
                }
            }
        }
    };
}

responses! {
    SearchRetrieve(SearchRetrieveResponse);
    Scan(ScanResponse);
    Explain(ExplainResponse);
    Update(UpdateResponse);
}

/// The result of a search, with all or some of the records that it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchRetrieveResponse {
    /// The version of the answer.
    pub version: Version,
    /// The number of records found. If it is `None`, 0 is written in 1.1 and 1.2, where it is mandatory.
    pub number_of_records: Option<u64>,
    /// The name of the result set, for `cql.resultSetId`.
    pub result_set_id: Option<String>,
    /// The time for which the result set is kept, in seconds.
    pub result_set_ttl: Option<u64>,
    /// The records.
    pub records: Vec<SruRecord>,
    /// The position of the record after the last of `records`, if there is such a record.
    pub next_record_position: Option<u64>,
    /// The request.
    pub echo: Option<Box<Request>>,
    /// The diagnostics of the request as a whole.
    pub diagnostics: Vec<SruDiagnostic>,
    /// The server's own XML: elements with their namespaces.
    pub extra: Bytes,
    /// 2.0: the precision of `number_of_records`, such as `exact` or an identifier that ends in it.
    pub result_count_precision: Option<String>,
    /// 2.0: terms in the records found, with counts.
    pub facets: Vec<SruFacet>,
}

impl SearchRetrieveResponse {
    /// Creates an answer with `records` from the position `start` on, of `total` records; sets the positions of the records and
    /// of the next record.
    pub fn new(version: Version, total: u64, start: u64, mut records: Vec<SruRecord>) -> Self {
        let mut next = start;
        for record in &mut records {
            record.position = Some(next);
            next = next.saturating_add(1);
        }
        Self {
            version,
            number_of_records: Some(total),
            records,
            next_record_position: (next <= total).then_some(next),
            ..Self::default()
        }
    }

    /// Creates the answer to a search that failed.
    pub fn failed(version: Version, diagnostics: Vec<SruDiagnostic>) -> Self {
        Self {
            version,
            diagnostics,
            ..Self::default()
        }
    }
}

/// A record, or a diagnostic in place of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruRecord {
    /// The identifier of the record's schema.
    pub schema: String,
    /// How the record is embedded.
    pub packing: Packing,
    /// The record: XML as octets, never escaped, whatever the packing is.
    ///
    /// If the record was read from an answer, it shares the octets of the answer.
    pub data: Bytes,
    /// The position of the record in the result set, from 1.
    pub position: Option<u64>,
    /// The identifier of the record; the schemas of 1.2 and 2.0 do not have it, but servers send it.
    pub identifier: Option<String>,
    /// The server's own XML.
    pub extra: Bytes,
    /// An error in this record, in place of its data (a surrogate diagnostic).
    pub diagnostic: Option<SruDiagnostic>,
}

impl SruRecord {
    /// The schema of surrogate diagnostics.
    pub const DIAGNOSTIC_SCHEMA: &str = "info:srw/schema/1/diagnostics-v1.1";

    /// Creates a record embedded as elements.
    pub fn new(schema: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            schema: schema.into(),
            packing: Packing::Xml,
            data: data.into(),
            position: None,
            identifier: None,
            extra: Bytes::new(),
            diagnostic: None,
        }
    }

    /// Creates a diagnostic in place of a record.
    pub fn surrogate(diagnostic: SruDiagnostic) -> Self {
        Self {
            diagnostic: Some(diagnostic),
            ..Self::new(Self::DIAGNOSTIC_SCHEMA, Bytes::new())
        }
    }
}

/// Terms of an index, with counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SruFacet {
    /// The index, written as in a query.
    pub index: String,
    /// The terms of the index.
    pub terms: Vec<SruFacetTerm>,
}

/// A term and its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruFacetTerm {
    /// The term.
    pub term: String,
    /// A query for the records with the term.
    pub query: Option<String>,
    /// The number of records in the result that have the term.
    pub count: u64,
}

impl SruFacetTerm {
    /// Creates a term without a query.
    pub fn new(term: impl Into<String>, count: u64) -> Self {
        Self {
            term: term.into(),
            query: None,
            count,
        }
    }
}

/// The terms of an index around a term.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanResponse {
    /// The version of the answer.
    pub version: Version,
    /// The terms.
    pub terms: Vec<SruTerm>,
    /// The request.
    pub echo: Option<Box<Request>>,
    /// The diagnostics of the request as a whole.
    pub diagnostics: Vec<SruDiagnostic>,
    /// The server's own XML.
    pub extra: Bytes,
}

impl ScanResponse {
    /// Creates an answer with terms.
    pub fn new(version: Version, terms: Vec<SruTerm>) -> Self {
        Self {
            version,
            terms,
            ..Self::default()
        }
    }
}

/// A term of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruTerm {
    /// The term as it is searched for.
    pub value: String,
    /// The number of records that have the term.
    pub number_of_records: Option<u64>,
    /// The term as it is displayed, if different.
    pub display_term: Option<String>,
    /// Whether the term is at an end of the index.
    pub where_in_list: Option<WhereInList>,
    /// The server's own XML.
    pub extra: Bytes,
}

impl SruTerm {
    /// Creates a term with a count.
    pub fn new(value: impl Into<String>, number_of_records: impl Into<Option<u64>>) -> Self {
        Self {
            value: value.into(),
            number_of_records: number_of_records.into(),
            ..Self::default()
        }
    }
}

/// The place of a term in its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhereInList {
    /// The first term.
    First,
    /// The last term.
    Last,
    /// The only term.
    Only,
    /// A term between the first and the last.
    Inner,
}

impl WhereInList {
    const ALL: [Self; 4] = [Self::First, Self::Last, Self::Only, Self::Inner];

    /// Returns the value of the element.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Only => "only",
            Self::Inner => "inner",
        }
    }

    /// Returns the place with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|place| place.as_str().eq_ignore_ascii_case(name))
    }
}

/// A server's description of itself: a record of ZeeRex; see [`super::zeerex`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainResponse {
    /// The version of the answer.
    pub version: Version,
    /// The description. An answer without a description has diagnostics.
    pub record: Option<SruRecord>,
    /// The request.
    pub echo: Option<Box<Request>>,
    /// The diagnostics of the request as a whole.
    pub diagnostics: Vec<SruDiagnostic>,
    /// The server's own XML.
    pub extra: Bytes,
}

impl ExplainResponse {
    /// The schema of descriptions: ZeeRex 2.0.
    pub const SCHEMA: &str = "http://explain.z3950.org/dtd/2.0/";

    /// Creates an answer with a description: an `explain` element.
    pub fn new(version: Version, description: impl Into<Bytes>) -> Self {
        Self {
            version,
            record: Some(SruRecord::new(Self::SCHEMA, description)),
            ..Self::default()
        }
    }
}

/// The result of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateResponse {
    /// The version of the answer.
    pub version: Version,
    /// Whether the record was changed (`operationStatus`).
    pub success: bool,
    /// The identifier of the record.
    pub record_identifier: Option<String>,
    /// The versions of the record: type and value.
    pub record_versions: Vec<(String, String)>,
    /// The record after the change.
    pub record: Option<SruRecord>,
    /// The diagnostics of the request.
    pub diagnostics: Vec<SruDiagnostic>,
    /// The server's own XML.
    pub extra: Bytes,
}

impl UpdateResponse {
    /// Creates an answer without a record.
    pub fn new(version: Version, success: bool) -> Self {
        Self {
            version,
            success,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
