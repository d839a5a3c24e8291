//! Converts plans and clauses to JSON searches for OpenSearch and Elasticsearch, for any index. A client's text is always the
//! value of a query that the engine does not parse.

use std::ops::Bound;
use std::time::Duration;

use serde_json::{Map, Value, json};
use z3950_server::Diagnostic;

use super::{COUNTS, TERMS, facet_name};
use crate::engine::clause::spans::{Part, Phrase, Spans};
use crate::engine::clause::{Clause, Leaf};
use crate::engine::plan::{FacetOf, MissingValue, OrderBy, PageStart, Plan};

/// The maximum number of buckets in an aggregation (`search.max_buckets` is 65,535 for a request).
pub(in crate::engine) const MOST_BUCKETS: usize = 10_000;
/// The maximum number of buckets in all facets of a request together.
const MOST_BUCKETS_OF_ALL: usize = 60_000;

/// The fields of an index, and the queries for its leaves.
pub(in crate::engine) trait Fields {
    /// A condition on a record in the index.
    type Leaf: Leaf;

    /// Returns the query for a leaf.
    ///
    /// # Errors
    /// Fails if the engine does not support a pattern.
    fn leaf(&self, leaf: &Self::Leaf) -> Result<Value, Diagnostic>;

    /// Returns the field for a sort key.
    fn sorted(&self, key: &<Self::Leaf as Leaf>::SortKey) -> String;

    /// Returns the field for a facet.
    fn counted(&self, terms: &<Self::Leaf as Leaf>::Counted) -> String;

    /// Returns the field that is the last sort key of every order; it has a different value in each record.
    fn last(&self) -> &str;

    /// Returns the field with the numbers by which records are ordered, if there is one.
    fn number(&self) -> Option<&str>;

    /// Returns the fields that make up a record.
    fn record(&self) -> Value;

    /// Restricts a query to the visible records.
    fn visible(&self, found: Value) -> Value;
}

