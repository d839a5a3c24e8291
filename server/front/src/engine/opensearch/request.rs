//! Plans and clauses as searches of OpenSearch, in JSON.

use std::ops::Bound;
use std::time::Duration;

use serde_json::{Map, Value, json};
use z3950_server::Diagnostic;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{Edge, Edges, IndexId, Pattern, Terms};

use super::document::{
    ENTRY_EDGE, MOST_ENTRY, MOST_WORD, NUMBER, RECORD, SUBFIELD_BEGIN, SUBFIELD_END, cut, id_of,
};
use super::leaf::{Clause, FacetOf, IndexLeaf, OrderBy, Part, Phrase, Plan, SortKey, Spans, Words};
use super::pattern::{Alphabet, expression};
use crate::engine::layout::EngineLayout;
use crate::engine::plan::{MissingValue, PageStart};

/// The name of the counts of an answer.
pub(super) const COUNTS: &str = "counts";
/// The name of the terms of a scan.
pub(super) const TERMS: &str = "terms";
/// The most buckets of an aggregation (`search.max_buckets` is 65,535 for a request).
pub(super) const MOST_BUCKETS: usize = 10_000;
/// The most records from the first to the last one of a page (`index.max_result_window`).
pub(super) const MOST_WINDOW: usize = 10_000;

/// Returns the name of a facet of an answer.
pub(super) fn facet_name(place: usize) -> String {
    format!("facet-{place}")
}

/// Returns the search of a plan.
///
/// # Errors
/// A pattern that the engine cannot be asked for.
pub(super) fn search(layout: &EngineLayout, plan: &Plan<'_>) -> Result<Value, Diagnostic> {
    let mut found = query(layout, plan.clause)?;
    let page = &plan.page;
    let mut body = Map::new();
    let is_counted = match page.start {
        PageStart::First => true,
        PageStart::Number(number) => {
            let bound = if page.rows == 0 { "lt" } else { "gte" };
            let range = json!({ "range": { NUMBER: { bound: number } } });
            found = json!({ "bool": { "filter": [found, range] } });
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
        body.insert("sort".to_owned(), sort(layout, plan.order));
        let source = if page.with_records {
            json!([RECORD])
        } else {
            json!(false)
        };
        body.insert("_source".to_owned(), source);
    }
    let mut aggregations = Map::new();
    for (place, facet) in plan.facets.iter().enumerate() {
        aggregations.insert(facet_name(place), facet_of(layout, facet));
    }
    if !plan.counts.is_empty() {
        let filters = plan.counts.iter().map(|clause| query(layout, clause));
        let filters = filters.collect::<Result<Vec<_>, _>>()?;
        let counts = json!({ COUNTS: { "filters": { "filters": filters } } });
        let counts = json!({ "global": {}, "aggs": counts });
        aggregations.insert(COUNTS.to_owned(), counts);
    }
    if !aggregations.is_empty() {
        body.insert("aggs".to_owned(), aggregations.into());
    }
    Ok(Value::Object(body))
}

fn milliseconds(deadline: Duration) -> String {
    format!("{}ms", deadline.as_millis().max(1))
}

fn sort(layout: &EngineLayout, order: &[OrderBy]) -> Value {
    let keys = order.iter().map(|key| {
        let SortKey { index, with_case } = key.key;
        let field = layout.sort_field(index, with_case);
        let direction = if key.descending { "desc" } else { "asc" };
        let missing = match &key.missing {
            MissingValue::First => "_first",
            MissingValue::Last => "_last",
            MissingValue::As(value) => value,
        };
        json!({ field: { "order": direction, "missing": missing } })
    });
    keys.chain([json!({ NUMBER: "asc" })]).collect()
}

fn facet_of(layout: &EngineLayout, facet: &FacetOf) -> Value {
    let order = if facet.alphabetical {
        json!({ "_key": "asc" })
    } else {
        json!([{ "_count": "desc" }, { "_key": "asc" }])
    };
    let most = facet.most.clamp(1, MOST_BUCKETS);
    json!({ "terms": {
        "field": layout.field(facet.terms),
        "size": most,
        // Each shard returns more, so that few counts are estimates.
        "shard_size": most.saturating_mul(2) + 1_000,
        "order": order,
    } })
}

/// A part of the terms of an index, in one direction from a start that is not a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermsAfter<'a> {
    pub(super) terms: Terms,
    /// The term before the first one; `None` for the end of the index.
    pub(super) start: Option<&'a str>,
    pub(super) backwards: bool,
    /// What the records have to have: a term from here to the start. It makes the engine read fewer records backwards; terms before
    /// this one then lack records.
    pub(super) from: Option<&'a str>,
    /// The number of terms.
    pub(super) most: usize,
    /// The records whose terms are read; `None` for all.
    pub(super) within: Option<&'a Clause>,
    /// The time after which the engine answers with what it has found.
    pub(super) deadline: Duration,
}

