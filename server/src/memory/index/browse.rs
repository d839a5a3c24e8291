//! The terms of an index in order, on both sides of one, with the number of records that have each.

use super::dictionary::{Dictionary, string_of};
use super::strings::Strings;
use super::{Exhausted, Index, Terms, Work};
use crate::memory::hits::{HitSet, Part};

/// Which terms are wanted.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct Browse<'a> {
    /// The index.
    pub(in crate::memory) terms: Terms,
    /// Where to begin.
    pub(in crate::memory) start: &'a [u8],
    /// The most terms before the start.
    pub(in crate::memory) before: usize,
    /// The most terms from the start on.
    pub(in crate::memory) after: usize,
    /// Terms to leave out between two.
    pub(in crate::memory) step: usize,
    /// Only terms of these records count, and only in them; `None`: of all.
    pub(in crate::memory) within: Option<&'a HitSet<'a>>,
}

/// A term, and how many records have it.
pub(in crate::memory) type Counted = (Vec<u8>, usize);

/// Terms in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct Browsed {
    /// Those before the start, ascending.
    pub(in crate::memory) before: Vec<Counted>,
    /// Those from the start on, ascending.
    pub(in crate::memory) after: Vec<Counted>,
    /// Whether the first of `after` is the start itself.
    pub(in crate::memory) exact: bool,
}

impl Index {
    /// Terms of an index that some record has.
    ///
    /// # Errors
    /// When it is too much work.
    pub(in crate::memory) fn browse(
        &self,
        browse: &Browse<'_>,
        work: &mut Work,
    ) -> Result<Browsed, Exhausted> {
        let mut up = Vec::new();
        for (number, segment, _) in self.segments() {
            let Some((dictionary, strings)) = segment.dictionary(browse.terms) else {
                continue;
            };
            let within = match browse.within {
                None => None,
                Some(within) => match within.part(number) {
                    None => continue,
                    part => part,
                },
            };
            let floor = match browse.terms {
                Terms::Words(_) => dictionary.first_from(strings.first_from(b" ")),
                Terms::Keys(_) => 0,
            };
            let next = dictionary
                .first_from(strings.first_from(browse.start))
                .max(floor);
            up.push(Cursor {
                dictionary,
                strings,
                within,
                floor,
                next,
            });
        }
        let mut down = up.clone();
        let after = taken(&mut up, browse.after, browse.step, work, next_up)?;
        // Those before are counted from the first of the others on.
        let mut left_out = 0;
        while left_out < browse.step && next_down(&mut down, work)?.is_some() {
            left_out += 1;
        }
        let mut before = taken(&mut down, browse.before, browse.step, work, next_down)?;
        before.reverse();
        let exact = after.first().is_some_and(|(term, _)| term == browse.start);
        Ok(Browsed {
            before,
            after,
            exact,
        })
    }
}

/// A place in the dictionary of a segment.
#[derive(Clone)]
struct Cursor<'a> {
    dictionary: &'a Dictionary,
    strings: &'a Strings,
    /// The records that count; `None`: all.
    within: Option<&'a Part<'a>>,
    /// The first term that counts.
    floor: usize,
    /// The term behind the place.
    next: usize,
}

impl<'a> Cursor<'a> {
    fn string(&self, term: usize) -> &'a [u8] {
        string_of(self.dictionary, self.strings, term)
    }

    fn count(&self, term: usize) -> usize {
        match self.within {
            None => self.dictionary.count(term),
            Some(within) => self.dictionary.part(term).count_in(within),
        }
    }

    fn above(&self) -> Option<usize> {
        (self.next < self.dictionary.len()).then_some(self.next)
    }

    fn below(&self) -> Option<usize> {
        self.next.checked_sub(1).filter(|term| *term >= self.floor)
    }
}

type Step<'a> = fn(&mut [Cursor<'a>], &mut Work) -> Result<Option<Counted>, Exhausted>;

fn taken<'a>(
    cursors: &mut [Cursor<'a>],
    most: usize,
    step: usize,
    work: &mut Work,
    next: Step<'a>,
) -> Result<Vec<Counted>, Exhausted> {
    let mut terms = Vec::new();
    while terms.len() < most {
        let Some(term) = next(cursors, work)? else {
            break;
        };
        terms.push(term);
        if terms.len() < most {
            for _ in 0..step {
                if next(cursors, work)?.is_none() {
                    break;
                }
            }
        }
    }
    Ok(terms)
}

fn next_up(cursors: &mut [Cursor<'_>], work: &mut Work) -> Result<Option<Counted>, Exhausted> {
    loop {
        work.spend(cursors.len())?;
        let strings = cursors
            .iter()
            .filter_map(|cursor| cursor.above().map(|term| cursor.string(term)));
        let Some(string) = strings.min() else {
            return Ok(None);
        };
        let mut count = 0;
        for cursor in cursors.iter_mut() {
            if let Some(term) = cursor.above().filter(|term| cursor.string(*term) == string) {
                count += cursor.count(term);
                cursor.next = term + 1;
            }
        }
        if count > 0 {
            return Ok(Some((string.to_vec(), count)));
        }
    }
}

fn next_down(cursors: &mut [Cursor<'_>], work: &mut Work) -> Result<Option<Counted>, Exhausted> {
    loop {
        work.spend(cursors.len())?;
        let strings = cursors
            .iter()
            .filter_map(|cursor| cursor.below().map(|term| cursor.string(term)));
        let Some(string) = strings.max() else {
            return Ok(None);
        };
        let mut count = 0;
        for cursor in cursors.iter_mut() {
            if let Some(term) = cursor.below().filter(|term| cursor.string(*term) == string) {
                count += cursor.count(term);
                cursor.next = term;
            }
        }
        if count > 0 {
            return Ok(Some((string.to_vec(), count)));
        }
    }
}
