//! Duplicate detection: makes a result set without duplicates, or of duplicates only (Z39.50-2003 §3.2.7.2).

use z3950_asn1::apdu::{
    Apdu, DuplicateDetectionCriterion, DuplicateDetectionRequest, DuplicateDetectionStatus,
    External, Options, OtherInformation, RetentionCriterion, SortCriterion,
};
use z3950_asn1::types::InternationalString;

use super::{DEFAULT_RESULT_SET, unexpected};
#[cfg(doc)]
use crate::error::ProtocolFault;
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// Which records are duplicates, and which of them to keep. By default one of each in the set `default`, in place, by the
/// server's criteria.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DuplicateDetectionOptions {
    /// The result sets to examine.
    pub input_result_sets: Vec<InternationalString>,
    /// The resulting set.
    pub output_result_set: InternationalString,
    /// The part of a record to compare, as an element specification.
    pub applicable_portion: Option<External>,
    /// When two records are duplicates.
    pub criteria: Vec<DuplicateDetectionCriterion>,
    /// Whether duplicates are placed next to each other.
    pub clustering: Option<bool>,
    /// Which of them to keep.
    pub retention: Vec<RetentionCriterion>,
    /// The order of duplicates, most important criterion first.
    pub order: Vec<SortCriterion>,
    /// Additional information for the server.
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
    /// The request with these options.
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

/// The result of a duplicate detection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DuplicateDetectionResult {
    /// The number of records in the resulting set, if the server says.
    pub hits: Option<i64>,
    /// The server's diagnostics.
    pub diagnostics: Diagnostics,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl Session {
    /// Removes duplicates from result sets.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was not done, [`ProtocolFault::NotGranted`] if the server does not offer it; the session
    /// continues. Others end it.
    pub async fn detect_duplicates(
        &self,
        options: &DuplicateDetectionOptions,
    ) -> Result<DuplicateDetectionResult, Error> {
        let phase = Phase::DuplicateDetection;
        self.require_granted(phase, Options::DUPLICATE_DETECTION, "duplicateDetection")?;
        let response = match self.ask(options.request().into()).await? {
            Apdu::DuplicateDetectionResponse(response) => *response,
            other => return Err(unexpected(phase, &other)),
        };
        let diagnostics = Diagnostics(response.diagnostics.unwrap_or_default());
        if response.status != DuplicateDetectionStatus::SUCCESS {
            return Err(Error::Refused { phase, diagnostics });
        }
        Ok(DuplicateDetectionResult {
            hits: response.result_set_count,
            diagnostics,
            other_info: response.other_info,
        })
    }
}
