//! Translates a term and its attributes into an index lookup (Z39.50-2003 Appendix ATR.1; conditions 5, 9, 11, 123, 125, 126 and
//! 229).
//!
//! | structure of the term | lookup |
//! |---|---|
//! | 1, 101 | the words as a phrase |
//! | 2, 6, 102, 105, none | all of the words, anywhere in the index |
//! | 106 | any of the words |
//! | 3, 108 | the words as a complete entry |
//!
//! Attributes for position or completeness also make a phrase. In indexes that are not text indexes, a term is a single key, so
//! it is always first and complete in its field.

use std::time::Duration;

use z3950_asn1::apdu::AttributesPlusTerm;
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::oid::Oid;

use super::expression::regular;
use super::mask::{masked, masked_key};
use super::support::REGULAR_EXPRESSION;
use super::written::{WordOrder, WrittenTerm, range};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::fields::{Fields, IndexId, Kind};
use crate::memory::index::{Pattern, Terms};
use crate::memory::words::words;

/// An index lookup.
#[derive(Clone, Debug)]
pub struct Look<'q> {
    /// The entries to look up.
    pub target: LookTarget<'q>,
    /// Whether the result is negated: the records in the index that do not match (relation 6).
    pub negated: bool,
}

/// The entries to look up.
#[derive(Clone, Debug)]
pub enum LookTarget<'q> {
    /// All entries in the index.
    Having(IndexId),
    /// The record with exactly this docid.
    Docid(&'q [u8]),
    /// Entries in a dictionary that match any of the patterns.
    Entries(Terms, Vec<Pattern>),
    /// Words in a text index that match the patterns, with their required order. The list of patterns is never empty.
    Words(IndexId, Vec<Pattern>, WordOrder),
}

impl LookTarget<'_> {
    /// Returns the index in which the entries are looked up.
    pub fn index(&self) -> IndexId {
        match self {
            Self::Having(index)
            | Self::Entries(Terms::Words(index) | Terms::Keys(index), _)
            | Self::Words(index, ..) => *index,
            Self::Docid(_) => IndexId::DOCID,
        }
    }
}

impl Look<'_> {
    /// Returns the time that compiling a regular expression took; `None` if the lookup has no regular expression.
    pub(in crate::memory) fn compiled_in(&self) -> Option<Duration> {
        match &self.target {
            LookTarget::Entries(_, patterns) => patterns.iter().find_map(Pattern::compiled_in),
            _ => None,
        }
    }
}

/// The maximum number of words in a term.
const MOST_WORDS: usize = 256;

/// Returns the lookup for a term; `attribute_set` is the default set of the query.
///
/// # Errors
/// Fails with the condition for the first unsupported attribute, or for a term that does not fit its attributes.
pub(in crate::memory) fn look<'q>(
    fields: &Fields,
    attribute_set: &Oid,
    operand: &'q AttributesPlusTerm,
) -> Result<Look<'q>, Diagnostic> {
    let term = WrittenTerm::read(fields, attribute_set, operand)?;
    let negated = term.is_negated();
    let target = if term.is_always_matches() {
        LookTarget::Having(term.index())
    } else {
        let kind = term.kind();
        let reading = TermReader { fields, term };
        match kind {
            Kind::Octets => reading.docid()?,
            Kind::Text => reading.text()?,
            _ => reading.key()?,
        }
    };
    Ok(Look { target, negated })
}

fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Isbn | Kind::Issn | Kind::Lccn | Kind::Number)
}

struct TermReader<'a, 'q> {
    fields: &'a Fields,
    term: WrittenTerm<'q>,
}

