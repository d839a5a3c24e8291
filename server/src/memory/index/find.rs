//! Finds the records with a term that matches a pattern, such as a mask or a regular expression.

use std::ops::{Bound, Range};
use std::time::Duration;
#[cfg(feature = "regex")]
use std::time::Instant;

use super::dictionary::Dictionary;
use super::segment::Segment;
use super::{BOUNDARY, Exhausted, Index, STRINGS_A_UNIT, Terms, WorkBudget};
use crate::memory::fields::IndexId;
use crate::memory::hits::{HitSet, Part};

/// The placeholder for any number of characters. Placeholders are letters that do not occur in catalogues and are not changed by
/// folding.
pub const ANY_NUMBER: char = '\u{16a0}';
/// The placeholder for exactly one character.
pub const EXACTLY_ONE: char = '\u{16a1}';
/// The placeholder for at most one character.
pub const AT_MOST_ONE: char = '\u{16a2}';

/// The maximum length of a mask, in characters. The limit exists because each position of a mask is represented by a bit of a
/// 128-bit number. Words in catalogues are shorter than this.
pub(in crate::memory) const MOST_MASK_CHARACTERS: usize = 127;

impl Index {
    /// Returns the records with a term that matches the pattern.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(in crate::memory) fn find(
        &self,
        terms: Terms,
        pattern: &Pattern,
        work: &mut WorkBudget,
    ) -> Result<HitSet<'_>, Exhausted> {
        self.parts(|segment| {
            work.spend(FIND_UNITS)?;
            in_segment(segment, terms, pattern, work)
        })
    }

    /// Calls `of` for each segment, and returns the records found in all segments as one set.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(super) fn parts<'a>(
        &'a self,
        mut of: impl FnMut(&'a Segment) -> Result<Part<'a>, Exhausted>,
    ) -> Result<HitSet<'a>, Exhausted> {
        let parts = self
            .segments()
            .map(|(number, segment, _)| Ok((number, of(segment)?)));
        Ok(HitSet::of_parts(
            parts.collect::<Result<Vec<_>, Exhausted>>()?,
        ))
    }

    /// Returns the records that have any entry in the index.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(in crate::memory) fn having(
        &self,
        index: IndexId,
        work: &mut WorkBudget,
    ) -> Result<HitSet<'_>, Exhausted> {
        let boundary = Pattern::Exact(BOUNDARY.to_owned());
        self.parts(|segment| {
            let part = in_segment(segment, Terms::Words(index), &boundary, work)?;
            if part.is_empty() {
                in_segment(segment, Terms::Keys(index), &Pattern::Any, work)
            } else {
                Ok(part)
            }
        })
    }

    /// Returns the records with this docid.
    pub(in crate::memory) fn docid(&self, docid: &[u8]) -> HitSet<'_> {
        let parts = self.segments().map(|(number, segment, _)| {
            let docids = segment.dictionary(Terms::Keys(IndexId::DOCID));
            let term = docids.strings().find(docid);
            let part = term.map(|term| docids.part(term));
            (number, part.unwrap_or_else(|| Part::first(0)))
        });
        HitSet::of_parts(parts)
    }
}

fn in_segment<'a>(
    segment: &'a Segment,
    terms: Terms,
    pattern: &Pattern,
    work: &mut WorkBudget,
) -> Result<Part<'a>, Exhausted> {
    let dictionary = segment.dictionary(terms);
    match matches(&dictionary, pattern, work)? {
        Matches::Range(range) if range.len() == 1 => Ok(dictionary.part(range.start)),
        Matches::Range(range) => {
            work.spend(range.len() / STRINGS_A_UNIT)?;
            dictionary.union(dictionary.terms(range), work)
        }
        Matches::List(list) => dictionary.union(list.into_iter(), work),
    }
}

/// A pattern for terms. The text of a pattern must be folded in the same way as terms.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// The term equal to this string.
    Exact(String),
    /// The terms that begin with this string.
    Starts(String),
    /// The terms that end with this string.
    Ends(String),
    /// The terms that contain this string.
    Contains(String),
    /// The terms that a mask matches completely.
    Masked {
        /// The literal beginning of the mask, with which all matches begin. It may be empty.
        prefix: String,
        /// The mask, with placeholders as characters.
        mask: String,
    },
    /// The terms that a regular expression matches completely.
    #[cfg(feature = "regex")]
    Matches {
        /// A string with which all matches begin. It may be empty.
        prefix: String,
        /// The expression, anchored on both sides.
        regex: regex::Regex,
        /// The time that compiling the expression took.
        compiled_in: Duration,
    },
    /// The terms in a range, compared by octets.
    Range {
        /// The lower bound.
        from: Bound<String>,
        /// The upper bound.
        to: Bound<String>,
    },
    /// All terms.
    Any,
}

impl Pattern {
    /// Returns the time that compiling a regular expression took, which cannot be derived from its length; `None` for other
    /// patterns.
    pub(in crate::memory) fn compiled_in(&self) -> Option<Duration> {
        match self {
            #[cfg(feature = "regex")]
            Self::Matches { compiled_in, .. } => Some(*compiled_in),
            _ => None,
        }
    }
}

