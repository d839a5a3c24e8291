//! Duplicate detection: DuplicateDetectionRequest `[49]`, DuplicateDetectionResponse `[50]`
//! (Z39.50-2003 §3.2.7.2).

use rasn::prelude::*;

use super::{DiagRec, External, OtherInformation, ReferenceId};
use crate::types::{InternationalString, named_integer};

/// A request to find duplicates in result sets.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct DuplicateDetectionRequest {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(3))]
    pub input_result_set_ids: Vec<InternationalString>,
    #[rasn(tag(4))]
    pub output_result_set_name: InternationalString,
    #[rasn(tag(5))]
    pub applicable_portion_of_record: Option<External>,
    #[rasn(tag(6))]
    pub duplicate_detection_criteria: Option<Vec<DuplicateDetectionCriterion>>,
    #[rasn(tag(7))]
    pub clustering: Option<bool>,
    #[rasn(tag(8))]
    pub retention_criteria: Vec<RetentionCriterion>,
    #[rasn(tag(9))]
    pub sort_criteria: Option<Vec<SortCriterion>>,
    pub other_info: Option<OtherInformation>,
}

/// When two records are duplicates.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum DuplicateDetectionCriterion {
    /// 0 to 100.
    #[rasn(tag(1))]
    LevelOfMatch(i64),
    #[rasn(tag(2))]
    CaseSensitive,
    #[rasn(tag(3))]
    PunctuationSensitive,
    #[rasn(tag(4))]
    RegularExpression(External),
    #[rasn(tag(5))]
    RsDuplicates,
}

/// Which of several duplicates are kept.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum RetentionCriterion {
    #[rasn(tag(1))]
    NumberOfEntries(i64),
    #[rasn(tag(2))]
    PercentOfEntries(i64),
    #[rasn(tag(3))]
    DuplicatesOnly,
    #[rasn(tag(4))]
    DiscardRsDuplicates,
}

/// The order of duplicates.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub enum SortCriterion {
    #[rasn(tag(1))]
    MostComprehensive,
    #[rasn(tag(2))]
    LeastComprehensive,
    #[rasn(tag(3))]
    MostRecent,
    #[rasn(tag(4))]
    Oldest,
    #[rasn(tag(5))]
    LeastCost,
    #[rasn(tag(6))]
    PreferredDatabases(Vec<InternationalString>),
}

/// What became of the request.
#[derive(AsnType, Decode, Encode, Clone, Debug, PartialEq)]
pub struct DuplicateDetectionResponse {
    pub reference_id: Option<ReferenceId>,
    #[rasn(tag(3))]
    pub status: DuplicateDetectionStatus,
    #[rasn(tag(4))]
    pub result_set_count: Option<i64>,
    #[rasn(tag(5))]
    pub diagnostics: Option<Vec<DiagRec>>,
    pub other_info: Option<OtherInformation>,
}

named_integer!(
    /// Whether duplicates were found out.
    DuplicateDetectionStatus { SUCCESS = 0 "success", FAILURE = 1 "failure" }
);
