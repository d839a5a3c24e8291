//! The part of a set in one segment: a sorted list if it is short, a bit set if it is long.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The maximum number of records in a segment.
pub(in crate::memory) const SEGMENT: usize = 1 << 16;
/// The maximum number of records in a list; for more records, a bit set takes less memory.
pub(in crate::memory) const LIST: usize = SEGMENT / 16;
/// The number of 64-bit words in a bit set.
const WORDS: usize = SEGMENT / 64;
/// The number of records in a list that are copied, compared or set per unit of work.
pub(in crate::memory) const RECORDS_A_UNIT: usize = 16;
/// The number of units of work needed to read or change a complete bit set.
pub(in crate::memory) const BITS_UNITS: usize = 16;

/// A set of records in a segment.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::memory) enum Part<'a> {
    /// Up to [`LIST`] records, in ascending order and without duplicates.
    List(Vec<u16>),
    /// More than [`LIST`] records.
    Bits(Cow<'a, Bits>),
}

/// A bit set with a bit for each record of a segment, and the number of bits set.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::memory) struct Bits {
    words: Box<[u64; WORDS]>,
    count: usize,
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records", self.len())
    }
}

impl<'a> Part<'a> {
    /// Creates a part from records in ascending order and without duplicates.
    pub(in crate::memory) fn of_vec(sorted: Vec<u16>) -> Self {
        match sorted.len() {
            0..=LIST => Self::List(sorted),
            _ => Self::Bits(Cow::Owned(Bits::of(&sorted))),
        }
    }

    /// Creates a part with the records `0..count`.
    pub(in crate::memory) fn first(count: usize) -> Self {
        Self::between(0..count)
    }

    /// Creates a part with the records in a range.
    pub(in crate::memory) fn between(range: Range<usize>) -> Self {
        Self::of_vec((0..=u16::MAX).skip(range.start).take(range.len()).collect())
    }

