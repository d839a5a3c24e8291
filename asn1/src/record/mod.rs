//! Records: MARC in its exchange form (ISO 2709) and in the text forms that people and programs read, and the other syntaxes.
//! Octets stay as they came, and what is not UTF-8 is shown as `\xNN`; [`crate::charset`] makes UTF-8 of a record first.
//!
//! | file | what it holds |
//! |---|---|
//! | `marc` | [`MarcRecord`], [`Leader`], [`Field`], [`Subfield`]: octets and views of them |
//! | [`iso2709`] | the exchange form: lenient and strict reader, writer, files of records |
//! | [`marcline`] | the line form that people read, written and read |
//! | [`marcxml`] | MARCXML, written and read |
//! | [`marcjson`] | MARC-in-JSON, written and read |
//! | [`mrk`] | MARCMaker text that people edit, written and read |
//! | `remarks` | [`Remarks`]: what a lenient reader repaired or left out |
//! | `retrieved` | [`RetrievedRecord`]: what an EXTERNAL holds, by its record syntax |
//! | [`stream`] | records from a file or pipe, one at a time, in any form |
//! | `form` | [`Form`]: records written to one document, in any form |
//! | [`brief`] | a record in a few lines, as ISBD has it |
//! | [`dublin_core`] | a record as Dublin Core in XML |
//! | `labels`, `xmltext` | what the crosswalks and the XML writers share |
//! | [`opac`], [`grs1`], [`summary`], [`explain`] | the record syntaxes of ASN.1: types, text, JSON, XML |
//! | [`tree`] | how those are shown; `embedded`: a record inside another |
//! | [`sutrs`] | a record as labelled lines, for the SUTRS record syntax |
//! | [`standard_number`] | ISBN, ISSN, LCCN and OCLC numbers, checked and in one form |
//! | `text` | octets as text without loss |

pub mod brief;
pub mod dublin_core;
mod embedded;
pub mod explain;
mod form;
pub mod grs1;
pub mod iso2709;
mod labels;
mod marc;
pub mod marcjson;
pub mod marcline;
pub mod marcxml;
pub mod mrk;
pub mod opac;
mod remarks;
mod retrieved;
pub mod standard_number;
pub mod stream;
pub mod summary;
pub mod sutrs;
mod text;
pub mod tree;
mod xmltext;

#[cfg(test)]
pub(crate) mod corpus;
#[cfg(test)]
mod mutation;

pub use self::brief::brief_text;
pub use self::form::{Form, WriteError};
pub use self::iso2709::{Iso2709Error, Parsed, Repair, RepairKind};
pub use self::labels::is_unimarc;
pub use self::marc::{
    FIELD_TERMINATOR, Field, Leader, MarcRecord, RECORD_TERMINATOR, SUBFIELD_DELIMITER, Subfield,
    Subfields, Tag,
};
pub use self::remarks::Remarks;
pub use self::retrieved::{RetrievedRecord, is_marc, marc_syntax, sutrs_external};
pub use self::sutrs::sutrs_text;
pub use self::text::{octets_from_text, text_lossless};
