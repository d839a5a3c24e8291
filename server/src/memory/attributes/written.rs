//! A term with its attributes, as written by the client, before any text is folded (Z39.50-2003 Appendix ATR.1).

use std::borrow::Cow;
use std::ops::Bound;

use z3950_asn1::apdu::AttributesPlusTerm;
use z3950_asn1::bib1::attributes as bib1;
use z3950_asn1::oid::Oid;

use super::mask::{Mask, stand_ins};
use super::read::{TermAttributes, TermText};
use super::support::*;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::fields::{Fields, IndexId, Kind};
use crate::memory::index::{Edge, Edges};

/// A term with its attributes, all of them supported by the kind of its index and the profile.
#[derive(Clone, Debug)]
pub struct WrittenTerm<'q> {
    pub(super) attributes: TermAttributes,
    /// The text, verbatim; empty if the relation matches all records in the index.
    pub text: Cow<'q, str>,
    /// The octets of the term, if it was sent as text.
    pub octets: &'q [u8],
}

/// The required order of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordOrder {
    /// All words must occur, in any place.
    All,
    /// At least one of the words must occur.
    Some,
    /// The words as a phrase, which may have to begin or end the entry.
    Phrase(Edges),
}

impl<'q> WrittenTerm<'q> {
    /// Reads a term; `attribute_set` is the default set of the query.
    ///
    /// # Errors
    /// Fails with the condition for the first unsupported attribute, or for a term of a type that cannot be compared with entries
    /// in the index.
    pub(in crate::memory) fn read(
        fields: &Fields,
        attribute_set: &Oid,
        operand: &'q AttributesPlusTerm,
    ) -> Result<Self, Diagnostic> {
        let attributes = TermAttributes::read(fields, attribute_set, &operand.attributes)?;
        let (text, octets) = if attributes.relation == ALWAYS_MATCHES {
            (Cow::Borrowed(""), [].as_slice())
        } else {
            let read = TermText::read(&operand.term, attributes.kind, &fields.profile)?;
            (read.text, read.octets)
        };
        Ok(Self {
            attributes,
            text,
            octets,
        })
    }

    /// Returns the index that the Use attribute selects.
    pub fn index(&self) -> IndexId {
        self.attributes.index
    }

    /// Returns the kind of the index.
    pub fn kind(&self) -> Kind {
        self.attributes.kind
    }

    /// Returns whether the relation is AlwaysMatches (103), which matches all records in the index.
    pub fn is_always_matches(&self) -> bool {
        self.attributes.relation == ALWAYS_MATCHES
    }

    /// Returns whether the term requests the records in the index that do not contain it (relation 6).
    pub fn is_negated(&self) -> bool {
        self.attributes.relation == NOT_EQUAL
    }

    /// Returns the value of a type: relation (2), position (3), structure (4), truncation (5) or completeness (6), for messages;
    /// `None` for other types, and if the term has no structure.
    pub fn value(&self, attribute_type: i64) -> Option<i64> {
        let TermAttributes {
            relation,
            position,
            structure,
            truncation,
            completeness,
            ..
        } = self.attributes;
        match attribute_type {
            bib1::RELATION => Some(relation),
            bib1::POSITION => Some(position),
            bib1::STRUCTURE => structure,
            bib1::TRUNCATION => Some(truncation),
            bib1::COMPLETENESS => Some(completeness),
            _ => None,
        }
    }

    /// Returns the order required of the term's words, and the edges of the entry at which they must be.
    ///
    /// # Errors
    /// Fails with condition 123 for a list of words that must be at an edge of the entry.
    pub fn order(&self) -> Result<WordOrder, Diagnostic> {
        Ok(match (self.edges(), self.attributes.structure) {
            (Some(_), Some(DOCUMENT_TEXT)) => return Err(self.contradiction(bib1::STRUCTURE)),
            (Some(edges), _) => WordOrder::Phrase(edges),
            (None, Some(bib1::STRUCTURE_PHRASE | NAME_NORMALIZED)) => {
                WordOrder::Phrase(Edges::default())
            }
            (None, Some(DOCUMENT_TEXT)) => WordOrder::Some,
            (None, _) => WordOrder::All,
        })
    }

