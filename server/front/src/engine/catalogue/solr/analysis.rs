//! Asks Solr how fields fold a string. This is necessary before a query that is only valid if the fields treat the string as a
//! single word.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::future::try_join_all;
use serde_json::Value;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::diagnostic;

use super::{ANSWER_OCTETS, MOST_ANSWER_OCTETS, failed};
use crate::engine::catalogue::leaf::{CatalogueLeaf, Part, Placed, Spans, Wanted, Word, WordPart};
use crate::engine::catalogue::map::Role;
use crate::engine::catalogue::offer::Point;
use crate::engine::catalogue::plan::{AskError, Clause};
use crate::engine::link::reading::{FORM, ReadLink, Reading};

/// The maximum number of strings that are folded for a query; each takes a request.
const MOST_TEXTS: usize = 256;
/// The number of requests that are sent at the same time.
const AT_ONCE: usize = 8;
/// The maximum number of octets in an answer for each octet of the string and each field; the answer lists all steps of the
/// analysis.
const OCTETS_OF_OCTET: usize = 4_000;
/// The number of characters that Solr shows of a string that it does not analyse.
pub(super) const MOST_SHOWN: usize = 256;

/// The strings that must be folded for a query, each with the fields that fold it.
#[derive(Debug, Default)]
pub(super) struct Needs(BTreeMap<String, BTreeSet<String>>);

impl Needs {
    /// Adds the strings that a clause needs.
    pub(super) fn add(&mut self, clause: &Clause) {
        clause.each_leaf(&mut |leaf| self.add_leaf(leaf));
    }

    /// Adds a string that fields fold.
    pub(super) fn add_text<'f>(&mut self, fields: impl IntoIterator<Item = &'f str>, text: &str) {
        if !text.is_empty() {
            let known = self.0.entry(text.to_owned()).or_default();
            known.extend(fields.into_iter().map(str::to_owned));
        }
    }

    /// Adds the text with which a value must begin.
    fn add_beginning(&mut self, point: &Point, placed: &Placed) {
        if let Some((text, is_open)) = beginning(placed)
            && (is_open || !placed.last)
        {
            let fields = beginning_fields(point).iter();
            self.add_text(fields.map(String::as_str), &text);
        }
    }

    fn add_leaf(&mut self, CatalogueLeaf { point, wanted }: &CatalogueLeaf) {
        let mut words = Vec::new();
        match wanted {
            Wanted::Words { words: listed, .. } => {
                words.extend(listed.iter().filter(|word| word.exact().is_none()));
            }
            Wanted::Spans(spans) => spans.each_words(&mut |placed| {
                if placed.has_edges() {
                    self.add_beginning(point, placed);
                } else if !is_plain(spans) {
                    words.extend(&placed.words);
                }
            }),
            Wanted::OpenKeys(keys) if !point.has(Role::Keys) => words.extend(keys),
            _ => {}
        }
        let fields = point.fields(fields_of(words.iter().copied()));
        for word in words {
            let is_exact = word.exact().is_some();
            let texts = literals(&trimmed(word)).collect::<Vec<_>>();
            for text in texts.iter().filter(|text| is_exact || !is_one_word(text)) {
                self.add_text(fields.iter().map(String::as_str), text);
            }
        }
    }
}

/// Returns the text with which a value begins, and whether its last word may continue; `None` if there are masks in other places.
pub(super) fn beginning(placed: &Placed) -> Option<(String, bool)> {
    let (last, before) = placed.words.split_last()?;
    let (end, is_open) = match last.exact() {
        Some(text) => (text, false),
        None => (last.beginning()?, true),
    };
    let mut words: Vec<&str> = before.iter().map(Word::exact).collect::<Option<_>>()?;
    words.push(end);
    Some((words.join(" "), is_open))
}

/// Returns the fields that are searched for values by their first words.
pub(super) fn beginning_fields(point: &Point) -> &[String] {
    if point.has(Role::First) {
        point.fields(Role::First)
    } else {
        point.fields(Role::Whole)
    }
}