    pub(in crate::memory) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Bits(bits) => bits.count,
        }
    }

    pub(in crate::memory) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of units of work needed to apply an operator to this part.
    pub(in crate::memory) fn units(&self) -> usize {
        match self {
            Self::List(list) => 1 + list.len() / RECORDS_A_UNIT,
            Self::Bits(_) => BITS_UNITS,
        }
    }

    /// Returns the size of the memory that the part owns, in octets; borrowed bits are not counted.
    pub(in crate::memory) fn octets(&self) -> usize {
        match self {
            Self::List(list) => size_of_val(list.as_slice()),
            Self::Bits(Cow::Owned(_)) => SEGMENT / 8,
            Self::Bits(Cow::Borrowed(_)) => 0,
        }
    }

    pub(in crate::memory) fn contains(&self, record: u16) -> bool {
        match self {
            Self::List(list) => list.binary_search(&record).is_ok(),
            Self::Bits(bits) => bits.has(record),
        }
    }

    /// Returns the records, in ascending order.
    pub(in crate::memory) fn iter(&self) -> Box<dyn Iterator<Item = u16> + '_> {
        match self {
            Self::List(list) => Box::new(list.iter().copied()),
            Self::Bits(bits) => Box::new(bits.iter()),
        }
    }

    /// Returns the records at these positions, counted from 0.
    pub(in crate::memory) fn at(&self, places: Range<usize>) -> Box<dyn Iterator<Item = u16> + '_> {
        match self {
            Self::List(list) => {
                let end = places.end.min(list.len());
                Box::new(
                    list.get(places.start..end)
                        .unwrap_or_default()
                        .iter()
                        .copied(),
                )
            }
            Self::Bits(bits) => Box::new(bits.at(places.start).take(places.len())),
        }
    }

    /// Returns the intersection of both parts.
    pub(in crate::memory) fn and(self, other: &Part<'_>) -> Part<'a> {
        match (self, other) {
            (Self::List(list), Part::List(other)) => Self::List(common(&list, other)),
            (Self::List(list), Part::Bits(bits)) => {
                Self::of_vec(filtered(&list, |record| bits.has(record)))
            }
            (Self::Bits(bits), Part::List(list)) => {
                Self::of_vec(filtered(list, |record| bits.has(record)))
            }
            (Self::Bits(bits), Part::Bits(other)) => {
                bits.into_owned().combined(other, |a, b| a & b).into_part()
            }
        }
    }

    /// Returns the union of both parts.
    pub(in crate::memory) fn or(self, other: &Part<'_>) -> Part<'a> {
        match (self, other) {
            (Self::List(list), Part::List(other)) if list.len() + other.len() <= LIST => {
                Self::List(union(&list, other))
            }
            (Self::Bits(bits), Part::Bits(other)) => {
                bits.into_owned().combined(other, |a, b| a | b).into_part()
            }
            (left, right) => {
                let mut union = Union::default();
                union.add(&left);
                union.add(right);
                union.into_part()
            }
        }
    }

    /// Returns the records of `self` that are not in `other`.
    pub(in crate::memory) fn and_not(self, other: &Part<'_>) -> Part<'a> {
        match (self, other) {
            (Self::List(list), other) => {
                Self::of_vec(filtered(&list, |record| !other.contains(record)))
            }
            (Self::Bits(bits), Part::Bits(other)) => {
                bits.into_owned().combined(other, |a, b| a & !b).into_part()
            }
            (Self::Bits(bits), Part::List(list)) => {
                let mut bits = bits.into_owned();
                list.iter().for_each(|record| bits.clear(*record));
                bits.into_part()
            }
        }
    }

    /// Returns the number of records that are in both parts.
    pub(in crate::memory) fn count_in(&self, other: &Part<'_>) -> usize {
        match (self, other) {
            (Self::List(list), other) => list
                .iter()
                .filter(|record| other.contains(**record))
                .count(),
            (Self::Bits(bits), Part::List(list)) => {
                list.iter().filter(|record| bits.has(**record)).count()
            }
            (Self::Bits(bits), Part::Bits(other)) => {
                let both = bits.words.iter().zip(other.words.iter());
                count(both.map(|(a, b)| a & b))
            }
        }
    }

    pub(in crate::memory) fn into_owned(self) -> Part<'static> {
        match self {
            Self::List(list) => Part::List(list),
            Self::Bits(bits) => Part::Bits(Cow::Owned(bits.into_owned())),
        }
    }
}

impl Default for Bits {
    fn default() -> Self {
        Self {
            words: Box::new([0; WORDS]),
            count: 0,
        }
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records", self.count)
    }
}

impl Bits {
    pub(in crate::memory) fn of(sorted: &[u16]) -> Self {
        let mut bits = Self::default();
        sorted.iter().for_each(|record| bits.set(*record));
        bits.counted()
    }

    pub(in crate::memory) fn count(&self) -> usize {
        self.count
    }

    pub(in crate::memory) fn has(&self, record: u16) -> bool {
        let word = self.words.get(usize::from(record / 64));
        word.is_some_and(|word| word & bit(record) != 0)
    }

    /// Sets the bit of a record, without updating the count.
    pub(in crate::memory) fn set(&mut self, record: u16) {
        if let Some(word) = self.words.get_mut(usize::from(record / 64)) {
            *word |= bit(record);
        }
    }

    fn clear(&mut self, record: u16) {
        if let Some(word) = self.words.get_mut(usize::from(record / 64)) {
            self.count -= usize::from(*word & bit(record) != 0);
            *word &= !bit(record);
        }
    }

    fn combined(mut self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        for (word, other) in self.words.iter_mut().zip(other.words.iter()) {
            *word = combine(*word, *other);
        }
        self.counted()
    }

    fn counted(mut self) -> Self {
        self.count = count(self.words.iter().copied());
        self
    }

    pub(in crate::memory) fn iter(&self) -> impl Iterator<Item = u16> {
        let words = self.words.iter().zip((0..=u16::MAX).step_by(64));
        words.flat_map(|(word, base)| ones(*word, base))
    }

    /// Of the `count` records from `first` on, returns those that are in the set. Both numbers must be multiples of 64.
    pub(in crate::memory) fn between(&self, first: u16, count: u16) -> impl Iterator<Item = u16> {
        let words = self
            .words
            .iter()
            .zip((0..=u16::MAX).step_by(64))
            .skip(usize::from(first / 64))
            .take(usize::from(count / 64));
        words.flat_map(|(word, base)| ones(*word, base))
    }

    /// Returns the records after the first `skip` records.
    fn at(&self, mut skip: usize) -> impl Iterator<Item = u16> {
        let mut words = self.words.iter().zip((0..=u16::MAX).step_by(64)).peekable();
        while let Some((word, _)) = words.peek() {
            let count = word.count_ones() as usize;
            if count > skip {
                break;
            }
            skip -= count;
            words.next();
        }
        words.flat_map(|(word, base)| ones(*word, base)).skip(skip)
    }

    fn into_part<'a>(self) -> Part<'a> {
        match self.count {
            0..=LIST => Part::List(self.iter().collect()),
            _ => Part::Bits(Cow::Owned(self)),
        }
    }
}

/// A builder for the union of many lists and parts. It holds a list while there are few records, then a bit set.
#[derive(Default)]
pub(in crate::memory) struct Union {
    /// The records collected as an unsorted list, while there are few.
    few: Vec<u16>,
    /// All records collected, once there are many. The count in the bit set is not up to date.
    bits: Option<Bits>,
}

/// The maximum number of records collected as a list.
const FEW: usize = 512;

impl Union {
    /// Adds a record.
    pub(in crate::memory) fn insert(&mut self, record: u16) {
        match &mut self.bits {
            Some(bits) => bits.set(record),
            None if self.few.len() < FEW => self.few.push(record),
            None => self.as_bits().set(record),
        }
    }

    pub(in crate::memory) fn add_bits(&mut self, more: &Bits) {
        let bits = self.as_bits();
        for (word, other) in bits.words.iter_mut().zip(more.words.iter()) {
            *word |= other;
        }
    }

    fn add(&mut self, part: &Part<'_>) {
        match part {
            Part::List(list) => list.iter().for_each(|record| self.insert(*record)),
            Part::Bits(bits) => self.add_bits(bits),
        }
    }

    /// Returns the union as a part.
    pub(in crate::memory) fn into_part<'a>(mut self) -> Part<'a> {
        match self.bits {
            Some(bits) => bits.counted().into_part(),
            None => {
                self.few.sort_unstable();
                self.few.dedup();
                Part::of_vec(self.few)
            }
        }
    }

    fn as_bits(&mut self) -> &mut Bits {
        self.bits.get_or_insert_with(|| {
            let mut bits = Bits::default();
            self.few.iter().for_each(|record| bits.set(*record));
            bits
        })
    }
}

fn bit(record: u16) -> u64 {
    1 << (record % 64)
}

fn count(words: impl Iterator<Item = u64>) -> usize {
    words.map(|word| word.count_ones() as usize).sum()
}

/// Returns the records for the bits that are set in a word; `base` is the record of its first bit.
fn ones(mut word: u64, base: u16) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        // A position in a word is less than 64, so it fits.
        Some(base + u16::try_from(place).unwrap_or_default())
    })
}

