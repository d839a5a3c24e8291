//! Present: records of a result set by position (Z39.50-2003 §3.2.3).

use z3950_asn1::apdu::{
    Apdu, CompSpec, ElementSetNames, OtherInformation, PresentRequest, PresentResponse,
    PresentStatus, Range, RecordComposition, ResultSetId,
};
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use super::records::{self, ResultRecord};
use super::search::DEFAULT_RESULT_SET;
use crate::error::{Diagnostics, Error, Phase, ProtocolFault};
use crate::session::Session;

/// Which records to present, and how. By default of the set `default`, in the server's choice of form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PresentOptions {
    /// The name of the result set.
    pub result_set: InternationalString,
    /// The element set name.
    pub element_set: Option<InternationalString>,
    /// Schema, elements and syntaxes in full, for version 3; the element set name does not count then.
    pub composition: Option<CompSpec>,
    /// The preferred syntax.
    pub record_syntax: Option<Oid>,
    /// Further positions, whose records come behind the others, for version 3.
    pub additional_ranges: Vec<Range>,
    /// How many Segments the answer may come in, where segmentation is in force; 1 asks for one APDU.
    pub max_segment_count: Option<u32>,
    /// Octets of a record taken at most, where level 2 of segmentation is in force.
    pub max_record_size: Option<u32>,
    /// Octets of a Segment taken at most, where level 2 of segmentation is in force.
    pub max_segment_size: Option<u32>,
    /// Whatever else the server is to know.
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
    /// The request for `count` records from position `start`, 1-based.
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

/// The records a server presented; fewer than asked for when `status` is one of the partial ones.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PresentResult {
    /// Records, or the diagnostics in their places, from the first position asked for on.
    pub records: Vec<ResultRecord>,
    /// Whether all came.
    pub status: PresentStatus,
    /// The first position not returned, as the server says.
    pub next_position: i64,
    /// Non-surrogate diagnostics; empty, since they and records exclude each other.
    pub diagnostics: Diagnostics,
    /// Whatever else the server added.
    pub other_info: Option<OtherInformation>,
}

/// Sends `request`; a failure status, or a diagnostic instead of any record, is [`Error::Refused`].
pub(crate) async fn present(
    session: &Session,
    request: PresentRequest,
) -> Result<PresentResult, Error> {
    let response = match session.ask(request.into()).await? {
        Apdu::PresentResponse(response) => *response,
        other => return Err(super::unexpected(Phase::Present, &other)),
    };
    let (records, diagnostics) = records::sort(response.records.0);
    let failed = response.present_status == PresentStatus::FAILURE;
    if records.is_empty() && (failed || !diagnostics.is_empty()) {
        return Err(Error::Refused {
            phase: Phase::Present,
            diagnostics,
        });
    }
    Ok(PresentResult {
        records,
        status: response.present_status,
        next_position: response.next_result_set_position,
        diagnostics,
        other_info: response.other_info,
    })
}

/// `numberOfRecordsReturned` must fit the records, and these the request.
pub(super) fn examine(
    request: &PresentRequest,
    response: &PresentResponse,
) -> Result<(), ProtocolFault> {
    let came = records::count(
        response.records.as_ref(),
        response.number_of_records_returned,
    )?;
    let further = request
        .additional_ranges
        .iter()
        .flatten()
        .map(|range| range.number_of_records);
    let asked = further.fold(request.number_of_records_requested, i64::saturating_add);
    if i64::try_from(came).is_ok_and(|came| came > asked.max(0)) {
        return Err(ProtocolFault::MoreRecordsThanAsked { asked, came });
    }
    Ok(())
}
