//! The items of the package `z3950-asn1` that are part of this package's interface: the types of arguments and results, the types
//! of their fields, variants and methods, and the numbers, object identifiers and names with which such values are created or
//! explained.
//!
//! The modules [`apdu`], [`bib1`], [`error`](mod@error), [`es`], [`oid`], [`optional`] and [`types`], and those of [`format`](mod@format),
//! [`record`] and `sru` that are re-exported as a whole, contain only such items. Programs that need more, such as the codec or CCL and
//! CQL as trees, depend on `z3950-asn1`.
//!
//! ```
//! use z3950::asn1::apdu::RpnQuery;
//! use z3950::asn1::bib1::attributes::{USE, USE_TITLE};
//! use z3950::asn1::oid::{Oid, USMARC};
//!
//! let query: RpnQuery = "@attr 1=4 emma".parse()?;
//! assert_eq!(query.to_string(), format!("@attr {USE}={USE_TITLE} emma"));
//! assert_eq!(Oid::by_name("usmarc"), Some(USMARC));
//! # Ok::<(), z3950::asn1::query::QueryError>(())
//! ```

pub use z3950_asn1::{apdu, bib1, error, es, oid, optional, types};

/// The trait bound of methods that encode a value, such as [`External::of_value`](apdu::External::of_value).
pub mod codec {
    pub use z3950_asn1::codec::BerValue;
}

/// Values that are sent within an EXTERNAL: diagnostics, facets, prompts, and reports on searches.
pub mod format {
    pub use z3950_asn1::format::{
        charset_negotiation, diag1, facets, prompt1, search_result1, sources,
    };
}

/// The error for a query that cannot be parsed.
pub mod query {
    pub use z3950_asn1::query::{QueryError, QueryErrorKind};
}

/// Records other than MARC.
pub mod record {
    pub use z3950_asn1::record::{RetrievedRecord, explain, grs1, opac, summary};

    /// The items that a library holds.
    pub mod holdings {
        pub use z3950_asn1::record::holdings::Holding;
    }
}

/// The parts of SRU that Z39.50 does not have: versions, logins, errors in responses, and descriptions of servers.
pub mod sru {
    pub use z3950_asn1::sru::{
        RecordSource, ResponseError, SoapFault, SruLimits, Version, XmlError,
    };
    #[cfg(feature = "sru")]
    pub use z3950_asn1::sru::{SruLogin, zeerex};
}

/// The servers that a request has passed through.
pub mod via {
    pub use z3950_asn1::via::Via;
}