/// Returns the search of the terms of an index.
///
/// # Errors
/// A pattern that the engine cannot be asked for.
pub(super) fn terms(layout: &EngineLayout, scan: &TermsAfter<'_>) -> Result<Value, Diagnostic> {
    let field = layout.field(scan.terms);
    let order = if scan.backwards { "desc" } else { "asc" };
    let mut composite = json!({
        "size": scan.most,
        "sources": [{ TERMS: { "terms": { "field": field, "order": order } } }],
    });
    if let (Some(start), Some(composite)) = (scan.start, composite.as_object_mut()) {
        composite.insert("after".to_owned(), json!({ TERMS: start }));
    }
    let mut body = json!({
        "size": 0,
        "track_total_hits": false,
        "timeout": milliseconds(scan.deadline),
        "aggs": { TERMS: { "composite": composite } },
    });
    let mut filters = Vec::new();
    if let (Some(from), Some(start)) = (scan.from, scan.start) {
        filters.push(json!({ "range": { field: { "gte": from, "lt": start } } }));
    }
    if let Some(within) = scan.within {
        filters.push(query(layout, within)?);
    }
    if let Some(body) = body.as_object_mut()
        && !filters.is_empty()
    {
        let found = json!({ "bool": { "filter": filters } });
        body.insert("query".to_owned(), found);
    }
    Ok(body)
}

/// Returns the query of a clause.
///
/// # Errors
/// A pattern that the engine cannot be asked for.
pub(super) fn query(layout: &EngineLayout, clause: &Clause) -> Result<Value, Diagnostic> {
    let each = |clauses: &[Clause]| {
        let queries = clauses.iter().map(|clause| query(layout, clause));
        queries.collect::<Result<Vec<_>, _>>()
    };
    Ok(match clause {
        Clause::Everything => json!({ "match_all": {} }),
        Clause::Nothing => json!({ "match_none": {} }),
        Clause::All { all, without } => {
            let mut lists = Map::new();
            for (name, clauses) in [("filter", all), ("must_not", without)] {
                if !clauses.is_empty() {
                    lists.insert(name.to_owned(), each(clauses)?.into());
                }
            }
            json!({ "bool": lists })
        }
        Clause::Any(any) => {
            json!({ "bool": { "should": each(any)?, "minimum_should_match": 1 } })
        }
        Clause::Leaf(IndexLeaf::Exists(index)) => {
            json!({ "exists": { "field": entries_field(layout, *index) } })
        }
        Clause::Leaf(IndexLeaf::Sortable(index)) => {
            json!({ "exists": { "field": layout.sort_field(*index, false) } })
        }
        Clause::Leaf(IndexLeaf::Identifier(id)) => json!({ "ids": { "values": [id_of(id)] } }),
        Clause::Leaf(IndexLeaf::Terms(terms, texts)) => {
            let field = layout.field(*terms);
            let texts = texts.iter().map(|text| stored(*terms, text));
            match &*texts.collect::<Vec<_>>() {
                [text] => json!({ "term": { field: text } }),
                texts => json!({ "terms": { field: texts } }),
            }
        }
        Clause::Leaf(IndexLeaf::Pattern(terms, pattern)) => pattern_query(layout, *terms, pattern)?,
        Clause::Leaf(IndexLeaf::Spans(index, spans)) => spans_query(layout, *index, spans)?,
        Clause::Leaf(IndexLeaf::Numbers(numbers)) => json!({ "terms": { NUMBER: &**numbers } }),
    })
}

/// Returns the field that every record with an entry of the index has.
fn entries_field(layout: &EngineLayout, index: IndexId) -> String {
    match layout.map().kind(index) {
        Kind::Text => layout.positions_field(index),
        _ => layout.field(Terms::Keys(index)),
    }
}

/// Returns a term as it is kept: long ones are cut off.
fn stored(terms: Terms, text: &str) -> &str {
    match terms {
        Terms::Words(_) => cut(text, MOST_WORD),
        Terms::Keys(_) => cut(text, MOST_ENTRY),
    }
}

