//! Sets of records and their algebra: sorted lists while they are short, a bit for each record when they are long. So a
//! query of a thousand operators costs no more than a thousand passes over the bits.

use std::cmp::Ordering;
use std::ops::Deref;

use crate::backend::{Hits, RecordId};

/// A set of the records `0..universe` of a backend.
#[derive(Clone, Debug)]
pub(super) enum HitSet<'a> {
    /// Ascending, each record once.
    List(List<'a>),
    /// Bit `n % 64` of word `n / 64` is record `n`.
    Bits(Vec<u64>),
}

/// Where a list is kept: an index, a result set or here. No set is copied to be looked into.
#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Borrowed(&'a [RecordId]),
    Shared(Hits),
    Owned(Vec<RecordId>),
}

impl Deref for List<'_> {
    type Target = [RecordId];
    fn deref(&self) -> &[RecordId] {
        match self {
            Self::Borrowed(records) => records,
            Self::Shared(records) => records,
            Self::Owned(records) => records,
        }
    }
}

/// A list with a record in more than one of so many is kept as bits.
const SPARSE: usize = 32;

impl<'a> HitSet<'a> {
    /// The set of no record.
    pub(super) fn empty() -> Self {
        Self::of(&[])
    }

    /// The set of ascending records, each given once.
    pub(super) fn of(sorted: &'a [RecordId]) -> Self {
        Self::List(List::Borrowed(sorted))
    }

    /// As [`HitSet::of`], of a list that nobody else has.
    pub(super) fn of_vec(sorted: Vec<RecordId>) -> Self {
        Self::List(List::Owned(sorted))
    }

    /// As [`HitSet::of`], of the list of a result set.
    pub(super) fn shared(sorted: Hits) -> Self {
        Self::List(List::Shared(sorted))
    }

    /// The records in both.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::List(left), Self::List(right)) => {
                let (short, long) = if left.len() <= right.len() {
                    (left, right)
                } else {
                    (right, left)
                };
                Self::of_vec(intersection(&short, &long))
            }
            (Self::List(list), Self::Bits(bits)) | (Self::Bits(bits), Self::List(list)) => {
                filtered(list, |record| has(&bits, record))
            }
            (Self::Bits(left), Self::Bits(right)) => combined(left, &right, |a, b| a & b),
        }
    }

    /// The records in either; `universe` is how many records there are.
    pub(super) fn or(self, other: Self, universe: usize) -> Self {
        match (self, other) {
            (Self::List(left), Self::List(right))
                if left.len() + right.len() <= universe / SPARSE =>
            {
                Self::of_vec(union(&left, &right))
            }
            (Self::Bits(left), Self::Bits(right)) => combined(left, &right, |a, b| a | b),
            (Self::Bits(bits), Self::List(list)) | (Self::List(list), Self::Bits(bits)) => {
                Self::Bits(with(bits, &list))
            }
            (Self::List(left), Self::List(right)) => {
                let none = vec![0; universe.div_ceil(64)];
                Self::Bits(with(with(none, &left), &right))
            }
        }
    }

    /// The records in this one and not in the other.
    pub(super) fn and_not(self, other: Self) -> Self {
        match (self, other) {
            (Self::List(list), Self::Bits(bits)) => filtered(list, |record| !has(&bits, record)),
            (Self::List(list), Self::List(other)) => {
                filtered(list, |record| other.binary_search(&record).is_err())
            }
            (Self::Bits(left), Self::Bits(right)) => combined(left, &right, |a, b| a & !b),
            (Self::Bits(mut bits), Self::List(list)) => {
                for record in list.iter() {
                    if let Some(word) = bits.get_mut(record.0 as usize / 64) {
                        *word &= !(1 << (record.0 % 64));
                    }
                }
                Self::Bits(bits)
            }
        }
    }

    /// The records, ascending.
    pub(super) fn into_hits(self) -> Hits {
        match self {
            Self::List(List::Shared(hits)) => hits,
            Self::List(list) => Hits::from(&*list),
            Self::Bits(bits) => bits
                .iter()
                .zip(0..)
                .flat_map(|(word, at)| ones(*word, at))
                .collect(),
        }
    }
}

