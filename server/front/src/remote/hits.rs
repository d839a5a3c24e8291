//! Combines the records from several targets into one list, round robin by rank: it begins with the first record from
//! each target, followed by the second record from each. The target of a position is calculated when it is needed, so
//! that the memory for a list does not depend on its length.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use z3950_asn1::apdu::RpnQuery;
use z3950_server::Diagnostic;
use z3950_server::backend::{Caller, HitList, RecordId, SourceReport};

use super::set::RemoteSet;
use super::sorted::SortedList;
use super::upstream::Upstream;

/// A list of the records found by all targets.
pub(super) struct RemoteHits {
    /// The caller that made the search and reads the records.
    pub(super) caller: Caller,
    pub(super) parts: Vec<HitsOfTarget>,
    /// The targets that failed, with the reasons.
    failed: Vec<(String, Diagnostic)>,
    order: HitOrder,
    merged: MergedWindow,
}

/// The order of the list.
enum HitOrder {
    Ranks(RoundRobin),
    Keys(SortedList),
}

/// The records that a target found.
#[derive(Clone)]
pub(super) struct HitsOfTarget {
    pub(super) upstream: Arc<Upstream>,
    pub(super) set: Arc<RemoteSet>,
}

impl RemoteHits {
    pub(super) fn new(parts: Vec<HitsOfTarget>, caller: Caller) -> Self {
        let counts: Vec<u64> = parts.iter().map(|part| part.set.count()).collect();
        Self::in_order(parts, HitOrder::Ranks(RoundRobin::new(&counts)), caller)
    }

    /// Creates a list from parts that are sorted by the same keys.
    pub(super) fn sorted(parts: Vec<HitsOfTarget>, list: SortedList, caller: Caller) -> Self {
        Self::in_order(parts, HitOrder::Keys(list), caller)
    }

    fn in_order(parts: Vec<HitsOfTarget>, order: HitOrder, caller: Caller) -> Self {
        Self {
            caller,
            order,
            parts,
            failed: Vec::new(),
            merged: MergedWindow::default(),
        }
    }

    /// Adds the targets that failed.
    pub(super) fn with_failures(self, failed: Vec<(String, Diagnostic)>) -> Self {
        Self { failed, ..self }
    }

    /// Returns the sorted list; `None` for a round robin list.
    pub(super) fn sorted_list(&self) -> Option<&SortedList> {
        match &self.order {
            HitOrder::Ranks(_) => None,
            HitOrder::Keys(list) => Some(list),
        }
    }

    /// Returns the reason why the record at this position cannot be retrieved, although a target has it.
    pub(super) fn refusal(&self, record: RecordId) -> Option<Diagnostic> {
        self.sorted_list()?.refusal(position_of(record)?)
    }

    fn total(&self) -> u64 {
        match &self.order {
            HitOrder::Ranks(order) => order.total(),
            HitOrder::Keys(list) => list.total(),
        }
    }

    fn place_at(&self, position: u64) -> Option<(usize, u64)> {
        match &self.order {
            HitOrder::Ranks(order) => order.place(position),
            HitOrder::Keys(list) => list.place(position),
        }
    }

    /// Returns the targets that failed, with their diagnostics.
    pub(super) fn failures(&self) -> &[(String, Diagnostic)] {
        &self.failed
    }

    /// Returns the names of the targets that have records or failed.
    pub(super) fn targets(&self) -> impl Iterator<Item = &str> {
        let found = self.parts.iter().map(|part| part.upstream.name());
        found.chain(self.failed.iter().map(|(name, _)| &**name))
    }

    /// Returns a report for each target, with its number of records or its failure.
    pub(super) fn sources(&self) -> Vec<SourceReport> {
        let found = self.parts.iter().map(|part| {
            let count = usize::try_from(part.set.counted()).unwrap_or(usize::MAX);
            SourceReport::new(part.upstream.name(), Ok(count))
        });
        let failed = self
            .failed
            .iter()
            .map(|(name, why)| SourceReport::new(name, Err(why.clone())));
        found.chain(failed).collect()
    }

    /// Returns whether any target's number of records is an estimate.
    pub(super) fn is_estimate(&self) -> bool {
        self.parts.iter().any(|part| part.set.is_estimate())
    }

    /// Returns the query that found the records at a target; `None` if the target does not have records in the list.
    ///
    /// # Errors
    /// Fails with the target's diagnostic if the search at the target failed.
    pub(super) fn query_at(&self, target: &str) -> Result<Option<&RpnQuery>, Diagnostic> {
        if let Some((_, why)) = self.failed.iter().find(|(name, _)| name == target) {
            return Err(why.clone());
        }
        let mut parts = self.parts.iter();
        let part = parts.find(|part| part.upstream.name() == target);
        Ok(part.map(|part| &part.set.query.rpn))
    }

    /// Replaces the first records with merged hits.
    pub(super) fn merge(&mut self, merged: MergedWindow) {
        self.merged = merged;
    }

