//! The packed records and positions of terms. A term has a list for each class of texts in which it occurs. The class of a text
//! is the set of indexes that contain the text.

use std::borrow::Cow;
use std::ops::Range;

use crate::memory::hits::{BITS_UNITS, Bits, LIST, Part, RECORDS_A_UNIT, Union};

/// The lists of all terms of a segment. A term is identified by its number.
///
/// The first number of a list is its class times four, plus its form.
///
/// | form | contents |
/// |---|---|
/// | [`ONE`] | the record; its positions |
/// | [`MANY`] | the number of records; the lengths of the next two parts, in octets; the records as differences; their positions |
/// | [`DENSE`] | an index in `dense`; the length of the positions, in octets; the positions |
///
/// A position in a record is written as the difference from the previous one, times two, plus 1 for the last position. Numbers
/// are written in groups of seven bits, lowest first.
#[derive(Debug, Default)]
pub(super) struct Postings {
    /// The start of each term's lists, and the end of the last list.
    starts: Box<[u32]>,
    octets: Box<[u8]>,
    dense: Box<[Dense]>,
}

/// The form of a list with one record.
const ONE: u32 = 0;
/// The form of a list with several records.
const MANY: u32 = 1;
/// The form of a list with more than [`LIST`] records.
const DENSE: u32 = 2;

/// The number of a class of texts.
pub(super) type Class = u16;

/// A list with more than [`LIST`] records.
#[derive(Debug)]
struct Dense {
    bits: Bits,
    /// The start of the positions for each block of [`BLOCK`] record numbers.
    blocks: Box<[u32]>,
}

/// The number of consecutive record numbers in a block.
const BLOCK: u16 = 256;
/// The number of octets of positions that are read per unit of work.
const PLACES_A_UNIT: usize = 16;

impl Postings {
    /// Returns the lists of a term, in ascending order of classes.
    pub(super) fn lists(&self, term: u32) -> Lists<'_> {
        let octets = self.octets.get(span(&self.starts, term as usize));
        Lists {
            rest: Varints(octets.unwrap_or_default()),
            dense: &self.dense,
        }
    }
}

fn span(starts: &[u32], term: usize) -> Range<usize> {
    let start = |term: usize| starts.get(term).map_or(0, |start| *start as usize);
    start(term)..start(term.saturating_add(1))
}

/// The lists of a term.
#[derive(Clone, Debug)]
pub(super) struct Lists<'a> {
    rest: Varints<'a>,
    dense: &'a [Dense],
}

/// The records and positions of a term in the texts of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) class: Class,
    count: usize,
    records: RecordList<'a>,
    places: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
enum RecordList<'a> {
    One(u16),
    Many(&'a [u8]),
    Dense(&'a Dense),
}

impl<'a> Iterator for Lists<'a> {
    type Item = List<'a>;

    #[inline]
    fn next(&mut self) -> Option<List<'a>> {
        let head = self.rest.next()?;
        let (count, records, places) = match head & 3 {
            ONE => {
                let record = self.rest.next()? as u16;
                let behind = self.rest.0;
                while self.rest.next()? & 1 == 0 {}
                let places = behind.get(..behind.len() - self.rest.0.len());
                (1, RecordList::One(record), places?)
            }
            MANY => {
                let count = self.rest.next()?;
                let (records, places) = (self.rest.next()?, self.rest.next()?);
                let records = self.rest.octets(records)?;
                (
                    count as usize,
                    RecordList::Many(records),
                    self.rest.octets(places)?,
                )
            }
            _ => {
                let dense = self.dense.get(self.rest.next()? as usize)?;
                let places = self.rest.next()?;
                (
                    dense.bits.count(),
                    RecordList::Dense(dense),
                    self.rest.octets(places)?,
                )
            }
        };
        Some(List {
            class: (head >> 2) as Class,
            count,
            records,
            places,
        })
    }
}

