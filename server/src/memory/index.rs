//! The indexes: the sorted words and keys of each index, with their records and positions. Records are in segments of at most
//! 65,536, which are built in parallel and are never changed.
//!
//! | file | contents |
//! |---|---|
//! | `strings`, `postings`, `dictionary` | sorted strings; their records and positions, packed; the terms of one index |
//! | `segment`, `collector` | a segment: some of the records, with their indexes; and how segments are built |
//! | `find` | patterns and masks, and the records with terms that match them |
//! | `phrase` | positions of words, and phrases |
//! | `browse` | terms in order, each with the number of records in which it occurs |

mod browse;
mod collector;
mod dictionary;
pub(super) mod find;
mod phrase;
mod postings;
mod segment;
mod strings;

use std::sync::Arc;
use std::time::Duration;

pub(super) use self::browse::Browse;
pub(super) use self::collector::shortened;
pub use self::find::Pattern;
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

/// The string that marks the boundaries of texts. Each text is preceded by a boundary in the class of the text (see `collector`),
/// and the last text of a record is followed by a boundary in the class without indexes.
const BOUNDARY: &str = "";

/// The classes in the lexicon of docids: a single class, which consists of the index of docids.
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
    /// Returns the number of the first string in a segment that can be a term of this kind. In sorted order, words come after the
    /// marks.
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
    /// The time slice of the job that does the work; `None` if the work does not take turns with other jobs.
    slice: Option<TimeSlice>,
    /// The charge for the memory that the work needs until it is done.
    charge: Charge,
    /// Whether the budget has been exhausted.
    pub(super) ran_out: bool,
}

/// The duration of a unit of work. The costs in units were measured on one machine, but only their ratios matter.
const UNIT: Duration = Duration::from_nanos(50);

/// The minimum change in the memory that is kept, in octets, at which the charge is updated.
const COUNTED: usize = 64 * 1024;

/// The error if the budget is exhausted, the work was cancelled, or the work needs too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// Converts the error to condition 31 (resources exhausted).
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

    /// Sets the time slice with which the work takes turns with other jobs; with `None`, it does not take turns.
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

    /// Charges the number of octets that the work currently keeps, unless it differs little from the number already charged.
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

    /// Uses up units of work, and pauses when it is the turn of another job. Must be called before or after every few
    /// microseconds of work.
    ///
    /// # Errors
    /// Fails if fewer units remain or the work was cancelled. In both cases, no units remain afterwards.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Exhausted> {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(units).filter(|_| {
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

/// The number of strings from other indexes that are skipped per unit of work.
const STRINGS_A_UNIT: usize = 4;

/// A snapshot of the records of a backend, and their indexes. Clones share the segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    segments: Vec<Arc<Segment>>,
    /// The deleted records of each segment.
    pub(super) deleted: Vec<Arc<Part<'static>>>,
    /// A value that is shared by all indexes that were derived from the same index by changes.
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

    /// Returns the index that results from a change. It consists of these segments, some of which may also belong to `self`.
    pub(super) fn changed(
        &self,
        segments: impl IntoIterator<Item = (Arc<Segment>, Arc<Part<'static>>)>,
    ) -> Self {
        Self {
            origin: Arc::clone(&self.origin),
            ..Self::new(segments)
        }
    }

    /// Returns whether both indexes were derived from the same index by changes.
    pub(super) fn is_akin(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.origin, &other.origin)
    }

    /// Indexes the texts whose indexing was deferred to their first use. Blocks until done.
    pub(super) fn prepare(&self) {
        for segment in &self.segments {
            segment.texts();
        }
    }

    /// Returns the number of records that are not deleted.
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
