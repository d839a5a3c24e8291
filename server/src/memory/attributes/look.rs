//! Translates a term and its attributes into an index lookup (Z39.50-2003 Appendix ATR.1; conditions 5, 9, 11, 123, 125, 126 and
//! 229).
//!
//! | structure of a text | lookup |
//! |---|---|
//! | 1, 101 | the words as a phrase |
//! | 2, 6, 102, 105, none | all of the words, anywhere in the index |
//! | 106 | any of the words |
//! | 3, 108 | the words as a complete entry |
//!
//! Attributes for position or completeness also make a phrase. In indexes other than those of text, a term is a single key, so
//! that it always is first and complete in its field.

use std::ops::Bound;
use std::time::Duration;

use z3950_asn1::apdu::AttributesPlusTerm;
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::oid::Oid;

use super::expression::regular;
use super::mask::{Mask, masked, masked_key};
use super::read::{TermAttributes, TermText};
use super::support::*;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::fields::{Fields, IndexId, Kind};
use crate::memory::index::{Edge, Edges, Pattern, Terms};
use crate::memory::words::words;

/// An index lookup.
#[derive(Clone, Debug)]
pub struct Look<'q> {
    /// The entries to look up.
    pub target: LookTarget<'q>,
    /// Whether the result is negated: the records of the index that do not match (relation 6).
    pub negated: bool,
}

/// The entries to look up.
#[derive(Clone, Debug)]
pub enum LookTarget<'q> {
    /// All entries of the index.
    Having(IndexId),
    /// The exact docid.
    Docid(&'q [u8]),
    /// Entries of a dictionary that match any of the patterns.
    Entries(Terms, Vec<Pattern>),
    /// Words of a text index; at least one pattern.
    Words(IndexId, Vec<Pattern>, WordOrder),
}

/// The required order of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOrder {
    /// All of the words, anywhere.
    All,
    /// At least one of the words.
    Some,
    /// The words as a phrase, which may have to begin or end the entry.
    Phrase(Edges),
}

impl LookTarget<'_> {
    /// Returns the index of the lookup.
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
    /// Returns the time that compiling a regular expression took; `None` without one.
    pub(in crate::memory) fn compiled_in(&self) -> Option<Duration> {
        match &self.target {
            LookTarget::Entries(_, patterns) => patterns.iter().find_map(Pattern::compiled_in),
            _ => None,
        }
    }
}

/// The maximum number of words in a term.
const MOST_WORDS: usize = 256;

/// Returns the lookup of a term; `attribute_set` is the default set of the query.
///
/// # Errors
/// The first unsupported attribute, or the term if it does not fit its attributes.
pub(in crate::memory) fn look<'q>(
    fields: &Fields,
    attribute_set: &Oid,
    operand: &'q AttributesPlusTerm,
) -> Result<Look<'q>, Diagnostic> {
    let attributes = TermAttributes::read(fields, attribute_set, &operand.attributes)?;
    let target = if attributes.relation == ALWAYS_MATCHES {
        LookTarget::Having(attributes.index)
    } else {
        let term = TermText::read(&operand.term, attributes.kind, &fields.profile)?;
        let reading = TermReader {
            fields,
            attributes,
            term,
        };
        match attributes.kind {
            Kind::Octets => reading.docid()?,
            Kind::Text => reading.text()?,
            _ => reading.key()?,
        }
    };
    Ok(Look {
        target,
        negated: attributes.relation == NOT_EQUAL,
    })
}

fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Isbn | Kind::Issn | Kind::Lccn | Kind::Number)
}

struct TermReader<'a, 'q> {
    fields: &'a Fields,
    attributes: TermAttributes,
    term: TermText<'q>,
}

