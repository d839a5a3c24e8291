//! What a term of an index is to be like, and the terms that are.

use std::ops::{Bound, Range};

use regex::Regex;

use super::dictionary::Dictionary;
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

/// Strings like a pattern, ascending. Not each is a term of the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Matches {
    Range(Range<u32>),
    List(Vec<u32>),
}

/// What is before all words: signs such as [`super::BOUNDARY`] that no text has among its words.
const FIRST_WORD: Bound<&str> = Bound::Included(" ");

/// The strings like a pattern, among them all terms of the index that are. Signs among the words are like [`Pattern::Exact`]
/// alone.
///
/// # Errors
/// When it is too much work.
pub(super) fn matches(
    dictionary: &Dictionary<'_>,
    pattern: &Pattern<'_>,
    work: &mut Work,
) -> Result<Matches, Exhausted> {
    let strings = dictionary.strings();
    let test = |range: Range<u32>, work: &mut Work, like: &dyn Fn(&[u8]) -> bool| {
        work.spend(range.len())?;
        let like = dictionary
            .terms(range)
            .filter(|term| like(strings.at(*term)));
        Ok(Matches::List(like.collect()))
    };
    let words = || strings.between(FIRST_WORD, Bound::Unbounded);
    let matches = match *pattern {
        Pattern::Exact(text) => {
            let term = strings.find(text.as_bytes());
            Matches::Range(term.map_or(0..0, |term| term..term + 1))
        }
        Pattern::Starts("") | Pattern::Ends("") | Pattern::Contains("") | Pattern::Any => {
            Matches::Range(words())
        }
        Pattern::Starts(start) => Matches::Range(strings.beginning_with(start)),
        Pattern::Range {
            from: Bound::Unbounded,
            to,
        } => Matches::Range(strings.between(FIRST_WORD, to)),
        Pattern::Range { from, to } => Matches::Range(strings.between(from, to)),
        Pattern::Ends(end) => test(words(), work, &|term| term.ends_with(end.as_bytes()))?,
        // To go through the octets of all strings is quicker than from term to term.
        Pattern::Contains(inner) => {
            work.spend(strings.len() as usize / 16)?;
            let found = strings.containing(inner.as_bytes());
            work.spend(found.len())?;
            Matches::List(found)
        }
        Pattern::Matches { prefix, regex } => {
            let candidates = match prefix {
                "" => words(),
                prefix => strings.beginning_with(prefix),
            };
            test(candidates, work, &|term| {
                std::str::from_utf8(term).is_ok_and(|term| regex.is_match(term))
            })?
        }
    };
    Ok(matches)
}
