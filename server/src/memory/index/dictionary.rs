//! The terms of a segment with their postings, and views of the terms of one index.

use std::borrow::Cow;
use std::ops::Range;

use super::postings::{List, Postings};
use super::strings::Strings;
use super::{Exhausted, WorkBudget};
use crate::memory::fields::{IndexId, IndexSet};
use crate::memory::hits::{Bits, Part, Union};

/// The terms of all indexes of a segment: strings, and for each string the postings with the same number.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    strings: Strings,
    postings: Postings,
    /// For each block of [`BLOCK`] strings, the indexes that have any of its strings as a term.
    blocks: Box<[IndexSet]>,
    /// For terms that have many records in several lists, the precomputed union of these lists, in ascending order of
    /// term and index.
    wholes: Box<[(u32, IndexId, Bits)]>,
}

/// The number of strings in a block.
const BLOCK: u32 = 64;

impl Lexicon {
    /// Creates a lexicon of sorted strings and their postings; `classes` are the indexes of each class.
    pub(super) fn new(strings: Strings, postings: Postings, classes: &[IndexSet]) -> Self {
        let block = |first: u32| {
            let behind = first.saturating_add(BLOCK).min(strings.len());
            let lists = (first..behind).flat_map(|string| postings.lists(string));
            indexes_of(lists, classes)
        };
        let blocks = (0..strings.len()).step_by(BLOCK as usize).map(block);
        Self {
            blocks: blocks.collect(),
            wholes: Box::default(),
            strings,
            postings,
        }
    }

    /// Precomputes the records of these terms for each index.
    pub(super) fn with_wholes(self, terms: &[u32], classes: &[IndexSet]) -> Self {
        let mut wholes = Vec::new();
        for term in terms {
            for index in indexes_of(self.postings.lists(*term), classes).iter() {
                if let Part::Bits(Cow::Owned(bits)) = self.of(classes, index).part(*term) {
                    wholes.push((*term, index, bits));
                }
            }
        }
        Self {
            wholes: wholes.into(),
            ..self
        }
    }

    pub(super) fn strings(&self) -> &Strings {
        &self.strings
    }

    /// Returns the dictionary of an index.
    pub(super) fn of<'a>(&'a self, classes: &'a [IndexSet], index: IndexId) -> Dictionary<'a> {
        Dictionary {
            lexicon: self,
            classes,
            index,
        }
    }
}

/// Returns the indexes whose texts contribute to any of the lists.
fn indexes_of<'a>(lists: impl Iterator<Item = List<'a>>, classes: &[IndexSet]) -> IndexSet {
    let indexes = lists.filter_map(|list| classes.get(usize::from(list.class)));
    indexes.fold(IndexSet::default(), |all, indexes| all.union(*indexes))
}

/// The terms of one index, identified by the numbers of their strings in the lexicon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dictionary<'a> {
    lexicon: &'a Lexicon,
    classes: &'a [IndexSet],
    index: IndexId,
}