impl<'q> TermReader<'_, 'q> {
    fn text(&self) -> Result<LookTarget<'q>, Diagnostic> {
        let index = self.term.index();
        if let Some(compare) = self.term.comparison()? {
            return self.text_range(compare);
        }
        if self.term.is_expression() {
            let wanted = regular(&self.term.text).ok_or_else(|| self.term.malformed())?;
            return match self.term.edges() {
                None => Ok(LookTarget::Entries(Terms::Words(index), vec![wanted])),
                Some(_) if self.fields.has_keys(index) => {
                    Ok(LookTarget::Entries(Terms::Keys(index), vec![wanted]))
                }
                Some(_) => Err(self.term.contradiction(bib1::TRUNCATION)),
            };
        }
        let order = self.term.order()?;
        let words = self.words(matches!(order, WordOrder::Phrase(_)))?;
        Ok(LookTarget::Words(index, words, order))
    }

    /// Returns the words of the term as patterns. In a phrase, left truncation applies to the first word only, and right
    /// truncation to the last; otherwise, both apply to every word.
    fn words(&self, in_order: bool) -> Result<Vec<Pattern>, Diagnostic> {
        let text = &*self.term.text;
        let found = match self.term.mask() {
            Some(mask) => masked(text, mask),
            None => {
                let (left, right) = self.term.open_ends();
                let words = words(text);
                let last = words.len().saturating_sub(1);
                let open = |(place, word)| {
                    Pattern::open(
                        word,
                        left && (!in_order || place == 0),
                        right && (!in_order || place == last),
                    )
                };
                Some(words.into_iter().enumerate().map(open).collect())
            }
        };
        let words = found
            .filter(|words: &Vec<_>| !words.is_empty())
            .ok_or_else(|| self.term.malformed())?;
        if words.len() > MOST_WORDS {
            let most = MOST_WORDS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_WORDS, most));
        }
        words.iter().try_for_each(|word| self.long_enough(word))?;
        Ok(words)
    }

    fn long_enough(&self, wanted: &Pattern) -> Result<(), Diagnostic> {
        let least = self.fields.profile.shortest_truncated;
        match wanted.given() {
            Some(given) if given < least => {
                let least = least.to_string();
                Err(diagnostic(Condition::TRUNCATED_TOO_SHORT, least))
            }
            _ => Ok(()),
        }
    }

    /// Returns the range of entries for an order relation. Complete entries are compared if the index has them and the structure
    /// is not a word; otherwise, words are compared.
    fn text_range(&self, relation: i64) -> Result<LookTarget<'q>, Diagnostic> {
        let index = self.term.attributes.index;
        let words = words(&self.term.text);
        if words.is_empty() {
            return Err(self.term.malformed());
        }
        let by_word = self.term.attributes.structure == Some(bib1::STRUCTURE_WORD)
            || !self.fields.has_keys(index);
        let terms = match (by_word, words.len()) {
            (false, _) => Terms::Keys(index),
            (true, 1) => Terms::Words(index),
            (true, _) => return Err(self.term.illegal()),
        };
        let (from, to) = range(relation, words.join(" "), None);
        let entries = Pattern::Range { from, to };
        Ok(LookTarget::Entries(terms, vec![entries]))
    }

    /// Returns the lookup in an index of keys.
    fn key(&self) -> Result<LookTarget<'q>, Diagnostic> {
        let kind = self.term.attributes.kind;
        self.term.check_structure()?;
        let terms = Terms::Keys(self.term.attributes.index);
        let wanted = match (self.term.comparison()?, self.term.attributes.truncation) {
            (Some(relation), _) => {
                let key = self.whole_key()?;
                // A range that ends with a year includes the days of that year.
                let end = (kind == Kind::Date).then(|| format!("{key}{BEHIND_DIGITS}"));
                let (from, to) = range(relation, key, end);
                vec![Pattern::Range { from, to }]
            }
            (None, bib1::TRUNCATION_NONE) if kind == Kind::Date => {
                vec![Pattern::Starts(self.whole_key()?)]
            }
            // If a term is not a number of this kind, other servers find nothing, and so does this one.
            (None, bib1::TRUNCATION_NONE) if is_number(kind) && self.has_characters() => {
                let key = kind.key(&self.term.text);
                key.map(Pattern::Exact).into_iter().collect()
            }
            (None, bib1::TRUNCATION_NONE) => vec![Pattern::Exact(self.whole_key()?)],
            (None, REGULAR_EXPRESSION) => {
                vec![regular(&self.term.text).ok_or_else(|| self.term.malformed())?]
            }
            (None, _) => {
                let wanted = self.open_key(self.term.open_ends())?;
                wanted.iter().try_for_each(|key| self.long_enough(key))?;
                wanted
            }
        };
        Ok(LookTarget::Entries(terms, wanted))
    }

    fn has_characters(&self) -> bool {
        self.term.text.chars().any(char::is_alphanumeric)
    }

    /// Returns the lookup for a docid, either complete or by its beginning.
    fn docid(&self) -> Result<LookTarget<'q>, Diagnostic> {
        if self.term.attributes.truncation != bib1::TRUNCATION_RIGHT {
            return Ok(LookTarget::Docid(self.term.octets));
        }
        if self.term.octets.is_empty() {
            return Err(self.term.malformed());
        }
        // Docids are text, so octets that are not text cannot begin a docid.
        let begin = std::str::from_utf8(self.term.octets).ok();
        let wanted: Vec<Pattern> = begin
            .map(|text| Pattern::Starts(text.to_owned()))
            .into_iter()
            .collect();
        wanted.iter().try_for_each(|key| self.long_enough(key))?;
        Ok(LookTarget::Entries(
            Terms::Keys(self.term.attributes.index),
            wanted,
        ))
    }

    fn whole_key(&self) -> Result<String, Diagnostic> {
        let key = self.term.attributes.kind.key(&self.term.text);
        key.ok_or_else(|| match self.term.attributes.kind {
            Kind::Date => self.term.illegal(),
            _ => self.term.malformed(),
        })
    }

    /// Returns the patterns for a truncated key. For a part of an ISBN, they include its 13-digit form.
    fn open_key(&self, (left, right): (bool, bool)) -> Result<Vec<Pattern>, Diagnostic> {
        let (kind, text) = (self.term.attributes.kind, &*self.term.text);
        if let Some(mask) = self.term.mask() {
            let wanted = masked_key(text, mask).ok_or_else(|| self.term.malformed())?;
            return Ok(vec![wanted]);
        }
        let part = match kind {
            Kind::Code | Kind::Language => text.trim().to_lowercase(),
            Kind::Isbn => words(text).concat().to_uppercase(),
            _ => words(text).concat(),
        };
        if part.is_empty() {
            return Err(self.term.malformed());
        }
        let is_start = kind == Kind::Isbn && right && !left;
        let longer = is_start.then(|| Pattern::Starts(format!("978{part}")));
        let own = [Pattern::open(part, left, right)];
        Ok(own.into_iter().chain(longer).collect())
    }
}

/// The first character that sorts after all digits.
const BEHIND_DIGITS: char = ':';
