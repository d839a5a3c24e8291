//! Converts the leaves of clauses to queries.

use std::ops::Bound;

use serde_json::{Value, json};
use z3950_server::Diagnostic;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::TextRange;

use super::expression::{bounded, of_word, push};
use super::term::{Term, terms_span};
use crate::engine::catalogue::koha::analysis::{
    Analysis, alone, beginning, keys, only, outer, plain,
};
use crate::engine::catalogue::leaf::{CatalogueLeaf, Placed, Spans, Wanted, Word, text_of};
use crate::engine::catalogue::map::Role;
use crate::engine::catalogue::offer::{Offer, Point};
use crate::engine::elastic::request::{adjacent, any_of, matching, nothing, places, range};

/// Returns the query for a leaf.
///
/// # Errors
/// Fails if the engine cannot carry out the mask.
pub(super) fn leaf_query(
    offer: &Offer,
    analysis: &Analysis,
    leaf: &CatalogueLeaf,
) -> Result<Value, Diagnostic> {
    let point = &*leaf.point;
    let reader = LeafReader { point, analysis };
    let exists = |field: &String| json!({ "exists": { "field": field } });
    Ok(match &leaf.wanted {
        Wanted::Exists => any_field(&existing(point), exists),
        Wanted::Sortable => any_field(point.fields(Role::Sort), exists),
        Wanted::Identifiers(ids) if offer.record.identifier == "_id" => {
            json!({ "ids": { "values": &**ids } })
        }
        Wanted::Identifiers(ids) => json!({ "terms": { &offer.record.identifier: &**ids } }),
        Wanted::Words { words, all } => reader.words(words, *all)?,
        Wanted::Spans(spans) => reader.spans(spans)?,
        Wanted::Keys(keys) => reader.keys(keys),
        Wanted::OpenKeys(words) => reader.open_keys(words)?,
        Wanted::Range(bounds) => any_field(point.fields(Role::Ranges), |field| {
            range(field, &bounds.0, &bounds.1)
        }),
        Wanted::Date { digits, text } => reader.date(digits, text),
        Wanted::Dates(bounds) => reader.dates(bounds),
    })
}

/// Returns the fields that show whether a record has an entry in the index: if it has one, at least one of these fields has a value.
fn existing(point: &Point) -> Vec<String> {
    let of = |roles: &[Role]| {
        let fields = roles.iter().flat_map(|role| point.fields(*role));
        fields.cloned().collect::<Vec<_>>()
    };
    let mut fields = of(&[Role::Words, Role::Years, Role::Days, Role::Stamps]);
    if fields.is_empty() {
        fields = of(&[Role::Keys, Role::Ranges, Role::Whole]);
    }
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// Returns a query that finds the records with a match in any of these fields.
fn any_field(fields: &[String], of: impl FnMut(&String) -> Value) -> Value {
    any_of(fields.iter().map(of).collect())
}

struct LeafReader<'a> {
    point: &'a Point,
    analysis: &'a Analysis,
}

