//! Requests (SRU 1.1, 1.2 and 2.0, searchRetrieve, scan and explain; Record Update 1.0).

mod elements;
mod encoding;
mod fields;
mod read;
mod soap;

use std::fmt;

pub(super) use self::read::Fields;
pub use self::soap::SoapRequestError;
use super::{Packing, SruDiagnostic, SruRecord, Version};

/// A request. The database is in the path of its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The version to answer in.
    pub version: Version,
    /// What is requested.
    pub operation: SruOperation,
    /// The URL of a stylesheet, to be named in front of the answer.
    pub stylesheet: Option<String>,
    /// 2.0: `client` or `server`, which applies the stylesheet.
    pub rendered_by: Option<String>,
    /// 2.0: what the header Accept says, for clients that cannot set it.
    pub http_accept: Option<String>,
    /// 2.0: the schema of the answer within its media type.
    pub response_type: Option<String>,
    /// The database, which YAZ's programs can name in SOAP.
    pub database: Option<String>,
    /// `x-username` and `x-password`, as YAZ's programs send them.
    pub login: Option<SruLogin>,
    /// The other parameters whose names begin with `x-`, with this prefix; elements of `extraRequestData` in SOAP.
    pub extra: Vec<(String, String)>,
}

impl Request {
    /// A request without parameters common to all.
    pub fn new(version: Version, operation: impl Into<SruOperation>) -> Self {
        Self {
            version,
            operation: operation.into(),
            stylesheet: None,
            rendered_by: None,
            http_accept: None,
            response_type: None,
            database: None,
            login: None,
            extra: Vec::new(),
        }
    }
}

/// The operations.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "most requests are searches")]
pub enum SruOperation {
    /// Search, and the first records.
    SearchRetrieve(SearchRetrieve),
    /// Terms of an index.
    Scan(ScanRequest),
    /// What the server is.
    Explain(ExplainRequest),
    /// A change of a record, in SOAP only.
    Update(UpdateRequest),
}

macro_rules! operations {
    ($($variant:ident($type:ident) $name:literal $response:literal;)*) => {
        $(impl From<$type> for SruOperation {
            fn from(operation: $type) -> Self {
                Self::$variant(operation)
            }
        })*

        impl SruOperation {
            /// The value of the parameter `operation`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// The element of the answer.
            pub fn response_name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $response,)*
                }
            }
        }
    };
}

operations! {
    SearchRetrieve(SearchRetrieve) "searchRetrieve" "searchRetrieveResponse";
    Scan(ScanRequest) "scan" "scanResponse";
    Explain(ExplainRequest) "explain" "explainResponse";
    Update(UpdateRequest) "update" "updateResponse";
}

/// A search. `None` where the request says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchRetrieve {
    /// The query.
    pub query: String,
    /// Its language.
    pub query_type: QueryType,
    /// The position of the first record, from 1.
    pub start_record: Option<u64>,
    /// How many records, at most.
    pub maximum_records: Option<u64>,
    /// How records are embedded.
    pub packing: Option<Packing>,
    /// 2.0: whether the server may arrange the parts of a record as it likes (`recordPacking=unpacked`).
    pub unpacked: Option<bool>,
    /// The schema of the records: an identifier, or a short name of the server.
    pub record_schema: Option<String>,
    /// 1.1: the part of the records.
    pub record_xpath: Option<String>,
    /// How long to keep the result set, in seconds.
    pub result_set_ttl: Option<u64>,
    /// How to sort, see [`super::parse_sort_keys`].
    pub sort_keys: Option<String>,
    /// 2.0: the facets to count.
    pub facets: FacetParameters,
}

impl SearchRetrieve {
    /// A search in CQL.
    pub fn cql(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// The position of the first record.
    pub fn start(&self) -> u64 {
        self.start_record.unwrap_or(1)
    }
}

/// The language of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QueryType {
    /// CQL.
    #[default]
    Cql,
    /// PQF: `queryType=pqf`, and `x-pquery` or `x-pScanClause` in 1.1 and 1.2. Known to YAZ and its descendants.
    Pqf,
    /// Any other.
    Other(String),
}

impl QueryType {
    /// The value of `queryType`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cql => "cql",
            Self::Pqf => "pqf",
            Self::Other(name) => name,
        }
    }
}

/// What 2.0 has on facets, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FacetParameters {
    /// How many terms, of which indexes.
    pub limit: Option<String>,
    /// The first term, from 1.
    pub start: Option<String>,
    /// The order of the terms.
    pub sort: Option<String>,
    /// The index to count by ranges.
    pub range_field: Option<String>,
    /// The ends of the lowest range.
    pub low_value: Option<String>,
    /// The ends of the highest range.
    pub high_value: Option<String>,
    /// Which terms to leave out, by their counts.
    pub count: Option<String>,
}

/// A request for terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanRequest {
    /// Index, relation and start term, as a search clause.
    pub clause: String,
    /// The language of the clause.
    pub query_type: QueryType,
    /// Where the start term is to be in the list, from 1; 0 is before the list.
    pub response_position: Option<u64>,
    /// How many terms, at most.
    pub maximum_terms: Option<u64>,
}

impl ScanRequest {
    /// A request by a clause in CQL.
    pub fn cql(clause: impl Into<String>) -> Self {
        Self {
            clause: clause.into(),
            ..Self::default()
        }
    }
}

/// A request for the server's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainRequest {
    /// How the description is embedded.
    pub packing: Option<Packing>,
}

/// A change of a record (Record Update 1.0).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateRequest {
    /// What to do.
    pub action: UpdateAction,
    /// Which record.
    pub record_identifier: Option<String>,
    /// The versions of the record that the change is based on: type and value.
    pub record_versions: Vec<(String, String)>,
    /// The record.
    pub record: Option<SruRecord>,
}

impl UpdateRequest {
    /// A change without a record.
    pub fn new(action: UpdateAction) -> Self {
        Self {
            action,
            record_identifier: None,
            record_versions: Vec::new(),
            record: None,
        }
    }
}

/// What to do with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateAction {
    /// Insert it.
    Create,
    /// Put it in place of another.
    Replace,
    /// Delete it.
    Delete,
}

impl UpdateAction {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Create, "info:srw/action/1/create"),
        (Self::Replace, "info:srw/action/1/replace"),
        (Self::Delete, "info:srw/action/1/delete"),
    ];

    /// The identifier of the action.
    pub fn uri(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(action, _)| *action == self)
            .map_or("", |(_, uri)| uri)
    }

    /// The action of this identifier.
    pub fn by_uri(uri: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, known)| *known == uri)
            .map(|(action, _)| *action)
    }
}

/// A user and a password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SruLogin {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for SruLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SruLogin(<redacted>)")
    }
}

/// A request with faults, which is answered with diagnostics and never carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What could be read of it: version and operation of the answer, and the values that are right.
    pub request: Box<Request>,
    /// What is wrong; at least one.
    pub diagnostics: Vec<SruDiagnostic>,
}

/// How many unknown parameters a refusal names.
pub const MAX_UNKNOWN_PARAMETERS: usize = 10;

#[cfg(test)]
mod tests;
