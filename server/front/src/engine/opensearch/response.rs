//! Answers of OpenSearch, and what its failures mean to a client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::{Diagnostic, diagnostic};

use super::document::RECORD;
use super::link::Failure;
use super::request::{COUNTS, TERMS, facet_name};
use crate::engine::answer::{EngineAnswer, FacetCounts, Hit};
use crate::engine::plan::Plan;

/// Why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AnswerError {
    /// The request has no answer.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// The answer has another form than expected.
    #[error("an answer without {0}")]
    Malformed(&'static str),
    /// A part of the query has too many words for a shard, and may have found more in others.
    #[error("{0}")]
    TooComplex(String),
}

/// Reads the answer to a plan.
///
/// # Errors
/// See [`AnswerError`].
pub(super) fn read(plan: &Plan<'_>, answer: &Value) -> Result<EngineAnswer, AnswerError> {
    let missing = missing(answer)?;
    let total = answer.pointer("/hits/total");
    let number = |value: Option<&Value>| value.and_then(number);
    let hits = answer.pointer("/hits/hits").and_then(Value::as_array);
    let hits = hits.ok_or(AnswerError::Malformed("hits"))?;
    let index_of = |hit: &Value| hit.get("_index").and_then(Value::as_str).map(str::to_owned);
    let index = hits.first().and_then(index_of);
    if hits.iter().any(|hit| index_of(hit) != index) {
        return Err(AnswerError::Malformed("records of one index"));
    }
    let aggregation = |name: &str| answer.pointer(&format!("/aggregations/{name}"));
    let facets = plan.facets.iter().enumerate().map(|(place, _)| {
        let counted = aggregation(&facet_name(place));
        counted.and_then(facet).unwrap_or_default()
    });
    let counts = if plan.counts.is_empty() {
        Vec::new()
    } else {
        let buckets = aggregation(&format!("{COUNTS}/{COUNTS}/buckets"));
        let buckets = buckets.and_then(Value::as_array);
        let buckets = buckets.ok_or(AnswerError::Malformed("counts"))?;
        let counts = buckets.iter().map(|bucket| number(bucket.get("doc_count")));
        let counts: Option<Vec<_>> = counts.collect();
        counts.ok_or(AnswerError::Malformed("counts"))?
    };
    Ok(EngineAnswer {
        total: number(total.and_then(|total| total.get("value"))).unwrap_or_default(),
        is_exact: total.and_then(|total| total.get("relation")) == Some(&Value::from("eq")),
        missing,
        hits: hits.iter().map(hit).collect::<Result<_, _>>()?,
        index,
        facets: facets.collect(),
        counts,
    })
}

/// A number of records.
fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// Reads a record. Another program may have put it there: then it is damaged or has no number, and the others are as good as without it.
fn hit(hit: &Value) -> Result<Hit, AnswerError> {
    let malformed = || AnswerError::Malformed("records in an order");
    let place = hit.get("sort").ok_or_else(malformed)?;
    let values = place.as_array().ok_or_else(malformed)?;
    let number = values.last().and_then(Value::as_u64);
    let record = hit.get("_source").and_then(|source| source.get(RECORD));
    Ok(Hit {
        number: number.unwrap_or(NO_NUMBER),
        record: record.map(octets_of),
        place: place.to_string(),
    })
}

/// The number of a record without one: the last number of the engine.
const NO_NUMBER: u64 = u64::MAX >> 1;

/// Returns the octets of a record in base64; none of them if it is damaged.
fn octets_of(record: &Value) -> Bytes {
    let octets = record.as_str().and_then(|text| STANDARD.decode(text).ok());
    octets.unwrap_or_default().into()
}

fn facet(counted: &Value) -> Option<FacetCounts> {
    let terms = counted.get("buckets")?.as_array()?.iter().map(|bucket| {
        let term = bucket.get("key")?.as_str()?;
        Some((term.to_owned(), number(bucket.get("doc_count")?)?))
    });
    let error = counted.get("doc_count_error_upper_bound");
    Some(FacetCounts {
        terms: terms.collect::<Option<_>>()?,
        is_estimate: error
            .and_then(Value::as_i64)
            .is_some_and(|error| error != 0),
    })
}

