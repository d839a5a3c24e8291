//! Plans as searches in JSON. A client's text is only ever the value of a query that the engine does not parse.

mod expression;
mod leaf;
mod term;

use std::time::Duration;

use serde_json::{Map, Value, json};
use z3950_server::Diagnostic;

use self::leaf::leaf_query;
use super::analysis::Analysis;
use crate::engine::catalogue::offer::Offer;
use crate::engine::catalogue::plan::{Clause, FacetOf, OrderBy, Plan, TermsPlan};
use crate::engine::plan::{MissingValue, PageStart};

/// The name of the counts of an answer.
pub(super) const COUNTS: &str = "counts";
/// The name of the values of a list.
pub(super) const TERMS: &str = "terms";
/// The most buckets of an aggregation (`search.max_buckets` is 65,535 for a request).
const MOST_BUCKETS: usize = 10_000;
/// The most buckets of all facets of a request.
const MOST_BUCKETS_OF_ALL: usize = 60_000;

/// Returns the name of a facet of an answer.
pub(super) fn facet_name(place: usize) -> String {
    format!("facet-{place}")
}

/// Returns the search of a plan.
///
/// # Errors
/// A mask that the engine cannot be asked for.
pub(super) fn search(
    offer: &Offer,
    analysis: &Analysis,
    plan: &Plan<'_>,
) -> Result<Value, Diagnostic> {
    let page = &plan.page;
    let mut body = Map::new();
    let mut is_counted = true;
    if let PageStart::After(place) = page.start {
        let place = serde_json::from_str(place).unwrap_or(Value::Null);
        body.insert("search_after".to_owned(), place);
        is_counted = false;
    }
    let mut found = visible(offer, query(offer, analysis, plan.clause)?);
    if let (PageStart::Number(number), Some(field)) = (page.start, &offer.record.number) {
        let side = if page.rows > 0 { "gte" } else { "lt" };
        let part = json!({ "range": { field: { side: number } } });
        found = json!({ "bool": { "filter": [found, part] } });
    }
    body.insert("query".to_owned(), found);
    body.insert("track_total_hits".to_owned(), is_counted.into());
    body.insert("timeout".to_owned(), milliseconds(plan.deadline).into());
    body.insert("size".to_owned(), page.rows.into());
    if page.skip > 0 {
        body.insert("from".to_owned(), page.skip.into());
    }
    if page.rows > 0 {
        body.insert("sort".to_owned(), sort(offer, plan.order));
        let place = &offer.record;
        let source = if page.with_records {
            let others = [&place.format, &place.object].into_iter().flatten();
            [&place.field].into_iter().chain(others).cloned().collect()
        } else {
            Value::Bool(false)
        };
        body.insert("_source".to_owned(), source);
    }
    let mut aggregations = Map::new();
    for (place, facet) in plan.facets.iter().enumerate() {
        let most = MOST_BUCKETS_OF_ALL / plan.facets.len();
        aggregations.insert(facet_name(place), facet_of(facet, most));
    }
    if !plan.counts.is_empty() {
        let filters = plan.counts.iter();
        let filters = filters.map(|clause| Ok(visible(offer, query(offer, analysis, clause)?)));
        let filters = filters.collect::<Result<Vec<_>, Diagnostic>>()?;
        let counts = json!({ COUNTS: { "filters": { "filters": filters } } });
        let counts = json!({ "global": {}, "aggs": counts });
        aggregations.insert(COUNTS.to_owned(), counts);
    }
    if !aggregations.is_empty() {
        body.insert("aggs".to_owned(), aggregations.into());
    }
    Ok(Value::Object(body))
}

fn milliseconds(time: Duration) -> String {
    format!("{}ms", time.as_millis().max(1))
}

/// Returns the query of the records that may be seen among those that a query finds.
fn visible(offer: &Offer, found: Value) -> Value {
    if offer.hidden.is_empty() && offer.only.is_empty() {
        return found;
    }
    let terms = |values: &[(String, String)]| {
        let terms = values.iter();
        terms
            .map(|(field, value)| json!({ "term": { field: value } }))
            .collect::<Vec<_>>()
    };
    let filter = [vec![found], terms(&offer.only)].concat();
    json!({ "bool": { "filter": filter, "must_not": terms(&offer.hidden) } })
}

/// Returns the order, which ends in that of a field with another value in each record.
fn sort(offer: &Offer, order: &[OrderBy]) -> Value {
    let keys = order.iter().map(|key| {
        let direction = if key.descending { "desc" } else { "asc" };
        let missing = match &key.missing {
            MissingValue::First => "_first",
            MissingValue::Last => "_last",
            MissingValue::As(value) => value,
        };
        json!({ &key.key: { "order": direction, "missing": missing } })
    });
    keys.chain([json!({ &offer.record.order: "asc" })])
        .collect()
}

