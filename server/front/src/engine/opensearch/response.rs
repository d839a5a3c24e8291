//! Answers of OpenSearch.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;

use super::document::RECORD;
use super::leaf::{Answer, Plan};
use super::request::{COUNTS, TERMS, facet_name};
use crate::engine::answer::{AskError, Hit};
use crate::engine::elastic::{self, ReadTerms};
use crate::engine::records::HeldRecord;

/// Reads the answer to a plan.
///
/// # Errors
/// See [`AskError`].
pub(super) fn read(plan: &Plan<'_>, answer: &Value) -> Result<Answer, AskError> {
    let missing = elastic::missing(answer)?;
    let (hits, index) = elastic::hits(answer)?;
    let aggregation = |name: &str| answer.pointer(&format!("/aggregations/{name}"));
    let facets = plan.facets.iter().enumerate().map(|(place, _)| {
        let counted = aggregation(&facet_name(place));
        counted.and_then(elastic::facet).unwrap_or_default()
    });
    let counts = if plan.counts.is_empty() {
        Vec::new()
    } else {
        elastic::counts(aggregation(&format!("{COUNTS}/{COUNTS}")))?
    };
    let (total, is_exact) = elastic::total(answer);
    Ok(Answer {
        total,
        is_exact,
        missing,
        hits: hits
            .iter()
            .map(|found| hit(plan, found))
            .collect::<Result<_, _>>()?,
        index,
        facets: facets.collect(),
        counts,
    })
}

/// Reads a record. Another program may have put it there: then it is damaged or has no number, and the others are as good as without it.
fn hit(plan: &Plan<'_>, hit: &Value) -> Result<Hit<u64>, AskError> {
    let malformed = || AskError::Malformed("records in an order");
    let place = hit.get("sort").ok_or_else(malformed)?;
    let values = place.as_array().ok_or_else(malformed)?;
    let number = values.last().and_then(Value::as_u64);
    let record = hit.get("_source").and_then(|source| source.get(RECORD));
    Ok(Hit {
        id: number.unwrap_or(NO_NUMBER),
        record: record.map(|record| HeldRecord::Iso2709(octets_of(record))),
        // Those in the order of numbers are found by them.
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

/// Reads the terms of an index.
///
/// # Errors
/// See [`AskError`].
pub(super) fn terms(answer: &Value) -> Result<ReadTerms, AskError> {
    elastic::terms(TERMS, answer)
}
