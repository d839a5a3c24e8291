//! The types from `z3950-marc` that signatures of this package use: a MARC record, its character set, and the types that their methods take
//! and return. Programs that read and write MARC in other forms depend on `z3950-marc`.

pub use z3950_marc::{
    EditError, Field, FieldMut, Leader, MarcRecord, RecordBuilder, Subfield, Subfields, Tag,
};

/// Character sets for records, and the types that their methods take and return.
pub mod charset {
    pub use z3950_marc::charset::{
        Charset, Decoded, Encoded, FieldProblem, NonSorting, NormalForm, Options, Problem,
        ProblemKind, Unencodable, UnencodableText,
    };
}

/// The errors from changes to a record.
pub mod edit {
    pub use z3950_marc::edit::{DeletionError, FieldError};
}

/// Places in a record, and the error for text that does not name a place.
pub mod select {
    pub use z3950_marc::select::{Place, SelectError};
}
