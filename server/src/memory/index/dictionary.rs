//! The terms of one index in one segment, each with the records that have it and the places where it stands in them.

use std::borrow::Cow;
use std::ops::Range;

use super::strings::Strings;
use crate::memory::hits::{Bits, LIST, Part, borrowed};

/// Terms in order. A term is a place in the segment's [`Strings`], which its indexes share, and is known here by its number.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    strings: Box<[u32]>,
    /// For each term and behind the last, where its list of records begins.
    starts: Box<[u32]>,
    /// The lists, one behind the other; that of a term in more than [`LIST`] records is empty.
    records: Box<[u16]>,
    /// The terms in more than [`LIST`] records, ascending.
    dense: Box<[Dense]>,
    /// For each term and behind the last, where its places begin.
    place_starts: Box<[u32]>,
    /// For each record of a term, its places there: each the distance from the one before, times two, and 1 if it is the last,
    /// in groups of seven bits, the lowest first.
    places: Box<[u8]>,
}

/// A term in more than [`LIST`] records.
#[derive(Debug)]
struct Dense {
    term: u32,
    bits: Bits,
    /// Where the places in each [`BLOCK`] of records begin among those of the term.
    blocks: Box<[u32]>,
}

/// Records of a block, by their numbers.
const BLOCK: u16 = 256;

impl Dictionary {
    /// How many terms there are.
    pub(super) fn len(&self) -> usize {
        self.strings.len()
    }

    /// The string of a term.
    pub(super) fn string(&self, term: usize) -> u32 {
        self.strings.get(term).copied().unwrap_or(u32::MAX)
    }

    /// The terms whose strings are in a range.
    pub(super) fn between(&self, strings: Range<u32>) -> Range<usize> {
        let start = self.first_from(strings.start);
        start..self.first_from(strings.end).max(start)
    }

    /// The first term whose string is not before this one.
    pub(super) fn first_from(&self, string: u32) -> usize {
        self.strings.partition_point(|known| *known < string)
    }

    /// The term of a string.
    pub(super) fn term(&self, string: u32) -> Option<usize> {
        self.strings.binary_search(&string).ok()
    }

    /// In how many records a term is.
    pub(super) fn count(&self, term: usize) -> usize {
        match self.list(term).len() {
            0 => self.dense(term).map_or(0, |dense| dense.bits.count()),
            count => count,
        }
    }

    /// The records of a term.
    pub(super) fn part(&self, term: usize) -> Part<'_> {
        let list = self.list(term);
        match self.dense(term) {
            Some(dense) if list.is_empty() => Part::Bits(Cow::Borrowed(&dense.bits)),
            _ => borrowed(list),
        }
    }

    /// Gives every place of a term, ascending; those in a record one after the other.
    pub(super) fn each_place(&self, term: usize, emit: impl FnMut(u16, u16)) {
        self.each_place_where(term, |_| true, emit);
    }

    /// Gives the places of a term in some records.
    pub(super) fn each_place_in(
        &self,
        term: usize,
        records: &Part<'_>,
        mut emit: impl FnMut(u16, u16),
    ) {
        match (records, self.dense(term)) {
            (Part::Bits(bits), _) => self.each_place_where(term, |record| bits.has(record), emit),
            (Part::List(list), None) => self.each_place_where(term, among(list), emit),
            // Few records of many: only the blocks with any of them are read.
            (Part::List(list), Some(dense)) => {
                let places = self.places_of(term);
                for wanted in list.chunk_by(|left, right| left / BLOCK == right / BLOCK) {
                    let block = wanted.first().map_or(0, |first| first / BLOCK);
                    let Some(start) = dense.blocks.get(usize::from(block)) else {
                        break;
                    };
                    let places = places.get(*start as usize..).unwrap_or_default();
                    let records = dense.bits.between(block * BLOCK, BLOCK);
                    read_places(records, places, among(wanted), &mut emit);
                }
            }
        }
    }

    fn each_place_where(
        &self,
        term: usize,
        wanted: impl FnMut(u16) -> bool,
        emit: impl FnMut(u16, u16),
    ) {
        let records = match self.part(term) {
            Part::List(list) => list,
            Part::Bits(bits) => bits.iter().collect(),
        };
        read_places(records.iter().copied(), self.places_of(term), wanted, emit);
    }

    fn list(&self, term: usize) -> &[u16] {
        self.records
            .get(span(&self.starts, term))
            .unwrap_or_default()
    }

    fn dense(&self, term: usize) -> Option<&Dense> {
        let found = self
            .dense
            .binary_search_by_key(&term, |dense| dense.term as usize);
        self.dense.get(found.ok()?)
    }

    fn places_of(&self, term: usize) -> &[u8] {
        self.places
            .get(span(&self.place_starts, term))
            .unwrap_or_default()
    }
}

