//! The terms of an index, each with the number of records in which it occurs: those around a start term, and those of a facet.

use std::ops::Range;

use bytes::Bytes;
use z3950_asn1::apdu::Term;

use super::dictionary::Dictionary;
use super::find::FIND_UNITS;
use super::{Exhausted, Index, STRINGS_A_UNIT, Terms, WorkBudget};
use crate::backend::{ScanTerm, Scanned};
use crate::memory::hits::{HitSet, Part};

/// The range of terms to return.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct Browse<'a> {
    /// The index whose terms are returned.
    pub(in crate::memory) terms: Terms,
    /// The start term, which need not exist.
    pub(in crate::memory) start: &'a [u8],
    /// The maximum number of terms before the start.
    pub(in crate::memory) before: usize,
    /// The maximum number of terms at and after the start.
    pub(in crate::memory) after: usize,
    /// The number of terms to skip between two returned terms.
    pub(in crate::memory) step: usize,
    /// The records to which terms and counts are restricted; `None` for all.
    pub(in crate::memory) within: Option<&'a HitSet<'a>>,
}

impl Index {
    /// Returns the terms in this range that occur in at least one of the records.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(in crate::memory) fn browse(
        &self,
        browse: &Browse<'_>,
        work: &mut WorkBudget,
    ) -> Result<Scanned, Exhausted> {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for (number, segment, _) in self.segments() {
            let dictionary = segment.dictionary(browse.terms);
            let within = match browse.within {
                None => None,
                Some(within) => match within.part(number) {
                    None => continue,
                    part => part,
                },
            };
            let strings = dictionary.strings();
            let floor = browse.terms.first(strings);
            let start = strings.first_from(browse.start).max(floor);
            let cursor = |left, backwards| Cursor {
                dictionary,
                within,
                left,
                backwards,
                next: None,
            };
            up.push(cursor(start..strings.len(), false));
            down.push(cursor(floor..start, true));
        }
        let mut all = up.iter_mut().chain(&mut down);
        all.try_for_each(|cursor| cursor.advance(work))?;
        let after = taken(&mut up, browse.after, browse.step, work)?;
        // In the backward direction, the steps are counted from the first term after the start.
        let mut left_out = 0;
        while left_out < browse.step && next(&mut down, work)?.is_some() {
            left_out += 1;
        }
        let mut before = taken(&mut down, browse.before, browse.step, work)?;
        before.reverse();
        let exact = after
            .first()
            .is_some_and(|first| first.term == Term::General(browse.start.to_vec().into()));
        Ok(Scanned {
            before,
            after,
            exact,
            ..Scanned::default()
        })
    }
}

/// A cursor in the dictionary of a segment.
struct Cursor<'a> {
    dictionary: Dictionary<'a>,
    /// The records in which terms are counted; `None` for all.
    within: Option<&'a Part<'a>>,
    /// The range of strings that have not been visited yet.
    left: Range<u32>,
    /// Whether the cursor moves backwards through the strings.
    backwards: bool,
    /// The next term, as the number of its string and the string.
    next: Option<(u32, &'a [u8])>,
}

impl Cursor<'_> {
    fn count(&self, term: u32) -> usize {
        match self.within {
            None => self.dictionary.count(term),
            Some(within) => self.dictionary.count_in(term, within),
        }
    }

    /// Moves to the next term in the remaining strings.
    fn advance(&mut self, work: &mut WorkBudget) -> Result<(), Exhausted> {
        let before = self.left.len();
        let term = if self.backwards {
            self.dictionary.last(self.left.clone())
        } else {
            self.dictionary.first(self.left.clone())
        };
        match term {
            Some(term) if self.backwards => self.left.end = term,
            Some(term) => self.left.start = term + 1,
            None => self.left.start = self.left.end,
        }
        self.next = term.map(|term| (term, self.dictionary.string(term)));
        work.spend((before - self.left.len()) / STRINGS_A_UNIT)
    }
}