impl<'a> List<'a> {
    /// Returns the number of records.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of units of work needed to read the records.
    pub(super) fn units(&self) -> usize {
        match self.records {
            RecordList::One(_) => 0,
            RecordList::Many(_) => 1 + self.count / RECORDS_A_UNIT,
            RecordList::Dense(_) => BITS_UNITS,
        }
    }

    /// Returns the number of units of work needed to read the positions in the given records.
    pub(super) fn place_units(&self, records: &Part<'_>) -> usize {
        let octets = match (self.records, records) {
            // Only the blocks of positions that contain the wanted records are read.
            (RecordList::Dense(_), Part::List(list)) => {
                self.places.len().min(list.len() * usize::from(BLOCK) * 2)
            }
            _ => self.places.len(),
        };
        1 + octets / PLACES_A_UNIT
    }

    /// Returns the records as a part of a set.
    pub(super) fn part(&self) -> Part<'a> {
        match self.records {
            RecordList::One(record) => Part::List(vec![record]),
            RecordList::Many(octets) => {
                let mut list = Vec::with_capacity(self.count);
                list.extend(deltas(octets));
                Part::List(list)
            }
            RecordList::Dense(dense) => Part::Bits(Cow::Borrowed(&dense.bits)),
        }
    }

    /// Adds the records to a union.
    pub(super) fn add_to(&self, union: &mut Union) {
        match self.records {
            RecordList::One(record) => union.insert(record),
            RecordList::Many(octets) => deltas(octets).for_each(|record| union.insert(record)),
            RecordList::Dense(dense) => union.add_bits(&dense.bits),
        }
    }

    /// Adds the records to `seen`, and returns how many of them are new.
    pub(super) fn count_new(&self, seen: &mut Bits) -> usize {
        let mut count = 0;
        let mut see = |record| {
            count += usize::from(!seen.has(record));
            seen.set(record);
        };
        match self.records {
            RecordList::One(record) => see(record),
            RecordList::Many(octets) => deltas(octets).for_each(see),
            RecordList::Dense(dense) => dense.bits.iter().for_each(see),
        }
        count
    }

    /// Emits every position, in ascending order, record by record.
    pub(super) fn each_place(&self, emit: impl FnMut(u16, u16)) {
        self.each_place_where(|_| true, emit);
    }

    /// Emits the positions in the given records.
    pub(super) fn each_place_in(&self, records: &Part<'_>, mut emit: impl FnMut(u16, u16)) {
        match (records, self.records) {
            (Part::Bits(bits), _) => self.each_place_where(|record| bits.has(record), emit),
            // For a few records out of many, only the blocks that contain some of them are read.
            (Part::List(list), RecordList::Dense(dense)) => {
                for wanted in list.chunk_by(|left, right| left / BLOCK == right / BLOCK) {
                    let block = wanted.first().map_or(0, |first| first / BLOCK);
                    let Some(start) = dense.blocks.get(usize::from(block)) else {
                        break;
                    };
                    let places = self.places.get(*start as usize..).unwrap_or_default();
                    let records = dense.bits.between(block * BLOCK, BLOCK);
                    read_places(records, places, among(wanted), &mut emit);
                }
            }
            (Part::List(list), _) => self.each_place_where(among(list), emit),
        }
    }

    fn each_place_where(&self, wanted: impl FnMut(u16) -> bool, emit: impl FnMut(u16, u16)) {
        match self.records {
            RecordList::One(record) => {
                read_places(std::iter::once(record), self.places, wanted, emit);
            }
            RecordList::Many(octets) => read_places(deltas(octets), self.places, wanted, emit),
            RecordList::Dense(dense) => read_places(dense.bits.iter(), self.places, wanted, emit),
        }
    }
}

/// Decodes records that are stored as differences.
fn deltas(octets: &[u8]) -> impl Iterator<Item = u16> {
    Varints(octets).scan(0_u16, |record, distance| {
        *record = record.wrapping_add(distance as u16);
        Some(*record)
    })
}

