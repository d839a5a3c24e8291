//! Composes answers from recorded records: packs as many as fit into the message size, and sets the status if some do not fit
//! (Z39.50-2003 §3.2.2.1.8, §3.3).

use std::io;

use z3950_asn1::apdu::{
    Apdu, NamePlusRecord, PresentResponse, PresentStatus, Record, Records, SearchResponse,
};
use z3950_asn1::codec;

use super::lines::RecordedOctets;
use super::replay::RecordPlace;
use crate::diagnostic::Diagnostic;

/// As many recorded records as fit into a message, in order.
pub(super) struct Composed(pub(super) Vec<NamePlusRecord>);

impl Composed {
    /// Reads as many records as fit into a message of `most` octets; 0 means no limit. The first record is always read.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub(super) fn read(
        source: &RecordedOctets,
        places: &[RecordPlace],
        most: usize,
    ) -> io::Result<Self> {
        let mut records = Vec::new();
        let mut octets = 0_usize;
        // Most successive records come from the same APDU, so the last APDU is kept in decoded form.
        let mut open = None;
        for place in places {
            if open.as_ref().is_none_or(|(at, _)| *at != place.apdu) {
                let apdu = codec::decode(&source.octets(place.apdu)?).map_err(io::Error::other)?;
                open = Some((place.apdu, records_of(apdu)));
            }
            let list = open.as_ref().map(|(_, list)| list);
            let index = usize::try_from(place.index).unwrap_or(usize::MAX);
            let Some(record) = list.and_then(|list| list.get(index)) else {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a record is gone",
                ));
            };
            octets = octets.saturating_add(size(record));
            if most > 0 && octets > most && !records.is_empty() {
                break;
            }
            records.push(record.clone());
        }
        Ok(Self(records))
    }
}

/// Returns the answer to a Present that requests `asked` records; `next` is the nextResultSetPosition to report.
pub(super) fn present(composed: Composed, asked: usize, next: i64) -> PresentResponse {
    let Composed(records) = composed;
    PresentResponse {
        number_of_records_returned: number(records.len()),
        next_result_set_position: next,
        present_status: status(records.len(), asked),
        records: Some(Records::ResponseRecords(records)).into(),
        ..PresentResponse::default()
    }
}

/// Adds records to the answer to a Search that requests this number of records.
pub(super) fn piggyback(
    response: &mut SearchResponse,
    composed: Composed,
    asked: usize,
    next: i64,
) {
    let Composed(records) = composed;
    response.number_of_records_returned = number(records.len());
    response.next_result_set_position = next;
    response.present_status = (asked > 0).then(|| status(records.len(), asked));
    response.records = (asked > 0)
        .then_some(Records::ResponseRecords(records))
        .into();
}

/// Changes the answer so that the search succeeds, but the records are replaced by a diagnostic.
pub(super) fn without_records(response: &mut SearchResponse, why: Diagnostic) {
    response.number_of_records_returned = 0;
    response.next_result_set_position = 1;
    response.present_status = Some(PresentStatus::FAILURE);
    response.records = Some(Records::NonSurrogateDiagnostic(why)).into();
}

/// Returns the status of the records. If fewer records are returned than were requested, the status says that the others did not
/// fit.
fn status(returned: usize, asked: usize) -> PresentStatus {
    if returned < asked {
        PresentStatus::PARTIAL_2
    } else {
        PresentStatus::SUCCESS
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn records_of(apdu: Apdu) -> Vec<NamePlusRecord> {
    let records = match apdu {
        Apdu::SearchResponse(search) => search.records.0,
        Apdu::PresentResponse(present) => present.records.0,
        Apdu::Segment(segment) => return segment.segment_records,
        _ => None,
    };
    match records {
        Some(Records::ResponseRecords(records)) => records,
        _ => Vec::new(),
    }
}

/// Returns the approximate size of a record in a message, in octets.
fn size(record: &NamePlusRecord) -> usize {
    const WRAPPING: usize = 64;
    let contents = match &record.record {
        Record::RetrievalRecord(external) => external.octets().len(),
        _ => 0,
    };
    contents.saturating_add(WRAPPING)
}