impl<'a> Dictionary<'a> {
    /// Returns the strings of all indexes.
    pub(super) fn strings(&self) -> &'a Strings {
        &self.lexicon.strings
    }

    pub(super) fn string(&self, term: u32) -> &'a [u8] {
        self.lexicon.strings.at(term)
    }

    /// Returns the lists of a string that belong to the index; empty if the string is not a term of the index.
    pub(super) fn lists(&self, term: u32) -> impl Iterator<Item = List<'a>> + use<'a> {
        let Self { classes, index, .. } = *self;
        let of_index = move |list: &List<'_>| {
            let indexes = classes.get(usize::from(list.class));
            indexes.is_some_and(|indexes| indexes.contains(index))
        };
        self.lexicon.postings.lists(term).filter(of_index)
    }

    /// Returns the lists of a string for all indexes.
    pub(super) fn lists_of_any(&self, term: u32) -> impl Iterator<Item = List<'a>> + use<'a> {
        self.lexicon.postings.lists(term)
    }

    /// Returns whether a string is a term of the index.
    pub(super) fn has(&self, term: u32) -> bool {
        self.lists(term).next().is_some()
    }

    /// Returns the first term of the index in a range of strings; `None` if there is none.
    pub(super) fn first(&self, mut strings: Range<u32>) -> Option<u32> {
        loop {
            while self.is_out(strings.start) && strings.start < strings.end {
                strings.start = (strings.start / BLOCK + 1).saturating_mul(BLOCK);
            }
            let term = strings.next()?;
            if self.has(term) {
                return Some(term);
            }
        }
    }

    /// Returns the last term of the index in a range of strings; `None` if there is none.
    pub(super) fn last(&self, mut strings: Range<u32>) -> Option<u32> {
        loop {
            while strings.start < strings.end && self.is_out(strings.end - 1) {
                strings.end = (strings.end - 1) / BLOCK * BLOCK;
            }
            let term = strings.next_back()?;
            if self.has(term) {
                return Some(term);
            }
        }
    }

    /// Returns whether the block of this string has no terms of the index, so that it can be skipped.
    fn is_out(&self, string: u32) -> bool {
        let block = self.lexicon.blocks.get((string / BLOCK) as usize);
        block.is_some_and(|indexes| !indexes.contains(self.index))
    }

    /// Returns the terms of the index in a range of strings.
    pub(super) fn terms(&self, mut strings: Range<u32>) -> impl Iterator<Item = u32> {
        std::iter::from_fn(move || {
            let term = self.first(strings.clone())?;
            strings.start = term + 1;
            Some(term)
        })
    }

    /// Returns the records of a term.
    pub(super) fn part(&self, term: u32) -> Part<'a> {
        if let Some(bits) = self.whole(term) {
            return Part::Bits(Cow::Borrowed(bits));
        }
        let mut lists = self.lists(term);
        match (lists.next(), lists.next()) {
            (None, _) => Part::first(0),
            (Some(only), None) => only.part(),
            (Some(first), Some(second)) => {
                let mut union = Union::default();
                let all = [first, second].into_iter().chain(lists);
                all.for_each(|list| list.add_to(&mut union));
                union.into_part()
            }
        }
    }

    fn whole(&self, term: u32) -> Option<&'a Bits> {
        let wholes = &self.lexicon.wholes;
        let place =
            wholes.binary_search_by_key(&(term, self.index), |(term, index, _)| (*term, *index));
        wholes.get(place.ok()?).map(|(_, _, bits)| bits)
    }

    /// Returns the number of units of work needed to count the records of a term.
    pub(super) fn units(&self, term: u32) -> usize {
        let lists = self.lists(term).map(|list| list.units());
        1 + lists.sum::<usize>()
    }

    /// Returns the number of records that have a term.
    pub(super) fn count(&self, term: u32) -> usize {
        let mut lists = self.lists(term);
        match (lists.next(), lists.next()) {
            (None, _) => 0,
            (Some(only), None) => only.count(),
            (Some(first), Some(second)) => match self.whole(term) {
                Some(bits) => bits.count(),
                None => {
                    let mut seen = Bits::default();
                    let all = [first, second].into_iter().chain(lists);
                    all.map(|list| list.count_new(&mut seen)).sum()
                }
            },
        }
    }

    /// Returns the number of the given records that have a term.
    pub(super) fn count_in(&self, term: u32, records: &Part<'_>) -> usize {
        self.part(term).count_in(records)
    }

    /// Returns the records that have any of these terms.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(super) fn union(
        &self,
        terms: impl Iterator<Item = u32>,
        work: &mut WorkBudget,
    ) -> Result<Part<'a>, Exhausted> {
        let mut union = Union::default();
        for term in terms {
            work.spend(1)?;
            for list in self.lists(term) {
                work.spend(list.units())?;
                list.add_to(&mut union);
            }
        }
        Ok(union.into_part())
    }
}