fn pattern_query(
    layout: &EngineLayout,
    terms: Terms,
    pattern: &Pattern,
) -> Result<Value, Diagnostic> {
    let field = layout.field(terms);
    let alphabet = match terms {
        Terms::Words(_) => Alphabet::Words,
        Terms::Keys(index) if layout.map().kind(index) == Kind::Text => Alphabet::Entries,
        Terms::Keys(_) => Alphabet::Keys,
    };
    Ok(match pattern {
        Pattern::Exact(text) => json!({ "term": { field: stored(terms, text) } }),
        Pattern::Any => json!({ "exists": { "field": field } }),
        Pattern::Starts(start) => {
            let start = stored(terms, start);
            let mut bounds = Map::new();
            bounds.insert("gte".to_owned(), start.into());
            if let Some(end) = after_all(start) {
                bounds.insert("lt".to_owned(), end.into());
            }
            json!({ "range": { field: bounds } })
        }
        Pattern::Range { from, to } => {
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
        pattern => {
            let expression = expression("", pattern, "", alphabet)?;
            json!({ "regexp": { field: { "value": expression, "flags": "NONE" } } })
        }
    })
}

/// Returns the first text after all those that begin with this one, by code points; `None` if there is none.
fn after_all(start: &str) -> Option<String> {
    let mut rest: Vec<char> = start.chars().collect();
    while let Some(last) = rest.pop() {
        // Skips what is no character between the two ranges of them.
        if let Some(next) = (last..=char::MAX).nth(1) {
            rest.push(next);
            return Some(rest.into_iter().collect());
        }
    }
    None
}

fn spans_query(layout: &EngineLayout, index: IndexId, spans: &Spans) -> Result<Value, Diagnostic> {
    if let Some(entry) = whole_entry(layout, index, spans) {
        return Ok(entry);
    }
    let field = layout.positions_field(index);
    let each = |phrases: &[Phrase]| {
        let queries = phrases.iter().map(|phrase| phrase_query(&field, phrase));
        queries.collect::<Result<Vec<_>, _>>()
    };
    Ok(match spans {
        Spans::Phrases(phrases) => any_span(each(phrases)?),
        Spans::Near {
            left,
            right,
            most,
            ordered,
        } => {
            let (left, right) = (each(left)?, each(right)?);
            let mut pairs = Vec::new();
            for one in &left {
                for other in &right {
                    // Only in order: the engine misses some of those in any order.
                    pairs.push(span_near([one, other], most.saturating_sub(1)));
                    if !ordered {
                        pairs.push(span_near([other, one], most.saturating_sub(1)));
                    }
                }
            }
            any_span(pairs)
        }
    })
}

fn any_span(mut spans: Vec<Value>) -> Value {
    match spans.pop() {
        Some(only) if spans.is_empty() => only,
        last => {
            spans.extend(last);
            json!({ "span_or": { "clauses": spans } })
        }
    }
}

fn span_near<'v>(clauses: impl IntoIterator<Item = &'v Value>, slop: u32) -> Value {
    let clauses: Vec<&Value> = clauses.into_iter().collect();
    json!({ "span_near": { "clauses": clauses, "slop": slop, "in_order": true } })
}

/// Returns the query of a phrase that is a whole entry, without its positions, if the index has whole entries.
fn whole_entry(layout: &EngineLayout, index: IndexId, spans: &Spans) -> Option<Value> {
    let Spans::Phrases(phrases) = spans else {
        return None;
    };
    let [phrase] = phrases.as_slice() else {
        return None;
    };
    let [Part::Words(Words { patterns, edges })] = phrase.as_slice() else {
        return None;
    };
    let of_field = Edges {
        first: Edge::Field,
        last: Edge::Field,
    };
    if *edges != of_field || !layout.map().has_keys(index) {
        return None;
    }
    let words = patterns.iter().map(|word| match word {
        Pattern::Exact(text) => Some(&**text),
        _ => None,
    });
    let entry = words.collect::<Option<Vec<_>>>()?.join(" ");
    let field = layout.field(Terms::Keys(index));
    (entry.len() < MOST_ENTRY).then(|| json!({ "term": { field: entry } }))
}

fn phrase_query(field: &str, phrase: &[Part]) -> Result<Value, Diagnostic> {
    let mut clauses = Vec::new();
    for part in phrase {
        match part {
            Part::Gap(words) => clauses.push(json!({ "span_gap": { field: words } })),
            Part::Words(Words { patterns, edges }) => {
                let edge = || json!({ "span_term": { field: ENTRY_EDGE } });
                clauses.extend((edges.first == Edge::Field).then(edge));
                let last = patterns.len().saturating_sub(1);
                for (place, word) in patterns.iter().enumerate() {
                    let before = if place == 0 { edges.first } else { Edge::Any };
                    let after = if place == last { edges.last } else { Edge::Any };
                    clauses.push(word_query(field, word, before, after)?);
                }
                clauses.extend((edges.last == Edge::Field).then(edge));
            }
        }
    }
    Ok(match &*clauses {
        [only] => only.clone(),
        several => span_near(several, 0),
    })
}

/// Returns the query of a word that may have to touch edges of a subfield.
fn word_query(field: &str, word: &Pattern, before: Edge, after: Edge) -> Result<Value, Diagnostic> {
    let mark = |edge: Edge, mark: char| match edge {
        Edge::Any => String::new(),
        Edge::Subfield | Edge::Field => String::from(mark),
    };
    let (before, after) = (mark(before, SUBFIELD_BEGIN), mark(after, SUBFIELD_END));
    Ok(match word {
        Pattern::Exact(word) => {
            let word = cut(word, MOST_WORD);
            json!({ "span_term": { field: format!("{before}{word}{after}") } })
        }
        pattern => {
            let expression = expression(&before, pattern, &after, Alphabet::WordsWithEdges)?;
            let regexp = json!({ "regexp": { field: { "value": expression, "flags": "NONE" } } });
            json!({ "span_multi": { "match": regexp } })
        }
    })
}

#[cfg(test)]
mod tests;
