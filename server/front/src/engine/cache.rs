//! A cache for the records that are fetched for a response, which keeps them until they are retrieved.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use z3950_server::lock;

use super::records::HeldRecord;

/// The maximum size of a database's record cache, in octets.
const CACHE_OCTETS: usize = 16 << 20;

/// The place of a record: the number of its result set, and its position in the set.
pub(super) type CachePlace = (u64, u32);

/// A cache for the records in all result sets of a database, with a maximum size in octets; the oldest records are
/// dropped first.
#[derive(Debug)]
pub(super) struct RecordCache {
    most: usize,
    kept: Mutex<KeptRecords>,
}

#[derive(Debug, Default)]
struct KeptRecords {
    /// The records, each with its age; `None` for a record that did not arrive.
    by_place: HashMap<CachePlace, (u64, Option<HeldRecord>)>,
    /// The places by age, which is a number that increases with each record.
    by_age: BTreeMap<u64, CachePlace>,
    next: u64,
    octets: usize,
}

/// The approximate number of octets of an entry without its record.
const ENTRY: usize = 128;

fn octets_of(record: Option<&HeldRecord>) -> usize {
    ENTRY + record.map_or(0, HeldRecord::octets)
}

impl Default for RecordCache {
    fn default() -> Self {
        Self::new(CACHE_OCTETS)
    }
}

impl RecordCache {
    fn new(most: usize) -> Self {
        Self {
            most,
            kept: Mutex::default(),
        }
    }

    /// Returns whether the record at a place is cached.
    pub(super) fn has(&self, place: CachePlace) -> bool {
        let kept = lock(&self.kept);
        matches!(kept.by_place.get(&place), Some((_, Some(_))))
    }

    /// Removes and returns the record at a place: `Some(None)` if the engine did not send it, `None` if it is not
    /// cached.
    pub(super) fn take(&self, place: CachePlace) -> Option<Option<HeldRecord>> {
        lock(&self.kept).take(place)
    }

    /// Adds a record, and replaces an earlier one at the same place.
    pub(super) fn keep(&self, place: CachePlace, record: Option<HeldRecord>) {
        let mut kept = lock(&self.kept);
        kept.take(place);
        kept.octets += octets_of(record.as_ref());
        let age = kept.next;
        kept.next += 1;
        kept.by_age.insert(age, place);
        kept.by_place.insert(place, (age, record));
        while kept.octets > self.most
            && let Some((_, oldest)) = kept.by_age.first_key_value()
        {
            let oldest = *oldest;
            kept.take(oldest);
        }
    }
}

impl KeptRecords {
    fn take(&mut self, place: CachePlace) -> Option<Option<HeldRecord>> {
        let (age, record) = self.by_place.remove(&place)?;
        self.by_age.remove(&age);
        self.octets -= octets_of(record.as_ref());
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_records_give_way() {
        let record = |octets| Some(HeldRecord::Xml(" ".repeat(octets)));
        let cache = RecordCache::new(2 * (ENTRY + 100));
        cache.keep((1, 0), record(100));
        cache.keep((2, 0), None);
        cache.keep((2, 0), record(100));
        assert!(cache.has((1, 0)) && cache.has((2, 0)) && !cache.has((2, 1)));
        cache.keep((2, 1), None);
        assert!(!cache.has((1, 0)) && cache.has((2, 0)) && !cache.has((2, 1)));
        assert_eq!(cache.take((1, 0)), None);
        assert_eq!(cache.take((2, 1)), Some(None));
        assert_eq!(cache.take((2, 0)), Some(record(100)));
        assert_eq!(cache.take((2, 0)), None);
        cache.keep((3, 0), None);
        cache.keep((3, 1), record(2 * (ENTRY + 100)));
        let kept = lock(&cache.kept);
        let left = (kept.octets, kept.by_place.len(), kept.by_age.len());
        assert_eq!(left, (0, 0, 0));
    }
}
