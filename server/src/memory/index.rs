//! The indexes: the sorted words and keys of each index, with their records and positions. Records are in segments of at most
//! 65,536, which are built in parallel and are never changed.
//!
//! | file | contents |
//! |---|---|
//! | `strings`, `postings`, `dictionary` | sorted strings; their records and positions, packed; the terms of one index |
//! | `segment`, `notes` | some of the records with their indexes, and how these are built |
//! | `find`, `mask` | patterns, and the records of terms that match |
//! | `phrase` | positions of words, and phrases |
//! | `browse` | terms in order, each with the number of given records that have it |

mod browse;
mod dictionary;
pub(super) mod find;
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
pub(super) use self::segment::{Segment, SegmentBuilder, SegmentFull};
use self::strings::Strings;
use super::background::TimeSlice;
use super::fields::{IndexId, IndexSet};
use super::hits::{HitSet, Part, split};
use crate::budget::{Account, Charge};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::hits::RecordNumber;

/// The string that marks the boundaries of texts. A boundary in the class of a text precedes each text, and a boundary in the
/// class without indexes follows the last text of a record.
const BOUNDARY: &str = "";

/// The classes of docids, which have a separate lexicon: a single class, with one index.
const DOCIDS: &[IndexSet] = &[IndexSet::of(IndexId::DOCID)];

/// The terms of an index, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// The single words of texts.
    Words(IndexId),
    /// Complete entries. Texts are folded, and their words are joined by spaces; other entries are unchanged.
    Keys(IndexId),
}

impl Terms {
    /// Returns the number of the first string of a segment that is not a mark.
    fn first(self, strings: &Strings) -> u32 {
        match self {
            Self::Words(_) => strings.first_from(b" "),
            Self::Keys(_) => 0,
        }
    }
}

/// The remaining work of a query, in units of about 50 ns of processor time.
#[derive(Debug)]
pub(super) struct WorkBudget {
    left: u64,
    /// The job's time slice; `None` for work that does not take turns.
    slice: Option<TimeSlice>,
    /// The charge for the memory that the work needs until it is done.
    charge: Charge,
    /// Whether the budget has been exhausted.
    pub(super) ran_out: bool,
}

/// The duration of a unit of work. The costs in units were measured on one machine, but only their ratios matter.
const UNIT: Duration = Duration::from_nanos(50);

/// The smallest change in the number of octets kept that is charged.
const COUNTED: usize = 64 * 1024;

/// The error that the budget of work is exhausted, that the work was cancelled, or that it needs too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// Converts the error to condition 31, for too much work.
impl From<Exhausted> for Diagnostic {
    fn from(_: Exhausted) -> Self {
        let words = "more work or memory than a request may take";
        diagnostic(Condition::RESOURCES_EXHAUSTED, words)
    }
}

impl WorkBudget {
    /// Creates a budget of this number of units.
    pub(super) fn new(units: u64) -> Self {
        Self {
            left: units,
            slice: None,
            charge: Charge::default(),
            ran_out: false,
        }
    }

    /// Makes the work take turns with other work.
    pub(super) fn in_turns(self, slice: Option<TimeSlice>) -> Self {
        Self { slice, ..self }
    }

    /// Charges the memory that the work needs to an account.
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

    /// Returns the number of octets that are currently charged for the work.
    pub(super) fn kept(&self) -> usize {
        self.charge.octets()
    }

    /// Charges the octets that the work currently keeps, unless they have changed little.
    ///
    /// # Errors
    /// The account's limit would be exceeded.
    pub(super) fn keep(&mut self, octets: usize) -> Result<(), Exhausted> {
        if octets.abs_diff(self.charge.octets()) < COUNTED {
            Ok(())
        } else {
            self.charge.set(octets).map_err(|_| Exhausted)
        }
    }

    /// Uses up units of work, and lets other work run when it is its turn. Must be called before or after every few microseconds
    /// of work.
    ///
    /// # Errors
    /// Fails if fewer units remain or the work was cancelled. In both cases, no units remain afterwards.
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

    /// Uses up the units that correspond to a duration, for work whose cost is not known in advance.
    ///
    /// # Errors
    /// The same as for [`WorkBudget::spend`].
    pub(super) fn spend_time(&mut self, time: Duration) -> Result<(), Exhausted> {
        let units = time.as_nanos() / UNIT.as_nanos();
        self.spend(usize::try_from(units).unwrap_or(usize::MAX))
    }
}

/// The number of strings of other indexes that are skipped per unit of work.
const STRINGS_A_UNIT: usize = 4;

/// A snapshot of the records of a backend, and their indexes. Clones share the segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    segments: Vec<Arc<Segment>>,
    /// The deleted records of each segment.
    pub(super) deleted: Vec<Arc<Part<'static>>>,
    /// A value that identifies the index from which this one was derived by changes.
    origin: Arc<()>,
}

impl Index {
    /// Creates an index of these segments and their deleted records.
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

    /// Returns the index after a change: it keeps some of the segments, and the new segments replace the others.
    pub(super) fn changed(
        &self,
        segments: impl IntoIterator<Item = (Arc<Segment>, Arc<Part<'static>>)>,
    ) -> Self {
        Self {
            origin: Arc::clone(&self.origin),
            ..Self::new(segments)
        }
    }

    /// Returns whether both indexes were derived from the same one by changes.
    pub(super) fn is_akin(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.origin, &other.origin)
    }

    /// Indexes the texts whose indexing was deferred to their first use. Blocks until done.
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

    /// Returns the segment of a record, and the record's number in the segment; `None` if the index does not have the segment.
    pub(super) fn segment(&self, record: RecordNumber) -> Option<(&Arc<Segment>, u16)> {
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

    /// Returns the records that are not deleted and are in one of the given databases; `None` means all databases.
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
