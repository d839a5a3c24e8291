//! Records in answers of the own index.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use super::document::RECORD;
use super::leaf::{Answer, Plan};
use crate::engine::answer::{AskError, Hit};
use crate::engine::elastic;
use crate::engine::records::HeldRecord;

/// Reads the answer to a plan.
///
/// # Errors
/// See [`AskError`].
pub(super) fn read(plan: &Plan<'_>, answer: &Value) -> Result<Answer, AskError> {
    elastic::read(plan, answer, |found| hit(plan, found))
}

/// Reads a record. Another program may have put it there: then it is damaged or has no number, and the others are as good as without it.
fn hit(plan: &Plan<'_>, hit: &Value) -> Option<Hit<u64>> {
    let place = hit.get("sort")?;
    let number = place.as_array()?.last().and_then(Value::as_u64);
    let record = hit.get("_source").and_then(|source| source.get(RECORD));
    Some(Hit {
        id: number.unwrap_or(NO_NUMBER),
        record: record.map(|record| HeldRecord::Iso2709(octets_of(record))),
        // Hits in the order of numbers are found by their number.
        place: if plan.order.is_empty() {
            String::new()
        } else {
            place.to_string()
        },
    })
}

/// The number of a record without one: the last number of the engine.
pub(super) const NO_NUMBER: u64 = u64::MAX >> 1;

/// Returns the octets of a record in base64; none of them if it is damaged.
fn octets_of(record: &Value) -> Bytes {
    let octets = record.as_str().and_then(|text| STANDARD.decode(text).ok());
    octets.unwrap_or_default().into()
}
