//! Sorted strings in a single block of memory, and an interner that numbers strings while they are collected.

use std::hash::{BuildHasher, RandomState};
use std::ops::{Bound, Range};

use hashbrown::HashTable;

/// Sorted strings without duplicates. A string is identified by its index, from 0.
#[derive(Debug, Default)]
pub(super) struct Strings {
    /// The strings, each followed by a zero octet.
    octets: Box<[u8]>,
    /// For each string, the position of its zero octet.
    ends: Box<[u32]>,
}

impl Strings {
    pub(super) fn len(&self) -> u32 {
        // Strings are numbered with 32 bits, so their number fits.
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// Returns the total number of octets of the strings, including the zero octet after each string.
    pub(super) fn octets(&self) -> usize {
        self.octets.len()
    }

    /// Returns the string at an index; empty if the index is too large.
    pub(super) fn at(&self, place: u32) -> &[u8] {
        let place = place as usize;
        let end = |place: usize| self.ends.get(place).map(|end| *end as usize);
        let start = place.checked_sub(1).and_then(end).map_or(0, |end| end + 1);
        let octets = end(place).and_then(|end| self.octets.get(start..end));
        octets.unwrap_or_default()
    }

    /// Returns the index of a string; `None` if it is not among the strings.
    pub(super) fn find(&self, string: &[u8]) -> Option<u32> {
        let place = self.first_from(string);
        (place < self.len() && self.at(place) == string).then_some(place)
    }

    /// Returns the index of the first string that is not less than this one.
    pub(super) fn first_from(&self, string: &[u8]) -> u32 {
        self.partition(|known| known < string)
    }

    /// Returns the indexes of the strings in a range.
    pub(super) fn between(&self, from: Bound<&str>, to: Bound<&str>) -> Range<u32> {
        let start = match from {
            Bound::Unbounded => 0,
            Bound::Included(from) => self.partition(|known| known < from.as_bytes()),
            Bound::Excluded(from) => self.partition(|known| known <= from.as_bytes()),
        };
        let end = match to {
            Bound::Unbounded => self.len(),
            Bound::Included(to) => self.partition(|known| known <= to.as_bytes()),
            Bound::Excluded(to) => self.partition(|known| known < to.as_bytes()),
        };
        start..end.max(start)
    }

    /// Returns the indexes of the strings that begin with `start`.
    pub(super) fn beginning_with(&self, start: &str) -> Range<u32> {
        let start = start.as_bytes();
        let from = self.first_from(start);
        from..self.partition(|known| known < start || known.starts_with(start))
    }

    /// Returns the indexes of the strings that contain the given octets, which must not include a zero octet.
    pub(super) fn containing(&self, inner: &[u8]) -> Vec<u32> {
        let mut places: Vec<u32> = Vec::new();
        for found in memchr::memmem::find_iter(&self.octets, inner) {
            let last = places.last().copied();
            if last.is_some_and(|last| {
                found <= self.ends.get(last as usize).map_or(0, |end| *end as usize)
            }) {
                continue;
            }
            let behind = last.map_or(0, |last| last as usize + 1);
            let rest = self.ends.get(behind..).unwrap_or_default();
            let place = behind + rest.partition_point(|end| (*end as usize) < found);
            places.extend(u32::try_from(place));
        }
        places
    }

    /// Returns the index of the first string for which `before` is false.
    fn partition(&self, before: impl Fn(&[u8]) -> bool) -> u32 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.at(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// An interner, which numbers strings from 0 in the order in which they are first added.
#[derive(Debug)]
pub(super) struct Interner {
    octets: Vec<u8>,
    ends: Vec<u32>,
    table: HashTable<Slot>,
    seed: u64,
    /// The first octets of each string with its number, sorted. The vector is kept so that its memory can be reused.
    order: Vec<(u64, u32)>,
    /// For each number, the index of its string in the sorted strings.
    places: Vec<u32>,
}

/// An entry of the hash table. Most strings have at most eight octets; two such strings are equal if their `first` and
/// `length` are equal.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The first octets of the string; see [`first_octets`].
    first: u64,
    length: u32,
    number: u32,
}

impl Default for Interner {
    fn default() -> Self {
        Self {
            octets: Vec::new(),
            ends: Vec::new(),
            table: HashTable::new(),
            // The seed is random, so that clients cannot craft records whose strings all collide.
            seed: RandomState::new().hash_one(0),
            order: Vec::new(),
            places: Vec::new(),
        }
    }
}

impl Interner {
    /// Returns the number of a string, adding the string if it is new.
    pub(super) fn number(&mut self, string: &[u8]) -> u32 {
        let first = first_octets(string);
        let length = u32::try_from(string.len()).unwrap_or(u32::MAX);
        let hash = hash(self.seed, string);
        let is_same = |slot: &Slot| {
            let may_be = slot.first == first && slot.length == length;
            may_be && (length <= 8 || self.string(slot.number) == string)
        };
        if let Some(slot) = self.table.find(hash, is_same) {
            return slot.number;
        }
        let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.octets.extend_from_slice(string);
        self.ends
            .push(u32::try_from(self.octets.len()).unwrap_or(u32::MAX));
        let slot = Slot {
            first,
            length,
            number,
        };
        let (octets, ends, seed) = (&self.octets, &self.ends, self.seed);
        self.table.insert_unique(hash, slot, |slot| {
            self::hash(seed, numbered(octets, ends, slot.number))
        });
        number
    }

    /// Returns the string with this number.
    pub(super) fn string(&self, number: u32) -> &[u8] {
        numbered(&self.octets, &self.ends, number)
    }

    /// Removes all strings, but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
        self.table.clear();
    }

    /// Returns the strings in sorted order. Afterwards, [`Interner::place`] returns their indexes.
    pub(super) fn sorted(&mut self) -> Strings {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        let numbers = (0..).take(self.ends.len());
        order.extend(numbers.map(|number| (first_octets(self.string(number)), number)));
        order.sort_unstable_by(|left, right| {
            let firsts = left.0.cmp(&right.0);
            firsts.then_with(|| self.string(left.1).cmp(self.string(right.1)))
        });
        let mut octets = Vec::with_capacity(self.octets.len() + order.len());
        let mut ends = Vec::with_capacity(order.len());
        self.places.clear();
        self.places.resize(order.len(), 0);
        for (place, (_, number)) in (0..).zip(&order) {
            octets.extend_from_slice(self.string(*number));
            ends.push(u32::try_from(octets.len()).unwrap_or(u32::MAX));
            octets.push(0);
            if let Some(known) = self.places.get_mut(*number as usize) {
                *known = place;
            }
        }
        self.order = order;
        Strings {
            octets: octets.into(),
            ends: ends.into(),
        }
    }

    /// Returns the index, in the sorted strings, of the string with this number.
    pub(super) fn place(&self, number: u32) -> u32 {
        self.places
            .get(number as usize)
            .copied()
            .unwrap_or_default()
    }
}

/// Returns the string with this number, which begins where the previous string ends.
fn numbered<'a>(octets: &'a [u8], ends: &[u32], number: u32) -> &'a [u8] {
    let number = number as usize;
    let before = number.checked_sub(1).and_then(|before| ends.get(before));
    let start = before.copied().unwrap_or(0);
    let end = ends.get(number).copied().unwrap_or(start);
    octets.get(start as usize..end as usize).unwrap_or_default()
}

