//! The items from the package `z3950-marc` that appear in signatures of this package: a MARC record, the types that its
//! methods take and return, and [`iso2709`], which decodes and encodes records. Programs that read and write MARC in its
//! other forms depend on `z3950-marc`.

pub use z3950_marc::{
    EditError, Field, FieldMut, Iso2709Error, Leader, MarcRecord, RecordBuilder, Repair,
    RepairKind, Subfield, Subfields, Tag,
};

/// The errors for characters that cannot be written in a record's character set.
pub mod charset {
    pub use z3950_marc::charset::{FieldProblem, Problem, ProblemKind};
}

/// The errors from methods that change a record.
pub mod edit {
    pub use z3950_marc::edit::{DeletionError, FieldError};
}

/// Decodes and encodes records in ISO 2709.
pub mod iso2709 {
    pub use z3950_marc::iso2709::{Iso2709Error, Parsed, encode, parse};
}

/// The places in a record, and the error for a place that cannot be parsed.
pub mod select {
    pub use z3950_marc::select::{Place, SelectError};
}
