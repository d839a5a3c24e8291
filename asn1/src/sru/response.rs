//! SRU responses (SRU 1.1, 1.2 and 2.0: `searchRetrieveResponse`, `scanResponse`, `explainResponse`; Record Update 1.0:
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

/// A response of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "most answers are to searches")]
pub enum Response {
    /// The response to a search.
    SearchRetrieve(SearchRetrieveResponse),
    /// The response to a scan.
    Scan(ScanResponse),
    /// The response with the server's description.
    Explain(ExplainResponse),
    /// The response to a change to a record.
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
            /// Returns the version of the response.
            pub fn version(&self) -> Version {
                match self {
                    $(Self::$variant(response) => response.version,)*
                }
            }

            /// Returns the diagnostics that concern the complete request.
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

/// The result of a search, with all or some of the records found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchRetrieveResponse {
    /// The version of the response.
    pub version: Version,
    /// The number of records found. If it is `None`, 0 is written in 1.1 and 1.2, where the element is mandatory.
    pub number_of_records: Option<u64>,
    /// The name of the result set, which queries can refer to by `cql.resultSetId`.
    pub result_set_id: Option<String>,
    /// The time in seconds for which the result set is kept.
    pub result_set_ttl: Option<u64>,
    /// The returned records.
    pub records: Vec<SruRecord>,
    /// The position of the record after the last record in `records`, if there is such a record.
    pub next_record_position: Option<u64>,
    /// The request, as repeated in the response.
    pub echo: Option<Box<Request>>,
    /// The diagnostics that concern the complete request.
    pub diagnostics: Vec<SruDiagnostic>,
    /// Additional XML from the server: elements with their namespace declarations.
    pub extra: Bytes,
    /// The precision of `number_of_records`, such as `exact` or an identifier that ends in this word. Only SRU 2.0 has
    /// this element.
    pub result_count_precision: Option<String>,
    /// Terms that occur in the records found, with their counts. Only SRU 2.0 defines them.
    pub facets: Vec<SruFacet>,
}

impl SearchRetrieveResponse {
    /// Creates a response with `records` out of `total` records found. `start` is the position of the first of them;
    /// the positions of the other records and of the next record are counted from it.
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

    /// Creates the response to a search that failed.
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
    /// The way in which the record is embedded in the response.
    pub packing: Packing,
    /// The record as XML, which is not escaped for either packing.
    ///
    /// The data of a record that was read from a response shares the octets of the response.
    pub data: Bytes,
    /// The position of the record in the result set, counted from 1.
    pub position: Option<u64>,
    /// The identifier of the record. The schemas for 1.2 and 2.0 do not have this element, but servers send it.
    pub identifier: Option<String>,
    /// Additional XML from the server.
    pub extra: Bytes,
    /// A diagnostic in place of the record's data (surrogate diagnostic).
    pub diagnostic: Option<SruDiagnostic>,
    /// The number of `&` characters that did not begin a reference, as in `AT&T`, and were escaped in the data when
    /// the record was read.
    pub escaped: usize,
}

impl SruRecord {
    /// The schema for surrogate diagnostics.
    pub const DIAGNOSTIC_SCHEMA: &str = "info:srw/schema/1/diagnostics-v1.1";

    /// Creates a record that is embedded as elements.
    pub fn new(schema: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            schema: schema.into(),
            packing: Packing::Xml,
            data: data.into(),
            position: None,
            identifier: None,
            extra: Bytes::new(),
            diagnostic: None,
            escaped: 0,
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

/// Terms from an index that occur in the result, with their counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SruFacet {
    /// The name of the index, as in a query.
    pub index: String,
    /// The terms of the index.
    pub terms: Vec<SruFacetTerm>,
}

/// A term and the number of records that contain it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruFacetTerm {
    /// The term itself.
    pub term: String,
    /// A query that finds the records with the term.
    pub query: Option<String>,
    /// The number of records in the result that contain the term.
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

/// The terms of an index that surround a given term.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanResponse {
    /// The version of the response.
    pub version: Version,
    /// The returned terms.
    pub terms: Vec<SruTerm>,
    /// The request, as repeated in the response.
    pub echo: Option<Box<Request>>,
    /// The diagnostics that concern the complete request.
    pub diagnostics: Vec<SruDiagnostic>,
    /// Additional XML from the server.
    pub extra: Bytes,
}

impl ScanResponse {
    /// Creates a response with terms.
    pub fn new(version: Version, terms: Vec<SruTerm>) -> Self {
        Self {
            version,
            terms,
            ..Self::default()
        }
    }
}

/// A term in an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruTerm {
    /// The term in the form used for searching.
    pub value: String,
    /// The number of records that contain the term.
    pub number_of_records: Option<u64>,
    /// The term in the form used for display, if it is different.
    pub display_term: Option<String>,
    /// The position of the term in the index, if the server states it.
    pub where_in_list: Option<WhereInList>,
    /// Additional XML from the server.
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

/// The position of a term in its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhereInList {
    /// The first term of the index.
    First,
    /// The last term of the index.
    Last,
    /// The only term of the index.
    Only,
    /// A term between the first and the last term.
    Inner,
}

impl WhereInList {
    const ALL: [Self; 4] = [Self::First, Self::Last, Self::Only, Self::Inner];

    /// Returns the value of the element `whereInList`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Only => "only",
            Self::Inner => "inner",
        }
    }

    /// Returns the position with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|place| place.as_str().eq_ignore_ascii_case(name))
    }
}

/// A server's description of itself, which is a record in ZeeRex; see [`super::zeerex`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainResponse {
    /// The version of the response.
    pub version: Version,
    /// The description. If it is missing, `diagnostics` gives the reason.
    pub record: Option<SruRecord>,
    /// The request, as repeated in the response.
    pub echo: Option<Box<Request>>,
    /// The diagnostics that concern the complete request.
    pub diagnostics: Vec<SruDiagnostic>,
    /// Additional XML from the server.
    pub extra: Bytes,
}

impl ExplainResponse {
    /// The schema for descriptions, which is ZeeRex 2.0.
    pub const SCHEMA: &str = "http://explain.z3950.org/dtd/2.0/";

    /// Creates a response with a description, which is an `explain` element.
    pub fn new(version: Version, description: impl Into<Bytes>) -> Self {
        Self {
            version,
            record: Some(SruRecord::new(Self::SCHEMA, description)),
            ..Self::default()
        }
    }
}

/// The result of a change to a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateResponse {
    /// The version of the response.
    pub version: Version,
    /// Whether the record was changed (`operationStatus`).
    pub success: bool,
    /// The identifier of the record.
    pub record_identifier: Option<String>,
    /// The versions of the record after the change, each with its type and value.
    pub record_versions: Vec<(String, String)>,
    /// The record after the change.
    pub record: Option<SruRecord>,
    /// The diagnostics for the request.
    pub diagnostics: Vec<SruDiagnostic>,
    /// Additional XML from the server.
    pub extra: Bytes,
}

impl UpdateResponse {
    /// Creates a response without a record.
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
