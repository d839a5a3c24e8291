//! Merges the sorted lists of several targets into one list, only as far as it is read. Records from one target keep the target's
//! order; records from different targets are compared by keys read from the records.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use z3950::Record;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_server::lock;
use z3950_server::memory::{RecordOrder, SortValues};
use z3950_server::{Diagnostic, diagnostic};

use super::failure;

/// The number of records that are read after a target's next record. Their keys show whether the target has sorted the next
/// record by another key.
const LOOKAHEAD: usize = 5;
/// The minimum number of records that are read from a target at once.
const MIN_CHUNK: u64 = 20;
/// The maximum number of records that are read from a target at once.
const MAX_CHUNK: u64 = 100;
/// The minimum number of records needed to judge whether a target has sorted its records.
const MIN_JUDGED: usize = 6;

/// A list merged from sorted parts.
pub(super) struct SortedList {
    order: Arc<RecordOrder>,
    /// The total number of positions.
    total: u64,
    /// The maximum number of positions that are put in order.
    most: u64,
    /// The records that have been read but do not have a position yet. The lock is held while records are read.
    open: tokio::sync::Mutex<Vec<OpenPart>>,
    reached: Mutex<ReachedPositions>,
}

/// The positions that have been assigned so far.
#[derive(Default)]
struct ReachedPositions {
    /// The part and rank of the record at each position.
    places: Vec<(u32, u32)>,
    /// The parts that failed, with the rank at which each failed and the diagnostic.
    lost: Vec<(u32, u32, Diagnostic)>,
    /// The index of the first part whose records are not in the order of the keys, and the diagnostic for it.
    disorder: Option<(usize, Diagnostic)>,
}

/// The part of the list from one target, and the state of its merging.
struct OpenPart {
    count: u64,
    /// The rank of the next record to read.
    next: u64,
    heads: VecDeque<Head>,
    /// The key of the part's last record that has a position; later records cannot have a lower key.
    floor: Option<Arc<SortValues>>,
    is_lost: bool,
}

/// A record without a position.
struct Head {
    rank: u64,
    /// The key read from the record; `None` if it could not be read.
    own: Option<Arc<SortValues>>,
    /// The key that determines the record's position; `None` sorts first.
    key: Option<Arc<SortValues>>,
}

impl SortedList {
    /// Creates a list of parts with these numbers of records. At most `most` positions will be put in order.
    pub(super) fn new(order: RecordOrder, counts: impl Iterator<Item = u64>, most: u64) -> Self {
        let parts = counts.map(|count| OpenPart {
            count,
            next: 1,
            heads: VecDeque::new(),
            floor: None,
            is_lost: false,
        });
        let parts: Vec<OpenPart> = parts.collect();
        let total = parts
            .iter()
            .map(|part| part.count)
            .fold(0, u64::saturating_add)
            .min(u64::from(u32::MAX));
        Self {
            order: Arc::new(order),
            total,
            most: most.min(total),
            open: tokio::sync::Mutex::new(parts),
            reached: Mutex::default(),
        }
    }

    /// Returns the number of positions.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the part (from 0) and rank of the record at a position (from 0); `None` if the list has not been merged that far.
    pub(super) fn place(&self, position: u64) -> Option<(usize, u64)> {
        let position = usize::try_from(position).ok()?;
        let (part, rank) = *lock(&self.reached).places.get(position)?;
        Some((usize::try_from(part).ok()?, u64::from(rank)))
    }

    /// Returns the reason why a position cannot have a record: it is beyond the maximum, or its target has failed.
    pub(super) fn refusal(&self, position: u64) -> Option<Diagnostic> {
        if position >= self.most {
            let words = format!("the first {} records are put in order", self.most);
            return Some(diagnostic(Condition::TOO_MANY_RECORDS_TO_SORT, words));
        }
        let reached = lock(&self.reached);
        let place = usize::try_from(position).ok();
        let Some((part, rank)) = place.and_then(|place| reached.places.get(place)).copied() else {
            return Some(failure::unavailable(
                "the records were not put in order in time",
            ));
        };
        let mut lost = reached.lost.iter();
        let (_, _, why) = lost.find(|(of, from, _)| *of == part && rank >= *from)?;
        Some(why.clone())
    }

    /// Returns the index of the first part whose records are not in the order of the keys, and the diagnostic for it.
    pub(super) fn disorder(&self) -> Option<(usize, Diagnostic)> {
        lock(&self.reached).disorder.clone()
    }

