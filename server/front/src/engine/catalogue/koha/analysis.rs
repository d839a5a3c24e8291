//! The words of strings as the engine folds them. They are requested from the engine before a query is built from words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::diagnostic;

use super::mapping::KnownFields;
use crate::engine::catalogue::leaf::{
    CatalogueLeaf, Part, Phrase, Placed, Spans, Wanted, Word, WordPart,
};
use crate::engine::catalogue::map::Role;
use crate::engine::catalogue::plan::{AskError, Clause};
use crate::engine::link::reading::{ReadLink, Reading};

/// The maximum number of strings that are folded for a query; each takes a request.
const MOST_TEXTS: usize = 256;
/// The number of requests that are sent at the same time.
const AT_ONCE: usize = 8;
/// The maximum number of octets in an answer for each octet of the string, in addition to `ANSWER_OCTETS`.
const OCTETS_OF_OCTET: usize = 200;
const ANSWER_OCTETS: usize = 16 * 1024;

/// The rules by which a string is folded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Folding {
    /// The rules for this field.
    Field(String),
    /// The rules for words, but without splitting the string.
    Whole,
}

/// The strings that must be folded for a query.
#[derive(Debug, Default)]
pub(super) struct Needs(BTreeSet<(Folding, String)>);

impl Needs {
    /// Adds the strings that a clause needs.
    pub(super) fn add(&mut self, clause: &Clause) {
        clause.each_leaf(&mut |leaf| self.add_leaf(leaf));
    }

    /// Adds a string that a field folds.
    pub(super) fn add_text(&mut self, field: &str, text: &str) {
        self.0
            .insert((Folding::Field(field.to_owned()), text.to_owned()));
    }

    fn add_leaf(&mut self, CatalogueLeaf { point, wanted }: &CatalogueLeaf) {
        let fields = |role| point.fields(role);
        match wanted {
            Wanted::Words { words, .. } => {
                let masked = words
                    .iter()
                    .filter(|word| word.exact().is_none())
                    .filter(|word| beginning(word).is_none());
                self.add_words(fields(Role::Masks), masked);
            }
            Wanted::Spans(spans) => {
                if is_plain(spans) || alone(spans).is_some_and(|word| beginning(word).is_some()) {
                    return;
                }
                spans.each_words(&mut |placed| {
                    if placed.has_edges() {
                        self.add_whole(fields(Role::Whole), placed);
                    } else {
                        self.add_words(fields(Role::Masks), &placed.words);
                    }
                });
            }
            Wanted::OpenKeys(words) => {
                for word in words {
                    self.add_literals(keys(point.fields(Role::Keys), fields(Role::Masks)), word);
                }
            }
            _ => {}
        }
    }

    /// Adds words whose positions matter, or that have masks.
    fn add_words<'w>(&mut self, fields: &[String], words: impl IntoIterator<Item = &'w Word>) {
        for word in words {
            match outer(word) {
                Some((_, text, _)) => {
                    for field in fields {
                        self.add_text(field, text);
                    }
                }
                None => {
                    let texts = literals(word);
                    self.0
                        .extend(texts.map(|text| (Folding::Whole, text.to_owned())));
                }
            }
        }
    }

    /// Adds words that must be at an edge of a value. Without masks, they form one string.
    fn add_whole(&mut self, fields: &[String], placed: &Placed) {
        if let Some(text) = placed.text() {
            for field in fields {
                self.add_text(field, &text);
            }
            return;
        }
        for word in &placed.words {
            self.add_literals(fields, word);
        }
    }

    fn add_literals(&mut self, fields: &[String], word: &Word) {
        for field in fields {
            for text in literals(word) {
                self.add_text(field, text);
            }
        }
    }
}

/// Returns the fields of keys or, if there are none, the fields of words.
pub(super) fn keys<'f>(keys: &'f [String], words: &'f [String]) -> &'f [String] {
    if keys.is_empty() { words } else { keys }
}

/// Returns whether the spans are a single phrase without masks and edges, whose text the engine accepts unchanged.
pub(super) fn is_plain(spans: &Spans) -> bool {
    plain(spans).is_some()
}

/// Returns the text of the spans if they are a single phrase without masks and edges.
pub(super) fn plain(spans: &Spans) -> Option<String> {
    let Spans::Phrases(phrases) = spans else {
        return None;
    };
    let [phrase] = phrases.as_slice() else {
        return None;
    };
    let placed = only(phrase)?;
    placed.text().filter(|_| !placed.has_edges())
}

/// Returns the word of the spans if it is the only one and may be anywhere in a value.
pub(super) fn alone(spans: &Spans) -> Option<&Word> {
    let Spans::Phrases(phrases) = spans else {
        return None;
    };
    let [phrase] = phrases.as_slice() else {
        return None;
    };
    let placed = only(phrase).filter(|placed| !placed.has_edges())?;
    match placed.words.as_slice() {
        [word] => Some(word),
        _ => None,
    }
}

/// Returns the folded beginning of a word with a mask at its end, if all of Koha's analyzers fold it in the same way: ASCII
/// letters and digits are one word, in lower case.
pub(super) fn beginning(word: &Word) -> Option<String> {
    let text = word.beginning()?;
    let is_one = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_alphanumeric());
    is_one.then(|| text.to_ascii_lowercase())
}

/// Returns the words of a phrase without gaps.
pub(super) fn only(phrase: &Phrase) -> Option<&Placed> {
    match phrase.as_slice() {
        [Part::Words(placed)] => Some(placed),
        _ => None,
    }
}

