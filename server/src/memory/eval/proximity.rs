//! Proximity operators, which find words and phrases at a certain distance from each other in one field (Z39.50-2003 §3.7.2). The
//! unit is the word.
//!
//! Adjacent words have the distance 1. The distance from a phrase is counted from its nearer end; overlapping operands are not in
//! proximity. Both operands must be in the same occurrence of a field. With the exclusion flag, the records found are those that
//! contain both operands, but never in proximity to each other.

use z3950_asn1::apdu::{KnownProximityUnit, ProximityOperator, ProximityUnitCode, RelationType};

use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::hits::HitSet;
use crate::memory::hits::RecordNumber;
use crate::memory::index::{Exhausted, WordPlace, WordPlaces, WorkBudget};

/// A supported proximity operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proximity {
    pub(super) exclusion: bool,
    distance: i64,
    ordered: bool,
    relation: RelationType,
}

impl Proximity {
    /// Converts the operator in a request.
    ///
    /// # Errors
    /// Fails with condition 131 for an unknown relation, with 132 for a unit other than the word, or with 202 for an invalid
    /// distance.
    pub(super) fn read(operator: &ProximityOperator) -> Result<Self, Diagnostic> {
        let refused = |condition, value: i64| Err(diagnostic(condition, value.to_string()));
        match operator.proximity_unit_code {
            ProximityUnitCode::Known(KnownProximityUnit::WORD) => {}
            ProximityUnitCode::Known(KnownProximityUnit(unit))
            | ProximityUnitCode::Private(unit) => {
                return refused(Condition::PROXIMITY_UNIT, unit);
            }
        }
        let relation = operator.relation_type;
        if !(RelationType::LESS_THAN.0..=RelationType::NOT_EQUAL.0).contains(&relation.0) {
            return refused(Condition::PROXIMITY_RELATION, relation.0);
        }
        if operator.distance < 0 {
            return refused(Condition::PROXIMITY_DISTANCE, operator.distance);
        }
        Ok(Self {
            exclusion: operator.exclusion == Some(true),
            distance: operator.distance,
            ordered: operator.ordered,
            relation,
        })
    }

    /// Returns whether two spans of an entry are in proximity.
    fn holds(&self, left: &Span, right: &Span) -> bool {
        let distance = match (
            right.start.checked_sub(left.end),
            left.start.checked_sub(right.end),
        ) {
            (Some(distance @ 1..), _) => distance,
            (_, Some(distance @ 1..)) if !self.ordered => distance,
            _ => return false,
        };
        let distance = i64::from(distance);
        match self.relation {
            RelationType::LESS_THAN => distance < self.distance,
            RelationType::LESS_THAN_OR_EQUAL => distance <= self.distance,
            RelationType::EQUAL => distance == self.distance,
            RelationType::GREATER_THAN_OR_EQUAL => distance >= self.distance,
            RelationType::GREATER_THAN => distance > self.distance,
            _ => distance != self.distance,
        }
    }
}

/// The number of pairs compared per unit of work.
const PAIRS_A_UNIT: usize = 16;
/// The maximum number of spans in an operand, and of pairs in proximity; this number of spans takes 12 MiB. A query that needs
/// more fails with condition 31.
const MOST_SPANS: usize = 1 << 20;

/// A phrase in a record: the positions of its first and last words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    record: RecordNumber,
    start: u32,
    end: u32,
}

/// The positions of an operand of proximity, in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(Vec<Span>);

impl Spans {
    /// Adds a span for each pair in proximity, from the beginning to the end of the pair, or a single span for each record. Calls
    /// must be in ascending order of records.
    ///
    /// # Errors
    /// Fails if the work budget is exhausted, or there are too many spans.
    pub(super) fn add(
        &mut self,
        proximity: &Proximity,
        entries: Entries<'_>,
        all: bool,
        work: &mut WorkBudget,
    ) -> Result<(), Exhausted> {
        entries.each(work, &mut |record, left, right, work| {
            let is_found = |near: &[Span]| near.last().is_some_and(|last| last.record == record);
            let mut new: Vec<Span> = Vec::new();
            for one in left {
                if !all && (is_found(&self.0) || !new.is_empty()) {
                    break;
                }
                work.spend(1 + right.len() / PAIRS_A_UNIT)?;
                let near = right.iter().filter(|other| proximity.holds(one, other));
                new.extend(near.map(|other| Span {
                    record,
                    start: one.start.min(other.start),
                    end: one.end.max(other.end),
                }));
                if self.0.len() + new.len() > MOST_SPANS {
                    return Err(Exhausted);
                }
            }
            work.spend(new.len() / SPANS_A_UNIT)?;
            new.sort_unstable();
            new.dedup();
            self.0.append(&mut new);
            Ok(())
        })
    }

