//! A MARC record as something else: ISBD lines, Dublin Core, labelled lines.

pub mod brief;
pub mod dublin_core;
mod labels;
pub mod sutrs;

pub use self::labels::is_unimarc;
