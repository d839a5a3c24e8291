//! Converts a MARC record to ISBD lines, Dublin Core or labelled lines.

pub mod brief;
pub mod dublin_core;
mod labels;
pub mod sutrs;

pub use self::labels::is_unimarc;