    /// Returns whether the list has records beyond those that were compared for merging.
    pub(super) fn goes_past_window(&self) -> bool {
        self.total() > u64::from(self.merged.records)
    }

    /// Returns the records that were merged into a hit because they are of the same edition as its first record.
    pub(super) fn others(&self, RecordId(first): RecordId) -> impl Iterator<Item = RecordId> {
        let first = u32::try_from(first).ok();
        let others = first
            .map(|first| self.merged.others(first))
            .unwrap_or_default()
            .iter();
        others.map(|position| RecordId(i64::from(*position)))
    }

    /// Returns the target and rank of the record at a position in the list before merging.
    pub(super) fn unmerged_place(&self, position: usize) -> Option<(usize, u64)> {
        self.place_at(u64::try_from(position).ok()?)
    }

    /// Returns the target of a record, and the record's rank there, from 1.
    pub(super) fn place(&self, record: RecordId) -> Option<(usize, u64)> {
        self.place_at(position_of(record)?)
    }
}

/// Returns the position that identifies a record; `None` for a record in another list.
pub(super) fn position_of(RecordId(position): RecordId) -> Option<u64> {
    u64::try_from(position).ok()
}

impl HitList for RemoteHits {
    fn len(&self) -> usize {
        usize::try_from(self.total().saturating_sub(self.merged.merged())).unwrap_or(usize::MAX)
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.len());
        let positions = (positions.start..end).map_while(|at| u64::try_from(at).ok());
        let records = positions.map(|at| self.merged.record(at));
        records
            .map_while(|at| i64::try_from(at).ok())
            .map(RecordId)
            .collect()
    }

    /// Returns the approximate size in memory, without queries, which are shared with other sessions, and without
    /// records, which have a separate limit.
    fn octets(&self) -> usize {
        let parts = self.parts.len();
        let sorted = self.sorted_list().map_or(0, |list| list.octets(parts));
        size_of::<Self>() + parts * PART + self.merged.octets() + sorted
    }
}

/// The merged hits that replace the first records in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MergedWindow {
    /// The number of records that the merged hits replace.
    pub(super) records: u32,
    /// The position that the first record of each hit had before merging, in ascending order.
    firsts: Vec<u32>,
    /// The further records of each hit, keyed by its first record.
    others: HashMap<u32, Vec<u32>>,
}

impl MergedWindow {
    /// Creates the hits for clusters of the first records; the clusters are in the order of their first members.
    pub(super) fn new(clusters: Vec<Vec<usize>>) -> Self {
        let mut window = Self::default();
        for cluster in clusters {
            let mut members = cluster
                .into_iter()
                .filter_map(|member| u32::try_from(member).ok());
            let Some(first) = members.next() else {
                continue;
            };
            let others: Vec<u32> = members.collect();
            let number = u32::try_from(others.len()).unwrap_or(u32::MAX);
            window.records = window.records.saturating_add(number).saturating_add(1);
            window.firsts.push(first);
            if !others.is_empty() {
                window.others.insert(first, others);
            }
        }
        window
    }

    /// Returns the number of records that were merged into the hit of another record.
    pub(super) fn merged(&self) -> u64 {
        let hits = u64::try_from(self.firsts.len()).unwrap_or(u64::MAX);
        u64::from(self.records).saturating_sub(hits)
    }

    /// Returns the position that the first record of a hit had before merging.
    fn record(&self, position: u64) -> u64 {
        let hit = usize::try_from(position).ok();
        match hit.and_then(|hit| self.firsts.get(hit)) {
            Some(record) => u64::from(*record),
            None => position.saturating_add(self.merged()),
        }
    }

    /// Returns the further records of the hit whose first record is `first`.
    fn others(&self, first: u32) -> &[u32] {
        self.others.get(&first).map_or(&[], Vec::as_slice)
    }

    fn octets(&self) -> usize {
        let records = usize::try_from(self.records).unwrap_or(usize::MAX);
        records.saturating_mul(4 * size_of::<u32>())
    }
}

/// The approximate number of octets in memory for each target in a list.
const PART: usize = 256;

/// The round robin order of parts with certain numbers of records.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RoundRobin {
    blocks: Vec<Block>,
    total: u64,
}

/// A range of positions in which the same parts take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    /// The position of the block's first record, from 0.
    start: u64,
    /// The number of records from each part in earlier blocks.
    ranks_before: u64,
    parts: Vec<usize>,
}

/// The maximum number of records in a list, because merged lists store positions in 32 bits.
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
            let parts: Vec<usize> = numbered
                .filter(|(_, count)| **count > before)
                .map(|(number, _)| number)
                .collect();
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
    fn positions_after_the_window_skip_merged_records() {
        let window = MergedWindow::new(vec![vec![0, 2, 3], vec![1], vec![4]]);
        assert_eq!((window.records, window.merged()), (5, 2));
        let records: Vec<u64> = (0..5).map(|position| window.record(position)).collect();
        assert_eq!(records, [0, 1, 4, 5, 6]);
        assert_eq!(window.others(0), [2, 3]);
        assert_eq!(window.others(1), [] as [u32; 0]);
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