/// Terms of an index, each with its number of records, and why some may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadTerms {
    pub(super) terms: Vec<(String, usize)>,
    pub(super) missing: Option<String>,
}

/// Reads the terms of an index.
///
/// # Errors
/// See [`AnswerError`].
pub(super) fn terms(answer: &Value) -> Result<ReadTerms, AnswerError> {
    let missing = missing(answer)?;
    let buckets = answer.pointer(&format!("/aggregations/{TERMS}/buckets"));
    let buckets = buckets.and_then(Value::as_array);
    let terms = buckets.into_iter().flatten().map(|bucket| {
        let term = bucket.get("key")?.get(TERMS)?.as_str()?;
        Some((term.to_owned(), number(bucket.get("doc_count")?)?))
    });
    let terms: Option<Vec<_>> = terms.collect();
    Ok(ReadTerms {
        // Without any shard, there are none.
        terms: terms.ok_or(AnswerError::Malformed("terms"))?,
        missing,
    })
}

/// Returns why records may be missing from an answer; `None` if all shards answered.
fn missing(answer: &Value) -> Result<Option<String>, AnswerError> {
    let shards = answer.get("_shards");
    let shards = shards.ok_or(AnswerError::Malformed("_shards"))?;
    let count = |name: &str| shards.get(name).and_then(Value::as_u64);
    let (total, successful, failed) = (count("total"), count("successful"), count("failed"));
    let is_late = answer.get("timed_out") == Some(&Value::Bool(true));
    let reason = shards.pointer("/failures/0/reason/reason");
    let reason = reason.and_then(Value::as_str).unwrap_or_default();
    if is_too_complex(reason) {
        return Err(AnswerError::TooComplex(words(reason)));
    }
    let (Some(total), Some(successful)) = (total, successful) else {
        return Err(AnswerError::Malformed("_shards"));
    };
    let lost = total.saturating_sub(successful).max(failed.unwrap_or(0));
    Ok(if lost > 0 {
        Some(format!(
            "{lost} of {total} parts of the index do not answer"
        ))
    } else if is_late {
        Some("the search took too long".to_owned())
    } else {
        None
    })
}

/// The most characters of the engine's words in a message.
const MOST_WORDS: usize = 200;

fn words(reason: &str) -> String {
    let text = reason.chars().take(MOST_WORDS);
    text.map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Returns whether the engine refuses a query that is expanded to too many clauses.
fn is_too_complex(reason: &str) -> bool {
    [
        "maxClauseCount",
        "too_many_clauses",
        "too_many_nested_clauses",
    ]
    .iter()
    .any(|words| reason.contains(words))
}

/// Returns what a failure means to a client; none of the engine's words are a part of it.
pub(super) fn diagnostic_of(error: &AnswerError) -> Diagnostic {
    let too_complex = || {
        let words = "the query stands for too many words";
        diagnostic(Condition::RESOURCES_EXHAUSTED, words)
    };
    let unavailable = |words: &str| diagnostic(Condition::DATABASE_UNAVAILABLE, words);
    match error {
        AnswerError::TooComplex(_) => too_complex(),
        AnswerError::Malformed(_) => unavailable("the answer of the search engine is malformed"),
        AnswerError::Failed(failure) => match failure {
            Failure::Refused { kind, reason, .. } => {
                if is_too_complex(kind) || is_too_complex(reason) {
                    too_complex()
                } else if reason.contains("would require more than") {
                    diagnostic(Condition::TRUNCATED_TOO_SHORT, "")
                } else {
                    unavailable("the search engine refuses the request")
                }
            }
            Failure::TooBusy { .. } | Failure::Busy { .. } => {
                unavailable("the search engine has too much to do")
            }
            Failure::NoShard { .. } => unavailable("no part of the index answers"),
            Failure::ClosedWithoutAnswer { .. } => {
                unavailable("the search engine closed the connection")
            }
            Failure::Late { .. } => unavailable("the search engine did not answer in time"),
            Failure::TooLarge { .. } => unavailable("the answer of the search engine is too long"),
            _ => unavailable("the search engine cannot be reached"),
        },
    }
}
