//! The items from the package `z3950-asn1` that appear in signatures of this package: the types of arguments and results, the
//! types of their fields, variants and methods, and the numbers, object identifiers and names needed to create and interpret such
//! values.
//!
//! The modules that are re-exported as a whole consist only of such items: [`apdu`] contains the types of the 25 APDUs, which
//! occur in faults and transcripts, [`bib1`] the attributes and diagnostics, [`oid`] the object identifiers, and
//! [`error`](mod@error), [`optional`] and [`types`] the elements of APDUs. Programs that need more, such as the codec, records
//! with holdings or CQL, depend on `z3950-asn1`.
//!
//! ```
//! use z3950_server::asn1::apdu::External;
//! use z3950_server::asn1::bib1::attributes::{USE, USE_TITLE};
//! use z3950_server::asn1::oid::SUTRS;
//!
//! let record = External::octet_aligned(SUTRS, &b"Emma"[..]);
//! assert_eq!(record.octets(), b"Emma");
//! assert_eq!((USE, USE_TITLE), (1, 4));
//! ```

pub use z3950_asn1::{apdu, bib1, error, oid, optional, types};

/// The errors for octets that are not an APDU, and the trait bound of methods that encode a value.
pub mod codec {
    pub use z3950_asn1::codec::BerValue;

    /// The error for a stream of APDUs that cannot be read.
    pub mod frame {
        pub use z3950_asn1::codec::frame::StreamError;
    }
}

/// The types that SRU responses use for values that Z39.50 sends in an EXTERNAL.
#[cfg(feature = "sru")]
pub mod format {
    pub use z3950_asn1::format::{diag1, sources};

    /// The numbers of records that a search found in each database and for each part of the query.
    pub mod search_result1 {
        pub use z3950_asn1::format::search_result1::{
            Databases, QueryExpression, ResultsByDb, SubqueryReport, TermExpression,
        };
    }
}

/// The error for a query that cannot be parsed.
pub mod query {
    pub use z3950_asn1::query::{QueryError, QueryErrorKind};
}

/// The databases that a record comes from, and, with the feature `sru`, the requests and responses of SRU.
pub mod sru {
    pub use z3950_asn1::sru::RecordSource;
    #[cfg(feature = "sru")]
    pub use z3950_asn1::sru::{
        ExplainRequest, ExplainResponse, FacetParameters, Packing, QueryType, Refusal, Request,
        Response, ResponseError, ScanRequest, ScanResponse, SearchRetrieve, SearchRetrieveResponse,
        SoapFault, SoapRequestError, SruCondition, SruDiagnostic, SruFacet, SruFacetTerm,
        SruLimits, SruLogin, SruOperation, SruRecord, SruTerm, UpdateAction, UpdateRequest,
        UpdateResponse, Version, WhereInList, XmlError,
    };
}

/// The servers that a request has passed through.
pub mod via {
    pub use z3950_asn1::via::Via;
}
