//! The fields of this server's index, and the queries for its leaves.

use serde_json::{Map, Value, json};
use z3950_server::Diagnostic;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::{Edge, Edges, IndexId, Pattern, Terms};

use super::document::{
    ENTRY_EDGE, MOST_ENTRY, MOST_WORD, NUMBER, RECORD, SUBFIELD_BEGIN, SUBFIELD_END, cut, id_of,
};
use super::leaf::{IndexLeaf, Part, SortKey, Spans, WordPatterns};
use super::pattern::{Alphabet, expression};
use crate::engine::elastic::request::{Fields, matching, nothing, places, range};
use crate::engine::layout::EngineLayout;

impl Fields for EngineLayout {
    type Leaf = IndexLeaf;

    fn leaf(&self, leaf: &IndexLeaf) -> Result<Value, Diagnostic> {
        Ok(match leaf {
            IndexLeaf::Exists(index) => {
                json!({ "exists": { "field": entries_field(self, *index) } })
            }
            IndexLeaf::Sortable(index) => {
                json!({ "exists": { "field": self.sort_field(*index, false) } })
            }
            IndexLeaf::Identifier(id) => json!({ "ids": { "values": [id_of(id)] } }),
            IndexLeaf::Terms(terms, texts) => {
                let field = self.field(*terms);
                let texts = texts.iter().map(|text| stored(*terms, text));
                match &*texts.collect::<Vec<_>>() {
                    [text] => json!({ "term": { field: text } }),
                    texts => json!({ "terms": { field: texts } }),
                }
            }
            IndexLeaf::Pattern(terms, pattern) => pattern_query(self, *terms, pattern)?,
            IndexLeaf::Spans(index, spans) => spans_query(self, *index, spans)?,
            IndexLeaf::Numbers(numbers) => json!({ "terms": { NUMBER: &**numbers } }),
        })
    }

    fn sorted(&self, key: &SortKey) -> String {
        self.sort_field(key.index, key.with_case)
    }

    fn counted(&self, terms: &Terms) -> String {
        self.field(*terms)
    }

    fn last(&self) -> &str {
        NUMBER
    }

    fn number(&self) -> Option<&str> {
        Some(NUMBER)
    }

    fn record(&self) -> Value {
        json!([RECORD])
    }

    fn visible(&self, found: Value) -> Value {
        found
    }
}

/// Returns the field that every record with an entry in the index has.
fn entries_field(layout: &EngineLayout, index: IndexId) -> String {
    match layout.map().kind(index) {
        Kind::Text => layout.positions_field(index),
        _ => layout.field(Terms::Keys(index)),
    }
}

/// Returns a term as it is stored: long terms are truncated.
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
        Pattern::Range { from, to } => range(&field, from, to),
        pattern => {
            let expression = expression("", pattern, "", alphabet)?;
            matching(&field, &expression)
        }
    })
}

/// Returns the first string, by code points, after all strings that begin with this one; `None` if there is none.
fn after_all(start: &str) -> Option<String> {
    let mut rest: Vec<char> = start.chars().collect();
    while let Some(last) = rest.pop() {
        // A range of characters skips the surrogates, so the next character is always valid.
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
    let found = places(&field, spans, |words| words_spans(&field, words))?;
    Ok(found.unwrap_or_else(nothing))
}

/// Returns the query for a phrase that must be a complete entry, which does not need the positions of words; `None` for
/// any other phrase, or if the index does not store complete entries.
fn whole_entry(layout: &EngineLayout, index: IndexId, spans: &Spans) -> Option<Value> {
    let Spans::Phrases(phrases) = spans else {
        return None;
    };
    let [phrase] = phrases.as_slice() else {
        return None;
    };
    let [Part::Words(WordPatterns { patterns, edges })] = phrase.as_slice() else {
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

/// Returns the spans for adjacent words, with the edges of the entry that they touch.
fn words_spans(field: &str, words: &WordPatterns) -> Result<Vec<Value>, Diagnostic> {
    let WordPatterns { patterns, edges } = words;
    let edge = || json!({ "span_term": { field: ENTRY_EDGE } });
    let mut spans = Vec::new();
    spans.extend((edges.first == Edge::Field).then(edge));
    let last = patterns.len().saturating_sub(1);
    for (place, word) in patterns.iter().enumerate() {
        let before = if place == 0 { edges.first } else { Edge::Any };
        let after = if place == last { edges.last } else { Edge::Any };
        spans.push(word_query(field, word, before, after)?);
    }
    spans.extend((edges.last == Edge::Field).then(edge));
    Ok(spans)
}

/// Returns the query for a word that may have to be at the edges of a subfield.
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
            json!({ "span_multi": { "match": matching(field, &expression) } })
        }
    })
}

#[cfg(test)]
mod tests;
