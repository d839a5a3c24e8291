//! SRU requests (SRU 1.1, 1.2 and 2.0: searchRetrieve, scan and explain; Record Update 1.0).

mod elements;
mod encoding;
mod fields;
mod read;
mod soap;

use std::fmt;

pub(super) use self::read::Fields;
pub use self::soap::SoapRequestError;
use super::{Packing, SruDiagnostic, SruRecord, Version};

/// A request. The path of the URL, which is not part of it, names the database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The version to use in the response.
    pub version: Version,
    /// The requested operation.
    pub operation: SruOperation,
    /// The URL of a stylesheet to name at the beginning of the response.
    pub stylesheet: Option<String>,
    /// Whether the `client` or the `server` applies the stylesheet. Only SRU 2.0 has this parameter.
    pub rendered_by: Option<String>,
    /// The value of the header Accept, for clients that cannot set the header. Only SRU 2.0 has this parameter.
    pub http_accept: Option<String>,
    /// The schema of the response within its media type. Only SRU 2.0 has this parameter.
    pub response_type: Option<String>,
    /// The name of the database. Only YAZ's programs send it, in SOAP.
    pub database: Option<String>,
    /// The user and password in `x-username` and `x-password`, which YAZ's programs send.
    pub login: Option<SruLogin>,
    /// All other parameters whose names begin with `x-`, including this prefix. In SOAP, they are elements of
    /// `extraRequestData`.
    pub extra: Vec<(String, String)>,
}

impl Request {
    /// Creates a request for an operation, without any of the parameters common to all operations.
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

/// An operation, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "most requests are searches")]
pub enum SruOperation {
    /// A search that also retrieves records.
    SearchRetrieve(SearchRetrieve),
    /// A request for terms from an index.
    Scan(ScanRequest),
    /// A request for the server's description.
    Explain(ExplainRequest),
    /// A change to a record, which can be sent only in SOAP.
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

            /// Returns the name of the response's root element.
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

/// A search. Parameters that are missing in the request are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchRetrieve {
    /// The text of the query.
    pub query: String,
    /// The language of the query.
    pub query_type: QueryType,
    /// The position of the first requested record, counted from 1.
    pub start_record: Option<u64>,
    /// The maximum number of records to return.
    pub maximum_records: Option<u64>,
    /// The way in which records are embedded in the response.
    pub packing: Option<Packing>,
    /// Whether the server may arrange the parts of a record as it likes (`recordPacking=unpacked`). Only SRU 2.0 has
    /// this value.
    pub unpacked: Option<bool>,
    /// The requested schema of the records: an identifier, or a short name defined by the server.
    pub record_schema: Option<String>,
    /// The requested part of the records, as an XPath. Only SRU 1.1 has this parameter.
    pub record_xpath: Option<String>,
    /// The time in seconds for which the server should keep the result set.
    pub result_set_ttl: Option<u64>,
    /// The sort keys; see [`super::parse_sort_keys`].
    pub sort_keys: Option<String>,
    /// The requested facets. Only SRU 2.0 defines them.
    pub facets: FacetParameters,
}

impl SearchRetrieve {
    /// Creates a search with a query in CQL.
    pub fn cql(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// Returns the position of the first requested record, which is 1 by default.
    pub fn start(&self) -> u64 {
        self.start_record.unwrap_or(1)
    }
}

/// The language of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QueryType {
    /// CQL, the default language.
    #[default]
    Cql,
    /// PQF: `queryType=pqf`, or `x-pquery` and `x-pScanClause` in 1.1 and 1.2. It is supported by YAZ and programs
    /// based on YAZ.
    Pqf,
    /// Another language, by its name.
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

/// The 2.0 facet parameters, as written in the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FacetParameters {
    /// The number of terms, in general and for named indexes; see [`super::FacetLimit`].
    pub limit: Option<String>,
    /// The position of the first requested term, counted from 1.
    pub start: Option<String>,
    /// The requested order of the terms.
    pub sort: Option<String>,
    /// The index whose values are counted by range.
    pub range_field: Option<String>,
    /// The two ends of the lowest range.
    pub low_value: Option<String>,
    /// The two ends of the highest range.
    pub high_value: Option<String>,
    /// The counts whose terms are left out.
    pub count: Option<String>,
}

/// A request for terms from an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanRequest {
    /// The index, relation and start term, as a search clause.
    pub clause: String,
    /// The language of the clause.
    pub query_type: QueryType,
    /// The requested position of the start term in the list of returned terms, counted from 1; 0 is the position before
    /// that list.
    pub response_position: Option<u64>,
    /// The maximum number of terms to return.
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
    /// The way in which the description is embedded in the response.
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
    /// The versions of the record on which the change is based, each with its type and value.
    pub record_versions: Vec<(String, String)>,
    /// The new record, if the action needs one.
    pub record: Option<SruRecord>,
}

impl UpdateRequest {
    /// Creates a request for a change, without a record.
    pub fn new(action: UpdateAction) -> Self {
        Self {
            action,
            record_identifier: None,
            record_versions: Vec::new(),
            record: None,
        }
    }
}

/// A Record Update action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateAction {
    /// Insert the record into the database.
    Create,
    /// Replace an existing record with this record.
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

    /// Returns the URI that identifies the action.
    pub fn uri(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(action, _)| *action == self)
            .map_or("", |(_, uri)| uri)
    }

    /// Returns the action that a URI identifies.
    pub fn by_uri(uri: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, known)| *known == uri)
            .map(|(action, _)| *action)
    }
}

/// The user name and password of a client.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SruLogin {
    /// The name of the user.
    pub user: String,
    /// The password of the user.
    pub password: String,
}

impl fmt::Debug for SruLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SruLogin(<redacted>)")
    }
}

/// A request with faults. Its response contains diagnostics; the request is never performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The parts of the request that could be read: the version and operation of the response, and the correct values.
    pub request: Box<Request>,
    /// The faults as diagnostics; there is at least one.
    pub diagnostics: Vec<SruDiagnostic>,
}

/// The maximum number of unknown parameters for which diagnostics are returned.
pub const MAX_UNKNOWN_PARAMETERS: usize = 10;

#[cfg(test)]
mod tests;