    /// Returns the edges of the entry at which the phrase must begin or end, as required by position, structure or completeness;
    /// `None` if the words need not be a phrase. A truncated end of the term need not be at an edge.
    pub fn edges(&self) -> Option<Edges> {
        let TermAttributes {
            position,
            structure,
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
        let (left, right) = self.open_ends();
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

    /// Returns whether the left and the right end of the term are truncated.
    pub fn open_ends(&self) -> (bool, bool) {
        let truncation = self.attributes.truncation;
        let both = truncation == bib1::TRUNCATION_LEFT_AND_RIGHT;
        (
            both || truncation == bib1::TRUNCATION_LEFT,
            both || truncation == bib1::TRUNCATION_RIGHT,
        )
    }

    /// Returns whether the term is a regular expression (truncation 102).
    pub fn is_expression(&self) -> bool {
        self.attributes.truncation == REGULAR_EXPRESSION
    }

    pub(super) fn mask(&self) -> Option<Mask> {
        match self.attributes.truncation {
            bib1::TRUNCATION_NUMBER_SIGN => Some(Mask::NumberSign),
            Z39_58 => Some(Mask::Z39_58),
            _ => None,
        }
    }

    /// Returns the text of a masked term (truncation 101 and 104) with placeholders for its masks; `None` for a term without masks.
    pub fn masked(&self) -> Option<String> {
        self.mask().map(|mask| stand_ins(&self.text, mask))
    }

    /// Returns the relation if it is an order relation, such as less than; it cannot be combined with truncation.
    ///
    /// # Errors
    /// Fails with condition 123 if the term is also truncated.
    pub(super) fn comparison(&self) -> Result<Option<i64>, Diagnostic> {
        let relation = self.attributes.relation;
        if !matches!(relation, LESS | LESS_OR_EQUAL | GREATER_OR_EQUAL | GREATER) {
            return Ok(None);
        }
        match self.attributes.truncation {
            bib1::TRUNCATION_NONE => Ok(Some(relation)),
            _ => Err(self.contradiction(bib1::RELATION)),
        }
    }

    /// Returns the range of entries for an order relation and this bound; `None` for another relation. `end` is the position
    /// after the last entry that equals the bound, if several entries do.
    ///
    /// # Errors
    /// Fails with condition 123 if the term is also truncated.
    pub fn range(&self, bound: &str, end: Option<&str>) -> Result<Option<TextRange>, Diagnostic> {
        let relation = self.comparison()?;
        Ok(relation.map(|relation| range(relation, bound.to_owned(), end.map(str::to_owned))))
    }

    /// Checks that the term has the form that its structure requires.
    ///
    /// # Errors
    /// Fails with condition 126 if the term has another form.
    pub fn check_structure(&self) -> Result<(), Diagnostic> {
        if self.attributes.truncation != bib1::TRUNCATION_NONE {
            return Ok(());
        }
        let text = self.text.trim();
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
        if suits { Ok(()) } else { Err(self.illegal()) }
    }

    /// Returns the key for a number, code or date; `None` if the text is not valid as a term of this kind.
    pub fn key(&self) -> Option<String> {
        self.attributes.kind.key(&self.text)
    }

    /// Returns the diagnostic for contradictory attributes (123); `attribute_type` is the type of one of them.
    pub fn contradiction(&self, attribute_type: i64) -> Diagnostic {
        diagnostic(Condition::ATTRIBUTE_COMBINATION, attribute_type.to_string())
    }

    /// Returns the diagnostic for a term that has nothing to search for (125).
    pub fn malformed(&self) -> Diagnostic {
        diagnostic(Condition::MALFORMED_TERM, &*self.text)
    }

    /// Returns the diagnostic for a term that does not fit its attributes (126).
    pub fn illegal(&self) -> Diagnostic {
        diagnostic(Condition::TERM_VALUE, &*self.text)
    }
}

/// The bounds of a range of entries.
pub type TextRange = (Bound<String>, Bound<String>);

/// Returns the range of entries with this relation to a key. `end` is the position after the last entry that equals the key, if
/// several entries do.
pub(super) fn range(relation: i64, key: String, end: Option<String>) -> TextRange {
    match relation {
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
    }
}