/// Returns whether the spans are a single phrase without masks, which Solr accepts unchanged.
fn is_plain(spans: &Spans) -> bool {
    let Spans::Phrases(phrases) = spans else {
        return false;
    };
    let only = match phrases.as_slice() {
        [phrase] => phrase.as_slice(),
        _ => return false,
    };
    matches!(only, [Part::Words(placed)] if placed.text().is_some())
}

/// Returns the role of the fields in which words are searched: the fields without stemming, if a word has masks.
pub(super) fn fields_of<'w>(words: impl IntoIterator<Item = &'w Word>) -> Role {
    let mut words = words.into_iter();
    if words.any(|word| word.exact().is_none()) {
        Role::Masks
    } else {
        Role::Words
    }
}

/// Returns the parts of a word that are not masks.
fn literals(word: &Word) -> impl Iterator<Item = String> {
    word.0.iter().filter_map(|part| match part {
        WordPart::Text(text) => Some(text.clone()),
        _ => None,
    })
}

/// Returns a word without the punctuation around it, which is not indexed in any field.
pub(super) fn trimmed(word: &Word) -> Word {
    fn text_of(part: &mut WordPart) -> Option<&mut String> {
        match part {
            WordPart::Text(text) => Some(text),
            _ => None,
        }
    }
    let is_punctuation = |character: char| character.is_ascii_punctuation();
    let mut parts = word.0.clone();
    if let Some(first) = parts.iter_mut().find_map(text_of) {
        *first = first.trim_start_matches(is_punctuation).to_owned();
    }
    if let Some(last) = parts.iter_mut().rev().find_map(text_of) {
        *last = last.trim_end_matches(is_punctuation).to_owned();
    }
    Word(parts)
}

/// Returns whether a field treats each word as a single word: the word consists of letters and digits, and the field does not
/// split it. An exact word must remain one word, and must not be removed.
pub(super) fn single_words<'w>(
    analysis: &Analysis,
    field: &str,
    words: impl IntoIterator<Item = &'w Word>,
) -> bool {
    words.into_iter().all(|word| {
        let is_exact = word.exact().is_some();
        literals(word).all(|text| {
            let count = analysis.count(field, &text);
            text.chars().all(is_part)
                && count.is_none_or(|count| count == 1 || count == 0 && !is_exact)
        })
    })
}

/// Returns whether a character is a part of a word: a letter, a digit, or a mark that is combined with the letter
/// before it.
fn is_part(character: char) -> bool {
    character.is_alphanumeric() || unicode_normalization::char::is_combining_mark(character)
}

/// Returns whether every field treats a part of a word with masks as one word: ASCII letters, of which only the first may be a
/// capital, or digits.
fn is_one_word(text: &str) -> bool {
    let mut letters = text.bytes().skip(1);
    let starts_word = text.starts_with(|first: char| first.is_ascii_alphabetic());
    starts_word && letters.all(|letter| letter.is_ascii_lowercase())
        || !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// The results of folding strings, by field and string.
#[derive(Debug, Default)]
pub(super) struct Analysis(Option<BTreeMap<(String, String), Vec<String>>>);

impl Analysis {
    /// Creates an analysis that treats every string as one word.
    pub(super) fn as_written() -> Self {
        Self::default()
    }

    fn words(&self, field: &str, text: &str) -> Option<&[String]> {
        let known = self.0.as_ref()?;
        let words = known.get(&(field.to_owned(), text.to_owned()));
        Some(words.map_or(&[], Vec::as_slice))
    }

    fn count(&self, field: &str, text: &str) -> Option<usize> {
        self.words(field, text).map(<[String]>::len)
    }

    /// Returns a string as folded by a field if the result is one word; otherwise, the unchanged string.
    pub(super) fn key<'t>(&'t self, field: &str, text: &'t str) -> &'t str {
        match self.words(field, text) {
            Some([word]) if text.chars().count() < MOST_SHOWN => word,
            _ => text,
        }
    }
}

/// Asks Solr how fields fold strings.
///
/// # Errors
/// Fails with condition 31 if there are too many strings, or with the diagnostic for a failed request to Solr.
pub(super) async fn ask(link: &ReadLink, Needs(texts): Needs) -> Result<Analysis, AskError> {
    if texts.len() > MOST_TEXTS {
        let words = "too many words with masks or distances";
        return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words).into());
    }
    let texts: Vec<_> = texts.into_iter().collect();
    let mut known = BTreeMap::new();
    for some in texts.chunks(AT_ONCE) {
        let asked = some.iter().map(|(text, fields)| folded(link, text, fields));
        for found in try_join_all(asked).await? {
            known.extend(found);
        }
    }
    Ok(Analysis(Some(known)))
}

