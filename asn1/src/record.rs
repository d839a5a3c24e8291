//! The record syntaxes in an EXTERNAL: MARC, whose implementation is in `z3950-marc`, and the syntaxes defined in
//! ASN.1.
//!
//! | file | contents |
//! |---|---|
//! | `retrieved` | [`RetrievedRecord`]: the contents of an EXTERNAL, by its record syntax |
//! | [`opac`], [`grs1`], [`summary`], [`explain`] | the record syntaxes defined in ASN.1: types, text, JSON, XML |
//! | [`holdings`] | copies and their availability, from OPAC and MARC records |
//! | `write`, `embedded` | the output of values that [`describe`](crate::describe) returns, and of a record within another record |

mod embedded;
pub mod explain;
pub mod grs1;
pub mod holdings;
pub mod opac;
mod retrieved;
pub mod summary;
mod write;

pub use self::retrieved::{RetrievedRecord, is_marc, marc_syntax, sutrs_external};
use crate::apdu::external::external_values;

external_values! {
    opac::OpacRecord: OPAC;
    grs1::GenericRecord: GRS_1;
}
