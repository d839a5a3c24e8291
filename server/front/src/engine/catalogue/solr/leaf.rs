//! Converts the leaves of clauses to Solr's syntax. The result contains the names of fields and parameters, but none of the
//! client's text.

use std::fmt::Write as _;
use std::ops::Bound;

use z3950_asn1::bib1::attributes::TRUNCATION_RIGHT;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::memory::Kind;
use z3950_server::memory::index_map::TextRange;
use z3950_server::{Diagnostic, diagnostic};

use super::Texts;
use super::analysis::{
    Analysis, MOST_SHOWN, beginning, beginning_fields, fields_of, single_words, trimmed,
};
use crate::engine::catalogue::leaf::{
    CatalogueLeaf, Part, Phrase, Placed, Spans, Wanted, Word, WordPart,
};
use crate::engine::catalogue::map::Role;
use crate::engine::catalogue::offer::{Offer, Point};

/// The separator between the values in a list; it does not occur in any identifier.
const SEPARATOR: char = '\u{1f}';
/// The maximum number of octets in the literal parts of a mask. Solr refuses automata for more than 1,000 octets.
const MOST_MASK_OCTETS: usize = 900;
/// The maximum number of masks for one character or none; each of them doubles the number of forms in the query.
const MOST_OPTIONAL: usize = 4;

/// Returns the query for a leaf; `None` if it finds nothing.
///
/// # Errors
/// Fails if Solr does not support the leaf.
pub(super) fn query(
    offer: &Offer,
    analysis: &Analysis,
    texts: &mut Texts,
    leaf: &CatalogueLeaf,
) -> Result<Option<String>, Diagnostic> {
    let mut reader = LeafReader {
        point: &leaf.point,
        analysis,
        texts,
    };
    match &leaf.wanted {
        Wanted::Exists => Ok(reader.exists(&existing(&leaf.point))),
        Wanted::Sortable => Ok(reader.exists(leaf.point.fields(Role::Sort))),
        Wanted::Identifiers(ids) => Ok(reader.list(&offer.record.identifier, ids)),
        Wanted::Words { words, all } => reader.words(words, *all),
        Wanted::Spans(spans) => reader.spans(spans),
        Wanted::Keys(keys) => Ok(reader.keys(keys)),
        Wanted::OpenKeys(words) => reader.open_keys(words),
        Wanted::Range(bounds) => Ok(reader.ranges(Role::Ranges, bounds)),
        Wanted::Date { digits, text } => reader.date(digits, text),
        Wanted::Dates(bounds) => reader.dates(bounds),
    }
}

/// Returns the fields that show whether a record has an entry in the index: if it has one, at least one of these fields has a value.
fn existing(point: &Point) -> Vec<String> {
    let of = |roles: &[Role]| {
        let fields = roles.iter().flat_map(|role| point.fields(*role));
        fields.cloned().collect::<Vec<_>>()
    };
    let words = of(&[Role::Words, Role::Years]);
    if words.is_empty() {
        of(&[Role::Keys, Role::Ranges, Role::Whole])
    } else {
        words
    }
}

/// Returns alternatives as one query; `None` if there are no alternatives.
fn any(queries: impl IntoIterator<Item = String>) -> Option<String> {
    let queries: Vec<String> = queries.into_iter().collect();
    match queries.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("({})", several.join(" "))),
    }
}

struct LeafReader<'a> {
    point: &'a Point,
    analysis: &'a Analysis,
    texts: &'a mut Texts,
}

