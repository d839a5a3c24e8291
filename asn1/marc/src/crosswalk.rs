//! Converts a MARC record to ISBD lines, Dublin Core, MODS, a citation or labelled lines, and converts MODS and
//! Dublin Core to MARC.

pub mod brief;
pub mod citation;
mod described;
pub mod dublin_core;
pub(crate) mod labels;
pub mod mods;
pub mod sutrs;

pub use self::citation::{Citation, Identifiers};
pub use self::described::described_in_xml;
pub use self::labels::is_unimarc;
