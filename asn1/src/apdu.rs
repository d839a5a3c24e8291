//! The APDUs of Z39.50-2003 §4.1, with a file for each service. Types, fields and variants have the standard's names and order.
#![allow(
    missing_docs,
    reason = "fields and variants are the standard's; a type's doc names its section"
)]

mod access;
mod close;
mod delete;
mod diagnostic;
mod duplicate;
mod extended;
pub(crate) mod external;
mod init;
mod other_information;
mod present;
mod query;
mod records;
mod requests;
mod resource;
mod rpn;
mod scan;
mod search;
mod sort;

pub use access::*;
pub use close::*;
pub use delete::*;
pub use diagnostic::*;
pub use duplicate::*;
pub use extended::*;
pub use external::*;
pub use init::*;
pub use other_information::*;
pub use present::*;
pub use query::*;
pub use records::*;
pub use resource::*;
pub use scan::*;
pub use search::*;
pub use sort::*;

use crate::describe::described;
use crate::production::{Sequence, productions};
use crate::types::{InternationalString, OctetString};
use rasn::types::TagTree;

/// Defines the variants of `Apdu`, each with its tag and a boxed type, and the methods that all variants have.
macro_rules! apdus {
    ($($tag:literal $name:ident $text:literal,)*) => {
        productions! {
            /// Application protocol data unit: one message of the protocol.
            pub enum Apdu {
                $([$tag] $name(Box<$name>),)*
            }
        }

        impl Apdu {
            /// Returns the standard's name for the APDU.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $text,)*
                }
            }

            /// Returns the referenceId of the APDU; `None` if it has none. A response repeats the referenceId of its
            /// request.
            pub fn reference_id(&self) -> Option<&ReferenceId> {
                match self {
                    $(Self::$name(apdu) => apdu.reference_id.as_ref(),)*
                }
            }

            /// Replaces the referenceId.
            pub fn set_reference_id(&mut self, reference_id: Option<ReferenceId>) {
                match self {
                    $(Self::$name(apdu) => apdu.reference_id = reference_id,)*
                }
            }

            /// Returns the standard's name for the APDU with the given context tag.
            pub fn name_of_tag(tag: u32) -> Option<&'static str> {
                match tag {
                    $($tag => Some($text),)*
                    _ => None,
                }
            }

            /// Returns the elements of the APDU with the given context tag: the Rust names of the elements, each with
            /// its possible tags.
            pub(crate) fn elements_of_tag(tag: u32) -> &'static [(&'static str, TagTree)] {
                match tag {
                    $($tag => $name::ELEMENTS,)*
                    _ => &[],
                }
            }
        }

        $(
            impl From<$name> for Apdu {
                fn from(apdu: $name) -> Self {
                    Self::$name(Box::new(apdu))
                }
            }

            /// Converts an APDU to this type; if the APDU is of another type, it is returned as the error.
            impl TryFrom<Apdu> for $name {
                type Error = Apdu;

                fn try_from(apdu: Apdu) -> Result<Self, Apdu> {
                    match apdu {
                        Apdu::$name(apdu) => Ok(*apdu),
                        other => Err(other),
                    }
                }
            }
        )*
    };
}

apdus! {
    20 InitializeRequest "initRequest",
    21 InitializeResponse "initResponse",
    22 SearchRequest "searchRequest",
    23 SearchResponse "searchResponse",
    24 PresentRequest "presentRequest",
    25 PresentResponse "presentResponse",
    26 DeleteResultSetRequest "deleteResultSetRequest",
    27 DeleteResultSetResponse "deleteResultSetResponse",
    28 AccessControlRequest "accessControlRequest",
    29 AccessControlResponse "accessControlResponse",
    30 ResourceControlRequest "resourceControlRequest",
    31 ResourceControlResponse "resourceControlResponse",
    32 TriggerResourceControlRequest "triggerResourceControlRequest",
    33 ResourceReportRequest "resourceReportRequest",
    34 ResourceReportResponse "resourceReportResponse",
    35 ScanRequest "scanRequest",
    36 ScanResponse "scanResponse",
    43 SortRequest "sortRequest",
    44 SortResponse "sortResponse",
    45 Segment "segmentRequest",
    46 ExtendedServicesRequest "extendedServicesRequest",
    47 ExtendedServicesResponse "extendedServicesResponse",
    48 Close "close",
    49 DuplicateDetectionRequest "duplicateDetectionRequest",
    50 DuplicateDetectionResponse "duplicateDetectionResponse",
}

impl Apdu {
    /// Returns whether a client may send the APDU; all other APDUs come only from servers (Z39.50-2003 §4.1).
    pub fn is_of_client(&self) -> bool {
        matches!(
            self,
            Self::InitializeRequest(_)
                | Self::SearchRequest(_)
                | Self::PresentRequest(_)
                | Self::DeleteResultSetRequest(_)
                | Self::AccessControlResponse(_)
                | Self::ResourceControlResponse(_)
                | Self::TriggerResourceControlRequest(_)
                | Self::ResourceReportRequest(_)
                | Self::ScanRequest(_)
                | Self::SortRequest(_)
                | Self::ExtendedServicesRequest(_)
                | Self::DuplicateDetectionRequest(_)
                | Self::Close(_)
        )
    }

    /// Returns the octets of the records in a response, in order. The encoder borrows these octets, because records are the large parts of
    /// an APDU.
    pub(crate) fn record_octets(&self) -> Vec<&[u8]> {
        let records = match self {
            Self::SearchResponse(response) => response.records.as_ref(),
            Self::PresentResponse(response) => response.records.as_ref(),
            _ => None,
        };
        let records = match (self, records) {
            (Self::Segment(segment), _) => &segment.segment_records,
            (_, Some(Records::ResponseRecords(records))) => records,
            _ => return Vec::new(),
        };
        records.iter().filter_map(NamePlusRecord::octets).collect()
    }
}

productions! {
    /// ReferenceId `[2]`: an identifier that the sender of a request chooses and the other side repeats in its
    /// response.
    #[derive(Eq, Hash)]
    [2] pub struct ReferenceId(pub OctetString)
}

macro_rules! tagged_string {
    ($($(#[$meta:meta])* $name:ident $tag:literal;)*) => {$(
        described! {
            $(#[$meta])*
            #[derive(Eq, Hash, Default)]
            [$tag] pub struct $name(pub InternationalString)
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<&[u8]> for $name {
            fn from(octets: &[u8]) -> Self {
                Self(octets.into())
            }
        }
    )*};
}

tagged_string! {
    /// ResultSetId `[31]`: the name of a result set.
    ResultSetId 31;
    /// ElementSetName `[103]`: the name of an element set, such as F or B.
    ElementSetName 103;
    /// DatabaseName `[105]`: the name of a database.
    DatabaseName 105;
}
