//! MARCXML, the MARC 21 slim schema (`<record><leader>…</leader><controlfield tag="001">…</controlfield><datafield
//! …>`), and MarcXchange (ISO 25577), which has the same elements for records with any number of indicators. The reader
//! ignores namespaces and prefixes; entities other than the five that XML 1.0 defines are never expanded, and nothing
//! is fetched.

mod envelope;
mod read;
mod write;

pub(crate) use self::envelope::{is_deleted, packed};
pub use self::read::{MAX_DEPTH, MarcXmlError, from_xml, only_from_xml};
pub use self::write::{
    COLLECTION_BEGIN, COLLECTION_END, EXCHANGE_BEGIN, EXCHANGE_NAMESPACE, NAMESPACE, collection,
    to_exchange_in_collection, to_xml, to_xml_in_collection,
};
use super::record::MarcRecord;
use super::remarks::Remarks;

/// The XML attributes for indicators: two in MARCXML, up to nine in MarcXchange.
const INDICATORS: [&str; 9] = [
    "ind1", "ind2", "ind3", "ind4", "ind5", "ind6", "ind7", "ind8", "ind9",
];

/// A record read from XML, with the reader's remarks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct XmlRecord {
    /// The record, with its text in UTF-8.
    pub record: MarcRecord,
    /// Remarks on everything that was repaired or skipped.
    pub remarks: Remarks,
    /// Whether a field or a part of a field was lost. A repaired leader does not count as a loss here.
    pub is_field_lost: bool,
}

/// A record written as XML, with messages about data that XML cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct XmlText {
    /// The `record` element, with a newline.
    pub text: String,
    /// A message for each item of data that was replaced or left out.
    pub notes: Vec<String>,
    /// Whether data was lost. Changes to the leader positions that describe the ISO 2709 layout do not count as losses.
    pub is_loss: bool,
}

#[cfg(test)]
mod tests;