/// The strings that match a pattern, in ascending order. Some may not be terms of the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Matches {
    Range(Range<u32>),
    List(Vec<u32>),
}

/// A function that tests whether a term matches.
type Test<'t> = &'t dyn Fn(&[u8], &mut WorkBudget) -> Result<bool, Exhausted>;

/// The number of units of work for finding a string in a segment.
pub(super) const FIND_UNITS: usize = 8;
/// The number of octets of strings that are searched per unit of work.
const OCTETS_A_UNIT: usize = 64;
/// The number of comparisons of mask characters with term characters per unit of work.
const MASK_STEPS_A_UNIT: usize = 32;

/// The lower bound of the strings that are words; marks, such as [`BOUNDARY`], come before it.
const FIRST_WORD: Bound<&str> = Bound::Included(" ");

/// Returns the strings of the segment that match a pattern; some of them may not be terms of the index. Marks are matched only
/// by [`Pattern::Exact`].
///
/// # Errors
/// The work budget is exhausted.
pub(super) fn matches(
    dictionary: &Dictionary<'_>,
    pattern: &Pattern,
    work: &mut WorkBudget,
) -> Result<Matches, Exhausted> {
    let strings = dictionary.strings();
    let test = |range: Range<u32>, work: &mut WorkBudget, is_like: Test<'_>| {
        work.spend(range.len() / STRINGS_A_UNIT)?;
        let mut found = Vec::new();
        for term in dictionary.terms(range) {
            work.spend(1)?;
            if is_like(strings.at(term), work)? {
                found.push(term);
            }
        }
        Ok(Matches::List(found))
    };
    let words = || strings.between(FIRST_WORD, Bound::Unbounded);
    let beginning_with = |prefix: &str| {
        if prefix.is_empty() {
            words()
        } else {
            strings.beginning_with(prefix)
        }
    };
    let matches = match pattern {
        Pattern::Exact(text) => {
            let term = strings.find(text.as_bytes());
            Matches::Range(term.map_or(0..0, |term| term..term + 1))
        }
        Pattern::Any => Matches::Range(words()),
        Pattern::Starts(text) | Pattern::Ends(text) | Pattern::Contains(text)
            if text.is_empty() =>
        {
            Matches::Range(words())
        }
        Pattern::Starts(start) => Matches::Range(strings.beginning_with(start)),
        Pattern::Range { from, to } => {
            let from = match from {
                Bound::Unbounded => FIRST_WORD,
                from => from.as_ref().map(String::as_str),
            };
            Matches::Range(strings.between(from, to.as_ref().map(String::as_str)))
        }
        Pattern::Ends(end) => {
            let ends = |term: &[u8], _: &mut WorkBudget| Ok(term.ends_with(end.as_bytes()));
            test(words(), work, &ends)?
        }
        // Searching the octets of all strings is faster than going from term to term.
        Pattern::Contains(inner) => {
            work.spend(strings.octets() / OCTETS_A_UNIT)?;
            let found = strings.containing(inner.as_bytes());
            work.spend(found.len())?;
            Matches::List(found)
        }
        Pattern::Masked { prefix, mask } => {
            let is_like = |term: &[u8], work: &mut WorkBudget| {
                work.spend(mask.len() * term.len() / MASK_STEPS_A_UNIT)?;
                Ok(std::str::from_utf8(term).is_ok_and(|term| fits(mask, term)))
            };
            test(beginning_with(prefix), work, &is_like)?
        }
        #[cfg(feature = "regex")]
        Pattern::Matches { prefix, regex, .. } => {
            let is_like = |term: &[u8], work: &mut WorkBudget| {
                // The cost of an expression is not known beforehand, so the elapsed time is charged.
                let begun = Instant::now();
                let is_match = std::str::from_utf8(term).is_ok_and(|term| regex.is_match(term));
                work.spend_time(begun.elapsed())?;
                Ok(is_match)
            };
            test(beginning_with(prefix), work, &is_like)?
        }
    };
    Ok(matches)
}

/// Returns whether a mask matches a complete entry.
pub(in crate::memory) fn fits(mask: &str, entry: &str) -> bool {
    let mut reached = past_optional(mask, 1);
    for character in entry.chars() {
        let mut next = 0;
        for (position, wanted) in mask.chars().enumerate() {
            let here = reached & 1 << position;
            match wanted {
                ANY_NUMBER => next |= here,
                EXACTLY_ONE | AT_MOST_ONE => next |= here << 1,
                letter if letter == character => next |= here << 1,
                _ => {}
            }
        }
        if next == 0 {
            return false;
        }
        reached = past_optional(mask, next);
    }
    reached >> mask.chars().count() == 1
}

/// Adds the positions of a mask that can be reached from the given positions by letting placeholders match no characters.
fn past_optional(mask: &str, mut reached: u128) -> u128 {
    for (position, wanted) in mask.chars().enumerate() {
        if matches!(wanted, ANY_NUMBER | AT_MOST_ONE) {
            reached |= (reached & 1 << position) << 1;
        }
    }
    reached
}
