//! Scan: ScanRequest `[35]`, ScanResponse `[36]` (Z39.50-2003 §3.2.8).

use rasn::prelude::*;

use super::{
    AttributeList, AttributesPlusTerm, DatabaseName, DiagRec, OtherInformation, ReferenceId, Term,
};
use crate::oid::Oid;
use crate::optional::OptionalChoice;
use crate::types::{InternationalString, named_integer};

/// A request for the terms around a given one.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ScanRequest {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(3))]
    pub database_names: Vec<DatabaseName>,
    pub attribute_set: Option<Oid>,
    pub term_list_and_start_point: AttributesPlusTerm,
    #[rasn(tag(5))]
    pub step_size: Option<i64>,
    #[rasn(tag(6))]
    pub number_of_terms_requested: i64,
    /// 1-based.
    #[rasn(tag(7))]
    pub preferred_position_in_response: Option<i64>,
    pub other_info: Option<OtherInformation>,
}

/// A stretch of the term list.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct ScanResponse {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(3))]
    pub step_size: Option<i64>,
    #[rasn(tag(4))]
    pub scan_status: ScanStatus,
    #[rasn(tag(5))]
    pub number_of_entries_returned: i64,
    /// 1-based.
    #[rasn(tag(6))]
    pub position_of_term: Option<i64>,
    #[rasn(tag(7))]
    pub entries: Option<ListEntries>,
    #[rasn(tag(8))]
    pub attribute_set: Option<Oid>,
    pub other_info: Option<OtherInformation>,
}

named_integer!(
    /// Whether all terms asked for came.
    ScanStatus {
        SUCCESS = 0 "success", PARTIAL_1 = 1 "partial-1", PARTIAL_2 = 2 "partial-2", PARTIAL_3 = 3 "partial-3",
        PARTIAL_4 = 4 "partial-4", PARTIAL_5 = 5 "partial-5", FAILURE = 6 "failure",
    }
);

/// The terms, or why there are none.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq, Default)]
pub struct ListEntries {
    #[rasn(tag(1))]
    pub entries: Option<Vec<Entry>>,
    #[rasn(tag(2))]
    pub nonsurrogate_diagnostics: Option<Vec<DiagRec>>,
}

/// A term, or the diagnostic in its place.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Entry {
    #[rasn(tag(1))]
    TermInfo(Box<TermInfo>),
    #[rasn(tag(2))]
    SurrogateDiagnostic(DiagRec),
}

/// A term and how often it occurs.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct TermInfo {
    pub term: Term,
    #[rasn(tag(0))]
    pub display_term: Option<InternationalString>,
    pub suggested_attributes: Option<AttributeList>,
    #[rasn(tag(4))]
    pub alternative_term: Option<Vec<AttributesPlusTerm>>,
    #[rasn(tag(2))]
    pub global_occurrences: Option<i64>,
    #[rasn(tag(3))]
    pub by_attributes: Option<Vec<OccurrenceByAttributes>>,
    pub other_term_info: Option<OtherInformation>,
}

/// How often a term occurs under given attributes.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct OccurrenceByAttributes {
    #[rasn(tag(explicit(1)))]
    pub attributes: AttributeList,
    pub occurrences: OptionalChoice<Occurrences>,
    pub other_occur_info: Option<OtherInformation>,
}

/// Occurrences, in all or database by database.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum Occurrences {
    #[rasn(tag(explicit(2)))]
    Global(i64),
    #[rasn(tag(3))]
    ByDatabase(Vec<DatabaseOccurrences>),
}

/// Occurrences in one database.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct DatabaseOccurrences {
    pub db: DatabaseName,
    #[rasn(tag(1))]
    pub num: Option<i64>,
    pub other_db_info: Option<OtherInformation>,
}
