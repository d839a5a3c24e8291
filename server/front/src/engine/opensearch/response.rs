//! Answers of OpenSearch, and what its failures mean to a client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;
use z3950_server::asn1::bib1::diagnostics::Condition;
use z3950_server::{Diagnostic, diagnostic};

use super::document::RECORD;
use super::leaf::{Answer, Plan};
use super::request::{COUNTS, TERMS, facet_name};
use crate::engine::answer::Hit;
use crate::engine::elastic::{self, ReadError, ReadTerms, is_too_complex};
use crate::engine::link::Failure;

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

impl From<ReadError> for AnswerError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Malformed(what) => Self::Malformed(what),
            ReadError::TooComplex(words) => Self::TooComplex(words),
        }
    }
}

/// Reads the answer to a plan.
///
/// # Errors
/// See [`AnswerError`].
pub(super) fn read(plan: &Plan<'_>, answer: &Value) -> Result<Answer, AnswerError> {
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
        hits: hits.iter().map(hit).collect::<Result<_, _>>()?,
        index,
        facets: facets.collect(),
        counts,
    })
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

/// Reads the terms of an index.
///
/// # Errors
/// See [`AnswerError`].
pub(super) fn terms(answer: &Value) -> Result<ReadTerms, AnswerError> {
    Ok(elastic::terms(TERMS, answer)?)
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
            Failure::NoShard { .. } => unavailable("parts of the index do not answer"),
            Failure::ClosedWithoutAnswer { .. } => {
                unavailable("the search engine closed the connection")
            }
            Failure::Late { .. } => unavailable("the search engine did not answer in time"),
            Failure::TooLarge { .. } => unavailable("the answer of the search engine is too long"),
            _ => unavailable("the search engine cannot be reached"),
        },
    }
}