impl<'q> TermReader<'_, 'q> {
    fn text(&self) -> Result<LookTarget<'q>, Diagnostic> {
        let TermAttributes {
            index,
            truncation,
            structure,
            ..
        } = self.attributes;
        if let Some(compare) = self.comparison()? {
            return self.text_range(compare);
        }
        let edges = self.edges();
        if truncation == REGULAR_EXPRESSION {
            let wanted = regular(&self.term.text).ok_or_else(|| self.term.malformed())?;
            return match edges {
                None => Ok(LookTarget::Entries(Terms::Words(index), vec![wanted])),
                Some(_) if self.fields.has_keys(index) => {
                    Ok(LookTarget::Entries(Terms::Keys(index), vec![wanted]))
                }
                Some(_) => Err(self.contradiction(bib1::TRUNCATION)),
            };
        }
        let order = match (edges, structure) {
            (Some(_), Some(DOCUMENT_TEXT)) => return Err(self.contradiction(bib1::STRUCTURE)),
            (Some(edges), _) => WordOrder::Phrase(edges),
            (None, Some(bib1::STRUCTURE_PHRASE | NAME_NORMALIZED)) => {
                WordOrder::Phrase(Edges::default())
            }
            (None, Some(DOCUMENT_TEXT)) => WordOrder::Some,
            (None, _) => WordOrder::All,
        };
        let words = self.words(matches!(order, WordOrder::Phrase(_)))?;
        Ok(LookTarget::Words(index, words, order))
    }

    /// Returns the edges of the entry that the phrase must touch, as required by position, structure or completeness; `None` if
    /// the words need not be a phrase. A truncated end of the term does not touch an edge.
    fn edges(&self) -> Option<Edges> {
        let TermAttributes {
            position,
            structure,
            truncation,
            completeness,
            ..
        } = self.attributes;
        let is_whole = matches!(structure, Some(KEY | STRING));
        let (mut first, mut last) = match completeness {
            _ if is_whole => (Edge::Field, Edge::Field),
            bib1::COMPLETENESS_COMPLETE_FIELD => (Edge::Field, Edge::Field),
            bib1::COMPLETENESS_COMPLETE_SUBFIELD => (Edge::Subfield, Edge::Subfield),
            _ => (Edge::Any, Edge::Any),
        };
        let (left, right) = open_ends(truncation);
        first = if left { Edge::Any } else { first };
        last = if right { Edge::Any } else { last };
        match position {
            bib1::POSITION_FIRST_IN_FIELD => first = Edge::Field,
            bib1::POSITION_FIRST_IN_SUBFIELD if first == Edge::Any => first = Edge::Subfield,
            _ => {}
        }
        let asked = completeness != bib1::COMPLETENESS_INCOMPLETE_SUBFIELD
            || position != bib1::POSITION_ANY
            || is_whole;
        asked.then_some(Edges { first, last })
    }

    /// Returns the words of the term as patterns. In a phrase, left truncation applies to the first word only, and right
    /// truncation to the last; otherwise, both apply to every word.
    fn words(&self, in_order: bool) -> Result<Vec<Pattern>, Diagnostic> {
        let text = &*self.term.text;
        let found = match self.mask() {
            Some(mask) => masked(text, mask),
            None => {
                let (left, right) = open_ends(self.attributes.truncation);
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
        let words = found.filter(|words: &Vec<_>| !words.is_empty());
        let words = words.ok_or_else(|| self.term.malformed())?;
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

    fn mask(&self) -> Option<Mask> {
        match self.attributes.truncation {
            bib1::TRUNCATION_NUMBER_SIGN => Some(Mask::NumberSign),
            Z39_58 => Some(Mask::Z39_58),
            _ => None,
        }
    }

    /// Returns the relation if it is an order relation, such as less than; it cannot be combined with truncation.
    fn comparison(&self) -> Result<Option<i64>, Diagnostic> {
        let relation = self.attributes.relation;
        if !matches!(relation, LESS | LESS_OR_EQUAL | GREATER_OR_EQUAL | GREATER) {
            return Ok(None);
        }
        match self.attributes.truncation {
            bib1::TRUNCATION_NONE => Ok(Some(relation)),
            _ => Err(self.contradiction(bib1::RELATION)),
        }
    }

    /// Returns the range of entries for an order relation: of complete entries if the index has them, of words otherwise.
    fn text_range(&self, relation: i64) -> Result<LookTarget<'q>, Diagnostic> {
        let index = self.attributes.index;
        let words = words(&self.term.text);
        if words.is_empty() {
            return Err(self.term.malformed());
        }
        let by_word =
            self.attributes.structure == Some(bib1::STRUCTURE_WORD) || !self.fields.has_keys(index);
        let terms = match (by_word, words.len()) {
            (false, _) => Terms::Keys(index),
            (true, 1) => Terms::Words(index),
            (true, _) => return Err(self.term.illegal()),
        };
        let entries = range(relation, words.join(" "), None);
        Ok(LookTarget::Entries(terms, vec![entries]))
    }

    /// Returns the lookup in an index of keys.
    fn key(&self) -> Result<LookTarget<'q>, Diagnostic> {
        let kind = self.attributes.kind;
        self.suits_structure()?;
        let terms = Terms::Keys(self.attributes.index);
        let wanted = match (self.comparison()?, self.attributes.truncation) {
            (Some(relation), _) => {
                let key = self.whole_key()?;
                // A range that ends with a year includes the days of that year.
                let end = (kind == Kind::Date).then(|| format!("{key}{BEHIND_DIGITS}"));
                vec![range(relation, key, end)]
            }
            (None, bib1::TRUNCATION_NONE) if kind == Kind::Date => {
                vec![Pattern::Starts(self.whole_key()?)]
            }
            // Other servers find nothing where a term is no number of the kind, and so does this one.
            (None, bib1::TRUNCATION_NONE) if is_number(kind) && self.has_characters() => {
                let key = kind.key(&self.term.text);
                key.map(Pattern::Exact).into_iter().collect()
            }
            (None, bib1::TRUNCATION_NONE) => vec![Pattern::Exact(self.whole_key()?)],
            (None, REGULAR_EXPRESSION) => {
                vec![regular(&self.term.text).ok_or_else(|| self.term.malformed())?]
            }
            (None, truncation) => {
                let wanted = self.open_key(open_ends(truncation))?;
                wanted.iter().try_for_each(|key| self.long_enough(key))?;
                wanted
            }
        };
        Ok(LookTarget::Entries(terms, wanted))
    }

    fn has_characters(&self) -> bool {
        self.term.text.chars().any(char::is_alphanumeric)
    }

    /// The lookup of a docid, whole or by its beginning.
    fn docid(&self) -> Result<LookTarget<'q>, Diagnostic> {
        if self.attributes.truncation != bib1::TRUNCATION_RIGHT {
            return Ok(LookTarget::Docid(self.term.octets));
        }
        if self.term.octets.is_empty() {
            return Err(self.term.malformed());
        }
        // Docids are text; other octets begin none.
        let begin = std::str::from_utf8(self.term.octets).ok();
        let wanted: Vec<Pattern> = begin
            .map(|text| Pattern::Starts(text.to_owned()))
            .into_iter()
            .collect();
        wanted.iter().try_for_each(|key| self.long_enough(key))?;
        Ok(LookTarget::Entries(
            Terms::Keys(self.attributes.index),
            wanted,
        ))
    }

    fn whole_key(&self) -> Result<String, Diagnostic> {
        let key = self.attributes.kind.key(&self.term.text);
        key.ok_or_else(|| match self.attributes.kind {
            Kind::Date => self.term.illegal(),
            _ => self.term.malformed(),
        })
    }

    /// Returns the patterns for a truncated key. For a part of an ISBN, they include its 13-digit form.
    fn open_key(&self, (left, right): (bool, bool)) -> Result<Vec<Pattern>, Diagnostic> {
        let (kind, text) = (self.attributes.kind, &*self.term.text);
        if let Some(mask) = self.mask() {
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

    /// Checks that the term has the form that its structure requires.
    fn suits_structure(&self) -> Result<(), Diagnostic> {
        if self.attributes.truncation != bib1::TRUNCATION_NONE {
            return Ok(());
        }
        let text = self.term.text.trim();
        let digits = |of: &dyn Fn(char) -> bool| !text.is_empty() && text.chars().all(of);
        let suits = match self.attributes.structure {
            Some(bib1::STRUCTURE_YEAR) => text.len() == 4 && digits(&|c| c.is_ascii_digit()),
            Some(DATE_NORMALIZED) => {
                matches!(text.len(), 4 | 8 | 10) && digits(&|c| c.is_ascii_digit() || c == '-')
            }
            Some(NUMERIC_STRING) => {
                digits(&|c| c.is_ascii_digit() || matches!(c, '-' | ' ' | 'x' | 'X'))
            }
            _ => true,
        };
        if suits {
            Ok(())
        } else {
            Err(self.term.illegal())
        }
    }

    /// Returns the diagnostic for contradictory attributes; `attribute_type` is the type of one of them.
    fn contradiction(&self, attribute_type: i64) -> Diagnostic {
        diagnostic(Condition::ATTRIBUTE_COMBINATION, attribute_type.to_string())
    }
}

/// The character that sorts after all digits.
const BEHIND_DIGITS: char = ':';

/// Returns whether a truncation attribute truncates the left and the right end of the term.
fn open_ends(truncation: i64) -> (bool, bool) {
    let both = truncation == bib1::TRUNCATION_LEFT_AND_RIGHT;
    (
        both || truncation == bib1::TRUNCATION_LEFT,
        both || truncation == bib1::TRUNCATION_RIGHT,
    )
}

/// Returns the range of entries with this relation to a key. `end` is the position after the last entry that equals the key, if
/// several do.
fn range(relation: i64, key: String, end: Option<String>) -> Pattern {
    let (from, to) = match relation {
        LESS => (Bound::Unbounded, Bound::Excluded(key)),
        LESS_OR_EQUAL => (
            Bound::Unbounded,
            end.map_or(Bound::Included(key), Bound::Excluded),
        ),
        GREATER_OR_EQUAL => (Bound::Included(key), Bound::Unbounded),
        _ => (
            end.map_or(Bound::Excluded(key), Bound::Included),
            Bound::Unbounded,
        ),
    };
    Pattern::Range { from, to }
}