fn span(starts: &[u32], term: usize) -> Range<usize> {
    let start = |term: usize| starts.get(term).map_or(0, |start| *start as usize);
    start(term)..start(term.saturating_add(1))
}

/// Whether records, asked for in ascending order, are in a list.
fn among(mut list: &[u16]) -> impl FnMut(u16) -> bool {
    move |record| {
        while let Some((first, rest)) = list.split_first().filter(|(first, _)| **first <= record) {
            list = rest;
            if *first == record {
                return true;
            }
        }
        false
    }
}

/// Gives the places in some of these records.
fn read_places(
    records: impl Iterator<Item = u16>,
    places: &[u8],
    mut wanted: impl FnMut(u16) -> bool,
    mut emit: impl FnMut(u16, u16),
) {
    let mut numbers = Numbers(places);
    for record in records {
        if !wanted(record) {
            while numbers.next().is_some_and(|number| number & 1 == 0) {}
            continue;
        }
        let mut place: u16 = 0;
        for number in numbers.by_ref() {
            // Written with 17 bits at the most.
            place = place.saturating_add((number >> 1) as u16);
            emit(record, place);
            if number & 1 == 1 {
                break;
            }
        }
    }
}

/// Numbers in groups of seven bits.
struct Numbers<'a>(&'a [u8]);

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        // Nearly always that is all.
        if first & 0x80 == 0 {
            return Some((*first).into());
        }
        let (mut number, mut shift) = (u32::from(first & 0x7F), 7);
        loop {
            let (octet, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(octet & 0x7F) << shift;
            if octet & 0x80 == 0 {
                return Some(number);
            }
            shift = (shift + 7).min(21);
        }
    }
}

/// A dictionary in the making; terms come in order.
#[derive(Debug, Default)]
pub(super) struct DictionaryBuilder {
    strings: Vec<u32>,
    starts: Vec<u32>,
    records: Vec<u16>,
    dense: Vec<Dense>,
    place_starts: Vec<u32>,
    places: Vec<u8>,
    /// The records of a term, and where the places in each block begin; kept for the room they have.
    list: Vec<u16>,
    blocks: Vec<u32>,
}

impl DictionaryBuilder {
    /// Adds the next term with its places: a record times 65,536 and the place in it, ascending.
    pub(super) fn add(&mut self, string: u32, places: &[u32]) {
        let term = count(self.strings.len());
        self.strings.push(string);
        self.starts.push(count(self.records.len()));
        self.place_starts.push(count(self.places.len()));
        self.list.clear();
        self.blocks.clear();
        let start = self.places.len();
        let may_be_dense = places.len() > LIST;
        let mut rest = places;
        while let Some(first) = rest.first() {
            let record = record(*first);
            let here = rest
                .iter()
                .take_while(|at| self::record(**at) == record)
                .count();
            let (these, behind) = rest.split_at(here);
            if may_be_dense && self.blocks.len() <= usize::from(record / BLOCK) {
                let begin = count(self.places.len() - start);
                self.blocks.resize(usize::from(record / BLOCK) + 1, begin);
            }
            let mut before = 0;
            for (left, at) in (0..here).rev().zip(these) {
                let place = at & 0xFFFF;
                self.write((place - before) << 1 | u32::from(left == 0));
                before = place;
            }
            self.list.push(record);
            rest = behind;
        }
        match self.list.len() {
            0..=LIST => self.records.extend_from_slice(&self.list),
            _ => self.dense.push(Dense {
                term,
                bits: Bits::of(&self.list),
                blocks: self.blocks.as_slice().into(),
            }),
        }
    }