/// Returns the text of a word whose masks are only at its ends, between two flags that say whether the beginning and the
/// end have a mask.
pub(super) fn outer(word: &Word) -> Option<(bool, &str, bool)> {
    match &*word.0 {
        [WordPart::Text(text)] => Some((false, text, false)),
        [WordPart::Text(text), WordPart::Any] => Some((false, text, true)),
        [WordPart::Any, WordPart::Text(text)] => Some((true, text, false)),
        [WordPart::Any, WordPart::Text(text), WordPart::Any] => Some((true, text, true)),
        _ => None,
    }
}

/// Returns the parts of a word that are not masks.
fn literals(word: &Word) -> impl Iterator<Item = &str> {
    word.0.iter().filter_map(|part| match part {
        WordPart::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// The words at each position in a string. A position has several words if the engine knows synonyms.
pub(super) type Positions = Vec<Vec<String>>;

/// Strings with their words, as the engine folds them.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    words: HashMap<(String, String), Positions>,
    whole: HashMap<String, String>,
    /// Whether strings are only split at spaces, and not folded.
    is_as_written: bool,
}

impl Analysis {
    /// Returns an analysis that folds nothing, for showing a query without asking the engine.
    pub(super) fn as_written() -> Self {
        Self {
            is_as_written: true,
            ..Self::default()
        }
    }

    /// Returns the words into which a field folds a string.
    pub(super) fn words(&self, field: &str, text: &str) -> Positions {
        if self.is_as_written {
            return text
                .split_whitespace()
                .map(|word| vec![word.to_owned()])
                .collect();
        }
        let key = (field.to_owned(), text.to_owned());
        self.words.get(&key).cloned().unwrap_or_default()
    }

    /// Returns a string as folded by a field that does not split it; empty if nothing remains of it after folding.
    pub(super) fn key(&self, field: &str, text: &str) -> String {
        if self.is_as_written {
            return text.to_owned();
        }
        let words = self.words(field, text).into_iter().flatten();
        words.collect::<Vec<_>>().concat()
    }

    /// Returns a part of a word in its folded form.
    pub(super) fn whole<'t>(&'t self, text: &'t str) -> &'t str {
        self.whole
            .get(text)
            .map_or(if self.is_as_written { text } else { "" }, |folded| folded)
    }

    #[cfg(test)]
    pub(super) fn note_words(&mut self, field: &str, text: &str, words: Positions) {
        self.words
            .insert((field.to_owned(), text.to_owned()), words);
    }

    #[cfg(test)]
    pub(super) fn note_whole(&mut self, text: &str, folded: &str) {
        self.whole.insert(text.to_owned(), folded.to_owned());
    }
}

/// Asks the engine to fold the strings.
///
/// # Errors
/// Fails with condition 31 if there are too many strings. For other errors, see [`AskError`].
pub(super) async fn ask(
    link: &ReadLink,
    Needs(needs): Needs,
    known: &KnownFields,
) -> Result<Analysis, AskError> {
    // Fields with the same folding need only one request.
    let mut texts: BTreeMap<(Folding, &str), Vec<&(Folding, String)>> = BTreeMap::new();
    for need @ (folding, text) in &needs {
        let alike = match folding {
            Folding::Field(field) => Folding::Field(known.get(field).unwrap_or(field).clone()),
            Folding::Whole => Folding::Whole,
        };
        texts.entry((alike, text)).or_default().push(need);
    }
    if texts.len() > MOST_TEXTS {
        let words = format!("the search engine takes {MOST_TEXTS} masked words");
        return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words).into());
    }
    let mut analysis = Analysis::default();
    let texts: Vec<_> = texts.into_iter().collect();
    for some in texts.chunks(AT_ONCE) {
        let asked = some.iter().filter_map(|((_, text), needs)| {
            let (folding, _) = needs.first()?;
            Some(positions(link, folding, text))
        });
        let found = try_join_all(asked).await?;
        for (((_, text), needs), positions) in some.iter().zip(found) {
            for (folding, _) in needs {
                match folding {
                    Folding::Field(field) => {
                        let key = (field.clone(), (*text).to_owned());
                        analysis.words.insert(key, positions.clone());
                    }
                    Folding::Whole => {
                        let folded: Vec<&str> =
                            { positions.iter().flatten() }.map(String::as_str).collect();
                        analysis.whole.insert((*text).to_owned(), folded.concat());
                    }
                }
            }
        }
    }
    Ok(analysis)
}

async fn positions(link: &ReadLink, folding: &Folding, text: &str) -> Result<Positions, AskError> {
    let body = body(folding, text);
    let limit = ANSWER_OCTETS + text.len() * OCTETS_OF_OCTET;
    let answer = link.ask(Reading::Analyze, "", &body, limit).await?;
    read(&answer).ok_or(AskError::Malformed("words"))
}

fn body(folding: &Folding, text: &str) -> Value {
    match folding {
        Folding::Field(field) => json!({ "field": field, "text": text }),
        Folding::Whole => {
            json!({ "tokenizer": "keyword", "filter": ["icu_folding"], "text": text })
        }
    }
}

/// Parses the words at each position.
fn read(answer: &Value) -> Option<Positions> {
    let mut by_position: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for token in answer.get("tokens")?.as_array()? {
        let text = token.get("token")?.as_str()?.to_owned();
        let position = token.get("position")?.as_u64()?;
        by_position.entry(position).or_default().push(text);
    }
    Some(by_position.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_are_at_one_position() {
        let token = |text: &str, position: u64| json!({ "token": text, "position": position });
        let answer = json!({ "tokens": [token("tv", 0), token("television", 0), token("set", 2)] });
        let words = |words: &[&str]| {
            { words.iter() }
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            read(&answer),
            Some(vec![words(&["tv", "television"]), words(&["set"])])
        );
        assert_eq!(read(&json!({ "tokens": [] })), Some(Vec::new()));
        assert_eq!(read(&json!({})), None);
    }
}
