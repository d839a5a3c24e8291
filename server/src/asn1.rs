//! The items of the package `z3950-asn1` that signatures of this package need: the types of arguments and results, those of their
//! fields, variants and methods, and the numbers, object identifiers and names that make and explain such values.
//!
//! The modules that are re-exported as a whole consist of such items only: [`apdu`] has the types in the 25 APDUs that faults and
//! transcripts hold, [`bib1`] the attributes and diagnostics, [`oid`] the object identifiers, and [`error`](mod@error), [`optional`]
//! and [`types`] what APDUs are made of. Programs that need more, such as the codec, records with holdings or CQL, depend on
//! `z3950-asn1`.
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

/// The errors of octets that are no APDU, and the bound of methods that encode a value.
pub mod codec {
    pub use z3950_asn1::codec::BerValue;

    /// Streams of APDUs.
    pub mod frame {
        pub use z3950_asn1::codec::frame::StreamError;
    }
}

/// What a response of SRU makes of values that travel in an EXTERNAL.
#[cfg(feature = "sru")]
pub mod format {
    pub use z3950_asn1::format::{diag1, sources};

    /// What a search found in each database and for each part of the query.
    pub mod search_result1 {
        pub use z3950_asn1::format::search_result1::{
            Databases, QueryExpression, ResultsByDb, SubqueryReport, TermExpression,
        };
    }
}

/// The error of a query that cannot be read.
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
