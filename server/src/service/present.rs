//! Present and Segment (Z39.50-2003 §3.2.3, §3.3): sends records from a result set, from one or more ranges, in one response or
//! in several segments.

use z3950_asn1::apdu::{Apdu, Options, PresentRequest, PresentResponse, Range, Records, Segment};

use super::records::{self, Packed, Sizes, listed, most_records, pack};
use crate::association::{Association, Operation};
use crate::backend::{Hits, RecordId};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::units::count;

/// Answers a Present with records from a result set.
///
/// # Errors
/// The diagnostic for a failed response.
pub(super) async fn answer(
    operation: &Operation,
    request: &PresentRequest,
) -> Result<Vec<Apdu>, Diagnostic> {
    let (packed, next) = present(operation, request).await?;
    operation.usage().records += packed.records;
    Ok(responses(packed, next))
}

/// Returns the segments and the response. The number of records in the response includes the records in the segments.
fn responses(packed: Packed, next: i64) -> Vec<Apdu> {
    let other_info = packed.other_info();
    let segments = packed.segments.into_iter().map(|records| {
        Apdu::from(Segment {
            number_of_records_returned: count(records.len()),
            segment_records: records,
            ..Segment::default()
        })
    });
    let response = PresentResponse {
        number_of_records_returned: count(packed.records),
        next_result_set_position: next,
        present_status: packed.status,
        records: Records::ResponseRecords(packed.last).into(),
        other_info,
        ..PresentResponse::default()
    };
    segments.chain([response.into()]).collect()
}

/// Returns the packed records, and the position after the last record.
async fn present(
    operation: &Operation,
    request: &PresentRequest,
) -> Result<(Packed, i64), Diagnostic> {
    let name = request.result_set_id.0.as_bytes();
    let set = operation.result_sets().look_up(name)?;
    let first = Range {
        starting_position: request.result_set_start_point,
        number_of_records: request.number_of_records_requested,
    };
    let ranges = || std::iter::once(&first).chain(request.additional_ranges.iter().flatten());
    for range in ranges() {
        positions(set.hits.len(), range)?;
    }
    let composition = records::of_present(
        &*set.backend,
        operation.target.offer.strict_element_sets,
        request.preferred_record_syntax,
        request.record_composition.as_ref(),
    )?;
    let wanted = wanted(&set.hits, ranges(), most_records(operation))?;
    let sizes = sizes(operation, request)?;
    let packed = pack(operation, &set, wanted, &composition, &sizes).await?;
    let next = position_behind(ranges(), count(packed.records));
    Ok((packed, next))
}

/// Returns the sizes and number of segments. At level 1, records are complete; at level 2, they may be split into fragments, and
/// the request may limit the sizes of segments and records.
///
/// # Errors
/// Fails with condition 242 if the requested segment size is too small; the diagnostic contains the minimum size.
fn sizes(association: &Association, request: &PresentRequest) -> Result<Sizes, Diagnostic> {
    let natural = |number: Option<i64>| number.and_then(|number| usize::try_from(number).ok());
    let whole = Sizes::of(association);
    let agreed = |option| association.terms.options.contains(option);
    let fragments = agreed(Options::SEGMENTATION_2);
    let none = !fragments && !agreed(Options::SEGMENTATION_1);
    if none || association.terms.version < 3 {
        return Ok(whole);
    }
    let most = association.target.limits.segments.max(1);
    let segments = natural(request.max_segment_count).map_or(most, |count| count.clamp(1, most));
    if !fragments {
        return Ok(Sizes { segments, ..whole });
    }
    let segment =
        natural(request.max_segment_size).map_or(whole.segment, |size| size.min(whole.segment));
    if segment < LEAST_SEGMENT && segments > 1 {
        let least = LEAST_SEGMENT.to_string();
        return Err(diagnostic(Condition::SEGMENT_TOO_SMALL, least));
    }
    Ok(Sizes {
        segment,
        segments,
        record: natural(request.max_record_size)
            .map_or(whole.record, |size| size.min(whole.record)),
        fragments: segments > 1,
    })
}

/// The minimum size of a segment, in octets of records.
const LEAST_SEGMENT: usize = 64;

/// Returns the positions of a range, counted from 0.
///
/// # Errors
/// Fails with condition 13 if the range is not within the result set; the diagnostic contains the first position out of range. An
/// empty range is refused in the same way, because some clients cannot handle an answer that has neither records nor diagnostics.
fn positions(hits: usize, range: &Range) -> Result<std::ops::Range<usize>, Diagnostic> {
    let out_of_range = |position: i64| diagnostic(Condition::OUT_OF_RANGE, position.to_string());
    let start = range.starting_position;
    let (Ok(before), Ok(number @ 1..)) = (
        usize::try_from(start.saturating_sub(1)),
        usize::try_from(range.number_of_records),
    ) else {
        return Err(out_of_range(start));
    };
    let behind = before.saturating_add(number);
    if behind > hits {
        return Err(out_of_range(start.max(count(hits).saturating_add(1))));
    }
    Ok(before..behind)
}

/// Returns the records in the ranges, at most `most` of them.
///
/// # Errors
/// The same as for [`listed`].
fn wanted<'a>(
    hits: &Hits,
    ranges: impl Iterator<Item = &'a Range>,
    most: usize,
) -> Result<Vec<RecordId>, Diagnostic> {
    let mut wanted = Vec::new();
    for positions in ranges.flat_map(|range| positions(hits.len(), range)) {
        let room = most.saturating_sub(wanted.len());
        let end = positions.end.min(positions.start.saturating_add(room));
        wanted.extend(listed(hits, positions.start..end)?);
    }
    Ok(wanted)
}

/// Returns the position after the first `records` records in the ranges.
fn position_behind<'a>(ranges: impl Iterator<Item = &'a Range>, records: i64) -> i64 {
    let mut left = records;
    let mut next = 0;
    for range in ranges {
        let taken = left.min(range.number_of_records);
        if taken == 0 {
            break;
        }
        next = range.starting_position.saturating_add(taken);
        left -= taken;
    }
    next
}
