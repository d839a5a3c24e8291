//! The records found, as their clause, order and count. Pages are fetched when they are presented; a small set then keeps the identifiers
//! of its records, so that its positions stay even if records come or go.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use z3950_server::backend::{HitList, RecordId};

use super::leaf::{CatalogueLeaf, Wanted};
use super::offer::Point;
use super::plan::{CatalogueHit, Clause, OrderBy};
use super::records::HeldRecord;
use crate::engine::cache::Held as _;
use crate::lock::lock;

/// Sets of at most this many records keep their identifiers.
pub(super) const MOST_KEPT: usize = 1000;
/// The most places of a set that are kept.
const MOST_PLACES: usize = 64;
/// About what an identifier takes in memory.
const IDENTIFIER_OCTETS: usize = 48;

/// What a set is recognized by: the database, and a number that no other set of it has.
pub(super) type SetMark = (Arc<()>, u64);

/// The records found.
pub(super) struct CatalogueHits {
    pub(super) origin: Arc<()>,
    pub(super) set: u64,
    pub(super) clause: Clause,
    pub(super) order: Box<[OrderBy]>,
    pub(super) count: usize,
    /// Whether all parts of the index were searched.
    pub(super) is_whole: bool,
    /// The index of identifiers.
    identifiers: Arc<Point>,
    /// The first records, as they came with the search.
    first: Vec<CatalogueHit>,
    /// The identifiers of the records by position, of a small set whose later records were presented.
    ids: OnceLock<Arc<[String]>>,
    /// The places of records, by position, after which pages can begin.
    places: Mutex<BTreeMap<usize, String>>,
}

impl CatalogueHits {
    pub(super) fn new(
        (origin, set): SetMark,
        clause: Clause,
        order: Vec<OrderBy>,
        (count, is_whole): (usize, bool),
        identifiers: Arc<Point>,
        first: Vec<CatalogueHit>,
    ) -> Self {
        Self {
            origin,
            set,
            clause,
            order: order.into(),
            count,
            is_whole,
            identifiers,
            first,
            ids: OnceLock::new(),
            places: Mutex::default(),
        }
    }

    /// Returns the clause of the set as an operand: its records, if they are known.
    pub(super) fn operand(&self) -> Clause {
        match self.ids.get() {
            Some(ids) => self.identified(Arc::clone(ids)),
            None => self.clause.clone(),
        }
    }

    /// Returns the clause of records with these identifiers.
    pub(super) fn identified(&self, ids: Arc<[String]>) -> Clause {
        Clause::Leaf(CatalogueLeaf {
            point: Arc::clone(&self.identifiers),
            wanted: Wanted::Identifiers(ids),
        })
    }

    /// Returns a record that came with the search.
    pub(super) fn first(&self, position: u32) -> Option<HeldRecord> {
        let place = usize::try_from(position).ok()?;
        self.first.get(place)?.record.clone()
    }

    /// Returns the octets of the longest record that came with the search; `None` if none came.
    pub(super) fn longest_first(&self) -> Option<usize> {
        let records = self.first.iter().filter_map(|hit| hit.record.as_ref());
        records.map(HeldRecord::octets).max()
    }

    /// Returns whether it keeps the identifiers of its records.
    pub(super) fn is_small(&self) -> bool {
        self.count <= MOST_KEPT
    }

    /// Returns the identifiers of its records, if they are known.
    pub(super) fn ids(&self) -> Option<&[String]> {
        self.ids.get().map(|ids| &**ids)
    }

    /// Keeps the identifiers of its records, if the records are those that the search found, as far as can be told. They may be known
    /// already.
    pub(super) fn keep(&self, count: usize, ids: Vec<String>) -> Option<&[String]> {
        let first = self.first.iter().map(|hit| &hit.id);
        let is_same = count == self.count && first.zip(&ids).all(|(one, other)| one == other);
        is_same.then(|| &**self.ids.get_or_init(|| ids.into()))
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

impl HitList for CatalogueHits {
    fn len(&self) -> usize {
        self.count.min(MOST_POSITIONS)
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.len());
        let positions = (positions.start..end).map_while(|at| i64::try_from(at).ok());
        positions.map(RecordId).collect()
    }

    /// With the identifiers that it may have later.
    fn octets(&self) -> usize {
        let first = self.first.iter().map(|hit| {
            let record = hit.record.as_ref().map_or(0, HeldRecord::octets);
            record + hit.id.len() + hit.place.len() + size_of::<CatalogueHit>()
        });
        let ids = if self.is_small() { self.count } else { 0 } * IDENTIFIER_OCTETS;
        let order = self.order.len() * size_of::<OrderBy>();
        size_of::<Self>() + self.clause.octets() + order + ids + first.sum::<usize>()
    }
}
