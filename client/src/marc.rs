//! The items of the package `z3950-marc` that occur in the signatures of this package: a MARC record, the types that
//! its methods take and return, and [`iso2709`], which parses and encodes records. Programs that read or write other
//! forms of MARC, files or tables depend on `z3950-marc` itself.
//!
//! ```
//! use z3950::marc::{MarcRecord, iso2709};
//!
//! let built = MarcRecord::builder().control("001", "id7").data("245", "10", [("a", "Emma")]).build()?;
//! let read = iso2709::parse(&iso2709::encode(&built)?.into())?.record;
//! assert_eq!(read.control_number(), Some(&b"id7"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use z3950_marc::{
    EditError, Field, FieldMut, Iso2709Error, Leader, MarcRecord, RecordBuilder, Repair,
    RepairKind, Subfield, Subfields, Tag,
};

/// The character sets of records and queries.
pub mod charset {
    pub use z3950_marc::charset::{
        Charset, Decoded, Encoded, FieldProblem, NonSorting, NormalForm, Options, Problem,
        ProblemKind, Unencodable, UnencodableText,
    };
}

/// A record's citation and identifiers.
pub mod crosswalk {
    pub use z3950_marc::crosswalk::{Citation, Identifiers};
}

/// The errors from editing a record.
pub mod edit {
    pub use z3950_marc::edit::{DeletionError, FieldError};
}

/// Parsing and encoding of records in ISO 2709.
pub mod iso2709 {
    pub use z3950_marc::iso2709::{Iso2709Error, Parsed, encode, parse};
}

/// Expressions that select places in a record, and the error for an invalid expression.
pub mod select {
    pub use z3950_marc::select::{Place, SelectError};
}
