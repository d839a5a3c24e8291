//! Merges small segments, and rewrites large segments most of whose records are deleted. A merge takes up to a second or two, so
//! changes do not wait for it: they only add segments. The merge works on a snapshot of the segments, and its result is then put
//! into the current index.

use std::ops::Range;
use std::sync::Arc;

use z3950_marc::iso2709;

use super::fields::Fields;
use super::hits::{Part, SEGMENT};
use super::index::{Index, Segment, SegmentBuilder, SegmentFull};
use crate::headroom::Headroom;

/// The number of segments of about the same size that are merged into one. Each record is indexed again whenever its segment has
/// grown by this factor.
const ALIKE: usize = 16;
/// The number of records up to which a segment's texts are indexed on first use, which takes a millisecond or two. Small segments
/// are soon merged, so indexing them earlier may be wasted.
const FEW: usize = 64;
/// The maximum number of octets of records in one merge.
const MERGED_OCTETS: usize = 64 * 1024 * 1024;
/// The number of octets of memory that a merge needs per octet of records. The measured maximum was nine octets, for records in
/// which no word occurs twice.
const MERGE_FACTOR: u64 = 10;

/// A segment and its deleted records.
type Slice = (Arc<Segment>, Arc<Part<'static>>);

/// Adjacent segments that are to be merged into one.
pub(super) struct Merge {
    /// The number of the first segment to merge.
    first: usize,
    slices: Vec<Slice>,
}

/// A segment created by a merge. It has the records that were not deleted when the merge began.
pub(super) struct Merged {
    merge: Merge,
    segment: Segment,
}

/// Creates a builder for a segment with this number of records.
pub(super) fn builder(records: usize, fields: &Arc<Fields>) -> SegmentBuilder {
    match records {
        0..=FEW => SegmentBuilder::deferred(Arc::clone(fields)),
        _ => SegmentBuilder::new(Arc::clone(fields)),
    }
}

impl Merge {
    /// Returns a merge that is due; `None` if no merge is due or there is not enough memory for it.
    pub(super) fn due(index: &Index, headroom: Option<Headroom>) -> Option<Self> {
        let slices: Vec<_> = index.segments().collect();
        let tail = slices.len().saturating_sub(ALIKE)..slices.len();
        let places = match slices.get(tail.clone()) {
            Some(last) if are_alike(last) => tail,
            _ => {
                let wasteful = slices.iter().position(is_wasteful)?;
                wasteful..wasteful + 1
            }
        };
        let due = Self {
            first: places.start,
            slices: (slices.get(places)?.iter())
                .map(|(_, segment, deleted)| (Arc::clone(segment), Arc::clone(deleted)))
                .collect(),
        };
        let memory = headroom.and_then(|room| usize::try_from(room.spare() / MERGE_FACTOR).ok());
        let most = memory.unwrap_or(usize::MAX).min(MERGED_OCTETS);
        (due.octets() <= most).then_some(due)
    }

    /// Returns the total number of octets of the records.
    fn octets(&self) -> usize {
        let octets = self.slices.iter().flat_map(|(segment, _)| {
            let records = (0..=u16::MAX).take(segment.len());
            records.filter_map(|number| Some(segment.record(number)?.0.len()))
        });
        octets.sum()
    }

    /// Performs the merge. The octets of the records are shared with the old segments.
    ///
    /// # Errors
    /// [`SegmentFull`] if the records do not fit into one segment.
    pub(super) fn perform(self, fields: &Arc<Fields>) -> Result<Merged, SegmentFull> {
        let kept = |(segment, deleted): &Slice| segment.len() - deleted.len();
        let mut builder = builder(self.slices.iter().map(kept).sum(), fields);
        for (segment, deleted) in &self.slices {
            for number in present(segment, deleted) {
                // The record has been parsed before, so this does not fail.
                if let Some((octets, _)) = segment.record(number)
                    && let Some(database) = segment.database(number)
                    && let Ok(parsed) = iso2709::parse(octets)
                {
                    builder.add(database, octets.clone(), &parsed.record)?;
                }
            }
        }
        Ok(Merged {
            segment: builder.finish(),
            merge: self,
        })
    }
}

impl Merged {
    /// Returns the index with the old segments replaced by the new one, in which records deleted in the meantime are deleted too.
    /// Returns `None` if the index no longer has the old segments.
    pub(super) fn put_into(self, index: &Index) -> Option<Index> {
        let Merge { first, slices } = self.merge;
        let places: Range<usize> = first..first + slices.len();
        let mut all: Vec<Slice> = index
            .segments()
            .map(|(_, segment, deleted)| (Arc::clone(segment), Arc::clone(deleted)))
            .collect();
        let now = all.get(places.clone())?;
        let mut pairs = slices.iter().zip(now);
        if !pairs.all(|((before, _), (now, _))| Arc::ptr_eq(before, now)) {
            return None;
        }
        let since = slices
            .iter()
            .zip(now)
            .flat_map(|((segment, before), (_, now))| {
                present(segment, before).map(|number| now.contains(number))
            });
        let deleted = (0..=u16::MAX)
            .zip(since)
            .filter_map(|(number, is_deleted)| is_deleted.then_some(number));
        let deleted = Arc::new(Part::of_vec(deleted.collect()));
        let merged = (self.segment.len() > 0).then(|| (Arc::new(self.segment), deleted));
        all.splice(places, merged);
        Some(index.changed(all))
    }
}

/// Returns the records of a segment that are not deleted.
fn present(segment: &Segment, deleted: &Part<'_>) -> impl Iterator<Item = u16> {
    let all = (0..=u16::MAX).take(segment.len());
    all.filter(|number| !deleted.contains(*number))
}

/// Returns whether these segments should be merged: there are [`ALIKE`] of them, none is of a higher order of magnitude than the
/// last, and their records fit into one segment.
fn are_alike(slices: &[(u16, &Arc<Segment>, &Arc<Part<'static>>)]) -> bool {
    let records = slices
        .iter()
        .map(|(_, segment, deleted)| segment.len() - deleted.len());
    let mut sizes = records.clone().map(|records| records.max(1).ilog(ALIKE));
    slices.len() == ALIKE
        && sizes.clone().max() == sizes.next_back()
        && records.sum::<usize>() <= SEGMENT
}

/// Returns whether more than half of the records are deleted. Small segments do not count, because they are soon merged anyway.
fn is_wasteful((_, segment, deleted): &(u16, &Arc<Segment>, &Arc<Part<'static>>)) -> bool {
    segment.len() > FEW && deleted.len() * 2 > segment.len()
}