/// Returns a function that tests whether a record is in a list; the function must be called with records in ascending order.
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

/// Emits the positions in those records for which `wanted` returns true.
fn read_places(
    records: impl Iterator<Item = u16>,
    places: &[u8],
    mut wanted: impl FnMut(u16) -> bool,
    mut emit: impl FnMut(u16, u16),
) {
    let mut numbers = Varints(places);
    for record in records {
        if !wanted(record) {
            while numbers.next().is_some_and(|number| number & 1 == 0) {}
            continue;
        }
        let mut place: u16 = 0;
        for number in numbers.by_ref() {
            // Positions are written with at most 17 bits, so nothing is cut off.
            place = place.saturating_add((number >> 1) as u16);
            emit(record, place);
            if number & 1 == 1 {
                break;
            }
        }
    }
}

/// Decodes numbers that are stored in groups of seven bits.
#[derive(Clone, Debug)]
struct Varints<'a>(&'a [u8]);

impl<'a> Varints<'a> {
    /// Returns the next `count` octets without decoding them; `None` if there are fewer.
    fn octets(&mut self, count: u32) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count as usize)?;
        self.0 = rest;
        Some(taken)
    }
}

impl Iterator for Varints<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        // Most numbers take a single octet.
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
            shift = (shift + 7).min(28);
        }
    }
}

/// A builder of postings.
#[derive(Debug, Default)]
pub(super) struct PostingsBuilder {
    starts: Vec<u32>,
    octets: Vec<u8>,
    dense: Vec<Dense>,
    /// The records of the current list. The fields after this one contain its packed records and positions, and the starts of the
    /// positions of blocks. The memory of all four is reused.
    list: Vec<u16>,
    records: Vec<u8>,
    places: Vec<u8>,
    blocks: Vec<u32>,
}

impl PostingsBuilder {
    /// Begins the lists of the next term.
    pub(super) fn term(&mut self) {
        self.starts.push(length(self.octets.len()));
    }

    /// Adds a list to the term; lists must be added in ascending order of classes. `places` are the positions, packed by [`at`],
    /// in ascending order.
    pub(super) fn list(&mut self, class: Class, places: &[u32]) {
        self.list.clear();
        self.records.clear();
        self.places.clear();
        self.blocks.clear();
        let may_be_dense = places.len() > LIST;
        let (mut rest, mut last) = (places, 0);
        while let Some(first) = rest.first() {
            let record = record(*first);
            let same = rest.iter().take_while(|at| self::record(**at) == record);
            let (these, behind) = rest.split_at(same.count());
            if may_be_dense && self.blocks.len() <= usize::from(record / BLOCK) {
                let begin = length(self.places.len());
                self.blocks.resize(usize::from(record / BLOCK) + 1, begin);
            }
            write(&mut self.records, record.saturating_sub(last).into());
            let mut before = 0;
            for (left, at) in (0..these.len()).rev().zip(these) {
                let place = at & 0xFFFF;
                let distance = place.saturating_sub(before) << 1 | u32::from(left == 0);
                write(&mut self.places, distance);
                before = place;
            }
            self.list.push(record);
            (rest, last) = (behind, record);
        }
        let head = u32::from(class) << 2;
        match self.list.len() {
            0 => return,
            1 => {
                write(&mut self.octets, head | ONE);
                self.octets.extend_from_slice(&self.records);
            }
            count @ 2..=LIST => {
                let sizes = [count, self.records.len(), self.places.len()].map(length);
                let head = std::iter::once(head | MANY);
                head.chain(sizes)
                    .for_each(|number| write(&mut self.octets, number));
                self.octets.extend_from_slice(&self.records);
            }
            _ => {
                for number in [
                    head | DENSE,
                    length(self.dense.len()),
                    length(self.places.len()),
                ] {
                    write(&mut self.octets, number);
                }
                self.dense.push(Dense {
                    bits: Bits::of(&self.list),
                    blocks: self.blocks.as_slice().into(),
                });
            }
        }
        self.octets.extend_from_slice(&self.places);
    }