/// A field and a string, with the words into which the field folds the string.
type Folded = ((String, String), Vec<String>);

async fn folded(
    link: &ReadLink,
    text: &str,
    fields: &BTreeSet<String>,
) -> Result<Vec<Folded>, AskError> {
    let names = fields.iter().map(String::as_str).collect::<Vec<_>>();
    let form = form(&[
        ("wt", "json"),
        ("expandMacros", "false"),
        ("analysis.fieldname", &names.join(",")),
        ("analysis.query", text),
    ]);
    let octets = text.len().saturating_mul(fields.len());
    let limit = ANSWER_OCTETS
        .saturating_add(octets.saturating_mul(OCTETS_OF_OCTET))
        .min(MOST_ANSWER_OCTETS);
    let asked = link.send(Reading::SolrAnalysis, "", form, FORM, limit);
    let answer = asked.await.map_err(failed)?;
    let folded = fields.iter().map(|field| {
        let steps = answer.pointer(&format!("/analysis/field_names/{field}/query"));
        let words = words_of(steps).ok_or(AskError::Malformed("words"))?;
        Ok(((field.clone(), text.to_owned()), words))
    });
    folded.collect()
}

/// Returns the words after the last step of an analysis. The steps are in one list, in which the name of each step is followed
/// by its words.
fn words_of(steps: Option<&Value>) -> Option<Vec<String>> {
    let Some(Value::Array(steps)) = steps else {
        // If the analysis leaves nothing of the text, the response has no steps.
        return steps.is_none().then(Vec::new);
    };
    let words = steps
        .last()?
        .as_array()?
        .iter()
        .map(|word| word.get("text")?.as_str());
    words.map(|word| word.map(str::to_owned)).collect()
}

/// Returns an HTML form's fields as a string (application/x-www-form-urlencoded).
pub(super) fn form(fields: &[(&str, &str)]) -> Bytes {
    let mut form = String::new();
    for (name, value) in fields {
        if !form.is_empty() {
            form.push('&');
        }
        form.push_str(name);
        form.push('=');
        for octet in value.bytes() {
            if octet.is_ascii_alphanumeric() {
                form.push(char::from(octet));
            } else {
                form.push_str(&format!("%{octet:02X}"));
            }
        }
    }
    form.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_step_has_the_words() {
        let steps = json!(["a.Tokenizer", [{ "text": "The" }, { "text": "War" }], "a.Filter", [{ "text": "war" }]]);
        assert_eq!(words_of(Some(&steps)), Some(vec!["war".to_owned()]));
        assert_eq!(
            words_of(Some(&json!(["a.Tokenizer", []]))),
            Some(Vec::new())
        );
        assert_eq!(words_of(None), Some(Vec::new()));
        assert_eq!(words_of(Some(&json!({}))), None);
    }

    #[test]
    fn no_field_splits_letters_or_digits_of_ascii() {
        for (text, expected) in [
            ("war", true),
            ("War", true),
            ("1984", true),
            ("PowerShot", false),
            ("17th", false),
            ("e-mail", false),
            ("na\u{ef}ve", false),
            ("", false),
        ] {
            assert_eq!(is_one_word(text), expected, "{text}");
        }
    }

    #[test]
    fn a_form_has_no_other_fields() {
        let form = form(&[("a", "1&b=2 ü"), ("c", "")]);
        assert_eq!(&form[..], b"a=1%26b%3D2%20%C3%BC&c=");
    }

    #[test]
    fn words_lose_the_punctuation_around_them() {
        let text = |text: &str| WordPart::Text(text.to_owned());
        let cases = [
            (
                vec![text("(war"), WordPart::Any],
                vec![text("war"), WordPart::Any],
            ),
            (
                vec![WordPart::Any, text("re-entry,")],
                vec![WordPart::Any, text("re-entry")],
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(trimmed(&Word(given)), Word(expected));
        }
    }
}
