//! Parses answers from Solr, and determines the diagnostics for its failures.

use serde_json::Value;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::diagnostic;

use super::request::{facet_name, term_name};
use crate::engine::answer::FacetCounts;
use crate::engine::catalogue::offer::Offer;
use crate::engine::catalogue::plan::{Answer, AskError, CatalogueHit, FacetOf, Plan};
use crate::engine::link::Failure;
use crate::engine::records::HeldRecord;

/// Parts of Solr's error messages for a query with too many clauses.
const TOO_COMPLEX: [&str; 2] = ["maxClauseCount", "too many nested clauses"];
/// Parts of Solr's error messages for a mask that is too expensive.
const TOO_OPEN: [&str; 2] = ["input automaton is too large", "Determinizing automaton"];

/// Returns the error for a failed request, which shows whether the query or the engine caused the failure.
pub(super) fn failed(failure: Failure) -> AskError {
    let says = |reason: &str, words: &[&str]| words.iter().any(|words| reason.contains(words));
    match failure {
        Failure::Refused { reason, .. } if says(&reason, &TOO_COMPLEX) => {
            AskError::TooComplex(reason)
        }
        Failure::Refused { reason, .. } if says(&reason, &TOO_OPEN) => {
            AskError::Refused(diagnostic(Condition::TRUNCATED_TOO_SHORT, ""))
        }
        other => AskError::Failed(other),
    }
}

/// Returns the reason why records may be missing from an answer; `None` if it is complete.
pub(super) fn missing(answer: &Value) -> Option<String> {
    let header = answer.get("responseHeader")?;
    let words = "parts of the index do not answer, or took too long";
    match header.get("partialResults")? {
        Value::Null | Value::Bool(false) => None,
        _ => Some(words.to_owned()),
    }
}

/// Parses the answer to a plan, without its separate counts.
///
/// # Errors
/// See [`AskError`].
pub(super) fn read(offer: &Offer, plan: &Plan<'_>, answer: &Value) -> Result<Answer, AskError> {
    let missing = missing(answer);
    let found = match answer.get("response") {
        Some(found) => found,
        // Solr may omit the parts that are incomplete.
        None if missing.is_some() => &Value::Null,
        None => return Err(AskError::Malformed("response")),
    };
    let total = found.get("numFound").and_then(number);
    let hits = found.get("docs").and_then(Value::as_array);
    if missing.is_none() && (total.is_none() || hits.is_none()) {
        return Err(AskError::Malformed("records"));
    }
    let total = total.unwrap_or_default();
    let hits = hits.into_iter().flatten();
    // If hits are in the order of identifiers, a page can begin after any identifier.
    let has_places = plan.order.is_empty() && offer.record.order == offer.record.identifier;
    let hits = hits.map(|document| {
        let mut hit = hit(offer, plan.page.with_records, document)?;
        if has_places {
            hit.place.clone_from(&hit.id);
        }
        Some(hit)
    });
    let facets = plan.facets.iter().enumerate().map(|(place, facet)| {
        let counted = answer.pointer(&format!("/facets/{}/buckets", facet_name(place)));
        counts(facet, counted)
    });
    Ok(Answer {
        total,
        is_exact: found.get("numFoundExact") != Some(&Value::Bool(false)),
        missing,
        hits: hits
            .collect::<Option<_>>()
            .ok_or(AskError::Malformed("records"))?,
        index: None,
        facets: facets.collect(),
        counts: Vec::new(),
    })
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|value| usize::try_from(value).ok())
}

/// Returns the terms of a facet. Solr omits the facet if there are no records, and does not order terms with the same
/// count.
fn counts(facet: &FacetOf, buckets: Option<&Value>) -> FacetCounts {
    let buckets = buckets.and_then(Value::as_array).into_iter().flatten();
    let terms = buckets.filter_map(|bucket| {
        let term = match bucket.get("val")? {
            Value::String(term) => term.clone(),
            other => other.to_string(),
        };
        Some((term, number(bucket.get("count")?)?))
    });
    let mut terms: Vec<(String, usize)> = terms.collect();
    if !facet.alphabetical {
        terms.sort_by(|(term, count), (other, than)| than.cmp(count).then_with(|| term.cmp(other)));
    }
    FacetCounts {
        terms,
        is_estimate: false,
    }
}

/// Returns the number of records with each of these terms.
pub(super) fn term_counts(terms: usize, answer: &Value) -> Vec<usize> {
    let count = |place| {
        let count = answer.pointer(&format!("/facets/{}/count", term_name(place)));
        count.and_then(number).unwrap_or_default()
    };
    (0..terms).map(count).collect()
}

fn hit(offer: &Offer, with_record: bool, document: &Value) -> Option<CatalogueHit> {
    let id = text(document.get(&offer.record.identifier)?)?;
    Some(CatalogueHit {
        id,
        record: with_record.then(|| record(offer, document)),
        place: String::new(),
    })
}

/// Returns a value that is a string or a number, or the first value of an array.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => text(values.first()?),
        _ => None,
    }
}

/// The names that VuFind uses for the formats of MARC records: `marc`, `marcxml`.
const MARC: &str = "marc";

fn record(offer: &Offer, document: &Value) -> HeldRecord {
    let place = &offer.record;
    let format = place
        .format
        .as_ref()
        .and_then(|name| text(document.get(name)?));
    if format.is_some_and(|format| !format.to_lowercase().starts_with(MARC)) {
        return HeldRecord::Unreadable("the record is not MARC");
    }
    let held = document.get(&place.field).and_then(text);
    held.map_or(
        HeldRecord::Unreadable("there is no record in the index"),
        |text| HeldRecord::of_text(&text),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn incomplete_records_are_reported() {
        let complete = json!({ "responseHeader": { "zkConnected": true, "status": 0 } });
        assert_eq!(missing(&complete), None);
        for (partial, expected) in [
            (json!(true), true),
            (json!("omitted"), true),
            (json!(false), false),
        ] {
            let answer = json!({ "responseHeader": { "partialResults": partial } });
            assert_eq!(missing(&answer).is_some(), expected, "{answer}");
        }
    }

    #[test]
    fn failures_of_queries_are_distinguished_from_those_of_servers() {
        let refused = |reason: &str| {
            failed(Failure::Refused {
                place: "solr:8983".to_owned(),
                status: 500,
                kind: String::new(),
                reason: reason.to_owned(),
            })
            .diagnostic()
            .condition
        };
        let cases = [
            (
                "maxClauseCount is set to 1024",
                Condition::RESOURCES_EXHAUSTED,
            ),
            (
                "Query contains too many nested clauses; maxClauseCount is set to 1024",
                Condition::RESOURCES_EXHAUSTED,
            ),
            (
                "input automaton is too large: 1001",
                Condition::TRUNCATED_TOO_SHORT,
            ),
            ("undefined field nofield", Condition::DATABASE_UNAVAILABLE),
        ];
        for (reason, expected) in cases {
            assert_eq!(refused(reason), expected.0, "{reason}");
        }
    }
}
