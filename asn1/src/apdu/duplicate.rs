//! Duplicate detection: DuplicateDetectionRequest `[49]`, DuplicateDetectionResponse `[50]`
//! (Z39.50-2003 §3.2.7.2).

use super::{DiagRec, External, OtherInformation, ReferenceId};
use crate::production::productions;
use crate::types::InternationalString;

productions! {
    /// A request to find duplicates in result sets.
    #[derive(Default)]
    pub struct DuplicateDetectionRequest {
        reference_id: Option<ReferenceId>,
        [3] input_result_set_ids: Vec<InternationalString>,
        [4] output_result_set_name: InternationalString,
        [5] applicable_portion_of_record: Option<External>,
        [6] duplicate_detection_criteria: Option<Vec<DuplicateDetectionCriterion>>,
        [7] clustering: Option<bool>,
        [8] retention_criteria: Vec<RetentionCriterion>,
        [9] sort_criteria: Option<Vec<SortCriterion>>,
        other_info: Option<OtherInformation>,
    }

    /// The criterion by which two records are duplicates.
    pub enum DuplicateDetectionCriterion {
        /// The level of match, from 0 to 100.
        [1] LevelOfMatch(i64),
        [2] CaseSensitive,
        [3] PunctuationSensitive,
        [4] RegularExpression(External),
        [5] RsDuplicates,
    }

    /// The criterion that decides which of the duplicates are kept.
    pub enum RetentionCriterion {
        [1] NumberOfEntries(i64),
        [2] PercentOfEntries(i64),
        [3] DuplicatesOnly,
        [4] DiscardRsDuplicates,
    }

    /// The criterion by which the records in a group of duplicates are ordered.
    pub enum SortCriterion {
        [1] MostComprehensive,
        [2] LeastComprehensive,
        [3] MostRecent,
        [4] Oldest,
        [5] LeastCost,
        [6] PreferredDatabases(Vec<InternationalString>),
    }

    /// The result of a request to find duplicates.
    #[derive(Default)]
    pub struct DuplicateDetectionResponse {
        reference_id: Option<ReferenceId>,
        [3] status: DuplicateDetectionStatus,
        [4] result_set_count: Option<i64>,
        [5] diagnostics: Option<Vec<DiagRec>>,
        other_info: Option<OtherInformation>,
    }

    /// Whether the server carried out duplicate detection.
    pub integer DuplicateDetectionStatus { SUCCESS = 0 "success", FAILURE = 1 "failure" }
}

impl DuplicateDetectionRequest {
    /// Creates a request to keep only one record from each group of duplicates in a result set, by the server's
    /// criteria.
    pub fn in_place(result_set: impl Into<InternationalString>) -> Self {
        let name = result_set.into();
        Self {
            input_result_set_ids: vec![name.clone()],
            output_result_set_name: name,
            retention_criteria: vec![RetentionCriterion::NumberOfEntries(1)],
            ..Self::default()
        }
    }
}
