//! Duplicate detection: DuplicateDetectionRequest `[49]`, DuplicateDetectionResponse `[50]`
//! (Z39.50-2003 §3.2.7.2).

use rasn::prelude::*;

use super::{DiagRec, External, OtherInformation, ReferenceId};
use crate::types::{InternationalString, named_integer, production};

production! {
    /// A request to find duplicates in result sets.
    pub struct DuplicateDetectionRequest {
        reference_id: Option<ReferenceId>,
        #[rasn(tag(3))] input_result_set_ids: Vec<InternationalString>,
        #[rasn(tag(4))] output_result_set_name: InternationalString,
        #[rasn(tag(5))] applicable_portion_of_record: Option<External>,
        #[rasn(tag(6))] duplicate_detection_criteria: Option<Vec<DuplicateDetectionCriterion>>,
        #[rasn(tag(7))] clustering: Option<bool>,
        #[rasn(tag(8))] retention_criteria: Vec<RetentionCriterion>,
        #[rasn(tag(9))] sort_criteria: Option<Vec<SortCriterion>>,
        other_info: Option<OtherInformation>,
    }
}

impl DuplicateDetectionRequest {
    /// Keeps one of each record in a result set, by the server's criteria.
    pub fn in_place(result_set: impl Into<InternationalString>) -> Self {
        let name = result_set.into();
        Self {
            reference_id: None,
            input_result_set_ids: vec![name.clone()],
            output_result_set_name: name,
            applicable_portion_of_record: None,
            duplicate_detection_criteria: None,
            clustering: None,
            retention_criteria: vec![RetentionCriterion::NumberOfEntries(1)],
            sort_criteria: None,
            other_info: None,
        }
    }
}

production! {
    /// When two records are duplicates.
    pub enum DuplicateDetectionCriterion {
        /// 0 to 100.
        #[rasn(tag(1))] LevelOfMatch(i64),
        #[rasn(tag(2))] CaseSensitive,
        #[rasn(tag(3))] PunctuationSensitive,
        #[rasn(tag(4))] RegularExpression(External),
        #[rasn(tag(5))] RsDuplicates,
    }
}

production! {
    /// Which of several duplicates are kept.
    pub enum RetentionCriterion {
        #[rasn(tag(1))] NumberOfEntries(i64),
        #[rasn(tag(2))] PercentOfEntries(i64),
        #[rasn(tag(3))] DuplicatesOnly,
        #[rasn(tag(4))] DiscardRsDuplicates,
    }
}

production! {
    /// The order of duplicates.
    pub enum SortCriterion {
        #[rasn(tag(1))] MostComprehensive,
        #[rasn(tag(2))] LeastComprehensive,
        #[rasn(tag(3))] MostRecent,
        #[rasn(tag(4))] Oldest,
        #[rasn(tag(5))] LeastCost,
        #[rasn(tag(6))] PreferredDatabases(Vec<InternationalString>),
    }
}

production! {
    /// The result of the request.
    #[derive(Default)]
    pub struct DuplicateDetectionResponse {
        reference_id: Option<ReferenceId>,
        #[rasn(tag(3))] status: DuplicateDetectionStatus,
        #[rasn(tag(4))] result_set_count: Option<i64>,
        #[rasn(tag(5))] diagnostics: Option<Vec<DiagRec>>,
        other_info: Option<OtherInformation>,
    }
}

named_integer!(
    /// Whether duplicates were detected.
    DuplicateDetectionStatus { SUCCESS = 0 "success", FAILURE = 1 "failure" }
);