impl LeafReader<'_> {
    fn fields(&self, role: Role) -> &[String] {
        self.point.fields(role)
    }

    /// Returns the query for words that may be at any position, each in any of the fields.
    fn words(&self, words: &[Word], all: bool) -> Result<Value, Diagnostic> {
        let fields = self.fields(Role::Words);
        if let (Some(text), [field]) = (text_of(words), fields) {
            let operator = if all { "and" } else { "or" };
            return Ok(json!({ "match": { field: { "query": text, "operator": operator } } }));
        }
        let mut queries = Vec::new();
        let mut exact = Vec::new();
        for word in words {
            match word.exact() {
                Some(text) => {
                    exact.push(text);
                    queries.push(in_one_field(fields, text, all));
                }
                None => {
                    let masked = self.fields(Role::Masks).iter();
                    let masked = masked.map(|field| self.masked(field, word));
                    queries.push(any_of(masked.collect::<Result<_, _>>()?));
                }
            }
        }
        if !all {
            return Ok(any_of(queries));
        }
        // A word whose characters are all dropped by the engine would match everything, so a match of at least one word is
        // required as well.
        if exact.len() == words.len() {
            queries.push(some_word(fields, &exact.join(" ")));
        }
        Ok(json!({ "bool": { "filter": queries } }))
    }

    fn spans(&self, spans: &Spans) -> Result<Value, Diagnostic> {
        if let Some(text) = plain(spans) {
            let fields = self.fields(Role::Words);
            return Ok(any_field(
                fields,
                |field| json!({ "match_phrase": { field: text } }),
            ));
        }
        if let Spans::Phrases(phrases) = spans
            && let [phrase] = phrases.as_slice()
            && let Some(placed) = only(phrase)
            && placed.has_edges()
        {
            return self.edged(placed);
        }
        if let Some(word) = alone(spans) {
            let fields = self.fields(Role::Masks).iter();
            let queries = fields.map(|field| self.masked(field, word));
            return Ok(any_of(queries.collect::<Result<_, _>>()?));
        }
        let fields = self.fields(Role::Masks).iter();
        let queries: Vec<Option<Value>> = fields
            .map(|field| self.places(field, spans))
            .collect::<Result<_, _>>()?;
        Ok(any_of(queries.into_iter().flatten().collect()))
    }

    /// Returns the query for a word with masks in a field.
    fn masked(&self, field: &str, word: &Word) -> Result<Value, Diagnostic> {
        if let Some(text) = beginning(word) {
            return Ok(json!({ "prefix": { field: text } }));
        }
        let positions = self.positions(field, word)?;
        Ok(match positions.as_slice() {
            [] => nothing(),
            [only] => any_of(only.iter().map(|term| term.query(field)).collect()),
            _ => {
                let spans = positions.iter().map(|terms| terms_span(field, terms));
                adjacent(spans.collect()).unwrap_or_else(nothing)
            }
        })
    }

    /// Returns the terms at each position of a word, which the engine may split into several words.
    fn positions(&self, field: &str, word: &Word) -> Result<Vec<Vec<Term>>, Diagnostic> {
        let Some((left, text, right)) = outer(word) else {
            let expression = of_word(word, ".", |text| self.analysis.whole(text).to_owned())
                .map(bounded)
                .transpose()?;
            return Ok(expression
                .map(|text| vec![Term::Expression(text)])
                .into_iter()
                .collect());
        };
        let words = self.analysis.words(field, text);
        let last = words.len().saturating_sub(1);
        let positions = words.into_iter().enumerate().map(|(place, words)| {
            let (left, right) = (left && place == 0, right && place == last);
            let terms = words.into_iter().map(|word| Term::open(word, left, right));
            terms.collect::<Result<Vec<_>, _>>()
        });
        positions.collect()
    }

    /// Returns the query for words at certain positions in a value; `None` if nothing remains of a phrase after folding.
    fn places(&self, field: &str, spans: &Spans) -> Result<Option<Value>, Diagnostic> {
        places(field, spans, |placed| {
            let mut spans = Vec::new();
            for word in &placed.words {
                let positions = self.positions(field, word)?;
                spans.extend(positions.iter().map(|terms| terms_span(field, terms)));
            }
            Ok(spans)
        })
    }

    /// Returns the query for words that begin or end a value. In the field, each value is one term: folded, without punctuation,
    /// and with all of its spaces.
    fn edged(&self, placed: &Placed) -> Result<Value, Diagnostic> {
        let mut queries = Vec::new();
        for field in self.fields(Role::Whole) {
            let Some(words) = self.edged_words(field, placed) else {
                continue;
            };
            let before = if placed.first { " *" } else { "(.* )?" };
            let after = if placed.last { " *" } else { "( .*)?" };
            let expression = bounded(format!("{before}{}{after}", words.join(" +")))?;
            queries.push(matching(field, &expression));
        }
        Ok(any_of(queries))
    }

    /// Returns the expressions for the words; `None` if nothing remains of them after folding.
    fn edged_words(&self, field: &str, placed: &Placed) -> Option<Vec<String>> {
        let Some(text) = placed.text() else {
            let words = placed.words.iter();
            let folded = |text: &str| self.analysis.key(field, text);
            return words.map(|word| of_word(word, "[^ ]", folded)).collect();
        };
        let folded = self.analysis.key(field, &text);
        let words = folded.split_whitespace().map(|word| {
            let mut literal = String::new();
            push(&mut literal, word);
            literal
        });
        Some(words.collect()).filter(|words: &Vec<_>| !words.is_empty())
    }

    fn keys(&self, forms: &[String]) -> Value {
        let (own, words) = (self.fields(Role::Keys), self.fields(Role::Words));
        let is_code = matches!(self.point.kind, Kind::Code | Kind::Language | Kind::Text);
        let mut queries = Vec::new();
        for form in forms {
            for field in own {
                queries.push(lenient(field, form));
            }
            for field in words.iter().filter(|_| own.is_empty()) {
                queries.push(if is_code {
                    json!({ "match_phrase": { field: form } })
                } else {
                    lenient(field, form)
                });
            }
        }
        any_of(queries)
    }

    fn open_keys(&self, words: &[Word]) -> Result<Value, Diagnostic> {
        let mut queries = Vec::new();
        for field in keys(self.fields(Role::Keys), self.fields(Role::Masks)) {
            for word in words {
                let folded = |text: &str| self.analysis.key(field, text);
                let term = match word.beginning() {
                    Some(text) => Some(folded(text))
                        .filter(|text| !text.is_empty())
                        .map(Term::Beginning),
                    None => of_word(word, ".", folded)
                        .map(bounded)
                        .transpose()?
                        .map(Term::Expression),
                };
                queries.extend(term.map(|term| term.query(field)));
            }
        }
        Ok(any_of(queries))
    }

    fn date(&self, digits: &str, text: &str) -> Value {
        let mut queries = Vec::new();
        for field in self.fields(Role::Words) {
            queries.push(json!({ "match_phrase": { field: text } }));
        }
        for field in self
            .fields(Role::Years)
            .iter()
            .filter(|_| digits.len() == YEAR)
        {
            queries.push(json!({ "term": { field: digits } }));
        }
        for field in self.fields(Role::Days) {
            queries.push(Term::Beginning(with_dashes(digits)).query(field));
        }
        for field in self.fields(Role::Stamps) {
            queries.push(Term::Beginning(digits.to_owned()).query(field));
        }
        any_of(queries)
    }

    /// Returns the query for dates between bounds. Values that are not dates, such as `[s.d`, are excluded if the
    /// order of octets allows this.
    fn dates(&self, (from, to): &TextRange) -> Value {
        let mut queries = Vec::new();
        for (role, dashes) in [
            (Role::Years, false),
            (Role::Days, true),
            (Role::Stamps, false),
        ] {
            let written = |text: &str| {
                if dashes {
                    with_dashes(text)
                } else {
                    text.to_owned()
                }
            };
            let from = match from {
                Bound::Included(text) => Bound::Included(written(text)),
                // Start after all values that begin with this text.
                Bound::Excluded(text) => Bound::Included(written(text) + BEHIND_DIGITS),
                Bound::Unbounded => Bound::Included("0".to_owned()),
            };
            let to = match to {
                Bound::Included(text) => Bound::Excluded(written(text) + BEHIND_DIGITS),
                Bound::Excluded(text) => Bound::Excluded(written(text)),
                Bound::Unbounded => Bound::Excluded(BEHIND_DIGITS.to_owned()),
            };
            let fields = self.fields(role).iter();
            queries.extend(fields.map(|field| range(field, &from, &to)));
        }
        any_of(queries)
    }
}

