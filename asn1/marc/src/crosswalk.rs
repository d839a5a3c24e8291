//! Converts a MARC record to ISBD lines, Dublin Core, a citation or labelled lines.

pub mod brief;
pub mod citation;
pub mod dublin_core;
pub(crate) mod labels;
pub mod sutrs;

pub use self::citation::{Citation, Identifiers};
pub use self::labels::is_unimarc;