    /// Returns the approximate number of octets of the complete list.
    pub(super) fn octets(&self, parts: usize) -> usize {
        const HEAD: usize = 256;
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let heads = usize::try_from(MAX_CHUNK).unwrap_or(usize::MAX) + LOOKAHEAD;
        let heads = parts.saturating_mul(heads).saturating_mul(HEAD);
        most.saturating_mul(size_of::<(u32, u32)>())
            .saturating_add(heads)
    }

    /// Puts records in order up to this number of positions, as far as possible. `read` reads records from a part, by rank from
    /// 1; it may read fewer than requested, and returns `None` when the time limit has expired.
    pub(super) async fn reach<F>(
        &self,
        positions: u64,
        read: impl Fn(usize, RangeInclusive<u64>) -> F,
    ) where
        F: Future<Output = Option<Vec<Result<Record, Diagnostic>>>>,
    {
        let wanted = positions.min(self.most);
        let missing = || {
            let reached = lock(&self.reached).places.len();
            u64::try_from(reached).map_or(0, |reached| wanted.saturating_sub(reached))
        };
        if missing() == 0 {
            return;
        }
        let mut open = self.open.lock().await;
        loop {
            let left = missing();
            if left == 0 {
                return;
            }
            let parts = u64::try_from(open.len()).unwrap_or(u64::MAX).max(1);
            let chunk = left.div_ceil(parts).clamp(MIN_CHUNK, MAX_CHUNK);
            let needy = { open.iter().enumerate() }.filter(|(_, part)| part.needs_records());
            let pages = needy.map(|(number, part)| {
                let last = part.next.saturating_add(chunk).saturating_sub(1);
                let page = read(number, part.next..=last.min(part.count));
                async move { (number, page.await) }
            });
            let pages = join_all(pages.collect::<Vec<_>>()).await;
            let mut has_time = true;
            for (number, page) in pages {
                match page.zip(open.get_mut(number)) {
                    Some((page, part)) => has_time &= self.take(part, number, page).await,
                    None => has_time = false,
                }
            }
            if !self.extend(&mut open, wanted) || !has_time {
                return;
            }
        }
    }

    /// Adds a page of records to a part. If none of the records could be read, marks the part as failed. Returns `false` if the
    /// keys could not be read.
    async fn take(
        &self,
        part: &mut OpenPart,
        number: usize,
        page: Vec<Result<Record, Diagnostic>>,
    ) -> bool {
        if let Some(why) = failure_of(&page) {
            part.is_lost = true;
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let from = u32::try_from(part.next).unwrap_or(u32::MAX);
            lock(&self.reached).lost.push((number, from, why));
            return true;
        }
        let order = Arc::clone(&self.order);
        // Reading long records takes a while, so it runs on another thread.
        let values = tokio::task::spawn_blocking(move || {
            let records = page.into_iter();
            let values = records.map(|record| {
                let marc = record.ok()?.marc()?;
                Some(Arc::new(order.values(&marc)))
            });
            values.collect::<Vec<_>>()
        });
        let Ok(values) = values.await else {
            return false;
        };
        for own in values {
            let rank = part.next;
            part.next = part.next.saturating_add(1);
            part.heads.push_back(Head {
                rank,
                own,
                key: None,
            });
        }
        let kept = self.give_keys(part);
        if part.is_begun()
            && let Some(why) = disorder(part, &kept)
        {
            let mut reached = lock(&self.reached);
            reached.disorder.get_or_insert((number, why));
        }
        true
    }

    /// Assigns a key to each record without a position, and returns for each record whether this is its own key. A record without
    /// a key, or that the target files elsewhere, gets the key of the record before it, so that it stays in the target's order.
    fn give_keys(&self, part: &mut OpenPart) -> Vec<bool> {
        let own: Vec<Option<&SortValues>> = part
            .heads
            .iter()
            .map(|head| {
                head.own
                    .as_deref()
                    .filter(|own| self.is_after_floor(part.floor.as_deref(), own))
            })
            .collect();
        let kept = in_order(&own, &self.order);
        let mut last = part.floor.clone();
        for (head, kept) in part.heads.iter_mut().zip(&kept) {
            if *kept {
                last.clone_from(&head.own);
            }
            head.key.clone_from(&last);
        }
        kept
    }

    fn is_after_floor(&self, floor: Option<&SortValues>, own: &SortValues) -> bool {
        floor.is_none_or(|floor| self.order.compared(floor, own).is_le())
    }

