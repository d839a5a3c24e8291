//! The indexes: for each index its words and keys in order, with their records and positions. Records are in segments of at most
//! 65,536, which are built in parallel and never change.
//!
//! | file | what it does |
//! |---|---|
//! | `strings`, `postings`, `dictionary` | sorted strings; their records and positions, packed; the terms of one index among
//! them |
//! | `segment`, `notes` | some of the records with their indexes, and how these are built |
//! | `find`, `mask` | patterns, and the records of terms that match |
//! | `phrase` | positions of words, and phrases |
//! | `browse` | terms in order, each with the number of given records that have it |

mod browse;
mod dictionary;
mod find;
pub(super) mod mask;
mod notes;
mod phrase;
mod postings;
mod segment;
mod strings;

use std::sync::Arc;
use std::time::Duration;

pub(super) use self::browse::Browse;
pub use self::find::Pattern;
pub(super) use self::notes::shortened;
pub use self::phrase::{Edge, Edges};
pub(super) use self::phrase::{WordPlace, WordPlaces};
pub(super) use self::segment::{Segment, SegmentBuilder};
use self::strings::Strings;
use super::background::TimeSlice;
use super::fields::{IndexId, IndexSet};
use super::hits::{HitSet, Part, split};
use crate::backend::RecordId;
use crate::budget::{Account, Charge};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The boundary marker: it precedes each text, in the class of the text, and follows the last text of a record, in the
/// class of no index.
const BOUNDARY: &str = "";

/// The classes of docids, whose lists are separate: one class, with one index.
const DOCIDS: &[IndexSet] = &[IndexSet::of(IndexId::DOCID)];

/// The terms of an index, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// The single words of texts.
    Words(IndexId),
    /// Whole entries: texts folded, with their words joined by blanks; other entries unchanged.
    Keys(IndexId),
}

impl Terms {
    /// Returns the first string of a segment that is not a marker.
    fn first(self, strings: &Strings) -> u32 {
        match self {
            Self::Words(_) => strings.first_from(b" "),
            Self::Keys(_) => 0,
        }
    }
}

/// The work left for a query, in units of about 50 ns of processor time.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
    /// What is left of the turn; `None` for work that takes no turns.
    slice: Option<TimeSlice>,
    /// The charge for what the work keeps until it is done.
    charge: Charge,
    /// Whether the budget was exceeded.
    pub(super) ran_out: bool,
}

/// The time of a unit of work. The cost of each kind of work was measured on one machine; only the ratios matter.
const UNIT: Duration = Duration::from_nanos(50);

/// The smallest change in kept octets that is counted.
const COUNTED: usize = 64 * 1024;

/// The work is used up, or was cancelled, or keeps too many octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// Converts to condition 31: too much work.
impl From<Exhausted> for Diagnostic {
    fn from(_: Exhausted) -> Self {
        let words = "more work or memory than a request may take";
        diagnostic(Condition::RESOURCES_EXHAUSTED, words)
    }
}

impl Work {
    /// Creates a budget of units.
    pub(super) fn new(units: u64) -> Self {
        Self {
            left: units,
            slice: None,
            charge: Charge::default(),
            ran_out: false,
        }
    }

    /// Returns the same budget, for work that takes turns with other work.
    pub(super) fn in_turns(self, slice: Option<TimeSlice>) -> Self {
        Self { slice, ..self }
    }

    /// Returns the same budget, for work that counts the octets it keeps in an account.
    pub(super) fn charged_to(self, account: Option<Arc<Account>>) -> Self {
        let charge = account.map(|account| Charge::to(&account));
        Self {
            charge: charge.unwrap_or_default(),
            ..self
        }
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Returns the octets that the work keeps now, as they are counted.
    pub(super) fn kept(&self) -> usize {
        self.charge.octets()
    }

    /// Notes how many octets the work keeps now. Small changes are not counted.
    ///
    /// # Errors
    /// If the account does not have room for them.
    pub(super) fn keep(&mut self, octets: usize) -> Result<(), Exhausted> {
        if octets.abs_diff(self.charge.octets()) < COUNTED {
            Ok(())
        } else {
            self.charge.set(octets).map_err(|_| Exhausted)
        }
    }

    /// Uses up units, and lets other work go first when it is its turn. This is called before or after every few microseconds of
    /// work.
    ///
    /// # Errors
    /// If fewer units are left, or the work was cancelled; in both cases none are left afterwards.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Exhausted> {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(units);
        let left = left.filter(|_| {
            let mut slice = self.slice.iter_mut();
            slice.all(|slice| slice.spend(units))
        });
        self.left = left.unwrap_or(0);
        self.ran_out |= left.is_none();
        left.map(|_| ()).ok_or(Exhausted)
    }

    /// Uses up the units of some time, for work whose cost cannot be known beforehand.
    ///
    /// # Errors
    /// The same as for [`Work::spend`].
    pub(super) fn spend_time(&mut self, time: Duration) -> Result<(), Exhausted> {
        let units = time.as_nanos() / UNIT.as_nanos();
        self.spend(usize::try_from(units).unwrap_or(usize::MAX))
    }
}

/// The number of strings of other indexes that are skipped in a unit of work.
const STRINGS_A_UNIT: usize = 4;

/// A snapshot of the records of a backend, and their indexes. Clones share the segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    segments: Vec<Arc<Segment>>,
    /// The deleted records of each segment.
    pub(super) deleted: Vec<Arc<Part<'static>>>,
    /// A value shared by all indexes that result from changes to the same one.
    origin: Arc<()>,
}

impl Index {
    /// Creates an index of these segments, with the deleted records of each.
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

    /// Returns the index after a change: some of its segments, and new ones in place of the rest.
    pub(super) fn changed(
        &self,
        segments: impl IntoIterator<Item = (Arc<Segment>, Arc<Part<'static>>)>,
    ) -> Self {
        Self {
            origin: Arc::clone(&self.origin),
            ..Self::new(segments)
        }
    }

    /// Returns whether both indexes result from changes to the same one.
    pub(super) fn is_akin(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.origin, &other.origin)
    }

    /// Indexes the texts that would otherwise be indexed on first use. Blocks until done.
    pub(super) fn prepare(&self) {
        for segment in &self.segments {
            segment.texts();
        }
    }

    /// Returns the number of records.
    pub(super) fn records(&self) -> usize {
        let all: usize = self.segments.iter().map(|segment| segment.len()).sum();
        let deleted: usize = self.deleted.iter().map(|deleted| deleted.len()).sum();
        all - deleted
    }

    /// Returns the segments with their numbers and deleted records.
    pub(super) fn segments(
        &self,
    ) -> impl Iterator<Item = (u16, &Arc<Segment>, &Arc<Part<'static>>)> {
        let parts = self.segments.iter().zip(&self.deleted);
        // An index has at most 65,536 segments, so each gets a number.
        (0..=u16::MAX)
            .zip(parts)
            .map(|(number, (segment, deleted))| (number, segment, deleted))
    }

    /// Returns the segment of a record, and its number there.
    pub(super) fn segment(&self, record: RecordId) -> Option<(&Arc<Segment>, u16)> {
        let (segment, number) = split(record);
        Some((self.segments.get(usize::from(segment))?, number))
    }

    /// Returns every record, including deleted ones.
    pub(super) fn all(&self) -> HitSet<'_> {
        HitSet::of_parts(
            self.segments()
                .map(|(number, segment, _)| (number, Part::first(segment.len()))),
        )
    }

    /// Returns the records that are not deleted and in these databases (`None`: in any).
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

/// Returns the records of a part that belong to one of the databases.
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
