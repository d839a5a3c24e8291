//! Result sets: the records found, and the catalogue in which they were found.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::hits::{HitSet, RecordNumber, join, split};
use super::index::{Exhausted, Index, Segment, WorkBudget};
use super::snapshot::{Snapshot, View};
use crate::backend::{HitList, Hits, RecordId, part_of};

/// The list of hits of a result set.
pub(super) struct ResultList {
    pub(super) snapshot: Arc<Snapshot>,
    records: RecordOrder,
}

/// The records of a result set, in presentation order.
enum RecordOrder {
    /// Records in the order of their numbers.
    Numbers(HitSet<'static>),
    Sorted(Box<[RecordNumber]>),
}

impl ResultList {
    pub(super) fn of_set(snapshot: Arc<Snapshot>, records: HitSet<'static>) -> Hits {
        Hits::new(Self {
            snapshot,
            records: RecordOrder::Numbers(records),
        })
    }

    pub(super) fn sorted(snapshot: Arc<Snapshot>, records: Vec<RecordNumber>) -> Hits {
        Hits::new(Self {
            snapshot,
            records: RecordOrder::Sorted(records.into()),
        })
    }

    /// Returns the catalogue in which the records were found; `None` if it has been dropped after two reloads.
    pub(super) fn view(&self) -> Option<View> {
        Some(View {
            catalogue: self.snapshot.catalogue()?,
            snapshot: Arc::clone(&self.snapshot),
        })
    }

    /// Returns the number of units of work needed to convert the list to a set.
    fn units(&self) -> usize {
        match &self.records {
            RecordOrder::Numbers(set) => 1 + set.units(),
            RecordOrder::Sorted(records) => 1 + records.len(),
        }
    }

    /// Returns all records, in presentation order.
    pub(super) fn numbers(&self) -> Vec<RecordNumber> {
        self.numbers_at(0..self.len())
    }

    fn numbers_at(&self, positions: Range<usize>) -> Vec<RecordNumber> {
        match &self.records {
            RecordOrder::Numbers(set) => set.at(positions),
            RecordOrder::Sorted(records) => part_of(records, positions),
        }
    }

    pub(super) fn set(&self) -> HitSet<'static> {
        match &self.records {
            RecordOrder::Numbers(set) => set.clone(),
            RecordOrder::Sorted(records) => {
                let mut records = records.to_vec();
                records.sort_unstable();
                HitSet::of_sorted(records)
            }
        }
    }
}

impl HitList for ResultList {
    fn len(&self) -> usize {
        match &self.records {
            RecordOrder::Numbers(set) => set.len(),
            RecordOrder::Sorted(records) => records.len(),
        }
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let numbers = self.numbers_at(positions);
        numbers.into_iter().map(RecordNumber::id).collect()
    }

    fn octets(&self) -> usize {
        match &self.records {
            RecordOrder::Numbers(set) => set.octets(),
            RecordOrder::Sorted(records) => size_of_val(&**records),
        }
    }

    fn is_gone(&self) -> bool {
        self.snapshot.catalogue().is_none()
    }
}

impl Index {
    /// Returns the records in a result set that still exist, with their numbers in this index; `None` if the set belongs to
    /// another backend or was created before a reload.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(super) fn adopt(
        &self,
        hits: &Hits,
        work: &mut WorkBudget,
    ) -> Result<Option<HitSet<'static>>, Exhausted> {
        let Some(list) = hits.downcast::<ResultList>() else {
            return Ok(None);
        };
        let Some(catalogue) = list.snapshot.catalogue() else {
            return Ok(None);
        };
        let index = &catalogue.index;
        if !index.is_akin(self) {
            return Ok(None);
        }
        work.spend(list.units())?;
        Ok(Some(moved(list.set(), index, self, work)?))
    }
}

/// Converts record numbers in one index to the record numbers in another index that was derived from it by changes. Records in
/// segments that belong to both indexes keep their numbers. Other records are identified by the address of their octets, which
/// changes do not move.
fn moved(
    set: HitSet<'static>,
    from: &Index,
    to: &Index,
    work: &mut WorkBudget,
) -> Result<HitSet<'static>, Exhausted> {
    let place_in_new = |number: u16| {
        let (segment, _) = from.segment(join(number, 0))?;
        let mut segments = to.segments();
        segments.find_map(|(number, other, _)| Arc::ptr_eq(segment, other).then_some(number))
    };
    let numbers = set
        .parts()
        .map(|(number, _)| (number, place_in_new(number)));
    let numbers: HashMap<u16, Option<u16>> = numbers.collect();
    if numbers.iter().all(|(from, to)| Some(*from) == *to) {
        return Ok(set);
    }
    work.spend(set.len())?;
    let mut new_records: Option<HashMap<*const u8, RecordNumber>> = None;
    let moved = set.iter().filter_map(|record| {
        let (segment, number) = split(record);
        if let Some(Some(segment)) = numbers.get(&segment) {
            return Some(join(*segment, number));
        }
        let (segment, number) = from.segment(record)?;
        let (octets, _) = segment.record(number)?;
        let new_records = new_records.get_or_insert_with(|| by_octets(from, to));
        new_records.get(&octets.as_ptr()).copied()
    });
    let mut moved: Vec<RecordNumber> = moved.collect();
    moved.sort_unstable();
    Ok(HitSet::of_sorted(moved))
}

/// Returns the numbers of the records in segments that only the new index has, by the address of their octets.
fn by_octets(from: &Index, to: &Index) -> HashMap<*const u8, RecordNumber> {
    let is_new =
        |segment: &Arc<Segment>| !from.segments().any(|(_, old, _)| Arc::ptr_eq(old, segment));
    let new = to.segments().filter(|(_, segment, _)| is_new(segment));
    new.flat_map(|(number, segment, _)| {
        let records = (0..=u16::MAX).take(segment.len());
        records.filter_map(move |record| {
            Some((segment.record(record)?.0.as_ptr(), join(number, record)))
        })
    })
    .collect()
}
