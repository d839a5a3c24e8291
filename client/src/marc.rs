//! The items of the package `z3950-marc` that signatures of this package need: a MARC record, the types that its methods take and
//! return, and [`iso2709`] to make a record of octets. Programs that read and write MARC in its other forms, from files or to tables,
//! depend on `z3950-marc`.
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

/// A record in a few words.
pub mod crosswalk {
    pub use z3950_marc::crosswalk::{Citation, Identifiers};
}

/// The errors of changes to a record.
pub mod edit {
    pub use z3950_marc::edit::{DeletionError, FieldError};
}

/// Records of octets, and octets of records.
pub mod iso2709 {
    pub use z3950_marc::iso2709::{Iso2709Error, Parsed, encode, parse};
}

/// Places in a record, and the error of one that cannot be read.
pub mod select {
    pub use z3950_marc::select::{Place, SelectError};
}
