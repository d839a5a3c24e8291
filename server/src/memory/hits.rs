//! Sets of records and the operators on them. A set consists of parts of at most 8 KiB, one for each segment of the index in
//! which it has records. Therefore, a query with a thousand operators, or a result set of a million records, takes little memory
//! and time.

mod part;

use std::cmp::Ordering;
use std::ops::Range;

pub(super) use self::part::{BITS_UNITS, Bits, LIST, Part, RECORDS_A_UNIT, SEGMENT, Union, common};
use crate::backend::RecordId;

/// The number of a record in an index, which consists of the number of its segment and its number in the segment. It is half as
/// long as a [`RecordId`], because sorted result sets may contain millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RecordNumber(pub(super) u32);

impl RecordNumber {
    /// Returns the number of the record with an identifier that this backend assigned; `None` for any other identifier.
    pub(super) fn of(record: RecordId) -> Option<Self> {
        u32::try_from(record.0).ok().map(Self)
    }

    pub(super) fn id(self) -> RecordId {
        RecordId(i64::from(self.0))
    }
}

/// A set of records in an index. Parts that belong to the index are borrowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HitSet<'a> {
    /// The nonempty parts with the numbers of their segments, in ascending order.
    parts: Vec<(u16, Part<'a>)>,
}

impl<'a> HitSet<'a> {
    /// Creates a set from parts in the order of their segments; empty parts are dropped.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = (u16, Part<'a>)>) -> Self {
        let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
        Self {
            parts: parts.collect(),
        }
    }

    /// Creates a set from records in ascending order.
    pub(super) fn of_sorted(records: impl IntoIterator<Item = RecordNumber>) -> HitSet<'static> {
        let mut parts: Vec<(u16, Vec<u16>)> = Vec::new();
        for record in records {
            let (segment, number) = split(record);
            match parts.last_mut() {
                Some((last, numbers)) if *last == segment => numbers.push(number),
                _ => parts.push((segment, vec![number])),
            }
        }
        let parts = parts.into_iter();
        HitSet::of_parts(parts.map(|(segment, mut numbers)| {
            numbers.dedup();
            (segment, Part::of_vec(numbers))
        }))
    }

    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the parts with the numbers of their segments.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u16, &Part<'a>)> {
        self.parts.iter().map(|(segment, part)| (*segment, part))
    }

    /// Splits the set into a set for each segment.
    pub(super) fn by_segment(&self) -> impl Iterator<Item = HitSet<'a>> {
        let parts = self.parts.iter().cloned();
        parts.map(|part| HitSet { parts: vec![part] })
    }

    /// Returns the number of units of work needed to apply an operator to this set.
    pub(super) fn units(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.units()).sum()
    }

    /// Returns the size of the memory that the set owns, in octets.
    pub(super) fn octets(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.octets()).sum()
    }

    /// Returns the part of the set in a segment; `None` if the set has no records in the segment.
    pub(super) fn part(&self, segment: u16) -> Option<&Part<'a>> {
        let found = self
            .parts
            .binary_search_by_key(&segment, |(known, _)| *known);
        self.parts.get(found.ok()?).map(|(_, part)| part)
    }

    /// Returns the records, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = RecordNumber> {
        let parts = self.parts.iter();
        parts.flat_map(|(segment, part)| part.iter().map(|number| join(*segment, number)))
    }

    /// Returns the records at these positions, counted from 0; positions past the end are ignored.
    pub(super) fn at(&self, places: Range<usize>) -> Vec<RecordNumber> {
        let mut found = Vec::with_capacity(places.len().min(self.len()));
        let mut before = 0;
        for (segment, part) in &self.parts {
            if before >= places.end {
                break;
            }
            let behind = before + part.len();
            if behind > places.start {
                let from = places.start.saturating_sub(before);
                let wanted = part.at(from..places.end - before);
                found.extend(wanted.map(|number| join(*segment, number)));
            }
            before = behind;
        }
        found
    }

    /// Returns the intersection of both sets.
    pub(super) fn and(self, other: Self) -> Self {
        self.merged(other, |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(left.and(&right)),
            _ => None,
        })
    }

    /// Returns the union of both sets.
    pub(super) fn or(self, other: Self) -> Self {
        self.merged(other, |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(left.or(&right)),
            (left, right) => left.or(right),
        })
    }

    /// Returns the records of `self` that are not in `other`.
    pub(super) fn and_not(self, other: Self) -> Self {
        self.merged(other, |left, right| match (left, right) {
            (Some(left), Some(right)) => Some(left.and_not(&right)),
            (left, _) => left,
        })
    }

    pub(super) fn into_owned(self) -> HitSet<'static> {
        let parts = self.parts.into_iter();
        HitSet {
            parts: parts
                .map(|(segment, part)| (segment, part.into_owned()))
                .collect(),
        }
    }

    /// Combines the parts of both sets, segment by segment.
    fn merged(
        self,
        other: Self,
        mut merge: impl FnMut(Option<Part<'a>>, Option<Part<'a>>) -> Option<Part<'a>>,
    ) -> Self {
        let mut parts = Vec::with_capacity(self.parts.len().max(other.parts.len()));
        let (mut left, mut right) = (
            self.parts.into_iter().peekable(),
            other.parts.into_iter().peekable(),
        );
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return Self { parts },
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((left, _)), Some((right, _))) => left.cmp(right),
            };
            let from_left = left.next_if(|_| order.is_le());
            let from_right = right.next_if(|_| order.is_ge());
            let Some(segment) = from_left
                .as_ref()
                .or(from_right.as_ref())
                .map(|(segment, _)| *segment)
            else {
                return Self { parts };
            };
            let merged = merge(
                from_left.map(|(_, part)| part),
                from_right.map(|(_, part)| part),
            );
            parts.extend(
                merged
                    .filter(|part| !part.is_empty())
                    .map(|part| (segment, part)),
            );
        }
    }
}

