//! Checks of message sizes and segmentation (Z39.50-2003 §3.3).

use z3950_asn1::apdu::{
    Apdu, FragmentSyntax, NamePlusRecord, Options, PresentRequest, PresentResponse, PresentStatus,
    Record,
};

use crate::server::answers::{Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::trial::{Received, Trial};
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

const SIZES: &str = "Z39.50-2003 §3.3";

pub(super) const CHECKS: &[Check] = checks! {
    "size.preferred" Shall SIZES:
        "The records of an answer are not larger than preferredMessageSize, unless there is only one."
        => preferred;
    "size.preferred.status" Shall "Z39.50-2003 §3.2.3.1.8":
        "If fewer records came because of their sizes, presentStatus does not say success."
        => preferred_status;
    "size.preferred.rest" Practice "practice: clients ask again for the rest":
        "Records that did not fit into an answer come when they are asked for."
        => rest;
    "size.exceptional" Shall "Z39.50-2003 §3.3.1":
        "A single record above preferredMessageSize comes if exceptionalRecordSize allows it."
        => exceptional;
    "size.record-too-large" Shall "Z39.50-2003 §3.3.1":
        "A record above exceptionalRecordSize does not come, but a diagnostic does."
        => too_large;
    "size.record-too-large.code" Should "Bib-1 diagnostics 16, 17":
        "A record above exceptionalRecordSize is refused with 16 or 17."
        => too_large_code;
    "segments.not-granted" Shall "Z39.50-2003 §3.3":
        "Without segmentation, an answer is one APDU."
        => not_granted;
    "segments.level-1" Shall "Z39.50-2003 §3.3.2":
        "With segmentation of level 1, all records come, in segments of whole records."
        => level_1;
    "segments.level-1.count" Shall "Z39.50-2003 §3.2.3.2":
        "A segment says how many records it has."
        => level_1_count;
    "segments.level-1.total" Shall "Z39.50-2003 §3.2.3.1.7":
        "numberOfRecordsReturned of a segmented answer counts the records of all segments."
        => level_1_total;
    "segments.level-2" Shall "Z39.50-2003 §3.3.3":
        "With segmentation of level 2, the fragments of a large record are the record."
        => level_2;
    "segments.max-count" Shall "Z39.50-2003 §3.2.3.1.4":
        "No more segments come than maxSegmentCount allows."
        => max_count;
    "segments.reference-id" Shall "Z39.50-2003 §3.4":
        "Segments carry the referenceId of the request."
        => reference_id;
};

/// The maximum number of segments that are read from an answer.
const MAX_SEGMENTS: usize = 1000;
/// The number of octets allowed for a record in an APDU in addition to the octets of the record itself.
const ROOM: usize = 64;

/// Returns the sizes of the first records in octets, taken from an answer without size limits.
async fn record_sizes(trial: &mut Trial, number: i64) -> Checked<Vec<usize>> {
    let hits = trial.hits(number).await?;
    let response = trial
        .ask(request(trial, hits.min(number.max(3))))
        .await
        .given()?;
    let sizes = response.records().iter().map(|one| match &one.record {
        Record::RetrievalRecord(external) => external.octets().len(),
        _ => 0,
    });
    let sizes: Vec<usize> = sizes.collect();
    let count = i64::try_from(sizes.len()).unwrap_or(0);
    if count >= number && !sizes.contains(&0) {
        Ok(sizes)
    } else {
        Err(Verdict::not_judged(format!(
            "needs {} in one answer",
            counted(number, "record")
        )))
    }
}

/// Returns a Present for the first records in the most common syntax that the server offers.
fn request(trial: &Trial, number: i64) -> PresentRequest {
    trial.present(1, number)
}

/// Opens a session with these message sizes and additional options. Ends the check if the server does not agree to the sizes.
async fn sized(trial: &mut Trial, preferred: usize, exceptional: usize, more: Options) -> Checked {
    let as_sent = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
    let mut init = trial.base_init();
    init.preferred_message_size = as_sent(preferred);
    init.exceptional_record_size = as_sent(exceptional);
    init.options = init.options.union(more);
    let response = trial.session_with(init).await?;
    let agreed = (
        response.preferred_message_size,
        response.exceptional_record_size,
    );
    if agreed == (as_sent(preferred), as_sent(exceptional)) {
        Ok(())
    } else {
        let (preferred, exceptional) = agreed;
        let reason = format!("the server insists on sizes of {preferred} and {exceptional} octets");
        Err(Verdict::not_judged(reason))
    }
}

/// Requests records in a session whose preferred message size is one octet less than their total size. Returns the answer, and
/// the sizes of the records.
async fn short(trial: &mut Trial) -> Checked<(PresentResponse, Vec<usize>)> {
    let sizes = record_sizes(trial, 2).await?;
    let fits: usize = sizes.iter().sum::<usize>() - 1;
    let largest = sizes.iter().max().copied().unwrap_or(0) + ROOM;
    sized(trial, fits, fits.max(largest), Options::default()).await?;
    trial.hits(1).await?;
    let number = i64::try_from(sizes.len()).unwrap_or(0);
    let response = trial.ask(request(trial, number)).await?;
    Ok((response, sizes))
}

fn octets(response: &PresentResponse) -> usize {
    let octets = response.records().iter().map(|one| match &one.record {
        Record::RetrievalRecord(external) => external.octets().len(),
        _ => 0,
    });
    octets.sum()
}

async fn preferred(trial: &mut Trial) -> Checked {
    let (response, sizes) = short(trial).await?;
    let most = sizes.iter().sum::<usize>() - 1;
    let total = octets(&response);
    want(
        total <= most || response.records().len() == 1,
        format!("records of {} at most", counted(most, "octet")),
        || counted(total, "octet"),
    )
}

async fn preferred_status(trial: &mut Trial) -> Checked {
    let (response, sizes) = short(trial).await?;
    if response.records().len() == sizes.len() && response.surrogates().is_empty() {
        return Err(Verdict::not_judged("all records came"));
    }
    let is_honest =
        response.present_status != PresentStatus::SUCCESS || !response.surrogates().is_empty();
    want(is_honest, "a partial presentStatus", || response.summary())
}

async fn rest(trial: &mut Trial) -> Checked {
    let (response, sizes) = short(trial).await.given()?;
    let came = response.records().len() - response.surrogates().len();
    if came == sizes.len() || came == 0 {
        return Err(Verdict::not_judged("not a part of the records came"));
    }
    let next = i64::try_from(came).unwrap_or(0) + 1;
    let mut request = request(trial, 1);
    request.result_set_start_point = next;
    trial.ask(request).await?.first_record().map(drop)
}

async fn exceptional(trial: &mut Trial) -> Checked {
    let sizes = record_sizes(trial, 1).await?;
    let first = sizes.first().copied().unwrap_or(0);
    sized(trial, first / 2, first + ROOM, Options::default()).await?;
    trial.hits(1).await?;
    let response = trial.ask(request(trial, 1)).await?;
    response.first_record().map(drop)
}

/// Requests the first record in a session whose maximum record size is half the size of this record. Returns the answer.
async fn half(trial: &mut Trial) -> Checked<PresentResponse> {
    let sizes = record_sizes(trial, 1).await?;
    let first = sizes.first().copied().unwrap_or(0);
    sized(trial, first / 2, first / 2, Options::default()).await?;
    trial.hits(1).await?;
    trial.ask(request(trial, 1)).await
}

async fn too_large(trial: &mut Trial) -> Checked {
    let response = half(trial).await?;
    if response.surrogates().is_empty() {
        response.refused()
    } else {
        Ok(())
    }
}

async fn too_large_code(trial: &mut Trial) -> Checked {
    let response = half(trial).await?;
    if response.first_record().is_ok() {
        return Err(Verdict::not_judged("the record came"));
    }
    let found = response.all_diagnostics();
    let holds = found.iter().any(|one| matches!(one.condition, 16 | 17));
    want(holds, "diagnostic 16 or 17", || response.summary())
}

async fn not_granted(trial: &mut Trial) -> Checked {
    let (response, _) = short(trial).await?;
    response.counted()
}

/// A segmented answer.
struct Segmented {
    /// The segments before the presentResponse. Each is represented by the number of records that it states, and the records
    /// themselves.
    segments: Vec<(i64, Vec<NamePlusRecord>)>,
    /// Whether all segments have the referenceId of the request.
    is_referenced: bool,
    response: PresentResponse,
}

impl Segmented {
    /// Returns all records and fragments, in order.
    fn records(&self) -> impl Iterator<Item = &NamePlusRecord> {
        let of_segments = self.segments.iter().flat_map(|(_, records)| records);
        of_segments.chain(self.response.records())
    }
}

/// Requests records in a session with segmentation, and reads all parts of the answer.
async fn segmented(
    trial: &mut Trial,
    level: Options,
    fraction: usize,
    count: Option<i64>,
) -> Checked<Segmented> {
    let sizes = record_sizes(trial, if fraction == 1 { 2 } else { 1 }).await?;
    let largest = sizes.iter().max().copied().unwrap_or(0);
    let room = if fraction == 1 { ROOM } else { 0 };
    let size = (largest / fraction + room).max(1);
    sized(trial, size, largest + ROOM, level).await?;
    trial.needs(level)?;
    trial.hits(1).await?;
    let number = i64::try_from(sizes.len()).unwrap_or(0);
    let mut request = request(trial, number);
    request.max_segment_count = count;
    request.reference_id = crate::server::requests::id(b"segments");
    let wanted = request.reference_id.clone();
    trial.send(&request.into()).await?;
    let mut segments = Vec::new();
    let mut is_referenced = true;
    loop {
        match trial.receive().await {
            Received::Apdu(apdu) => match *apdu {
                Apdu::Segment(segment) if segments.len() < MAX_SEGMENTS => {
                    is_referenced &= segment.reference_id == wanted;
                    segments.push((segment.number_of_records_returned, segment.segment_records));
                }
                Apdu::PresentResponse(response) => {
                    return Ok(Segmented {
                        segments,
                        is_referenced: is_referenced && response.reference_id == wanted,
                        response: *response,
                    });
                }
                other => {
                    let came = Received::Apdu(Box::new(other)).to_string();
                    return Err(Verdict::fail("segments and a presentResponse", came));
                }
            },
            other => {
                return Err(Verdict::fail(
                    "segments and a presentResponse",
                    other.to_string(),
                ));
            }
        }
    }
}

/// Checks that segmentation of level 1 returns complete records, and that it returns all requested records.
async fn level_1(trial: &mut Trial) -> Checked {
    let answer = segmented(trial, Options::SEGMENTATION_1, 1, None).await?;
    answer.response.reaction()?;
    let is_whole = |one: &NamePlusRecord| {
        matches!(
            one.record,
            Record::RetrievalRecord(_) | Record::SurrogateDiagnostic(_)
        )
    };
    want(answer.records().all(is_whole), "whole records", || {
        "fragments".to_owned()
    })?;
    let came = i64::try_from(answer.records().count()).unwrap_or(0);
    let asked = trial.offer.hits.min(3);
    want(came == asked, counted(asked, "record"), || {
        counted(came, "record")
    })
}

async fn level_1_count(trial: &mut Trial) -> Checked {
    let answer = segmented(trial, Options::SEGMENTATION_1, 1, None).await?;
    if answer.segments.is_empty() {
        return Err(Verdict::not_judged("the answer had no segment"));
    }
    for (said, records) in &answer.segments {
        let holds = usize::try_from(*said) == Ok(records.len());
        want(
            holds,
            format!("a segment that says {}", counted(records.len(), "record")),
            || said.to_string(),
        )?;
    }
    Ok(())
}

async fn level_1_total(trial: &mut Trial) -> Checked {
    let answer = segmented(trial, Options::SEGMENTATION_1, 1, None).await?;
    let total = answer.records().count();
    let said = answer.response.number_of_records_returned;
    want(
        usize::try_from(said) == Ok(total),
        format!("numberOfRecordsReturned {total}"),
        || said.to_string(),
    )
}

async fn level_2(trial: &mut Trial) -> Checked {
    let whole = {
        trial.hits(1).await?;
        let response = trial.ask(request(trial, 1)).await.given()?;
        response.first_record().given()?.octets().to_vec()
    };
    let answer = segmented(trial, Options::SEGMENTATION_2, 2, None).await?;
    let mut joined: Vec<u8> = Vec::new();
    for one in answer.records() {
        match &one.record {
            Record::RetrievalRecord(external) => {
                joined = external.octets().to_vec();
                break;
            }
            Record::SurrogateDiagnostic(_) => break,
            Record::StartingFragment(fragment) | Record::IntermediateFragment(fragment) => {
                joined.extend(fragment_octets(fragment));
            }
            Record::FinalFragment(fragment) => {
                joined.extend(fragment_octets(fragment));
                break;
            }
        }
    }
    want(
        joined == whole,
        format!("fragments of {} in all", counted(whole.len(), "octet")),
        || format!("{}, or others", counted(joined.len(), "octet")),
    )
}

fn fragment_octets(fragment: &FragmentSyntax) -> &[u8] {
    match fragment {
        FragmentSyntax::ExternallyTagged(external) => external.octets(),
        FragmentSyntax::NotExternallyTagged(octets) => octets,
    }
}

async fn max_count(trial: &mut Trial) -> Checked {
    let answer = segmented(trial, Options::SEGMENTATION_1, 1, Some(1)).await?;
    let segments = answer.segments.len();
    // The presentResponse counts as a segment, so no other segment is allowed if the limit is one segment.
    want(segments == 0, "one segment, the presentResponse", || {
        format!("{segments} before it")
    })
}

async fn reference_id(trial: &mut Trial) -> Checked {
    let answer = segmented(trial, Options::SEGMENTATION_1, 1, None).await?;
    want(answer.is_referenced, "the referenceId in all parts", || {
        "parts without it".to_owned()
    })
}
