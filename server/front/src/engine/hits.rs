//! The records found, as their query, order and count. Pages are fetched when they are presented; a small set then keeps the numbers of
//! its records, so that its positions stay even if records come or go.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use z3950_server::backend::{HitList, RecordId};

/// Sets of at most this many records keep their numbers.
pub(super) const MOST_KEPT: usize = 1000;

/// The records found.
pub(super) struct EngineHits {
    /// The database that they are from.
    pub(super) origin: Arc<()>,
    /// A number that no other set of the database has.
    pub(super) set: u64,
    /// The expression that finds them.
    pub(super) query: Box<str>,
    /// The statement's order, which ends in the record's number.
    pub(super) order: Box<str>,
    pub(super) count: usize,
    /// Whether all nodes answered the search.
    pub(super) is_whole: bool,
    /// The first records, with their numbers, as they came with the search.
    first: Vec<(u64, Bytes)>,
    /// The numbers of the records by position, of a small set whose later records were presented.
    numbers: OnceLock<Vec<u64>>,
}

impl EngineHits {
    pub(super) fn new(
        (origin, set): (Arc<()>, u64),
        query: String,
        order: &str,
        (count, is_whole): (usize, bool),
        first: Vec<(u64, Bytes)>,
    ) -> Self {
        Self {
            origin,
            set,
            query: query.into(),
            order: order.into(),
            count,
            is_whole,
            first,
            numbers: OnceLock::new(),
        }
    }

    /// A record that came with the search.
    pub(super) fn first(&self, position: u32) -> Option<Bytes> {
        let place = usize::try_from(position).ok()?;
        self.first.get(place).map(|(_, record)| record.clone())
    }

    /// Whether it keeps the numbers of its records.
    pub(super) fn is_small(&self) -> bool {
        self.count <= MOST_KEPT
    }

    /// The numbers of its records, if they are known.
    pub(super) fn numbers(&self) -> Option<&[u64]> {
        self.numbers.get().map(Vec::as_slice)
    }

    /// Keeps the numbers of its records, if the records are those that the search found, as far as can be told. They may be known already.
    pub(super) fn keep(&self, count: usize, numbers: Vec<u64>) -> Option<&[u64]> {
        let first = self.first.iter().map(|(number, _)| *number);
        let is_same = count == self.count && first.zip(&numbers).all(|(one, other)| one == *other);
        is_same.then(|| self.numbers.get_or_init(|| numbers).as_slice())
    }
}

/// The most positions of a list.
const MOST_POSITIONS: usize = u32::MAX as usize;

impl HitList for EngineHits {
    fn len(&self) -> usize {
        self.count.min(MOST_POSITIONS)
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.len());
        let positions = (positions.start..end).map_while(|at| i64::try_from(at).ok());
        positions.map(RecordId).collect()
    }

    /// With the numbers that it may have later.
    fn octets(&self) -> usize {
        let first = self.first.iter().map(|(_, record)| record.len() + PLACE);
        let numbers = if self.is_small() { self.count } else { 0 } * size_of::<u64>();
        size_of::<Self>() + self.query.len() + self.order.len() + numbers + first.sum::<usize>()
    }
}

/// What the place of a record takes.
const PLACE: usize = size_of::<(u64, Bytes)>();