    /// The dictionary of the terms added; then there are none.
    pub(super) fn finish(&mut self) -> Dictionary {
        if self.strings.is_empty() {
            return Dictionary::default();
        }
        self.starts.push(count(self.records.len()));
        self.place_starts.push(count(self.places.len()));
        // In boxes of their very size: what has grown here serves the next.
        let dictionary = Dictionary {
            strings: self.strings.as_slice().into(),
            starts: self.starts.as_slice().into(),
            records: self.records.as_slice().into(),
            dense: std::mem::take(&mut self.dense).into(),
            place_starts: self.place_starts.as_slice().into(),
            places: self.places.as_slice().into(),
        };
        for column in [&mut self.strings, &mut self.starts, &mut self.place_starts] {
            column.clear();
        }
        self.records.clear();
        self.places.clear();
        dictionary
    }

    fn write(&mut self, mut number: u32) {
        while let (low, high @ 1..) = (number & 0x7F, number >> 7) {
            self.places.push(low as u8 | 0x80);
            number = high;
        }
        self.places.push(number as u8);
    }
}

/// A segment is so small that this counts all it can hold; see [`super::builder`].
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The record of a place.
pub(super) fn record(at: u32) -> u16 {
    (at >> 16) as u16
}

/// The place in its record.
pub(super) fn place(at: u32) -> u16 {
    at as u16
}

/// A record and a place in it.
pub(super) fn at(record: u16, place: u16) -> u32 {
    u32::from(record) << 16 | u32::from(place)
}

/// The terms of a dictionary by their strings, as a number and the string.
pub(super) fn string_of<'a>(
    dictionary: &Dictionary,
    strings: &'a Strings,
    term: usize,
) -> &'a [u8] {
    strings.at(dictionary.string(term))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_keep_their_records_and_places() {
        let terms: Vec<Vec<u32>> = vec![
            vec![at(0, 0)],
            vec![at(3, 1), at(3, 2), at(3, 300), at(7, 65_535)],
            (0..5_000).map(|n| at(n * 13, n)).collect(),
            vec![at(u16::MAX, 5), at(u16::MAX, 5)],
        ];
        let mut builder = DictionaryBuilder::default();
        for (string, places) in (0..).zip(&terms) {
            builder.add(string * 10, places);
        }
        let dictionary = builder.finish();
        assert_eq!(dictionary.len(), 4);
        for (term, places) in terms.iter().enumerate() {
            let mut found = Vec::new();
            dictionary.each_place(term, |record, place| found.push(at(record, place)));
            assert_eq!(&found, places);
            for wanted in [vec![], vec![3, 260, 261, 2_600, 64_987, u16::MAX]] {
                let expected = places.iter().copied();
                let expected = expected.filter(|at| wanted.contains(&record(*at)));
                let mut found = Vec::new();
                let records = Part::of_vec(wanted.clone());
                dictionary.each_place_in(term, &records, |record, place| {
                    found.push(at(record, place));
                });
                assert_eq!(found, expected.collect::<Vec<_>>(), "{wanted:?}");
            }
            let mut records: Vec<_> = places.iter().map(|at| record(*at)).collect();
            records.dedup();
            let part = dictionary.part(term);
            assert_eq!(part.iter().collect::<Vec<_>>(), records);
            assert_eq!(dictionary.count(term), records.len());
            assert_eq!(matches!(part, Part::Bits(_)), records.len() > LIST);
        }
        assert_eq!(dictionary.term(20), Some(2));
        assert_eq!(dictionary.term(21), None);
        assert_eq!(dictionary.between(5..21), 1..3);
        assert_eq!((dictionary.count(9), dictionary.part(9).len()), (0, 0));
    }
}