/// Returns a facet of at most this number of terms.
fn facet_of(facet: &FacetOf, most: usize) -> Value {
    let order = if facet.alphabetical {
        json!({ "_key": "asc" })
    } else {
        json!([{ "_count": "desc" }, { "_key": "asc" }])
    };
    let most = facet.most.clamp(1, most.min(MOST_BUCKETS));
    json!({ "terms": {
        "field": facet.terms,
        "size": most,
        // Each shard returns more, so that few counts are estimates.
        "shard_size": most.saturating_mul(2) + 1_000,
        "order": order,
    } })
}

/// A part of the values of a field, in one direction from a start that is not a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedTerms<'a> {
    /// The value before the first one; empty for the end of the field.
    pub(super) start: &'a str,
    /// What the records have to have: a value from here to the start. It makes the engine read fewer records backwards; values before
    /// this one then lack records.
    pub(super) from: Option<&'a str>,
    /// The number of values.
    pub(super) most: usize,
    pub(super) backwards: bool,
}

/// Returns the search of the values of a field.
///
/// # Errors
/// A mask that the engine cannot be asked for.
pub(super) fn terms(
    offer: &Offer,
    analysis: &Analysis,
    plan: &TermsPlan<'_>,
    listed: &ListedTerms<'_>,
    deadline: Duration,
) -> Result<Value, Diagnostic> {
    let field = plan.field;
    let order = if listed.backwards { "desc" } else { "asc" };
    let mut composite = json!({
        "size": listed.most,
        "sources": [{ TERMS: { "terms": { "field": field, "order": order } } }],
    });
    if let Some(composite) = composite.as_object_mut()
        && !listed.start.is_empty()
    {
        composite.insert("after".to_owned(), json!({ TERMS: listed.start }));
    }
    let mut found = within(offer, analysis, plan)?;
    if let Some(from) = listed.from {
        let range = json!({ "range": { field: { "gte": from, "lt": listed.start } } });
        found = json!({ "bool": { "filter": [found, range] } });
    }
    Ok(json!({
        "size": 0,
        "track_total_hits": false,
        "timeout": milliseconds(deadline),
        "query": found,
        "aggs": { TERMS: { "composite": composite } },
    }))
}

/// Returns the search that counts the records with a value.
///
/// # Errors
/// A mask that the engine cannot be asked for.
pub(super) fn count(
    offer: &Offer,
    analysis: &Analysis,
    plan: &TermsPlan<'_>,
    value: &str,
    deadline: Duration,
) -> Result<Value, Diagnostic> {
    let found = within(offer, analysis, plan)?;
    let own = json!({ "term": { plan.field: value } });
    Ok(json!({
        "size": 0,
        "track_total_hits": true,
        "timeout": milliseconds(deadline),
        "query": { "bool": { "filter": [found, own] } },
    }))
}

fn within(offer: &Offer, analysis: &Analysis, plan: &TermsPlan<'_>) -> Result<Value, Diagnostic> {
    let found = plan.within.unwrap_or(&Clause::Everything);
    Ok(visible(offer, query(offer, analysis, found)?))
}

/// Returns the query of a clause.
///
/// # Errors
/// A mask that the engine cannot be asked for.
pub(super) fn query(
    offer: &Offer,
    analysis: &Analysis,
    clause: &Clause,
) -> Result<Value, Diagnostic> {
    let each = |clauses: &[Clause]| {
        let queries = clauses.iter().map(|clause| query(offer, analysis, clause));
        queries.collect::<Result<Vec<_>, _>>()
    };
    Ok(match clause {
        Clause::Everything => json!({ "match_all": {} }),
        Clause::Nothing => nothing(),
        Clause::All { all, without } => {
            let mut lists = Map::new();
            for (name, clauses) in [("filter", all), ("must_not", without)] {
                if !clauses.is_empty() {
                    lists.insert(name.to_owned(), each(clauses)?.into());
                }
            }
            json!({ "bool": lists })
        }
        Clause::Any(any) => any_of(each(any)?),
        Clause::Leaf(leaf) => leaf_query(offer, analysis, leaf)?,
    })
}

fn nothing() -> Value {
    json!({ "match_none": {} })
}

/// Returns the query of the records that one of these finds.
fn any_of(mut queries: Vec<Value>) -> Value {
    match queries.pop() {
        None => nothing(),
        Some(only) if queries.is_empty() => only,
        Some(last) => {
            queries.push(last);
            json!({ "bool": { "should": queries, "minimum_should_match": 1 } })
        }
    }
}

#[cfg(test)]
mod tests;