/// Returns the search for a plan.
///
/// # Errors
/// Fails if the engine does not support a pattern.
pub(in crate::engine) fn search<F: Fields>(
    fields: &F,
    plan: &Plan<'_, F::Leaf>,
) -> Result<Value, Diagnostic> {
    let mut found = visible(fields, plan.clause)?;
    let page = &plan.page;
    let mut body = Map::new();
    let is_counted = match page.start {
        PageStart::First => true,
        PageStart::Number(number) => {
            let bound = if page.rows == 0 { "lt" } else { "gte" };
            if let Some(field) = fields.number() {
                let range = json!({ "range": { field: { bound: number } } });
                found = json!({ "bool": { "filter": [found, range] } });
            }
            page.rows == 0
        }
        PageStart::After(place) => {
            let place = serde_json::from_str(place).unwrap_or(Value::Null);
            body.insert("search_after".to_owned(), place);
            false
        }
    };
    body.insert("query".to_owned(), found);
    body.insert("track_total_hits".to_owned(), is_counted.into());
    body.insert("timeout".to_owned(), milliseconds(plan.deadline).into());
    body.insert("size".to_owned(), page.rows.into());
    if page.skip > 0 {
        body.insert("from".to_owned(), page.skip.into());
    }
    if page.rows > 0 {
        body.insert("sort".to_owned(), sort(fields, plan.order));
        let source = if page.with_records {
            fields.record()
        } else {
            Value::Bool(false)
        };
        body.insert("_source".to_owned(), source);
    }
    let mut aggregations = Map::new();
    for (place, facet) in plan.facets.iter().enumerate() {
        let most = MOST_BUCKETS.min(MOST_BUCKETS_OF_ALL / plan.facets.len());
        aggregations.insert(facet_name(place), facet_of(fields, facet, most));
    }
    if !plan.counts.is_empty() {
        let filters = plan
            .counts
            .iter()
            .map(|clause| visible(fields, clause))
            .collect::<Result<Vec<_>, _>>()?;
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

fn sort<F: Fields>(fields: &F, order: &[OrderBy<<F::Leaf as Leaf>::SortKey>]) -> Value {
    let keys = order.iter().map(|key| {
        let direction = if key.descending { "desc" } else { "asc" };
        let missing = match &key.missing {
            MissingValue::First => "_first",
            MissingValue::Last => "_last",
            MissingValue::As(value) => value,
        };
        json!({ fields.sorted(&key.key): { "order": direction, "missing": missing } })
    });
    keys.chain([json!({ fields.last(): "asc" })]).collect()
}

/// Returns a facet of at most this number of terms.
fn facet_of<F: Fields>(
    fields: &F,
    facet: &FacetOf<<F::Leaf as Leaf>::Counted>,
    most: usize,
) -> Value {
    let order = if facet.alphabetical {
        json!({ "_key": "asc" })
    } else {
        json!([{ "_count": "desc" }, { "_key": "asc" }])
    };
    let most = facet.most.clamp(1, most.max(1));
    json!({ "terms": {
        "field": fields.counted(&facet.terms),
        "size": most,
        // Each shard returns more terms than needed, so that few counts are estimates.
        "shard_size": most.saturating_mul(2) + 1_000,
        "order": order,
    } })
}

/// A part of the terms in a field, in one direction from a start that is excluded.
pub(in crate::engine) struct TermsAfter<'a, L> {
    pub(in crate::engine) field: &'a str,
    /// The term after which the part begins, in the direction of reading; empty to begin with the first term in this direction.
    pub(in crate::engine) start: &'a str,
    /// If this term is set, terms are read backwards, and only from records that have a term between this one and the start, so
    /// that the engine reads fewer records. The counts of terms before this one are then too low.
    pub(in crate::engine) from: Option<&'a str>,
    /// The maximum number of terms.
    pub(in crate::engine) most: usize,
    /// The records whose terms are read.
    pub(in crate::engine) within: &'a Clause<L>,
    /// The time after which the engine answers with the records that it has found so far.
    pub(in crate::engine) deadline: Duration,
}

/// Returns the search for the terms in a field.
///
/// # Errors
/// Fails if the engine does not support a pattern.
pub(in crate::engine) fn terms<F: Fields>(
    fields: &F,
    after: &TermsAfter<'_, F::Leaf>,
) -> Result<Value, Diagnostic> {
    let (field, start) = (after.field, after.start);
    let order = if after.from.is_some() { "desc" } else { "asc" };
    let mut composite = Map::new();
    composite.insert("size".to_owned(), after.most.into());
    let source = json!({ TERMS: { "terms": { "field": field, "order": order } } });
    composite.insert("sources".to_owned(), [source].into_iter().collect());
    if !start.is_empty() {
        composite.insert("after".to_owned(), json!({ TERMS: start }));
    }
    let mut found = visible(fields, after.within)?;
    if let Some(from) = after.from {
        let range = json!({ "range": { field: { "gte": from, "lt": start } } });
        found = json!({ "bool": { "filter": [range, found] } });
    }
    Ok(json!({
        "size": 0,
        "track_total_hits": false,
        "timeout": milliseconds(after.deadline),
        "query": found,
        "aggs": { TERMS: { "composite": composite } },
    }))
}

/// Returns the search that counts the records that have a term in a field.
///
/// # Errors
/// Fails if the engine does not support a pattern.
pub(in crate::engine) fn count<F: Fields>(
    fields: &F,
    field: &str,
    term: &str,
    within: &Clause<F::Leaf>,
    deadline: Duration,
) -> Result<Value, Diagnostic> {
    let own = json!({ "term": { field: term } });
    Ok(json!({
        "size": 0,
        "track_total_hits": true,
        "timeout": milliseconds(deadline),
        "query": { "bool": { "filter": [visible(fields, within)?, own] } },
    }))
}

fn visible<F: Fields>(fields: &F, clause: &Clause<F::Leaf>) -> Result<Value, Diagnostic> {
    Ok(fields.visible(query(fields, clause)?))
}

/// Returns the query for a clause.
///
/// # Errors
/// Fails if the engine does not support a pattern.
pub(in crate::engine) fn query<F: Fields>(
    fields: &F,
    clause: &Clause<F::Leaf>,
) -> Result<Value, Diagnostic> {
    let each = |clauses: &[Clause<F::Leaf>]| {
        let queries = clauses.iter().map(|clause| query(fields, clause));
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
        Clause::Leaf(leaf) => fields.leaf(leaf)?,
    })
}