fn taken(
    cursors: &mut [Cursor<'_>],
    most: usize,
    step: usize,
    work: &mut WorkBudget,
) -> Result<Vec<ScanTerm>, Exhausted> {
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

/// Returns the next term, over all cursors, that occurs in at least one record, and moves the cursors past it.
fn next(cursors: &mut [Cursor<'_>], work: &mut WorkBudget) -> Result<Option<ScanTerm>, Exhausted> {
    let backwards = cursors.first().is_some_and(|cursor| cursor.backwards);
    loop {
        work.spend(cursors.len())?;
        let strings = cursors.iter().filter_map(|cursor| Some(cursor.next?.1));
        let nearest = if backwards {
            strings.max()
        } else {
            strings.min()
        };
        let Some(nearest) = nearest else {
            return Ok(None);
        };
        let mut count = 0;
        for cursor in cursors.iter_mut() {
            if let Some((term, string)) = cursor.next
                && string == nearest
            {
                let within = cursor.within.map_or(0, Part::units);
                work.spend(cursor.dictionary.units(term) + within)?;
                count += cursor.count(term);
                cursor.advance(work)?;
            }
        }
        if count > 0 {
            return Ok(Some(ScanTerm {
                records: Some(count),
                ..ScanTerm::new(Term::General(nearest.to_vec().into()))
            }));
        }
    }
}

impl Index {
    /// Returns, in ISO 2709, the first record in which a term occurs; `within` restricts the records as in [`Browse`].
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(in crate::memory) fn first_with(
        &self,
        terms: Terms,
        term: &[u8],
        within: Option<&HitSet<'_>>,
        work: &mut WorkBudget,
    ) -> Result<Option<&Bytes>, Exhausted> {
        for (number, segment, _) in self.segments() {
            let within = match within.map(|within| within.part(number)) {
                Some(None) => continue,
                within => within.flatten(),
            };
            let dictionary = segment.dictionary(terms);
            work.spend(FIND_UNITS)?;
            let Some(string) = dictionary.strings().find(term) else {
                continue;
            };
            work.spend(dictionary.units(string) + within.map_or(0, Part::units))?;
            let mut part = dictionary.part(string);
            if let Some(within) = within {
                part = part.and(within);
            }
            if let Some(first) = part.iter().next() {
                return Ok(segment.record(first).map(|(octets, _)| octets));
            }
        }
        Ok(None)
    }

    /// Returns the terms of the index that occur in any of the records, in ascending order, each with the number of these
    /// records in which it occurs. The memory for the list is charged to `work`.
    ///
    /// # Errors
    /// The work budget is exhausted, or the work needs too much memory.
    pub(in crate::memory) fn tally(
        &self,
        terms: Terms,
        within: &HitSet<'_>,
        work: &mut WorkBudget,
    ) -> Result<Vec<(&[u8], usize)>, Exhausted> {
        let kept = work.kept();
        let mut counted: Vec<(&[u8], usize)> = Vec::new();
        for (number, segment, _) in self.segments() {
            let (dictionary, Some(within)) = (segment.dictionary(terms), within.part(number))
            else {
                continue;
            };
            let strings = dictionary.strings();
            for term in dictionary.terms(terms.first(strings)..strings.len()) {
                work.spend(dictionary.units(term) + within.units())?;
                let count = dictionary.count_in(term, within);
                if count > 0 {
                    counted.push((dictionary.string(term), count));
                    work.keep(kept + size_of_val(counted.as_slice()))?;
                }
            }
        }
        work.spend(counted.len())?;
        // The list has an ascending run for each segment, and the standard sort merges these runs.
        counted.sort();
        counted.dedup_by(|(string, count), (last, sum)| {
            let is_same = string == last;
            *sum += if is_same { *count } else { 0 };
            is_same
        });
        Ok(counted)
    }
}
