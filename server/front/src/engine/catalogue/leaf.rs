//! The leaves of clauses in a catalogue. Each leaf is a condition on an index, with the text as the client wrote it;
//! the engine folds this text.

use std::ops::Bound;
use std::sync::Arc;

use z3950_server::Diagnostic;
use z3950_server::memory::index_map::TextRange;

use super::map::Role;
use super::offer::Point;
use crate::engine::clause::Leaf;
use crate::engine::clause::spans::{self, SpanWords};

/// A condition on a record in a catalogue.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) struct CatalogueLeaf {
    /// The index. It remains the same object if the offer is replaced by a newer one.
    pub(super) point: Arc<Point>,
    pub(super) wanted: Wanted,
}

/// The condition on an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    /// The record has a value in one of the fields.
    Exists,
    /// The record has a value to sort by.
    Sortable,
    /// The record has one of these identifiers.
    Identifiers(Arc<[String]>),
    /// The record has all of these words, or any of them, at any positions in any fields. The fields have the role
    /// `Words` or, for masks, `Masks`.
    Words { words: Vec<Word>, all: bool },
    /// The record has words at these positions in one value. The fields have the roles `Words` and `Masks` and, for
    /// edges, `Whole` and `First`.
    Spans(Spans),
    /// The record has one of these complete numbers or codes in a field with the role `Keys` or, if the index has no
    /// such field, `Words`.
    Keys(Vec<String>),
    /// The record has a number or code that matches one of these incomplete forms, in a field with the role `Keys` or,
    /// if the index has no such field, `Masks`.
    OpenKeys(Vec<Word>),
    /// The record has a value between these bounds, in the order of octets, in a field with the role `Ranges`.
    Range(TextRange),
    /// The record has this date: `YYYY` or `YYYYMMDD` in fields with the roles `Years`, `Days` and `Stamps`, or the
    /// text as it was written in fields with the role `Words`.
    Date { digits: String, text: String },
    /// The record has a date between these bounds, which consist of digits, in fields with the roles `Years`, `Days`
    /// and `Stamps`. A bound that is a year includes or excludes all of its days.
    Dates(TextRange),
}

/// Words at positions in a value: phrases, and phrases near each other.
pub(super) type Spans = spans::Spans<Placed>;
/// A phrase in an index of a catalogue.
pub(super) type Phrase = spans::Phrase<Placed>;
/// A part of a phrase in an index of a catalogue.
pub(super) type Part = spans::Part<Placed>;

/// Adjacent words, which may have to begin or end the value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) struct Placed {
    /// The words, of which there is at least one.
    pub(super) words: Vec<Word>,
    /// Whether the words begin the value.
    pub(super) first: bool,
    /// Whether the words end the value.
    pub(super) last: bool,
}

/// The text between two spaces in a term. The engine may split it into several words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word(pub(super) Vec<WordPart>);

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordPart {
    /// The text as it was written.
    Text(String),
    /// A mask for any number of characters.
    Any,
    /// A mask for one character.
    One,
    /// A mask for one character or none.
    AtMostOne,
}

impl Word {
    /// Returns the text of a word without masks.
    pub(super) fn exact(&self) -> Option<&str> {
        match &*self.0 {
            [WordPart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the beginning of a word that is only truncated at its end.
    pub(super) fn beginning(&self) -> Option<&str> {
        match &*self.0 {
            [WordPart::Text(text), WordPart::Any] => Some(text),
            _ => None,
        }
    }

    fn octets(&self) -> usize {
        let parts = self.0.iter().map(|part| match part {
            WordPart::Text(text) => text.len(),
            _ => 0,
        });
        size_of::<Self>() + parts.sum::<usize>()
    }
}

impl Placed {
    /// Returns the text, if no word has masks.
    pub(super) fn text(&self) -> Option<String> {
        text_of(&self.words)
    }

    /// Returns whether the words must be at an edge of the value.
    pub(super) fn has_edges(&self) -> bool {
        self.first || self.last
    }
}

/// Returns words as one string, if none has masks.
pub(super) fn text_of(words: &[Word]) -> Option<String> {
    let texts: Option<Vec<&str>> = words.iter().map(Word::exact).collect();
    Some(texts?.join(" "))
}

impl SpanWords for Placed {
    fn count(&self) -> usize {
        self.words.len()
    }

    fn octets(&self) -> usize {
        self.words.iter().map(Word::octets).sum()
    }
}

impl Leaf for CatalogueLeaf {
    type SortKey = String;
    type Counted = String;
    type Id = String;

    const ID_OCTETS: usize = 48;

    fn leaves(&self) -> usize {
        let of = |roles: &[Role]| {
            let fields = roles.iter().map(|role| self.point.fields(*role).len());
            fields.sum::<usize>().max(1)
        };
        let dates = [Role::Words, Role::Years, Role::Days, Role::Stamps];
        match &self.wanted {
            Wanted::Sortable | Wanted::Identifiers(_) => 1,
            Wanted::Exists => of(&Role::ALL),
            Wanted::Words { words, .. } => words.len() * of(&[Role::Words]).max(of(&[Role::Masks])),
            Wanted::Spans(spans) => {
                let words = of(&[Role::Words]).max(of(&[Role::Masks]));
                spans.leaves() * words.max(of(&[Role::Whole, Role::First]))
            }
            Wanted::Keys(keys) => keys.len() * of(&[Role::Keys, Role::Words]),
            Wanted::OpenKeys(keys) => keys.len() * of(&[Role::Keys, Role::Masks]),
            Wanted::Range(_) => of(&[Role::Ranges]),
            Wanted::Date { .. } | Wanted::Dates(_) => of(&dates),
        }
    }

    fn octets(&self) -> usize {
        let range = |(from, to): &TextRange| bound_octets(from) + bound_octets(to);
        match &self.wanted {
            // The octets of identifiers are counted with the result set that keeps them, so they are not counted again here.
            Wanted::Exists | Wanted::Sortable | Wanted::Identifiers(_) => 0,
            Wanted::Words { words, .. } | Wanted::OpenKeys(words) => {
                words.iter().map(Word::octets).sum()
            }
            Wanted::Spans(spans) => spans.octets(),
            Wanted::Keys(keys) => keys.iter().map(|key| key.len() + size_of::<String>()).sum(),
            Wanted::Range(bounds) | Wanted::Dates(bounds) => range(bounds),
            Wanted::Date { digits, text } => digits.len() + text.len(),
        }
    }

    fn join(&mut self, other: Self) -> Option<Self> {
        Some(other)
    }

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }
}

fn bound_octets(bound: &Bound<String>) -> usize {
    match bound {
        Bound::Included(text) | Bound::Excluded(text) => text.len(),
        Bound::Unbounded => 0,
    }
}