/// Returns the first eight octets, padded with zeros, as a number. Numbers sort in the same order as the octets.
#[inline]
pub(super) fn first_octets(string: &[u8]) -> u64 {
    if let Some(octets) = string.first_chunk() {
        return u64::from_be_bytes(*octets);
    }
    let missing = 64 - 8 * string.len();
    match (string.first_chunk(), string.last_chunk()) {
        // The first four and the last four octets overlap if the string has fewer than eight octets.
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            u64::from(first) << 32 | u64::from(last) << missing
        }
        _ => string
            .iter()
            .zip([56, 48, 40])
            .fold(0, |number, (octet, shift)| {
                number | u64::from(*octet) << shift
            }),
    }
}

#[inline]
fn hash(seed: u64, string: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(FACTOR);
        (product >> 64) as u64 ^ product as u64
    };
    let (words, rest) = string.as_chunks();
    let words = words.iter().map(|word| u64::from_be_bytes(*word));
    let hash = words.fold(seed ^ string.len() as u64, mix);
    mix(mix(hash, first_octets(rest)), seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(of: &[&str]) -> Strings {
        let mut interner = Interner::default();
        for string in of {
            interner.number(string.as_bytes());
        }
        interner.sorted()
    }

    #[test]
    fn strings_keep_their_numbers_and_come_in_order() {
        let mut interner = Interner::default();
        let word = |n: u32| format!("word{}", n.wrapping_mul(2_654_435_761) % 5_003);
        let numbers: Vec<_> = (0..20_000)
            .map(|n| interner.number(word(n).as_bytes()))
            .collect();
        for (n, number) in (0..).zip(&numbers) {
            assert_eq!(interner.string(*number), word(n).as_bytes());
        }
        let strings = interner.sorted();
        assert_eq!(strings.len(), 5_003);
        for (n, number) in (0..).zip(&numbers) {
            assert_eq!(strings.at(interner.place(*number)), word(n).as_bytes());
        }
        assert!((1..strings.len()).all(|place| strings.at(place - 1) < strings.at(place)));
        assert_eq!(strings.at(5_003), b"");
    }

    #[test]
    fn the_first_octets_are_in_order() {
        let string = b"abcdefghij";
        for length in 0..=string.len() {
            let mut octets = [0; 8];
            for (octet, known) in octets.iter_mut().zip(&string[..length]) {
                *octet = *known;
            }
            assert_eq!(first_octets(&string[..length]), u64::from_be_bytes(octets));
        }
    }

    #[test]
    fn strings_are_found_by_pattern() {
        let strings = strings(&["war", "", "ware", "peace", "warfare", "é", "wa"]);
        // In order, the strings are: "", peace, wa, war, ware, warfare, é
        assert_eq!(strings.find(b"war"), Some(3));
        assert_eq!(strings.find(b""), Some(0));
        assert_eq!(strings.find(b"warf"), None);
        assert_eq!(strings.find("ü".as_bytes()), None);
        assert_eq!(strings.beginning_with("war"), 3..6);
        assert_eq!(strings.beginning_with("x"), 6..6);
        assert_eq!(strings.beginning_with(""), 0..7);
        assert_eq!(strings.containing(b"ar"), [3, 4, 5]);
        assert_eq!(strings.containing(b"a"), [1, 2, 3, 4, 5]);
        assert_eq!(strings.containing("é".as_bytes()), [6]);
        let between = |from, to| strings.between(from, to);
        assert_eq!(
            between(Bound::Included("war"), Bound::Excluded("warfare")),
            3..5
        );
        assert_eq!(
            between(Bound::Excluded("war"), Bound::Included("warfare")),
            4..6
        );
        assert_eq!(between(Bound::Unbounded, Bound::Unbounded), 0..7);
        assert_eq!(between(Bound::Included("x"), Bound::Included("a")), 6..6);
    }
}