/// Splits a record number into the number of the segment and the number of the record in the segment.
pub(super) fn split(record: RecordNumber) -> (u16, u16) {
    let [a, b, c, d] = record.0.to_be_bytes();
    (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

/// Returns the record number that consists of the number of a segment and the number of a record in the segment.
pub(super) fn join(segment: u16, number: u16) -> RecordNumber {
    RecordNumber(u32::from(segment) << 16 | u32::from(number))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Generates record numbers in three segments, few or many in each.
    fn numbers() -> impl Strategy<Value = BTreeSet<u32>> {
        let segment = |number: u32| {
            prop_oneof![
                proptest::collection::btree_set(0..70_u32, 0..20),
                (0..9_000_u32, 1..4_u32)
                    .prop_map(|(count, step)| (0..count).map(|n| n * step).collect()),
            ]
            .prop_map(move |set: BTreeSet<u32>| {
                set.into_iter()
                    .map(move |n| number << 16 | n)
                    .collect::<Vec<_>>()
            })
        };
        (segment(0), segment(1), segment(2))
            .prop_map(|(a, b, c)| a.into_iter().chain(b).chain(c).collect())
    }

    fn set(numbers: &BTreeSet<u32>) -> HitSet<'static> {
        HitSet::of_sorted(numbers.iter().copied().map(RecordNumber))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_algebra_is_that_of_sets(left in numbers(), right in numbers(), from in 0..20_000_usize) {
            let (a, b) = (set(&left), set(&right));
            prop_assert_eq!(a.len(), left.len());
            prop_assert_eq!(a.clone().and(b.clone()), set(&(&left & &right)));
            prop_assert_eq!(b.clone().and(a.clone()), set(&(&left & &right)));
            prop_assert_eq!(a.clone().or(b.clone()), set(&(&left | &right)));
            prop_assert_eq!(a.clone().and_not(b), set(&(&left - &right)));
            let all: Vec<_> = left.iter().copied().map(RecordNumber).collect();
            prop_assert_eq!(a.iter().collect::<Vec<_>>(), all.clone());
            let some: Vec<_> = all.iter().skip(from).take(7).copied().collect();
            prop_assert_eq!(a.at(from..from + 7), some.clone());
            let held = |record: &RecordNumber| a.part(split(*record).0).is_some_and(|part| part.contains(split(*record).1));
            prop_assert!(some.iter().all(held));
        }
    }

    #[test]
    fn records_are_numbered_by_segments() {
        for (record, segment, number) in [
            (0, 0, 0),
            (65_535, 0, 65_535),
            (65_536, 1, 0),
            (u32::MAX, 65_535, 65_535),
        ] {
            assert_eq!(split(RecordNumber(record)), (segment, number));
            assert_eq!(join(segment, number), RecordNumber(record));
        }
    }
}