/// The number of characters in a year.
const YEAR: usize = 4;
/// The character that sorts after all digits.
const BEHIND_DIGITS: &str = ":";

/// Returns a date, `YYYY` or `YYYYMMDD`, as `YYYY` or `YYYY-MM-DD`.
fn with_dashes(digits: &str) -> String {
    match (digits.get(..4), digits.get(4..6), digits.get(6..)) {
        (Some(year), Some(month), Some(day)) => format!("{year}-{month}-{day}"),
        _ => digits.to_owned(),
    }
}

/// Returns the query for a number or code in a field; it finds nothing if the field contains numbers and the text is
/// not a number.
fn lenient(field: &str, text: &str) -> Value {
    json!({ "match": { field: { "query": text, "operator": "and", "lenient": true } } })
}

/// Returns the query for the text between two spaces in one of several fields. The engine may split it into several
/// words: `all` of these must occur, or any of them.
fn in_one_field(fields: &[String], text: &str, all: bool) -> Value {
    let (operator, nothing_left) = if all { ("and", "all") } else { ("or", "none") };
    json!({ "multi_match": {
        "query": text,
        "operator": operator,
        "fields": fields,
        "lenient": true,
        "zero_terms_query": nothing_left,
    } })
}

/// Returns the query for any of several words in any of several fields.
fn some_word(fields: &[String], words: &str) -> Value {
    json!({ "multi_match": {
        "query": words,
        "operator": "or",
        "fields": fields,
        "lenient": true,
    } })
}
