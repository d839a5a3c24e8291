//! The items of the package `z3950-marc` that signatures of this package need: a MARC record, the types that its methods take and
//! return, and [`iso2709`] to make a record of octets and octets of a record. Programs that read and write MARC in its other forms
//! depend on `z3950-marc`.

pub use z3950_marc::{
    EditError, Field, FieldMut, Iso2709Error, Leader, MarcRecord, RecordBuilder, Repair,
    RepairKind, Subfield, Subfields, Tag,
};

/// What cannot be written in the character set of a record.
pub mod charset {
    pub use z3950_marc::charset::{FieldProblem, Problem, ProblemKind};
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