pub(in crate::engine) fn nothing() -> Value {
    json!({ "match_none": {} })
}

/// Returns the query for the records that any of these queries finds.
pub(in crate::engine) fn any_of(mut queries: Vec<Value>) -> Value {
    match queries.pop() {
        None => nothing(),
        Some(only) if queries.is_empty() => only,
        Some(last) => {
            queries.push(last);
            json!({ "bool": { "should": queries, "minimum_should_match": 1 } })
        }
    }
}

/// Returns the query for the values in a field between bounds.
pub(in crate::engine) fn range(field: &str, from: &Bound<String>, to: &Bound<String>) -> Value {
    let mut bounds = Map::new();
    for (bound, [included, excluded]) in [(from, ["gte", "gt"]), (to, ["lte", "lt"])] {
        match bound {
            Bound::Included(text) => bounds.insert(included.to_owned(), (&**text).into()),
            Bound::Excluded(text) => bounds.insert(excluded.to_owned(), (&**text).into()),
            Bound::Unbounded => None,
        };
    }
    json!({ "range": { field: bounds } })
}

/// Returns the query for the terms in a field that match an expression.
pub(in crate::engine) fn matching(field: &str, expression: &str) -> Value {
    json!({ "regexp": { field: { "value": expression, "flags": "NONE" } } })
}

/// Combines alternative spans into one span query; `None` if there are none.
pub(in crate::engine) fn any_span(mut spans: Vec<Value>) -> Option<Value> {
    let last = spans.pop()?;
    if spans.is_empty() {
        return Some(last);
    }
    spans.push(last);
    Some(json!({ "span_or": { "clauses": spans } }))
}

/// Returns the span query for words at positions in an entry; `None` if nothing remains of them after folding. `words` converts
/// adjacent words, each to a span.
///
/// # Errors
/// The errors from `words`.
pub(in crate::engine) fn places<W>(
    field: &str,
    spans: &Spans<W>,
    words: impl Fn(&W) -> Result<Vec<Value>, Diagnostic>,
) -> Result<Option<Value>, Diagnostic> {
    let each = |phrases: &[Phrase<W>]| {
        let phrases = phrases
            .iter()
            .filter_map(|one| phrase(field, one, &words).transpose());
        phrases.collect::<Result<Vec<_>, _>>()
    };
    let (left, right, most, ordered) = match spans {
        Spans::Phrases(phrases) => return Ok(any_span(each(phrases)?)),
        Spans::Near {
            left,
            right,
            most,
            ordered,
        } => (each(left)?, each(right)?, *most, *ordered),
    };
    let mut pairs = Vec::new();
    for one in &left {
        for other in &right {
            // Each order is searched separately, because an unordered search in the engine misses some pairs.
            let slop = most.saturating_sub(1);
            pairs.push(near(vec![one.clone(), other.clone()], slop));
            if !ordered {
                pairs.push(near(vec![other.clone(), one.clone()], slop));
            }
        }
    }
    Ok(any_span(pairs))
}

fn phrase<W>(
    field: &str,
    phrase: &[Part<W>],
    words: &impl Fn(&W) -> Result<Vec<Value>, Diagnostic>,
) -> Result<Option<Value>, Diagnostic> {
    let mut spans = Vec::new();
    for part in phrase {
        match part {
            Part::Gap(words) => spans.push(json!({ "span_gap": { field: words } })),
            Part::Words(part) => {
                let written = words(part)?;
                if written.is_empty() {
                    return Ok(None);
                }
                spans.extend(written);
            }
        }
    }
    Ok(adjacent(spans))
}

/// Combines consecutive spans into one span query; `None` if there are none.
pub(in crate::engine) fn adjacent(mut spans: Vec<Value>) -> Option<Value> {
    let last = spans.pop()?;
    if spans.is_empty() {
        return Some(last);
    }
    spans.push(last);
    Some(near(spans, 0))
}

/// Returns a span query for spans in this order, with at most `slop` words between them.
fn near(spans: Vec<Value>, slop: u32) -> Value {
    json!({ "span_near": { "clauses": spans, "slop": slop, "in_order": true } })
}
