//! SRU, Search/Retrieve via URL: requests and responses as values, and their conversion to and from URL parameters,
//! forms, SOAP and XML (SRU 1.1 and 1.2 from the Library of Congress, OASIS searchRetrieve 1.0 from 2013 for 2.0,
//! Record Update 1.0).
//!
//! Nothing here depends on HTTP: the caller passes in the query string or the body of a request, and sends the octets
//! returned for it.
//!
//! | module | contents |
//! |---|---|
//! | `request` | [`Request`] and its operations, from and to parameters |
//! | `response` | [`Response`]: written according to the schemas, read in any form that servers send |
//! | `soap` | the envelope around requests and responses, and faults |
//! | `facets`, `scan`, `sort` | the text forms of `facetLimit`, `scanClause` and `sortKeys` |
//! | [`zeerex`] | a server's description of itself, which is the record in an explain response |
//! | `external`, `opac` | SRU records converted to Z39.50 records |
//! | `search_sources` | the sources of the records found by a search, in the extra data of a response |
//! | `record_sources` | the databases that contain a merged record |
//! | `secret` | the parameters that contain secrets |
//! | `sound` | checks of XML from other sources, before it is embedded in a response |
//! | `diagnostic` | [`SruDiagnostic`], the meaning of its conditions, and their conversion from and to Bib-1 |
//!
//! Records are octets. A response contains them unchanged, so XML from other sources must be an [`XmlElement`]; the
//! reader returns slices of the response without copying them, and adds the namespaces that are declared around a
//! record.
//!
//! Writing is exact: it uses the prefixes `zs:`, `diag:` and `fr:`, which clients look for, and the order of the
//! schemas. Reading is tolerant: it compares only local names, without prefixes and namespaces, and skips unknown
//! elements of a response. Because a peer may be hostile, document types and entities are refused, and [`SruLimits`]
//! bounds everything else.

mod diagnostic;
mod external;
mod facets;
mod opac;
mod record_sources;
mod request;
mod response;
mod scan;
mod search_sources;
mod secret;
mod soap;
mod sort;
mod sound;
mod xcql;
mod xml;
pub mod zeerex;

pub use self::diagnostic::{DIAGNOSTIC_SET, SruCondition, SruDiagnostic, UPDATE_DIAGNOSTIC_SET};
pub use self::facets::{FacetLimit, MAX_FACETS};
pub use self::record_sources::{MAX_SOURCES, RecordSource, RecordSources, SOURCE_NAMESPACE};
pub use self::request::{
    ExplainRequest, FacetParameters, MAX_UNKNOWN_PARAMETERS, QueryType, Refusal, Request,
    ScanRequest, SearchRetrieve, SoapRequestError, SruLogin, SruOperation, UpdateAction,
    UpdateRequest,
};
pub use self::response::{
    ExplainResponse, Response, ResponseError, ScanResponse, SearchRetrieveResponse, SruFacet,
    SruFacetTerm, SruRecord, SruTerm, UpdateResponse, WhereInList,
};
pub use self::scan::scan_clause;
pub use self::secret::is_secret_parameter;
pub use self::soap::SoapFault;
pub use self::sort::{
    MAX_SORT_KEYS, MissingValue, SruSortKey, parse_sort_keys, sort_keys_to_cql, sort_keys_to_text,
};
pub use self::sound::{XmlElement, root_of, with_sound_xml};
pub use self::xml::XmlError;

/// The XML declaration at the beginning of every document.
const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// The version of Record Update, which is the same with every version of SRU.
const UPDATE_VERSION: &str = "1.0";

/// A version of SRU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Version 1.1 (2004).
    #[default]
    V1_1,
    /// Version 1.2 (2007), with `sortby` in the query instead of `sortKeys`.
    V1_2,
    /// Version 2.0 (2013), with different namespaces, facets and query types.
    V2_0,
}

impl Version {
    /// Returns the version of the response to a client that names this version as its highest; `None` for an unknown
    /// version. A client that does not name a version uses 2.0, which has no such parameter.
    pub fn for_client(named: Option<&str>) -> Option<Self> {
        match named {
            Some("1.0" | "1.1") => Some(Self::V1_1),
            Some(named) if named.starts_with("1.") => Some(Self::V1_2),
            Some(named) if !named.starts_with("2.") => None,
            _ => Some(Self::V2_0),
        }
    }

    /// Returns the number of the version: `1.1`, `1.2` or `2.0`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_1 => "1.1",
            Self::V1_2 => "1.2",
            Self::V2_0 => "2.0",
        }
    }
}

/// The way in which a record's XML is embedded in a response: `recordPacking` in 1.1 and 1.2, `recordXMLEscaping` in
/// 2.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Packing {
    /// As XML elements.
    #[default]
    Xml,
    /// As escaped text.
    String,
}

impl Packing {
    /// Returns the value of the request parameter: `xml` or `string`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::String => "string",
        }
    }

    /// Returns the packing with this name. Case is ignored, because some servers use mixed case.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Xml, Self::String]
            .into_iter()
            .find(|packing| packing.as_str().eq_ignore_ascii_case(name))
    }
}

/// Limits on the input from a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SruLimits {
    /// The maximum number of parameters in a request; 64 by default.
    pub parameters: usize,
    /// The maximum size of a decoded parameter in octets; 64 KiB by default.
    pub parameter: usize,
    /// The maximum size of a document (a response, or a request in SOAP) in octets; 64 MiB by default.
    pub document: usize,
    /// The maximum depth of nested elements; 128 by default.
    pub depth: usize,
    /// The maximum number of elements in a document; a million by default.
    pub elements: usize,
    /// The maximum number of records in a response; 100,000 by default.
    pub records: usize,
}

impl Default for SruLimits {
    fn default() -> Self {
        Self {
            parameters: 64,
            parameter: 64 << 10,
            document: 64 << 20,
            depth: 128,
            elements: 1_000_000,
            records: 100_000,
        }
    }
}
