//! The records found, as their clause, order and count. Pages are fetched when they are presented; a small set then keeps the numbers of
//! its records, so that its positions stay even if records come or go.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use z3950_server::backend::{HitList, RecordId};

use super::leaf::{Answer, Clause, IndexLeaf, OrderBy};
use crate::engine::answer::Hit;
use crate::lock::lock;

/// Sets of at most this many records keep their numbers.
pub(super) const MOST_KEPT: usize = 1000;
/// The most places of a sorted set that are kept.
const MOST_PLACES: usize = 64;

/// What a set is recognized by: the database, and a number that no other set of it has.
pub(super) type SetMark = (Arc<()>, u64);

/// The records found.
pub(super) struct ClusterHits {
    pub(super) origin: Arc<()>,
    pub(super) set: u64,
    pub(super) clause: Clause,
    /// The order; empty for that of the numbers.
    pub(super) order: Box<[OrderBy]>,
    pub(super) count: usize,
    /// The index that they are of, which may have been replaced since; `None` if it is not known.
    pub(super) index: Option<String>,
    /// Whether all parts of the index were searched.
    pub(super) is_whole: bool,
    /// The first records, as they came with the search.
    first: Vec<Hit>,
    /// The numbers of the records by position, of a small set whose later records were presented.
    numbers: OnceLock<Arc<[u64]>>,
    /// The places of records of a sorted set, by position, after which pages can begin.
    places: Mutex<BTreeMap<usize, String>>,
}

impl ClusterHits {
    pub(super) fn new(
        (origin, set): SetMark,
        clause: Clause,
        order: &[OrderBy],
        answer: Answer,
    ) -> Self {
        Self {
            origin,
            set,
            clause,
            order: order.into(),
            count: answer.total,
            index: answer.index,
            is_whole: answer.missing.is_none(),
            first: answer.hits,
            numbers: OnceLock::new(),
            places: Mutex::default(),
        }
    }

    /// Returns the clause of the set as an operand: its records, if they are known.
    pub(super) fn operand(&self) -> Clause {
        match self.numbers.get() {
            Some(numbers) => Clause::Leaf(IndexLeaf::Numbers(Arc::clone(numbers))),
            None => self.clause.clone(),
        }
    }

    /// Returns a record that came with the search.
    pub(super) fn first(&self, position: u32) -> Option<Bytes> {
        let place = usize::try_from(position).ok()?;
        self.first.get(place)?.record.clone()
    }

    /// Returns whether it keeps the numbers of its records.
    pub(super) fn is_small(&self) -> bool {
        self.count <= MOST_KEPT
    }

    /// Returns the numbers of its records, if they are known.
    pub(super) fn numbers(&self) -> Option<&[u64]> {
        self.numbers.get().map(|numbers| &**numbers)
    }

    /// Keeps the numbers of its records, if the records are those that the search found, as far as can be told. They may be known already.
    pub(super) fn keep(&self, count: usize, numbers: Vec<u64>) -> Option<&[u64]> {
        let first = self.first.iter().map(|hit| hit.number);
        let is_same = count == self.count && first.zip(&numbers).all(|(one, other)| one == *other);
        is_same.then(|| &**self.numbers.get_or_init(|| numbers.into()))
    }

    /// Keeps the place of the record before a position.
    pub(super) fn keep_place(&self, position: usize, place: String) {
        let mut places = lock(&self.places);
        places.insert(position, place);
        if places.len() > MOST_PLACES {
            places.pop_first();
        }
    }

    /// Returns the last known place before a position, with the position that follows it.
    pub(super) fn place_before(&self, position: usize) -> Option<(usize, String)> {
        let places = lock(&self.places);
        let (known, place) = places.range(..=position).next_back()?;
        Some((*known, place.clone()))
    }
}

/// The most positions of a list.
const MOST_POSITIONS: usize = u32::MAX as usize;

impl HitList for ClusterHits {
    fn len(&self) -> usize {
        self.count.min(MOST_POSITIONS)
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.len());
        let positions = (positions.start..end).map_while(|at| i64::try_from(at).ok());
        positions.map(RecordId).collect()
    }

    /// With the numbers and places that it may have later.
    fn octets(&self) -> usize {
        let first = self.first.iter().map(|hit| {
            let record = hit.record.as_ref().map_or(0, Bytes::len);
            record + hit.place.len() + size_of::<Hit>()
        });
        let numbers = if self.is_small() { self.count } else { 0 } * size_of::<u64>();
        let order = self.order.len() * size_of::<OrderBy>();
        let index = self.index.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.clause.octets() + order + numbers + index + first.sum::<usize>()
    }
}