fn filtered(list: &[u16], keep: impl Fn(u16) -> bool) -> Vec<u16> {
    list.iter()
        .copied()
        .filter(|record| keep(*record))
        .collect()
}

/// The ratio of the lengths of two lists above which the longer list is searched instead of scanned.
const FAR_LONGER: usize = 16;

/// Returns the elements that two ascending lists have in common.
pub(in crate::memory) fn common<T: Copy + Ord>(left: &[T], right: &[T]) -> Vec<T> {
    let (short, mut long) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let mut both = Vec::with_capacity(short.len());
    if short.len() < long.len() / FAR_LONGER {
        for at in short {
            long = long
                .get(long.partition_point(|other| other < at)..)
                .unwrap_or_default();
            if long.first() == Some(at) {
                both.push(*at);
            }
        }
    } else {
        let (mut here, mut there) = (0, 0);
        while let (Some(at), Some(other)) = (short.get(here), long.get(there)) {
            if at == other {
                both.push(*at);
            }
            // These additions avoid a branch, which would be unpredictable.
            here += usize::from(at <= other);
            there += usize::from(other <= at);
        }
    }
    both.dedup();
    both
}

fn union(left: &[u16], right: &[u16]) -> Vec<u16> {
    let mut either = Vec::with_capacity(left.len() + right.len());
    either.extend_from_slice(left);
    either.extend_from_slice(right);
    // The vector has two sorted runs, which the standard sort merges.
    either.sort();
    either.dedup();
    either
}