impl LeafReader<'_> {
    /// Returns the query for text that a field folds.
    fn field(&mut self, field: &str, text: &str) -> String {
        let text = self.texts.add(text);
        format!("{{!field f={field} v=${text}}}")
    }

    /// Returns the query for an expression in Solr's syntax, in which all text is escaped.
    fn expression(&mut self, parser: &str, field: &str, expression: String) -> String {
        let text = self.texts.add(expression);
        format!("{{!{parser} df={field} v=${text}}}")
    }

    /// Returns a query for the text in any of the fields with this role.
    fn in_fields(&mut self, role: Role, text: &str) -> Option<String> {
        let point = self.point;
        let fields = point.fields(role).iter();
        any(fields
            .map(|field| self.field(field, text))
            .collect::<Vec<_>>())
    }

    fn exists(&mut self, fields: &[String]) -> Option<String> {
        let queries = fields.iter();
        any(queries.map(|field| self.expression("lucene", field, "[* TO *]".to_owned())))
    }

    /// Returns the query for unanalysed values.
    fn list(&mut self, field: &str, values: &[String]) -> Option<String> {
        let values: Vec<&str> = values
            .iter()
            .filter(|value| !value.contains(SEPARATOR))
            .map(String::as_str)
            .collect();
        if values.is_empty() {
            return None;
        }
        let text = self.texts.add(values.join(&SEPARATOR.to_string()));
        Some(format!(
            "{{!terms f={field} separator=\"\\u001f\" v=${text}}}"
        ))
    }

    /// Returns the query for words, each in any of the fields. A word of which nothing remains after folding is
    /// omitted.
    fn words(&mut self, words: &[Word], all: bool) -> Result<Option<String>, Diagnostic> {
        let mut queries = Vec::new();
        for word in words {
            let found = match word.exact() {
                Some(text) => self.in_fields(Role::Words, text),
                None => self.masked(Role::Masks, word, true)?,
            };
            queries.extend(found);
        }
        if all {
            let required = queries.iter().map(|query| format!("+{query}"));
            Ok(Some(required.collect::<Vec<_>>().join(" ")))
        } else {
            Ok(any(queries))
        }
    }

    fn spans(&mut self, spans: &Spans) -> Result<Option<String>, Diagnostic> {
        match spans {
            Spans::Phrases(phrases) => match phrases.as_slice() {
                [phrase] => match phrase.as_slice() {
                    [Part::Words(placed)] => self.placed(placed),
                    _ => self.near(&[words_of(phrase)?], 1),
                },
                several => {
                    let pairs: Vec<_> = several.iter().map(words_of).collect::<Result<_, _>>()?;
                    self.near(&pairs, 1)
                }
            },
            Spans::Near {
                left,
                right,
                most,
                ordered,
            } => {
                let mut pairs = Vec::new();
                for one in left {
                    for other in right {
                        let (one, other) = (only_word(one)?, only_word(other)?);
                        pairs.push(vec![one, other]);
                        if !ordered {
                            pairs.push(vec![other, one]);
                        }
                    }
                }
                self.near(&pairs, *most)
            }
        }
    }

    /// Returns the query for a phrase.
    fn placed(&mut self, placed: &Placed) -> Result<Option<String>, Diagnostic> {
        if placed.has_edges() {
            return self.edged(placed);
        }
        match (placed.text(), placed.words.as_slice()) {
            (Some(text), _) => Ok(self.in_fields(Role::Words, &text)),
            (None, [word]) => self.masked(Role::Masks, word, true),
            (None, words) => self.near(&[words.iter().collect()], 1),
        }
    }

    /// Returns the query for a complete value, or for its beginning. The fields store a value as one string without punctuation.
    /// Unless the end is open, the value must therefore end after the words, or continue with a space.
    fn edged(&mut self, placed: &Placed) -> Result<Option<String>, Diagnostic> {
        let point = self.point;
        if !placed.first {
            return Err(diagnostic(Condition::POSITION, "1"));
        }
        let Some((text, is_open)) = beginning(placed) else {
            return Err(refused_mask(Condition::TRUNCATION));
        };
        if placed.last && !is_open {
            return Ok(self.in_fields(Role::Whole, &text));
        }
        if text.len() > MOST_MASK_OCTETS || text.chars().count() >= MOST_SHOWN {
            return Err(diagnostic(Condition::TOO_MANY_CHARACTERS, ""));
        }
        let mut queries = Vec::new();
        for field in beginning_fields(point) {
            let folded = self.analysis.key(field, &text).to_owned();
            if is_open {
                queries.push(self.raw("prefix", field, folded));
            } else {
                queries.push(self.raw("prefix", field, format!("{folded} ")));
                queries.push(self.raw("term", field, folded));
            }
        }
        Ok(any(queries))
    }

    /// Returns the query for text exactly as stored in the field.
    fn raw(&mut self, parser: &str, field: &str, text: String) -> String {
        let text = self.texts.add(text);
        format!("{{!{parser} f={field} v=${text}}}")
    }

    /// Returns the query for words in the order of any of the sequences. The last word is at most `most` words after the first;
    /// adjacent words are one word apart. The fields must treat each word as a single word, so that they neither drop nor split it.
    fn near(&mut self, sequences: &[Vec<&Word>], most: u32) -> Result<Option<String>, Diagnostic> {
        let point = self.point;
        let words = || sequences.iter().flatten().copied();
        let role = fields_of(words());
        let mut queries = Vec::new();
        for field in point.fields(role) {
            if !single_words(self.analysis, field, words()) {
                let words = "operands that are not single words of letters and digits";
                return Err(diagnostic(Condition::PROXIMITY, words));
            }
            for sequence in sequences {
                let parts: Option<Vec<String>> = sequence.iter().map(|word| plain(word)).collect();
                let parts = parts.ok_or_else(|| refused_mask(Condition::TRUNCATION))?;
                let expression = format!("\"{}\"~{}", parts.join(" "), most.saturating_sub(1));
                queries.push(self.expression("complexphrase inOrder=true", field, expression));
            }
        }
        Ok(any(queries))
    }

    /// Returns the query for a word with masks in any of the fields; `is_word` says whether the fields split text into words.
    fn masked(
        &mut self,
        role: Role,
        word: &Word,
        is_word: bool,
    ) -> Result<Option<String>, Diagnostic> {
        let point = self.point;
        let word = if is_word { trimmed(word) } else { word.clone() };
        let has_text = |part: &WordPart| matches!(part, WordPart::Text(text) if !text.is_empty());
        if !word.0.iter().any(has_text) {
            return Ok(None);
        }
        let octets = word.0.iter().map(|part| match part {
            WordPart::Text(text) => text.len(),
            _ => 1,
        });
        if octets.sum::<usize>() > MOST_MASK_OCTETS {
            return Err(diagnostic(Condition::TOO_MANY_CHARACTERS, ""));
        }
        let forms = forms(&word).ok_or_else(|| refused_mask(Condition::TRUNCATION))?;
        let mut queries = Vec::new();
        for field in point.fields(role) {
            if is_word && !single_words(self.analysis, field, [&word]) {
                return Err(refused_mask(Condition::TRUNCATION));
            }
            for form in &forms {
                queries.push(self.expression("lucene", field, form.clone()));
            }
        }
        Ok(any(queries))
    }

    /// Returns the query for complete numbers or codes.
    fn keys(&mut self, keys: &[String]) -> Option<String> {
        let point = self.point;
        let role = key_role(point, Role::Words);
        let mut queries = Vec::new();
        for field in point.fields(role) {
            if point.kind == Kind::Lccn {
                let forms: Vec<String> = keys.iter().flat_map(|key| lccn_forms(key)).collect();
                queries.extend(self.list(field, &forms));
            } else {
                queries.extend(keys.iter().map(|key| self.field(field, key)));
            }
        }
        any(queries)
    }

    fn open_keys(&mut self, words: &[Word]) -> Result<Option<String>, Diagnostic> {
        let role = key_role(self.point, Role::Masks);
        let mut queries = Vec::new();
        for word in words {
            queries.extend(self.masked(role, word, role == Role::Masks)?);
        }
        Ok(any(queries))
    }

    fn ranges(&mut self, role: Role, bounds: &TextRange) -> Option<String> {
        let point = self.point;
        let fields = point.fields(role).iter();
        any(fields
            .map(|field| self.expression("lucene", field, range(bounds)))
            .collect::<Vec<_>>())
    }

    fn date(&mut self, digits: &str, text: &str) -> Result<Option<String>, Diagnostic> {
        let years = if digits.len() == 4 {
            self.in_fields(Role::Years, digits)
        } else {
            None
        };
        let words = self.in_fields(Role::Words, text);
        self.has_dates()?;
        Ok(any(years.into_iter().chain(words)))
    }

    fn dates(&mut self, bounds: &TextRange) -> Result<Option<String>, Diagnostic> {
        self.has_dates()?;
        Ok(self.ranges(Role::Years, bounds))
    }

    /// Checks that the index can be searched for dates.
    ///
    /// # Errors
    /// Fails with condition 114 if the index has neither fields for years nor fields for words.
    fn has_dates(&self) -> Result<(), Diagnostic> {
        if self.point.has(Role::Years) || self.point.has(Role::Words) {
            Ok(())
        } else {
            Err(diagnostic(Condition::USE, &*self.point.name))
        }
    }
}