    /// Assigns positions, up to `wanted`, to the records that certainly come next in the list. Returns whether reading more
    /// records can yield further positions.
    fn extend(&self, open: &mut [OpenPart], wanted: u64) -> bool {
        let mut reached = lock(&self.reached);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        while reached.places.len() < wanted {
            if open.iter().any(OpenPart::needs_records) {
                return true;
            }
            let heads = open.iter().enumerate();
            let heads = heads.filter_map(|(number, part)| Some((number, part.heads.front()?)));
            let first = heads.min_by(|(_, left), (_, right)| self.by_key(left, right));
            let number = first.map(|(number, _)| number);
            // The records that could not be read because their part failed come last.
            let number = number.or_else(|| open.iter().position(OpenPart::has_lost_records));
            let Some((number, part)) =
                number.and_then(|number| Some((number, open.get_mut(number)?)))
            else {
                return false;
            };
            let rank = match part.heads.pop_front() {
                Some(head) => {
                    part.floor = head.key;
                    head.rank
                }
                None => {
                    part.next = part.next.saturating_add(1);
                    part.next.saturating_sub(1)
                }
            };
            let place = u32::try_from(number).ok().zip(u32::try_from(rank).ok());
            reached.places.extend(place);
        }
        false
    }

    fn by_key(&self, left: &Head, right: &Head) -> Ordering {
        match (&left.key, &right.key) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => self.order.compared(left, right),
        }
    }
}

impl OpenPart {
    /// Returns whether more records must be read before the part's next record can get its position.
    fn needs_records(&self) -> bool {
        !self.is_lost && self.next <= self.count && self.heads.len() <= LOOKAHEAD
    }

    /// Returns whether enough records were read for the first position, and none has a position yet.
    fn is_begun(&self) -> bool {
        !self.needs_records() && self.heads.front().is_some_and(|first| first.rank == 1)
    }

    fn has_lost_records(&self) -> bool {
        self.is_lost && self.next <= self.count
    }
}

/// Returns the failure for a page in which no record could be read.
fn failure_of(page: &[Result<Record, Diagnostic>]) -> Option<Diagnostic> {
    if page.iter().any(Result::is_ok) {
        return None;
    }
    let first = page.first().and_then(|first| first.as_ref().err());
    let none = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
    Some(first.cloned().unwrap_or_else(none))
}

/// Returns the diagnostic for a part that is not sorted: none of its first records has a key, or more than half of those with a
/// key are out of order.
fn disorder(part: &OpenPart, kept: &[bool]) -> Option<Diagnostic> {
    let refused = |words: &str| Some(diagnostic(Condition::SORT_SEQUENCE, words));
    if part.heads.iter().all(|head| head.own.is_none()) {
        return refused("no key can be read from the records");
    }
    let has_key = |head: &Head| head.own.as_ref().is_some_and(|own| own.has_key());
    let heads = part.heads.iter().zip(kept);
    let judged: Vec<bool> = heads
        .filter(|(head, _)| has_key(head))
        .map(|(_, kept)| *kept)
        .collect();
    let kept = judged.iter().filter(|kept| **kept).count();
    if judged.len() >= MIN_JUDGED && kept.saturating_mul(2) < judged.len() {
        refused("the records do not come in this order")
    } else {
        None
    }
}

/// Returns for each record whether it is in order, as a member of the longest ascending subsequence. A record that has the sort
/// key counts as much as two records without it.
fn in_order(records: &[Option<&SortValues>], order: &RecordOrder) -> Vec<bool> {
    // `best` has an item for each record. It describes the best sequence that ends with the record: the weight of the sequence,
    // and the record before this one in the sequence.
    let mut best: Vec<(u32, Option<usize>)> = Vec::with_capacity(records.len());
    for (number, record) in records.iter().enumerate() {
        let Some(record) = record else {
            best.push((0, None));
            continue;
        };
        let before = records.iter().zip(&best).take(number).enumerate();
        let before = before.filter(|(_, (before, _))| {
            before.is_some_and(|before| order.compared(before, record).is_le())
        });
        let before = before.max_by_key(|(_, (_, (weight, _)))| *weight);
        let own = if record.has_key() { 2 } else { 1 };
        best.push(match before {
            Some((before, (_, (weight, _)))) => (weight.saturating_add(own), Some(before)),
            None => (own, None),
        });
    }
    let mut kept = vec![false; records.len()];
    let last = best
        .iter()
        .enumerate()
        .filter(|(_, (weight, _))| *weight > 0);
    let mut next = { last }
        .max_by_key(|(_, (weight, _))| *weight)
        .map(|(last, _)| last);
    while let Some(number) = next {
        if let Some(kept) = kept.get_mut(number) {
            *kept = true;
        }
        next = best.get(number).and_then(|(_, before)| *before);
    }
    kept
}

#[cfg(test)]
mod tests;