fn ones(mut word: u64, at: u32) -> impl Iterator<Item = RecordId> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(RecordId(at * 64 + bit))
    })
}

fn filtered<'a>(list: List<'a>, keep: impl Fn(RecordId) -> bool) -> HitSet<'a> {
    HitSet::of_vec(
        list.iter()
            .copied()
            .filter(|record| keep(*record))
            .collect(),
    )
}

fn has(bits: &[u64], record: RecordId) -> bool {
    let word = bits.get(record.0 as usize / 64).copied().unwrap_or(0);
    word & 1 << (record.0 % 64) != 0
}

fn with(mut bits: Vec<u64>, list: &[RecordId]) -> Vec<u64> {
    for record in list {
        if let Some(word) = bits.get_mut(record.0 as usize / 64) {
            *word |= 1 << (record.0 % 64);
        }
    }
    bits
}

fn combined<'a>(
    mut left: Vec<u64>,
    right: &[u64],
    combine: impl Fn(u64, u64) -> u64,
) -> HitSet<'a> {
    for (word, other) in left.iter_mut().zip(right) {
        *word = combine(*word, *other);
    }
    HitSet::Bits(left)
}

/// Looks each record of the short list up in what is left of the long one, in steps that double.
fn intersection(short: &[RecordId], mut long: &[RecordId]) -> Vec<RecordId> {
    let mut both = Vec::new();
    for record in short {
        let mut step = 1;
        while long.get(step).is_some_and(|other| other < record) {
            step *= 2;
        }
        let near = long.get(..=step).unwrap_or(long);
        let before = near.partition_point(|other| other < record);
        long = long.get(before..).unwrap_or_default();
        if long.first() == Some(record) {
            both.push(*record);
        }
    }
    both
}

fn union(mut left: &[RecordId], mut right: &[RecordId]) -> Vec<RecordId> {
    let mut either = Vec::with_capacity(left.len() + right.len());
    while let (Some((first, left_rest)), Some((second, right_rest))) =
        (left.split_first(), right.split_first())
    {
        let order = first.cmp(second);
        either.push(if order == Ordering::Greater {
            *second
        } else {
            *first
        });
        if order != Ordering::Greater {
            left = left_rest;
        }
        if order != Ordering::Less {
            right = right_rest;
        }
    }
    either.extend_from_slice(left);
    either.extend_from_slice(right);
    either
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const UNIVERSE: usize = 300;

    fn records(numbers: &BTreeSet<u32>) -> Vec<RecordId> {
        numbers.iter().map(|number| RecordId(*number)).collect()
    }

    /// Both forms of the set of these records.
    fn forms(sorted: &[RecordId]) -> [HitSet<'_>; 2] {
        let bits = with(vec![0; UNIVERSE.div_ceil(64)], sorted);
        [HitSet::of(sorted), HitSet::Bits(bits)]
    }

    proptest! {
        #[test]
        fn the_algebra_is_that_of_sets(
            left in proptest::collection::btree_set(0..UNIVERSE as u32, 0..60),
            right in proptest::collection::btree_set(0..UNIVERSE as u32, 0..20),
        ) {
            let (a, b) = (records(&left), records(&right));
            let and = records(&(&left & &right));
            let or = records(&(&left | &right));
            let not = records(&(&left - &right));
            for x in forms(&a) {
                for y in forms(&b) {
                    prop_assert_eq!(&x.clone().and(y.clone()).into_hits()[..], &and[..]);
                    prop_assert_eq!(&y.clone().and(x.clone()).into_hits()[..], &and[..]);
                    prop_assert_eq!(&x.clone().or(y.clone(), UNIVERSE).into_hits()[..], &or[..]);
                    prop_assert_eq!(&x.clone().and_not(y).into_hits()[..], &not[..]);
                }
            }
        }
    }

    #[test]
    fn long_lists_become_bits() {
        let list: Vec<_> = (0..100).map(RecordId).collect();
        let set = HitSet::of(&list).or(HitSet::empty(), 1000);
        assert!(matches!(set, HitSet::Bits(_)));
        assert!(matches!(
            HitSet::of(&list).or(HitSet::empty(), 10_000),
            HitSet::List(_)
        ));
    }
}
