//! Parses answers from Solr.

use serde_json::Value;

use super::request::{facet_name, term_name};
use crate::engine::answer::FacetCounts;
use crate::engine::catalogue::offer::Offer;
use crate::engine::catalogue::plan::{Answer, AskError, CatalogueHit, FacetOf, Plan};
use crate::engine::records::HeldRecord;

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
}
