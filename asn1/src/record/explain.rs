//! The Explain record syntax (Z39.50-2003 Appendix REC.1): what a server tells of itself, its databases and what can be
//! asked of them, in the module's order and with its names.
#![allow(
    missing_docs,
    reason = "fields and variants are the standard's; a type's doc names its part"
)]

mod access;
mod common;
mod detail;
mod info;

use rasn::prelude::*;

pub use self::access::*;
pub use self::common::*;
pub use self::detail::*;
pub use self::info::*;
use crate::describe::choice;

choice! {
    /// Explain-Record: one record of the Explain database, by its category.
    pub enum ExplainRecord {
        #[rasn(tag(0))] TargetInfo(Box<TargetInfo>),
        #[rasn(tag(1))] DatabaseInfo(Box<DatabaseInfo>),
        #[rasn(tag(2))] SchemaInfo(Box<SchemaInfo>),
        #[rasn(tag(3))] TagSetInfo(Box<TagSetInfo>),
        #[rasn(tag(4))] RecordSyntaxInfo(Box<RecordSyntaxInfo>),
        #[rasn(tag(5))] AttributeSetInfo(Box<AttributeSetInfo>),
        #[rasn(tag(6))] TermListInfo(Box<TermListInfo>),
        #[rasn(tag(7))] ExtendedServicesInfo(Box<ExtendedServicesInfo>),
        #[rasn(tag(8))] AttributeDetails(Box<AttributeDetails>),
        #[rasn(tag(9))] TermListDetails(Box<TermListDetails>),
        #[rasn(tag(10))] ElementSetDetails(Box<ElementSetDetails>),
        #[rasn(tag(11))] RetrievalRecordDetails(Box<RetrievalRecordDetails>),
        #[rasn(tag(12))] SortDetails(Box<SortDetails>),
        #[rasn(tag(13))] Processing(Box<ProcessingInformation>),
        #[rasn(tag(14))] Variants(Box<VariantSetInfo>),
        #[rasn(tag(15))] Units(Box<UnitInfo>),
        #[rasn(tag(100))] CategoryList(Box<CategoryList>),
    }
}

#[cfg(test)]
mod tests;
