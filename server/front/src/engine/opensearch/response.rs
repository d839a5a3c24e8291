//! Parses records in responses from OpenSearch, for an index that `z3950d` itself creates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use super::document::RECORD;
use super::leaf::{Answer, Plan};
use crate::engine::answer::{AskError, Hit};
use crate::engine::elastic;
use crate::engine::records::HeldRecord;

/// Parses the answer to a plan.
///
/// # Errors
/// See [`AskError`].
pub(super) fn read(plan: &Plan<'_>, answer: &Value) -> Result<Answer, AskError> {
    elastic::read(plan, answer, |found| hit(plan, found))
}

/// Parses a record. If another program stored it, it may be damaged or lack a number; the remaining records are still
/// usable.
fn hit(plan: &Plan<'_>, hit: &Value) -> Option<Hit<u64>> {
    let place = hit.get("sort")?;
    let number = place.as_array()?.last().and_then(Value::as_u64);
    let record = hit.get("_source").and_then(|source| source.get(RECORD));
    Some(Hit {
        id: number.unwrap_or(NO_NUMBER),
        record: record.map(|record| HeldRecord::Iso2709(octets_of(record))),
        // Hits that are not sorted are in the order of their numbers, so the number of a hit alone determines its place.
        place: if plan.order.is_empty() {
            String::new()
        } else {
            place.to_string()
        },
    })
}

/// The number used in place of a missing one: the highest number that the engine supports.
pub(super) const NO_NUMBER: u64 = u64::MAX >> 1;

/// Decodes a record from base64. The result is empty if the record is damaged.
fn octets_of(record: &Value) -> Bytes {
    let octets = record.as_str().and_then(|text| STANDARD.decode(text).ok());
    octets.unwrap_or_default().into()
}
