//! Present (Z39.50-2003 §3.2.3): records of a result set, from one range of positions or several.

use z3950_asn1::apdu::{Apdu, PresentRequest, PresentResponse, PresentStatus, Range, Records};
use z3950_asn1::bib1::diagnostics::Condition;

use super::composition::Composition;
use super::count;
use super::pack::{Packed, pack};
use crate::backend::RecordId;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::session::Association;

/// Answers with records, or with the diagnostic why there are none: never with neither.
pub(crate) fn answer(association: &Association, request: &PresentRequest) -> Apdu {
    let response = match present(association, request) {
        Ok((packed, next)) => PresentResponse {
            reference_id: None,
            number_of_records_returned: count(packed.records.len()),
            next_result_set_position: next,
            present_status: packed.status,
            records: Records::ResponseRecords(packed.records).into(),
            other_info: None,
        },
        Err(diagnostic) => PresentResponse {
            reference_id: None,
            number_of_records_returned: 0,
            next_result_set_position: 0,
            present_status: PresentStatus::FAILURE,
            records: Records::NonSurrogateDiagnostic(diagnostic).into(),
            other_info: None,
        },
    };
    response.into()
}

/// The records and the position behind the last of them.
fn present(
    association: &Association,
    request: &PresentRequest,
) -> Result<(Packed, i64), Diagnostic> {
    let name = request.result_set_id.0.as_bytes();
    let Some(hits) = association.result_sets.find(name) else {
        return Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name));
    };
    let first = Range {
        starting_position: request.result_set_start_point,
        number_of_records: request.number_of_records_requested,
    };
    let ranges = || std::iter::once(&first).chain(request.additional_ranges.iter().flatten());
    for range in ranges() {
        slice(hits, range)?;
    }
    let composition = Composition::of_present(
        &*association.backend,
        request.preferred_record_syntax,
        request.record_composition.as_ref(),
    )?;
    let wanted = ranges().flat_map(|range| slice(hits, range).unwrap_or_default());
    let packed = pack(association, wanted.copied(), &composition);
    let next = position_behind(ranges(), count(packed.records.len()));
    Ok((packed, next))
}

/// The hits of a range.
///
/// # Errors
/// Condition 13 with the first position that is not there. A range without any position is refused as well: to an answer
/// without records and diagnostics clients of the field add a fault of their own.
fn slice<'a>(hits: &'a [RecordId], range: &Range) -> Result<&'a [RecordId], Diagnostic> {
    let out_of_range = |position: i64| diagnostic(Condition::OUT_OF_RANGE, position.to_string());
    let start = range.starting_position;
    let (Ok(before), Ok(number @ 1..)) = (
        usize::try_from(start.saturating_sub(1)),
        usize::try_from(range.number_of_records),
    ) else {
        return Err(out_of_range(start));
    };
    let behind = before.saturating_add(number);
    let missing = || out_of_range(start.max(count(hits.len()).saturating_add(1)));
    hits.get(before..behind).ok_or_else(missing)
}

/// The position behind the last of so many records of the ranges.
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
