//! The Explain record syntax (Z39.50-2003 Appendix REC.1): a server's description of itself, its databases and the
//! requests that they support. The types have the order and names of the ASN.1 module.
#![allow(
    missing_docs,
    reason = "fields and variants are the standard's; a type's doc names its part"
)]

mod access;
mod common;
mod detail;
mod info;

pub use self::access::*;
pub use self::common::*;
pub use self::detail::*;
pub use self::info::*;
use crate::describe::described;

described! {
    /// Explain-Record: one record from the Explain database, of any category.
    pub enum ExplainRecord {
        [0] TargetInfo(Box<TargetInfo>),
        [1] DatabaseInfo(Box<DatabaseInfo>),
        [2] SchemaInfo(Box<SchemaInfo>),
        [3] TagSetInfo(Box<TagSetInfo>),
        [4] RecordSyntaxInfo(Box<RecordSyntaxInfo>),
        [5] AttributeSetInfo(Box<AttributeSetInfo>),
        [6] TermListInfo(Box<TermListInfo>),
        [7] ExtendedServicesInfo(Box<ExtendedServicesInfo>),
        [8] AttributeDetails(Box<AttributeDetails>),
        [9] TermListDetails(Box<TermListDetails>),
        [10] ElementSetDetails(Box<ElementSetDetails>),
        [11] RetrievalRecordDetails(Box<RetrievalRecordDetails>),
        [12] SortDetails(Box<SortDetails>),
        [13] Processing(Box<ProcessingInformation>),
        [14] Variants(Box<VariantSetInfo>),
        [15] Units(Box<UnitInfo>),
        [100] CategoryList(Box<CategoryList>),
    }
}

#[cfg(test)]
mod tests;