    pub(super) fn octets(&self) -> usize {
        self.0.len() * size_of::<Span>()
    }

    /// Returns the spans of phrases of this many words that start at these positions.
    pub(super) fn of_phrases(starts: &WordPlaces, words: usize) -> Self {
        let more = u32::try_from(words.saturating_sub(1)).unwrap_or(u32::MAX);
        let spans = starts.iter().map(|WordPlace { record, position }| Span {
            record,
            start: position,
            end: position.saturating_add(more),
        });
        Self(spans.collect())
    }

    /// Returns the records that have spans.
    pub(super) fn records(&self) -> HitSet<'static> {
        let records = self.0.chunk_by(|left, right| left.record == right.record);
        HitSet::of_sorted(
            records
                .filter_map(|spans| spans.first())
                .map(|span| span.record),
        )
    }

    /// Returns the spans of a record, searching from the index `from`, which is advanced past them. Calls must be in ascending
    /// order of records.
    fn of_record(&self, from: &mut usize, record: RecordNumber) -> &[Span] {
        let rest = self.0.get(*from..).unwrap_or_default();
        let before = rest.iter().take_while(|span| span.record < record).count();
        let rest = rest.get(before..).unwrap_or_default();
        let length = rest.iter().take_while(|span| span.record == record).count();
        *from += before + length;
        rest.get(..length).unwrap_or_default()
    }

    /// Returns the index of the first span that is in the record or a later one.
    fn first_from(&self, record: RecordNumber) -> usize {
        self.0.partition_point(|span| span.record < record)
    }
}

/// The number of spans sorted per unit of work.
const SPANS_A_UNIT: usize = 4;

/// Removes and returns the spans that begin before a position.
fn split_before<'s>(spans: &mut &'s [Span], end: u32) -> &'s [Span] {
    let (before, rest) = spans.split_at(spans.partition_point(|span| span.start < end));
    *spans = rest;
    before
}

/// The operands of a proximity operator, with the entry boundaries of their index in the records concerned.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    pub(super) left: &'a Spans,
    pub(super) right: &'a Spans,
    pub(super) boundaries: &'a WordPlaces,
}

/// A callback that gets the spans of both operands in one entry.
type OfEntry<'f> =
    &'f mut dyn FnMut(RecordNumber, &[Span], &[Span], &mut WorkBudget) -> Result<(), Exhausted>;

/// The number of entry boundaries that are passed per unit of work.
const BOUNDARIES_A_UNIT: usize = 8;

impl Entries<'_> {
    /// Visits the entries that have spans of both operands.
    fn each(self, work: &mut WorkBudget, of_entry: OfEntry<'_>) -> Result<(), Exhausted> {
        let mut records = self.boundaries.by_record().peekable();
        let Some((first, _)) = records.peek() else {
            return Ok(());
        };
        let (mut at_left, mut at_right) =
            (self.left.first_from(*first), self.right.first_from(*first));
        for (record, boundaries) in records {
            let mut left = self.left.of_record(&mut at_left, record);
            let mut right = self.right.of_record(&mut at_right, record);
            let spans = left.len() + right.len();
            work.spend(1 + spans / SPANS_A_UNIT + boundaries.len() / BOUNDARIES_A_UNIT)?;
            for end in boundaries.iter().skip(1) {
                if left.is_empty() || right.is_empty() {
                    break;
                }
                let left = split_before(&mut left, end.position);
                let right = split_before(&mut right, end.position);
                if !left.is_empty() && !right.is_empty() {
                    of_entry(record, left, right, work)?;
                }
            }
        }
        Ok(())
    }
}
