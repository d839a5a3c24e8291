//! Writes requests in the language of OpenSearch and Elasticsearch, for any index, and interprets answers and failures.

pub(super) mod listing;
pub(super) mod request;

use serde_json::Value;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::diagnostic;

use super::answer::{AskError, EngineAnswer, FacetCounts, Hit};
use super::clause::Leaf;
use super::link::Failure;
use super::plan::Plan;

/// The name of the aggregation that counts clauses separately.
const COUNTS: &str = "counts";
/// The name of the aggregation that lists terms.
const TERMS: &str = "terms";

/// Returns the name of the aggregation that counts the facet at this index of a plan.
fn facet_name(place: usize) -> String {
    format!("facet-{place}")
}

/// The maximum number of octets in a record's place, and in a term in a facet or scan. Each of them has at most 8,000
/// octets before it is written as JSON.
pub(super) const TERM_OCTETS: usize = 50_000;
/// The maximum number of octets in an answer without records and terms.
pub(super) const ANSWER_OCTETS: usize = 64 * 1024;
/// The maximum number of octets in any answer.
pub(super) const MOST_ANSWER_OCTETS: usize = 64 << 20;

/// Returns the maximum number of octets in the answer to a plan; `record` is the maximum size of a record.
pub(super) fn limit<L: Leaf>(plan: &Plan<'_, L>, record: usize) -> usize {
    let of_row = if plan.page.with_records {
        record
    } else {
        ANSWER_OCTETS / 64
    };
    let keys = plan.order.len() * TERM_OCTETS;
    let terms: usize = plan.facets.iter().map(|facet| facet.most).sum();
    let limit = ANSWER_OCTETS
        + plan.page.rows.saturating_mul(of_row + keys)
        + terms.saturating_mul(TERM_OCTETS)
        + plan.counts.len() * 64;
    limit.min(MOST_ANSWER_OCTETS)
}

/// Returns the error for a failed request, which shows whether the query or the engine caused the failure.
pub(super) fn failed(failure: Failure) -> AskError {
    match failure {
        Failure::Refused { kind, reason, .. }
            if is_too_complex(&kind) || is_too_complex(&reason) =>
        {
            AskError::TooComplex(reason)
        }
        Failure::Refused { reason, .. } if reason.contains("would require more than") => {
            AskError::Refused(diagnostic(Condition::TRUNCATED_TOO_SHORT, ""))
        }
        other => AskError::Failed(other),
    }
}

/// Parses the answer to a plan. `hit` parses a record.
///
/// # Errors
/// See [`AskError`].
pub(super) fn read<L: Leaf>(
    plan: &Plan<'_, L>,
    answer: &Value,
    hit: impl Fn(&Value) -> Option<Hit<L::Id>>,
) -> Result<EngineAnswer<L::Id>, AskError> {
    let missing = missing(answer)?;
    let (hits, index) = hits(answer)?;
    let hits: Option<Vec<_>> = hits.iter().map(hit).collect();
    let aggregation = |name: &str| answer.pointer(&format!("/aggregations/{name}"));
    let facets = plan.facets.iter().enumerate().map(|(place, _)| {
        let counted = aggregation(&facet_name(place));
        counted.and_then(facet).unwrap_or_default()
    });
    let counts = if plan.counts.is_empty() {
        Vec::new()
    } else {
        counts(aggregation(&format!("{COUNTS}/{COUNTS}")))?
    };
    let (total, is_exact) = total(answer);
    Ok(EngineAnswer {
        total,
        is_exact,
        missing,
        hits: hits.ok_or(AskError::Malformed("records"))?,
        index,
        facets: facets.collect(),
        counts,
    })
}