fn key_role(point: &Point, otherwise: Role) -> Role {
    if point.has(Role::Keys) {
        Role::Keys
    } else {
        otherwise
    }
}

fn refused_mask(condition: Condition) -> Diagnostic {
    diagnostic(condition, TRUNCATION_RIGHT.to_string())
}

/// Returns the words of a phrase without gaps.
///
/// # Errors
/// Fails with condition 131 if there is a gap.
fn words_of(phrase: &Phrase) -> Result<Vec<&Word>, Diagnostic> {
    let mut words = Vec::new();
    for part in phrase {
        match part {
            Part::Words(placed) => words.extend(&placed.words),
            Part::Gap(_) => return Err(diagnostic(Condition::PROXIMITY_RELATION, "3")),
        }
    }
    Ok(words)
}

/// Returns the only word in an operand.
///
/// # Errors
/// Fails with condition 129 if there are several words.
fn only_word(phrase: &Phrase) -> Result<&Word, Diagnostic> {
    match words_of(phrase)?.as_slice() {
        [word] => Ok(word),
        _ => Err(diagnostic(
            Condition::PROXIMITY,
            "operands of several words",
        )),
    }
}

/// Returns a word of letters, digits and masks as it is written in a phrase; `None` for any other word, and for a mask that Solr does
/// not support. Operators such as `AND` are converted to lower case, because otherwise the parser would not treat them as words.
fn plain(word: &Word) -> Option<String> {
    let mut text = String::new();
    for part in &word.0 {
        match part {
            WordPart::Text(own) if own.chars().all(char::is_alphanumeric) => text.push_str(own),
            WordPart::Any => text.push('*'),
            WordPart::One => text.push('?'),
            WordPart::Text(_) | WordPart::AtMostOne => return None,
        }
    }
    if ["AND", "OR", "NOT", "TO"].contains(&&*text) {
        text.make_ascii_lowercase();
    }
    Some(text)
}

