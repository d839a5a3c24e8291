//! What a term of an index is to be like, and the terms that are.

use std::ops::{Bound, Range};

use regex::Regex;

use super::dictionary::Dictionary;
use super::strings::Strings;
use super::{Exhausted, Work};

/// What a term is to be like; texts are folded as the terms are.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) enum Pattern<'p> {
    /// The very term.
    Exact(&'p str),
    /// It begins so.
    Starts(&'p str),
    /// It ends so.
    Ends(&'p str),
    /// It has this in it.
    Contains(&'p str),
    /// An expression that describes the whole term.
    Matches {
        /// What all such terms begin with; may be empty.
        prefix: &'p str,
        /// The expression, anchored on both sides.
        regex: &'p Regex,
    },
    /// It is not before and not behind these, by its octets.
    Range {
        /// The beginning.
        from: Bound<&'p str>,
        /// The end.
        to: Bound<&'p str>,
    },
    /// Any term.
    Any,
}

/// Terms of a dictionary, ascending.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Matches {
    Range(Range<usize>),
    List(Vec<usize>),
}

impl Matches {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::List(list) => list.len(),
        }
    }

    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Range(range) => Box::new(range.clone()),
            Self::List(list) => Box::new(list.iter().copied()),
        }
    }
}

/// What is before all words: signs such as [`super::BOUNDARY`] that no text has among its words.
const FIRST_WORD: Bound<&str> = Bound::Included(" ");

/// The terms like a pattern. Signs among the words are like [`Pattern::Exact`] alone.
///
/// # Errors
/// When it is too much work.
pub(super) fn matches(
    dictionary: &Dictionary,
    strings: &Strings,
    pattern: &Pattern<'_>,
    work: &mut Work,
) -> Result<Matches, Exhausted> {
    let terms = |strings: Range<u32>| Matches::Range(dictionary.between(strings));
    let test = |range: Range<usize>, work: &mut Work, like: &dyn Fn(&[u8]) -> bool| {
        work.spend(range.len())?;
        let like = range.filter(|term| like(strings.at(dictionary.string(*term))));
        Ok(Matches::List(like.collect()))
    };
    let words = || strings.between(FIRST_WORD, Bound::Unbounded);
    let matches = match *pattern {
        Pattern::Exact(text) => {
            let term = strings
                .find(text.as_bytes())
                .and_then(|string| dictionary.term(string));
            Matches::Range(term.map_or(0..0, |term| term..term + 1))
        }
        Pattern::Starts("") | Pattern::Ends("") | Pattern::Contains("") | Pattern::Any => {
            terms(words())
        }
        Pattern::Starts(start) => terms(strings.beginning_with(start)),
        Pattern::Range {
            from: Bound::Unbounded,
            to,
        } => terms(strings.between(FIRST_WORD, to)),
        Pattern::Range { from, to } => terms(strings.between(from, to)),
        Pattern::Ends(end) => test(dictionary.between(words()), work, &|term| {
            term.ends_with(end.as_bytes())
        })?,
        // To go through all strings is quick; through those of a small index, it is quicker.
        Pattern::Contains(inner) if dictionary.len() < strings.len() as usize / 16 => {
            let finder = memchr::memmem::Finder::new(inner);
            test(dictionary.between(words()), work, &|term| {
                finder.find(term).is_some()
            })?
        }
        Pattern::Contains(inner) => {
            work.spend(strings.len() as usize / 16)?;
            let found = strings.containing(inner.as_bytes());
            work.spend(found.len())?;
            Matches::List(terms_of(dictionary, &found))
        }
        Pattern::Matches { prefix, regex } => {
            let candidates = match prefix {
                "" => words(),
                prefix => strings.beginning_with(prefix),
            };
            test(dictionary.between(candidates), work, &|term| {
                std::str::from_utf8(term).is_ok_and(|term| regex.is_match(term))
            })?
        }
    };
    Ok(matches)
}

/// The terms of strings that come in order; not each string is a term of this dictionary.
fn terms_of(dictionary: &Dictionary, strings: &[u32]) -> Vec<usize> {
    strings
        .iter()
        .filter_map(|string| dictionary.term(*string))
        .collect()
}
