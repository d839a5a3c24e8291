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
    /// The version of the answer.
    pub version: Version,
    /// The requested operation.
    pub operation: SruOperation,
    /// The URL of a stylesheet to be named at the beginning of the answer.
    pub stylesheet: Option<String>,
    /// 2.0: which side applies the stylesheet, `client` or `server`.
    pub rendered_by: Option<String>,
    /// 2.0: the value of the header Accept, for clients that cannot set the header.
    pub http_accept: Option<String>,
    /// 2.0: the schema of the answer within its media type.
    pub response_type: Option<String>,
    /// The database, which YAZ's programs can name in SOAP.
    pub database: Option<String>,
    /// `x-username` and `x-password`, as YAZ's programs send them.
    pub login: Option<SruLogin>,
    /// The other parameters whose names begin with `x-`, including this prefix; in SOAP, these are elements of
    /// `extraRequestData`.
    pub extra: Vec<(String, String)>,
}

impl Request {
    /// Creates a request without the parameters that all operations have.
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
    /// A search, with the first records.
    SearchRetrieve(SearchRetrieve),
    /// A request for terms of an index.
    Scan(ScanRequest),
    /// A request for the server's description.
    Explain(ExplainRequest),
    /// A change to a record, in SOAP only.
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
            /// Returns the value of the parameter `operation`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Returns the name of the answer's element.
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

/// A search. Values missing in the request are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchRetrieve {
    /// The query.
    pub query: String,
    /// The language of the query.
    pub query_type: QueryType,
    /// The position of the first record, from 1.
    pub start_record: Option<u64>,
    /// The maximum number of records.
    pub maximum_records: Option<u64>,
    /// How records are embedded.
    pub packing: Option<Packing>,
    /// 2.0: whether the server may arrange the parts of a record as it likes (`recordPacking=unpacked`).
    pub unpacked: Option<bool>,
    /// The schema of the records: an identifier, or a short name defined by the server.
    pub record_schema: Option<String>,
    /// 1.1: the part of the records.
    pub record_xpath: Option<String>,
    /// The time for which the result set is kept, in seconds.
    pub result_set_ttl: Option<u64>,
    /// The sort keys; see [`super::parse_sort_keys`].
    pub sort_keys: Option<String>,
    /// 2.0: the facets to count.
    pub facets: FacetParameters,
}

impl SearchRetrieve {
    /// Creates a search in CQL.
    pub fn cql(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// Returns the position of the first record.
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
    /// PQF: `queryType=pqf`, and `x-pquery` or `x-pScanClause` in 1.1 and 1.2. Supported by YAZ and programs based on it.
    Pqf,
    /// Any other language.
    Other(String),
}

impl QueryType {
    /// Returns the value of `queryType`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cql => "cql",
            Self::Pqf => "pqf",
            Self::Other(name) => name,
        }
    }
}

/// The facet parameters of 2.0, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FacetParameters {
    /// The number of terms, and their indexes.
    pub limit: Option<String>,
    /// The position of the first term, from 1.
    pub start: Option<String>,
    /// The order of the terms.
    pub sort: Option<String>,
    /// The index whose values are counted by range.
    pub range_field: Option<String>,
    /// The ends of the lowest range.
    pub low_value: Option<String>,
    /// The ends of the highest range.
    pub high_value: Option<String>,
    /// The counts of terms to leave out.
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
    /// The position of the start term in the list, from 1; 0 is before the list.
    pub response_position: Option<u64>,
    /// The maximum number of terms.
    pub maximum_terms: Option<u64>,
}

impl ScanRequest {
    /// Creates a request with a clause in CQL.
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

/// A change to a record (Record Update 1.0).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateRequest {
    /// The action on the record.
    pub action: UpdateAction,
    /// The identifier of the record.
    pub record_identifier: Option<String>,
    /// The versions of the record on which the change is based: type and value.
    pub record_versions: Vec<(String, String)>,
    /// The record.
    pub record: Option<SruRecord>,
}

impl UpdateRequest {
    /// Creates a change without a record.
    pub fn new(action: UpdateAction) -> Self {
        Self {
            action,
            record_identifier: None,
            record_versions: Vec::new(),
            record: None,
        }
    }
}

/// An action on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateAction {
    /// Insert the record.
    Create,
    /// Replace another record by this record.
    Replace,
    /// Delete the record.
    Delete,
}

impl UpdateAction {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Create, "info:srw/action/1/create"),
        (Self::Replace, "info:srw/action/1/replace"),
        (Self::Delete, "info:srw/action/1/delete"),
    ];

    /// Returns the identifier of the action.
    pub fn uri(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(action, _)| *action == self)
            .map_or("", |(_, uri)| uri)
    }

    /// Returns the action with this identifier.
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
    /// The parts of the request that could be read: version and operation of the answer, and the correct values.
    pub request: Box<Request>,
    /// The faults; at least one.
    pub diagnostics: Vec<SruDiagnostic>,
}

/// The maximum number of unknown parameters named in a refusal.
pub const MAX_UNKNOWN_PARAMETERS: usize = 10;

#[cfg(test)]
mod tests;