/// Returns the reason why records may be missing from an answer; `None` if all shards answered.
///
/// # Errors
/// See [`AskError`].
pub(super) fn missing(answer: &Value) -> Result<Option<String>, AskError> {
    let shards = answer
        .get("_shards")
        .ok_or(AskError::Malformed("_shards"))?;
    let count = |name: &str| shards.get(name).and_then(Value::as_u64);
    let (total, successful, failed) = (count("total"), count("successful"), count("failed"));
    let is_late = answer.get("timed_out") == Some(&Value::Bool(true));
    let reason = shards
        .pointer("/failures/0/reason/reason")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if is_too_complex(reason) {
        return Err(AskError::TooComplex(words(reason)));
    }
    let (Some(total), Some(successful)) = (total, successful) else {
        return Err(AskError::Malformed("_shards"));
    };
    let lost = total.saturating_sub(successful).max(failed.unwrap_or(0));
    Ok(if lost > 0 {
        let verb = if lost == 1 { "does" } else { "do" };
        Some(format!(
            "{lost} of {total} parts of the index {verb} not answer"
        ))
    } else if is_late {
        Some("the search took too long".to_owned())
    } else {
        None
    })
}

/// Returns the records in an answer, and the index to which they belong; `None` if there are no records.
///
/// # Errors
/// Fails if the answer does not have records, or they belong to several indexes.
fn hits(answer: &Value) -> Result<(&[Value], Option<String>), AskError> {
    let hits = answer
        .pointer("/hits/hits")
        .and_then(Value::as_array)
        .ok_or(AskError::Malformed("hits"))?;
    let index_of = |hit: &Value| hit.get("_index").and_then(Value::as_str).map(str::to_owned);
    let index = hits.first().and_then(index_of);
    if hits.iter().any(|hit| index_of(hit) != index) {
        return Err(AskError::Malformed("records of one index"));
    }
    Ok((hits, index))
}

/// Returns the total in an answer, and whether it is exact.
pub(super) fn total(answer: &Value) -> (usize, bool) {
    let total = answer.pointer("/hits/total");
    // Before Elasticsearch 7, the total is a plain number, and always exact.
    if let Some(value) = total.and_then(number) {
        return (value, true);
    }
    let value = total.and_then(|total| total.get("value")).and_then(number);
    let is_exact = total.and_then(|total| total.get("relation")) == Some(&Value::from("eq"));
    (value.unwrap_or_default(), is_exact)
}

/// Returns the number of records for each filter in an aggregation.
///
/// # Errors
/// Fails if the aggregation is missing.
fn counts(aggregation: Option<&Value>) -> Result<Vec<usize>, AskError> {
    let buckets = aggregation
        .and_then(|aggregation| aggregation.get("buckets"))
        .and_then(Value::as_array);
    let malformed = || AskError::Malformed("counts");
    let buckets = buckets.ok_or_else(malformed)?.iter();
    let counts = buckets.map(|bucket| number(bucket.get("doc_count")?));
    counts.collect::<Option<_>>().ok_or_else(malformed)
}

/// Parses the terms of a facet.
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

/// Terms of a field, each with its number of records, and the reason why some may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadTerms {
    pub(super) terms: Vec<(String, usize)>,
    pub(super) missing: Option<String>,
}

impl ReadTerms {
    /// Adds terms that were read later.
    pub(super) fn add(&mut self, read: Self) {
        self.terms.extend(read.terms);
        self.missing = self.missing.take().or(read.missing);
    }
}

/// Parses the terms in a list.
///
/// # Errors
/// See [`AskError`].
pub(super) fn terms(answer: &Value) -> Result<ReadTerms, AskError> {
    let missing = missing(answer)?;
    let buckets = answer
        .pointer(&format!("/aggregations/{TERMS}/buckets"))
        .and_then(Value::as_array);
    let terms = buckets.into_iter().flatten().map(|bucket| {
        let term = bucket.get("key")?.get(TERMS)?.as_str()?;
        Some((term.to_owned(), number(bucket.get("doc_count")?)?))
    });
    let terms: Option<Vec<_>> = terms.collect();
    Ok(ReadTerms {
        // If no shard has answered, the list is present but empty, which is not an error.
        terms: terms.ok_or(AskError::Malformed("terms"))?,
        missing,
    })
}

/// Parses a number of records.
fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// The maximum number of characters that a message quotes from the engine.
const MOST_WORDS: usize = 200;

fn words(reason: &str) -> String {
    let text = reason.chars().take(MOST_WORDS);
    text.map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Returns whether the engine refuses a query because it expands to too many clauses.
fn is_too_complex(reason: &str) -> bool {
    [
        "maxClauseCount",
        "too_many_clauses",
        "too_many_nested_clauses",
    ]
    .iter()
    .any(|words| reason.contains(words))
}
