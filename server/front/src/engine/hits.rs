//! Result sets from an engine, each stored as a clause, an order and a count. Pages are fetched when they are presented; a
//! small set then keeps the identifiers of its records, so that their positions do not change when records are added or
//! deleted.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use z3950_server::backend::{HitList, Hits, RecordId};
use z3950_server::lock;

use super::answer::{EngineAnswer, Hit};
use super::cache::RecordCache;
use super::clause::{Clause, Leaf};
use super::plan::OrderBy;
use super::records::HeldRecord;

/// Sets of at most this many records keep their identifiers.
pub(super) const MOST_KEPT: usize = 1000;
/// The maximum number of places that a set keeps. A page can begin after each of these places.
const MOST_PLACES: usize = 64;

/// The state of a database for all its result sets.
#[derive(Default)]
pub(super) struct ResultSets {
    /// Marks the result sets of this database.
    origin: Arc<()>,
    /// The number of the next result set.
    next: AtomicU64,
    /// The records that were fetched for result sets.
    pub(super) cache: RecordCache,
}

impl ResultSets {
    /// Creates the result set for an answer.
    pub(super) fn add<L: Leaf>(
        &self,
        clause: Clause<L>,
        order: Vec<OrderBy<L::SortKey>>,
        answer: EngineAnswer<L::Id>,
    ) -> Hits {
        Hits::new(EngineHits {
            origin: Arc::clone(&self.origin),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            clause,
            order: order.into(),
            count: answer.total,
            index: answer.index,
            is_whole: answer.missing.is_none(),
            first: answer.hits,
            ids: OnceLock::new(),
            places: Mutex::default(),
        })
    }

    /// Returns the engine's result set in `hits`, if the set belongs to this database.
    pub(super) fn own<'h, L: Leaf>(&self, hits: &'h Hits) -> Option<&'h EngineHits<L>> {
        let known: &EngineHits<L> = hits.downcast()?;
        Arc::ptr_eq(&known.origin, &self.origin).then_some(known)
    }
}

/// A result set from an engine.
pub(super) struct EngineHits<L: Leaf> {
    origin: Arc<()>,
    /// The unique number of the set within the database.
    pub(super) number: u64,
    pub(super) clause: Clause<L>,
    /// The order; empty to order the records by identifier.
    pub(super) order: Box<[OrderBy<L::SortKey>]>,
    pub(super) count: usize,
    /// The index that contains the records, which may have been replaced since; `None` if it is not known.
    pub(super) index: Option<String>,
    /// Whether all parts of the index were searched.
    pub(super) is_whole: bool,
    /// The first records, which were returned with the search.
    first: Vec<Hit<L::Id>>,
    /// The identifiers of the records by position, if the set is small and records beyond the first ones were
    /// presented.
    ids: OnceLock<Arc<[L::Id]>>,
    /// The places after which pages can begin, by the position of the record at each place.
    places: Mutex<BTreeMap<usize, String>>,
}

impl<L: Leaf> EngineHits<L> {
    /// Returns a record that was returned with the search.
    pub(super) fn first(&self, position: u32) -> Option<HeldRecord> {
        let place = usize::try_from(position).ok()?;
        self.first.get(place)?.record.clone()
    }

    /// Returns the size in octets of the longest record that was returned with the search; `None` if no record was.
    pub(super) fn longest_first(&self) -> Option<usize> {
        let records = self.first.iter().filter_map(|hit| hit.record.as_ref());
        records.map(HeldRecord::octets).max()
    }

    /// Returns whether the set keeps the identifiers of its records.
    pub(super) fn is_small(&self) -> bool {
        self.count <= MOST_KEPT
    }

    /// Returns the identifiers of the records, if they are known.
    pub(super) fn known_ids(&self) -> Option<&Arc<[L::Id]>> {
        self.ids.get()
    }

    /// Keeps the identifiers of the records, unless some are known already, and returns the identifiers that are kept. Returns
    /// `None` if `ids` apparently do not belong to the records that the search found.
    pub(super) fn keep(&self, count: usize, ids: Vec<L::Id>) -> Option<&Arc<[L::Id]>> {
        let first = self.first.iter().map(|hit| &hit.id);
        let is_same = count == self.count && first.zip(&ids).all(|(one, other)| one == other);
        is_same.then(|| self.ids.get_or_init(|| ids.into()))
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

/// The maximum number of positions in a list.
const MOST_POSITIONS: usize = u32::MAX as usize;

impl<L: Leaf> HitList for EngineHits<L> {
    fn len(&self) -> usize {
        self.count.min(MOST_POSITIONS)
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.len());
        let positions = (positions.start..end).map_while(|at| i64::try_from(at).ok());
        positions.map(RecordId).collect()
    }

    /// Returns the size in memory, including the identifiers that the set may keep later.
    fn octets(&self) -> usize {
        let first = self.first.iter().map(|hit| {
            let record = hit.record.as_ref().map_or(0, HeldRecord::octets);
            record + hit.place.len() + size_of::<Hit<L::Id>>()
        });
        let ids = self.first.len() + if self.is_small() { self.count } else { 0 };
        let order = self.order.len() * size_of::<OrderBy<L::SortKey>>();
        let index = self.index.as_ref().map_or(0, String::len);
        size_of::<Self>()
            + self.clause.octets()
            + order
            + index
            + ids * L::ID_OCTETS
            + first.sum::<usize>()
    }
}