/// Returns a word with masks in Solr's syntax, in all its forms, because Solr does not have a mask for one character
/// or none; `None` if there are too many forms.
fn forms(word: &Word) -> Option<Vec<String>> {
    let optional = word.0.iter().filter(|part| **part == WordPart::AtMostOne);
    if optional.count() > MOST_OPTIONAL {
        return None;
    }
    let mut forms = vec![String::new()];
    for part in &word.0 {
        match part {
            WordPart::Text(text) => forms.iter_mut().for_each(|form| escape(form, text)),
            WordPart::Any => forms.iter_mut().for_each(|form| form.push('*')),
            WordPart::One => forms.iter_mut().for_each(|form| form.push('?')),
            WordPart::AtMostOne => {
                let with_one: Vec<String> = forms.iter().map(|form| format!("{form}?")).collect();
                forms.extend(with_one);
            }
        }
    }
    // The parser would read these words as operators.
    for form in &mut forms {
        if ["AND", "OR", "NOT"].contains(&&**form) {
            form.insert(0, '\\');
        }
    }
    forms.sort_unstable();
    forms.dedup();
    Some(forms)
}

/// Appends text for Solr's parser, with a backslash before every character except letters and digits.
fn escape(form: &mut String, text: &str) {
    for character in text.chars() {
        if !character.is_alphanumeric() {
            form.push('\\');
        }
        form.push(character);
    }
}

/// Returns a range in Solr's syntax. In its bounds, every character except ASCII letters and digits is written as an escape for
/// each of its UTF-16 code units.
pub(super) fn range((from, to): &TextRange) -> String {
    let written = |text: &str| {
        let mut written = String::from("\"");
        for unit in text.encode_utf16() {
            match u8::try_from(unit) {
                Ok(octet) if octet.is_ascii_alphanumeric() => written.push(char::from(octet)),
                _ => {
                    let _ = write!(written, "\\u{unit:04x}");
                }
            }
        }
        written + "\""
    };
    let (begin, least) = match from {
        Bound::Included(text) => ('[', written(text)),
        Bound::Excluded(text) => ('{', written(text)),
        Bound::Unbounded => ('[', "*".to_owned()),
    };
    let (most, end) = match to {
        Bound::Included(text) => (written(text), ']'),
        Bound::Excluded(text) => (written(text), '}'),
        Bound::Unbounded => ("*".to_owned(), ']'),
    };
    format!("{begin}{least} TO {most}{end}")
}

/// Returns the forms in which indexes store an LCCN: normalized, or with the spaces of MARC 21 010 $a, which contains either a
/// prefix of two letters and ten digits, or a prefix of three letters, eight digits and a space.
fn lccn_forms(key: &str) -> Vec<String> {
    let letters = key
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(key.len());
    let (prefix, digits) = key.split_at(letters);
    let padded = match digits.len() {
        8 => format!("{prefix:<3}{digits}"),
        10 => format!("{prefix:<2}{digits}"),
        _ => key.to_owned(),
    };
    let trimmed = padded.trim_start().to_owned();
    let forms = [key.to_owned(), padded, trimmed];
    let mut forms: Vec<String> = { forms.iter() }
        .flat_map(|form| [form.clone(), format!("{form} ")])
        .collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}
