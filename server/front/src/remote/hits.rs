//! The records of several targets as one list: round robin by rank, first the first of each target, then the second. Which target
//! has a position is computed, so that a list of millions takes no memory.

use std::ops::Range;
use std::sync::Arc;

use z3950_server::backend::{Caller, HitList, RecordId};

use super::set::RemoteSet;
use super::upstream::Upstream;
use super::window::MergedWindow;

/// The records found, by target.
pub(super) struct RemoteHits {
    /// Who searched, and reads the records.
    pub(super) caller: Caller,
    pub(super) parts: Vec<HitsOfTarget>,
    order: RoundRobin,
    merged: MergedWindow,
}

/// What a target found.
#[derive(Clone)]
pub(super) struct HitsOfTarget {
    pub(super) upstream: Arc<Upstream>,
    pub(super) set: Arc<RemoteSet>,
}

impl RemoteHits {
    pub(super) fn new(parts: Vec<HitsOfTarget>, caller: Caller) -> Self {
        let counts: Vec<u64> = parts.iter().map(|part| part.set.count()).collect();
        Self {
            caller,
            order: RoundRobin::new(&counts),
            parts,
            merged: MergedWindow::default(),
        }
    }

    /// Puts merged hits in place of the first records.
    pub(super) fn merge(&mut self, merged: MergedWindow) {
        self.merged = merged;
    }

    /// Whether there are records that were not compared with others.
    pub(super) fn goes_past_window(&self) -> bool {
        self.order.total() > u64::from(self.merged.records)
    }

    /// The further records of the same edition.
    pub(super) fn others(&self, RecordId(first): RecordId) -> impl Iterator<Item = RecordId> {
        self.merged.others(first).iter().copied().map(RecordId)
    }

    /// The target and rank of the record at a position of the list without merging.
    pub(super) fn unmerged_place(&self, position: usize) -> Option<(usize, u64)> {
        self.order.place(u64::try_from(position).ok()?)
    }

    /// The target of a record, and its rank there, from 1.
    pub(super) fn place(&self, RecordId(position): RecordId) -> Option<(usize, u64)> {
        self.order.place(u64::from(position))
    }
}

impl HitList for RemoteHits {
    fn len(&self) -> usize {
        usize::try_from(self.order.total().saturating_sub(self.merged.merged()))
            .unwrap_or(usize::MAX)
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.len());
        let positions = (positions.start..end).map_while(|at| u64::try_from(at).ok());
        let records = positions.map(|at| self.merged.record(at));
        records
            .map_while(|at| u32::try_from(at).ok())
            .map(RecordId)
            .collect()
    }

    /// Queries are shared with other sessions; the octets of records are limited by themselves.
    fn octets(&self) -> usize {
        size_of::<Self>() + self.parts.len() * PART + self.merged.octets()
    }
}

/// About what a target adds to a list.
const PART: usize = 256;

/// The order of positions over parts with these numbers of records.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RoundRobin {
    blocks: Vec<Block>,
    total: u64,
}

/// Rounds in which the same parts take their turns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    /// The position of its first record, from 0.
    start: u64,
    /// How many records of each part come before.
    ranks_before: u64,
    parts: Vec<usize>,
}

/// The most positions of a list: what fits a [`RecordId`].
const MOST: u64 = u32::MAX as u64;

impl RoundRobin {
    fn new(counts: &[u64]) -> Self {
        let mut levels: Vec<u64> = counts.iter().copied().filter(|count| *count > 0).collect();
        levels.sort_unstable();
        levels.dedup();
        let mut blocks = Vec::new();
        let (mut start, mut before) = (0_u64, 0);
        for level in levels {
            let numbered = counts.iter().enumerate();
            let parts = numbered.filter(|(_, count)| **count > before);
            let parts: Vec<usize> = parts.map(|(number, _)| number).collect();
            let turns = u64::try_from(parts.len()).unwrap_or(u64::MAX);
            let records = level.saturating_sub(before).saturating_mul(turns);
            blocks.push(Block {
                start,
                ranks_before: before,
                parts,
            });
            start = start.saturating_add(records);
            before = level;
        }
        Self {
            blocks,
            total: start.min(MOST),
        }
    }

    fn total(&self) -> u64 {
        self.total
    }

    fn place(&self, position: u64) -> Option<(usize, u64)> {
        if position >= self.total {
            return None;
        }
        let after = self.blocks.partition_point(|block| block.start <= position);
        let block = self.blocks.get(after.checked_sub(1)?)?;
        let turns = u64::try_from(block.parts.len()).ok()?;
        let offset = position.checked_sub(block.start)?;
        let part = usize::try_from(offset.checked_rem(turns)?).ok()?;
        let rounds = offset.checked_div(turns)?;
        let rank = block.ranks_before.saturating_add(rounds).saturating_add(1);
        Some((*block.parts.get(part)?, rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_take_turns_until_they_have_no_more() {
        let places = |counts: &[u64]| -> Vec<(usize, u64)> {
            let order = RoundRobin::new(counts);
            (0..=order.total())
                .map_while(|at| order.place(at))
                .collect()
        };
        assert_eq!(places(&[]), []);
        assert_eq!(places(&[0, 0]), []);
        assert_eq!(places(&[2]), [(0, 1), (0, 2)]);
        assert_eq!(
            places(&[1, 3, 0, 2]),
            [(0, 1), (1, 1), (3, 1), (1, 2), (3, 2), (1, 3)]
        );
        assert_eq!(places(&[2, 2]), [(0, 1), (1, 1), (0, 2), (1, 2)]);
    }

    #[test]
    fn counts_that_cannot_be_true_are_cut() {
        let order = RoundRobin::new(&[u64::MAX, 3, u64::MAX]);
        assert_eq!(order.total(), MOST);
        assert_eq!(order.place(9), Some((0, 4)));
        assert_eq!(order.place(MOST - 1).map(|(part, _)| part), Some(2));
        assert_eq!(order.place(MOST), None);
    }
}
