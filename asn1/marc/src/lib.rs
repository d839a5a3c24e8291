#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! Records hold octets, which are read and written unchanged. [`text_lossless`] shows octets that are not UTF-8 as
//! `\xNN`, and [`charset`] converts records to UTF-8.
//!
//! | module | contents |
//! |---|---|
//! | [`record`] | [`MarcRecord`], [`Leader`], [`Field`], [`Subfield`]: octets and views of them |
//! | [`iso2709`] | the exchange form: lenient and strict reader, writer, record files |
//! | [`marcline`] | the line form that people read, both written and read |
//! | [`marcxml`] | MARCXML, both written and read |
//! | [`marcjson`] | MARC-in-JSON, both written and read |
//! | [`mrk`] | MARCMaker text that people edit, both written and read |
//! | [`stream`] | records from and to a file or pipe, one at a time, in any form |
//! | `remarks` | [`Remarks`]: the repairs and omissions by a lenient reader |
//! | `form` | [`Form`]: records written to one document, in any form |
//! | [`charset`] | MARC-8, ISO 5426 and the other character sets for records and queries |
//! | [`crosswalk`] | records as ISBD lines, Dublin Core, MODS, citations or labelled lines |
//! | [`table`] | records as CSV and TSV rows |
//! | [`select`] | parts of records, and conditions on them |
//! | [`edit`] | editing and building records |
//! | [`order`], [`counts`] | sorting records, counting fields |
//! | [`standard_number`] | ISBN, ISSN, LCCN and OCLC numbers: their check digits and normal forms |
//! | [`fold`] | text folded for comparing titles and names |
//! | [`text`], [`xmltext`] | octets shown as text without loss, and written in XML |
//!
//! # Stability
//!
//! Documented items keep to Semantic Versioning. Types marked `#[non_exhaustive]` gain fields and variants in minor
//! versions: create options with `default()` or `new` and set their fields, and end each `match` with a wildcard arm.
//! Semantic Versioning does not cover what `Debug` prints or the wording of messages. `bytes` 1, `serde` 1,
//! `serde_json` 1 and `encoding_rs` 0.8 are part of the interface. The minimum Rust version is 1.90, as in the
//! manifest; raising it takes a minor version.

// Nothing that a peer sends may cause a panic; `.clippy.toml` exempts tests from these lints.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

pub mod charset;
pub mod counts;
pub mod crosswalk;
pub mod edit;
pub mod faults;
pub mod fold;
mod form;
pub mod iso2709;
pub mod language;
mod layout;
pub mod marcjson;
pub mod marcline;
pub mod marcxml;
pub mod mrk;
pub mod order;
pub mod record;
mod remarks;
pub mod select;
pub mod standard_number;
pub mod stream;
pub mod table;
pub mod text;
pub mod xmltext;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod mutation;
#[cfg(test)]
mod random;

pub use self::edit::{EditError, FieldMut, RecordBuilder};
pub use self::form::{Form, WriteError};
pub use self::iso2709::{Iso2709Error, Parsed, Repair, RepairKind};
pub use self::record::{
    FIELD_TERMINATOR, Field, Leader, MarcRecord, RECORD_TERMINATOR, SUBFIELD_DELIMITER, Subfield,
    Subfields, Tag,
};
pub use self::remarks::Remarks;
pub use self::text::{octets_from_text, text_lossless};
