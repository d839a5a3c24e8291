//! Records as octets: MARC in its exchange form (ISO 2709) and in the text forms that people and programs read.
//! Nothing here decodes character sets: octets stay as they came, and what is not UTF-8 is shown as `\xNN`.
//!
//! | file | what it holds |
//! |---|---|
//! | `marc` | [`MarcRecord`], [`Leader`], [`Field`], [`Subfield`]: octets and views of them |
//! | [`iso2709`] | the exchange form: lenient and strict reader, writer, files of records |
//! | [`marcline`] | the line form that people read, written |
//! | [`marcjson`] | MARC-in-JSON, written and read |
//! | [`mrk`] | MARCMaker text that people edit, written and read |
//! | `retrieved` | [`RetrievedRecord`]: what an EXTERNAL holds, by its record syntax |
//! | [`sutrs`] | a record as labelled lines, for the SUTRS record syntax |
//! | `text` | octets as text without loss |

pub mod iso2709;
mod marc;
pub mod marcjson;
pub mod marcline;
pub mod mrk;
mod retrieved;
pub mod sutrs;
mod text;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod mutation;

pub use self::iso2709::{Iso2709Error, Parsed, Repair, RepairKind};
pub use self::marc::{
    FIELD_TERMINATOR, Field, Leader, MarcRecord, RECORD_TERMINATOR, SUBFIELD_DELIMITER, Subfield,
    Subfields, Tag,
};
pub use self::retrieved::{RetrievedRecord, is_marc, sutrs_external};
pub use self::sutrs::sutrs_text;
pub use self::text::{octets_from_text, text_lossless};
