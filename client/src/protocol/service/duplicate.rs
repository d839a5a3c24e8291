//! Duplicate detection: a result set without duplicates, or of duplicates only (Z39.50-2003 §3.2.7.2).

use z3950_asn1::apdu::{
    Apdu, DuplicateDetectionCriterion, DuplicateDetectionRequest, DuplicateDetectionStatus,
    External, Options, OtherInformation, RetentionCriterion, SortCriterion,
};
use z3950_asn1::types::InternationalString;

use super::search::DEFAULT_RESULT_SET;
use crate::error::{Diagnostics, Error, Phase};
use crate::session::Session;

/// What are duplicates and which of them stay. By default one record of each in the set `default`, which takes its own
/// place; what makes a duplicate is left to the server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DuplicateDetectionOptions {
    /// The result sets looked through.
    pub input_result_sets: Vec<InternationalString>,
    /// The set that is made.
    pub output_result_set: InternationalString,
    /// The part of a record that counts, as an element specification.
    pub applicable_portion: Option<External>,
    /// When two records are duplicates.
    pub criteria: Vec<DuplicateDetectionCriterion>,
    /// Whether duplicates are to stand together.
    pub clustering: Option<bool>,
    /// Which of them stay.
    pub retention: Vec<RetentionCriterion>,
    /// The order of duplicates, most important criterion first.
    pub order: Vec<SortCriterion>,
    /// Whatever else the server is to know.
    pub other_info: Option<OtherInformation>,
}

impl Default for DuplicateDetectionOptions {
    fn default() -> Self {
        Self {
            input_result_sets: vec![DEFAULT_RESULT_SET.into()],
            output_result_set: DEFAULT_RESULT_SET.into(),
            applicable_portion: None,
            criteria: Vec::new(),
            clustering: None,
            retention: vec![RetentionCriterion::NumberOfEntries(1)],
            order: Vec::new(),
            other_info: None,
        }
    }
}

impl DuplicateDetectionOptions {
    /// The request that these options make.
    pub fn request(&self) -> DuplicateDetectionRequest {
        let criteria = Some(&self.criteria).filter(|criteria| !criteria.is_empty());
        let order = Some(&self.order).filter(|order| !order.is_empty());
        DuplicateDetectionRequest {
            reference_id: None,
            input_result_set_ids: self.input_result_sets.clone(),
            output_result_set_name: self.output_result_set.clone(),
            applicable_portion_of_record: self.applicable_portion.clone(),
            duplicate_detection_criteria: criteria.cloned(),
            clustering: self.clustering,
            retention_criteria: self.retention.clone(),
            sort_criteria: order.cloned(),
            other_info: self.other_info.clone(),
        }
    }
}

/// What became of duplicates.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DuplicateDetectionResult {
    /// How many records the set that was made has, where the server says so.
    pub hits: Option<i64>,
    /// What the server says about it.
    pub diagnostics: Diagnostics,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

/// Sends the request; the status failure is [`Error::Refused`].
pub(crate) async fn detect(
    session: &Session,
    options: &DuplicateDetectionOptions,
) -> Result<DuplicateDetectionResult, Error> {
    session.require_granted(
        Phase::DuplicateDetection,
        Options::DUPLICATE_DETECTION,
        "duplicateDetection",
    )?;
    let response = match session.ask(options.request().into()).await? {
        Apdu::DuplicateDetectionResponse(response) => *response,
        other => return Err(super::unexpected(Phase::DuplicateDetection, &other)),
    };
    let diagnostics = Diagnostics(response.diagnostics.unwrap_or_default());
    if response.status != DuplicateDetectionStatus::SUCCESS {
        return Err(Error::Refused {
            phase: Phase::DuplicateDetection,
            diagnostics,
        });
    }
    Ok(DuplicateDetectionResult {
        hits: response.result_set_count,
        diagnostics,
        other_info: response.other_info,
    })
}