    /// Returns the postings, and empties the builder.
    pub(super) fn finish(&mut self) -> Postings {
        self.starts.push(length(self.octets.len()));
        // The postings are copied at their exact size, so that the builder can reuse its buffers.
        let postings = Postings {
            starts: self.starts.as_slice().into(),
            octets: self.octets.as_slice().into(),
            dense: std::mem::take(&mut self.dense).into(),
        };
        self.starts.clear();
        self.octets.clear();
        postings
    }
}

fn write(octets: &mut Vec<u8>, mut number: u32) {
    while let (low, high @ 1..) = (number & 0x7F, number >> 7) {
        octets.push(low as u8 | 0x80);
        number = high;
    }
    octets.push(number as u8);
}

/// Converts a length to 32 bits, which is enough for lengths within a segment; see [`super::SegmentBuilder`].
fn length(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the number of the record in a packed position.
pub(super) fn record(at: u32) -> u16 {
    (at >> 16) as u16
}

/// Returns the position within the record of a packed position.
pub(super) fn place(at: u32) -> u16 {
    at as u16
}

/// Packs a record number and a position within the record.
pub(super) fn at(record: u16, place: u16) -> u32 {
    u32::from(record) << 16 | u32::from(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_keep_their_records_and_places() {
        let lists: Vec<(Class, Vec<u32>)> = vec![
            (0, vec![at(0, 0)]),
            (1, vec![at(3, 1), at(3, 2), at(3, 300), at(7, 65_535)]),
            (7, (0..5_000).map(|n| at(n * 13, n)).collect()),
            (300, vec![at(u16::MAX, 5), at(u16::MAX, 5)]),
            (Class::MAX, (0..=u16::MAX).map(|n| at(n, 9)).collect()),
            (Class::MAX, vec![at(5, 1), at(u16::MAX, 200)]),
        ];
        let mut builder = PostingsBuilder::default();
        // Each list is first written as a separate term. Then all lists except the last are written as the lists of one term.
        for (class, places) in &lists {
            builder.term();
            builder.list(*class, places);
        }
        builder.term();
        for (class, places) in lists.iter().take(5) {
            builder.list(*class, places);
        }
        let postings = builder.finish();
        for (term, expected) in (0..).zip(lists.chunks(1).chain([lists.get(..5).expect("5")])) {
            let found: Vec<_> = postings.lists(term).collect();
            assert_eq!(found.len(), expected.len());
            for (list, (class, places)) in found.iter().zip(expected) {
                assert_eq!(list.class, *class);
                check(list, places);
            }
        }
        assert_eq!(postings.lists(7).count(), 0);
    }

    fn check(list: &List<'_>, places: &[u32]) {
        let mut found = Vec::new();
        list.each_place(|record, place| found.push(at(record, place)));
        assert_eq!(found, places);
        let many: Vec<_> = (0..u16::MAX).collect();
        for wanted in [vec![], vec![3, 260, 261, 2_600, 64_987, u16::MAX], many] {
            let expected = places
                .iter()
                .copied()
                .filter(|at| wanted.binary_search(&record(*at)).is_ok());
            let mut found = Vec::new();
            let records = Part::of_vec(wanted.clone());
            list.each_place_in(&records, |record, place| found.push(at(record, place)));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        let mut records: Vec<_> = places.iter().map(|at| record(*at)).collect();
        records.dedup();
        let part = list.part();
        assert_eq!(part.iter().collect::<Vec<_>>(), records);
        assert_eq!(list.count(), records.len());
        assert_eq!(matches!(part, Part::Bits(_)), records.len() > LIST);
    }
}
