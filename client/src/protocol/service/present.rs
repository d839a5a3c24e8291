//! Present: fetches records of a result set by position (Z39.50-2003 §3.2.3).

use z3950_asn1::apdu::{
    CompSpec, ElementSetNames, OtherInformation, PresentRequest, PresentResponse, PresentStatus,
    Range, RecordComposition, ResultSetId,
};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::diagnostics::with_information;
use super::{DEFAULT_RESULT_SET, ResultRecord, separate};
use crate::error::{Diagnostics, Error, Phase};
use crate::protocol::session::Session;

/// The options of a Present. By default, records in the set `default` are requested in a form chosen by the server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PresentOptions {
    /// The name of the result set that contains the records.
    pub result_set: InternationalString,
    /// The element set name for the records.
    pub element_set: Option<InternationalString>,
    /// The complete specification of schema, elements and syntaxes, which overrides the element set name. It is allowed
    /// only in version 3.
    pub composition: Option<CompSpec>,
    /// The preferred record syntax.
    pub record_syntax: Option<Oid>,
    /// Additional ranges of positions, whose records follow the records in the main range. They are allowed only in
    /// version 3.
    pub additional_ranges: Vec<Range>,
    /// The maximum number of segments in an answer, if segmentation is in effect. With 1, the answer is a single APDU.
    pub max_segment_count: Option<u32>,
    /// The maximum number of octets in a record, if level 2 segmentation is in effect.
    pub max_record_size: Option<u32>,
    /// The maximum number of octets in a segment, if level 2 segmentation is in effect.
    pub max_segment_size: Option<u32>,
    /// Additional information for the server.
    pub other_info: Option<OtherInformation>,
}

impl Default for PresentOptions {
    fn default() -> Self {
        Self {
            result_set: DEFAULT_RESULT_SET.into(),
            element_set: None,
            composition: None,
            record_syntax: None,
            additional_ranges: Vec::new(),
            max_segment_count: None,
            max_record_size: None,
            max_segment_size: None,
            other_info: None,
        }
    }
}

impl PresentOptions {
    /// Returns the request for `count` records from the 1-based position `start`.
    pub fn request(&self, start: u64, count: u64) -> PresentRequest {
        let element_set = self
            .element_set
            .clone()
            .map(ElementSetNames::GenericElementSetName);
        let composition = match &self.composition {
            Some(composition) => Some(RecordComposition::Complex(Box::new(composition.clone()))),
            None => element_set.map(RecordComposition::Simple),
        };
        let ranges = Some(&self.additional_ranges).filter(|ranges| !ranges.is_empty());
        PresentRequest {
            reference_id: None,
            result_set_id: ResultSetId(self.result_set.clone()),
            result_set_start_point: i64::try_from(start).unwrap_or(i64::MAX),
            number_of_records_requested: i64::try_from(count).unwrap_or(i64::MAX),
            additional_ranges: ranges.cloned(),
            record_composition: composition.into(),
            preferred_record_syntax: self.record_syntax,
            max_segment_count: self.max_segment_count.map(i64::from),
            max_record_size: self.max_record_size.map(i64::from),
            max_segment_size: self.max_segment_size.map(i64::from),
            other_info: self.other_info.clone(),
        }
    }
}

/// The result of a Present. If `status` is partial, there are fewer records than requested.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PresentResult {
    /// The records, or diagnostics in their place, beginning at the first requested position.
    pub records: Vec<ResultRecord>,
    /// Whether all requested records are present.
    pub status: PresentStatus,
    /// The position of the first record that was not returned, according to the server.
    pub next_position: i64,
    /// Diagnostics other than those in place of records. A result contains both diagnostics and records if the records
    /// were sent in segments or over SRU, or if the server put diagnostics into `other_info`.
    pub diagnostics: Diagnostics,
    /// Additional information from the server.
    pub other_info: Option<OtherInformation>,
}

impl Session {
    /// Fetches `count` records of a result set from the 1-based position `start`.
    ///
    /// # Errors
    /// [`Error::Refused`] if the server sent no record, in which case the session continues. Other errors end the
    /// session.
    pub async fn present(
        &self,
        start: u64,
        count: u64,
        options: &PresentOptions,
    ) -> Result<PresentResult, Error> {
        self.present_request(options.request(start, count)).await
    }

    /// Sends a complete PresentRequest.
    ///
    /// # Errors
    /// The errors of [`present`](Self::present).
    pub async fn present_request(&self, request: PresentRequest) -> Result<PresentResult, Error> {
        let response: PresentResponse = self.ask(request).await?;
        let (records, diagnostics) = separate(response.records.0, response.other_info.as_ref());
        let diagnostics = with_information(diagnostics, response.other_info.as_ref());
        let failed = response.present_status == PresentStatus::FAILURE;
        if records.is_empty() && (failed || !diagnostics.is_empty()) {
            let phase = Phase::Present;
            return Err(Error::Refused { phase, diagnostics });
        }
        Ok(PresentResult {
            records,
            status: response.present_status,
            next_position: response.next_result_set_position,
            diagnostics,
            other_info: response.other_info,
        })
    }
}
