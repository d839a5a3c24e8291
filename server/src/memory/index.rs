//! What makes searches fast: for each index its words and keys in order, with the records and places where they stand. The
//! records are in segments of at most 65,536, which are built side by side and never change.
//!
//! | file | what it does |
//! |---|---|
//! | `strings`, `postings`, `dictionary` | strings in order; their records and places, packed; the terms of an index among them |
//! | `segment`, `builder`, `notes` | some records with their indexes, and how they come about |
//! | `find`, `pattern` | the records of terms that are like something |
//! | `places`, `phrase` | where words stand, and words one behind the other |
//! | `browse`, `tally` | terms in order, and how many of some records have each |

mod browse;
mod builder;
mod dictionary;
mod find;
mod notes;
mod pattern;
mod phrase;
mod places;
mod postings;
mod segment;
mod strings;
mod tally;

use std::sync::Arc;

pub(super) use self::browse::{Browse, Counted};
pub(super) use self::builder::SegmentBuilder;
pub(super) use self::pattern::Pattern;
pub(super) use self::phrase::{Edge, Edges};
pub(super) use self::places::{WordPlace, WordPlaces};
pub(super) use self::segment::{Rules, Segment};
use self::strings::Strings;
use super::elsewhere::CancelFlag;
use super::fields::{IndexId, IndexSet};
use super::hits::{HitSet, Part, split};
use crate::backend::RecordId;

/// The word that stands in front of each text, in its class, and behind the last of a record, in the class of no index.
const BOUNDARY: &str = "";

/// The classes of docids, which have lists of their own: one, of one index.
const DOCIDS: &[IndexSet] = &[IndexSet::of(IndexId::DOCID)];

/// The terms of an index that a look goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terms {
    /// The single words of texts.
    Words(IndexId),
    /// Whole entries: texts folded, their words joined by blanks; other entries as they are.
    Keys(IndexId),
}

impl Terms {
    /// The first of a segment's strings that is no sign.
    fn first(self, strings: &Strings) -> u32 {
        match self {
            Self::Words(_) => strings.first_from(b" "),
            Self::Keys(_) => 0,
        }
    }
}

/// How much more work may be done for a query.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
    stop: Option<CancelFlag>,
    ran_out: bool,
}

/// More work than was allowed, or nobody waits for it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

impl Work {
    /// So many units: one is a term looked at, or some dozen records taken.
    pub(super) fn new(units: u64) -> Self {
        Self {
            left: units,
            stop: None,
            ran_out: false,
        }
    }

    /// The same, none of them once it is told to stop.
    pub(super) fn until(self, stop: &CancelFlag) -> Self {
        Self {
            stop: Some(stop.clone()),
            ..self
        }
    }

    /// Takes units away.
    ///
    /// # Errors
    /// When there are not so many left, or it is told to stop; then none is.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Exhausted> {
        let left = self
            .left
            .checked_sub(u64::try_from(units).unwrap_or(u64::MAX));
        let left = left.filter(|_| !self.stop.as_ref().is_some_and(CancelFlag::is_cancelled));
        self.left = left.unwrap_or(0);
        self.ran_out |= left.is_none();
        left.map(|_| ()).ok_or(Exhausted)
    }

    /// Whether more has been asked for than there was.
    pub(super) fn ran_out(&self) -> bool {
        self.ran_out
    }
}

/// Records handled for one unit of work.
const RECORDS_A_UNIT: usize = 64;

/// The records of a backend at one time, and what they are found by. Clones share the segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    segments: Vec<Arc<Segment>>,
    /// For each segment, the records that are no longer there.
    deleted: Vec<Arc<Part<'static>>>,
    /// Shared with the indexes that changes have made of this one.
    origin: Arc<()>,
}

impl Index {
    /// An index of these segments, with the records of each that count as deleted.
    pub(super) fn new(
        segments: impl IntoIterator<Item = (Arc<Segment>, Arc<Part<'static>>)>,
    ) -> Self {
        let (segments, deleted) = segments.into_iter().unzip();
        Self {
            segments,
            deleted,
            origin: Arc::default(),
        }
    }

    /// What a change makes of this index: some of its segments, and others in the places of the rest.
    pub(super) fn changed(
        &self,
        segments: impl IntoIterator<Item = (Arc<Segment>, Arc<Part<'static>>)>,
    ) -> Self {
        Self {
            origin: Arc::clone(&self.origin),
            ..Self::new(segments)
        }
    }

    /// Whether changes have made one of the two of the other, or both of a third.
    pub(super) fn is_akin(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.origin, &other.origin)
    }

    /// Indexes what would be indexed when it is first looked at. Blocks until it is done.
    pub(super) fn prepare(&self) {
        for segment in &self.segments {
            segment.texts();
        }
    }

    /// How many records there are.
    pub(super) fn records(&self) -> usize {
        let all: usize = self.segments.iter().map(|segment| segment.len()).sum();
        let deleted: usize = self.deleted.iter().map(|deleted| deleted.len()).sum();
        all - deleted
    }

    /// Whether any record is deleted.
    pub(super) fn has_deleted(&self) -> bool {
        self.deleted.iter().any(|deleted| !deleted.is_empty())
    }

    /// The segments by their numbers, with the records of each that are deleted.
    pub(super) fn segments(
        &self,
    ) -> impl Iterator<Item = (u16, &Arc<Segment>, &Arc<Part<'static>>)> {
        let parts = self.segments.iter().zip(&self.deleted);
        // Set up with that many segments, no more records can be numbered.
        (0..=u16::MAX)
            .zip(parts)
            .map(|(number, (segment, deleted))| (number, segment, deleted))
    }

    /// The segment of a record, and the record's number there.
    pub(super) fn segment(&self, record: RecordId) -> Option<(&Arc<Segment>, u16)> {
        let (segment, number) = split(record);
        Some((self.segments.get(usize::from(segment))?, number))
    }

    /// Every record, deleted or not.
    pub(super) fn all(&self) -> HitSet<'_> {
        HitSet::of_parts(
            self.segments()
                .map(|(number, segment, _)| (number, Part::first(segment.len()))),
        )
    }

    /// Of some records those that are not deleted, in these databases (`None`: in all) by their numbers.
    pub(super) fn visible<'a>(&self, hits: HitSet<'a>, databases: Option<&[u16]>) -> HitSet<'a> {
        let within: Vec<_> = hits
            .parts()
            .filter_map(|(number, part)| {
                let place = usize::from(number);
                let (segment, deleted) = (self.segments.get(place)?, self.deleted.get(place)?);
                let mut part = part.clone();
                if let Some(databases) = databases {
                    part = restricted(part, segment, databases);
                }
                if !deleted.is_empty() {
                    part = part.and_not(deleted);
                }
                Some((number, part))
            })
            .collect();
        HitSet::of_parts(within)
    }
}

/// The records of a part that are in one of the databases.
fn restricted<'a>(part: Part<'a>, segment: &Segment, databases: &[u16]) -> Part<'a> {
    let wanted = |database: &u16| databases.contains(database);
    if segment
        .databases
        .iter()
        .all(|(database, _)| wanted(database))
    {
        return part;
    }
    let ranges = segment
        .databases
        .iter()
        .filter(|(database, _)| wanted(database));
    let parts = ranges.map(|(_, range)| Part::between(range.clone()));
    match parts.reduce(|all, more| all.or(&more)) {
        Some(within) => part.and(&within),
        None => Part::first(0),
    }
}

#[cfg(test)]
mod tests;
