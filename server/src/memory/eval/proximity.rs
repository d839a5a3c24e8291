//! Proximity: words and phrases at some distance in one field (Z39.50-2003 §3.7.2). The unit is the word.
//!
//! Neighbours have distance 1. The distance from a phrase counts from its nearer end; overlapping operands have none. Both
//! operands must be in the same occurrence of a field. With the exclusion flag, records are found that have both operands but
//! no such pair.

use z3950_asn1::apdu::{KnownProximityUnit, ProximityOperator, ProximityUnitCode, RelationType};

use crate::backend::RecordId;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::hits::HitSet;
use crate::memory::index::{Exhausted, WordPlace, WordPlaces, Work};

/// A proximity operator that is supported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proximity {
    pub(super) exclusion: bool,
    distance: i64,
    ordered: bool,
    relation: RelationType,
}

impl Proximity {
    /// Reads an operator.
    ///
    /// # Errors
    /// 131 for an unknown relation, 132 for a unit other than the word, 202 for an invalid distance.
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

    /// The spans from the beginning to the end of each pair in proximity: of all pairs, or only of one entry of each record.
    pub(super) fn spans(
        &self,
        entries: Entries<'_>,
        all: bool,
        work: &mut Work,
    ) -> Result<Spans, Exhausted> {
        let mut near: Vec<Span> = Vec::new();
        entries.each(&mut |record, left, right| {
            if !all && near.last().is_some_and(|last| last.record == record) {
                return Ok(());
            }
            work.spend(1 + left.len().saturating_mul(right.len()) / PAIRS_A_UNIT)?;
            let before = near.len();
            for one in left {
                for other in right.iter().filter(|other| self.holds(one, other)) {
                    near.push(Span {
                        record,
                        start: one.start.min(other.start),
                        end: one.end.max(other.end),
                    });
                }
            }
            if let Some(new) = near.get_mut(before..) {
                new.sort_unstable();
            }
            Ok(())
        })?;
        near.dedup();
        Ok(Spans(near))
    }
}

/// Pairs per unit of work.
const PAIRS_A_UNIT: usize = 16;

/// A phrase in a record: the positions of its first and last words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    record: RecordId,
    start: u32,
    end: u32,
}

/// The positions of an operand of proximity, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(Vec<Span>);

impl Spans {
    /// The spans of phrases of this many words that start at these positions.
    pub(super) fn of_phrases(starts: &WordPlaces, words: usize) -> Self {
        let more = u32::try_from(words.saturating_sub(1)).unwrap_or(u32::MAX);
        let spans = starts.iter().map(|WordPlace { record, position }| Span {
            record,
            start: position,
            end: position.saturating_add(more),
        });
        Self(spans.collect())
    }

    /// The records.
    pub(super) fn records(&self) -> HitSet<'static> {
        let records = self.0.chunk_by(|left, right| left.record == right.record);
        HitSet::of_sorted(
            records
                .filter_map(|spans| spans.first())
                .map(|span| span.record),
        )
    }

    /// The spans from the first that is not before `start` to the last that is before `end`, searching from an index in the
    /// list.
    fn between(&self, from: &mut usize, start: (RecordId, u32), end: (RecordId, u32)) -> &[Span] {
        let rest = self.0.get(*from..).unwrap_or_default();
        *from += rest.partition_point(|span| (span.record, span.start) < start);
        let rest = self.0.get(*from..).unwrap_or_default();
        let length = rest.partition_point(|span| (span.record, span.start) < end);
        *from += length;
        rest.get(..length).unwrap_or_default()
    }
}

/// The operands of a proximity, and the boundaries of the entries of their index.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    pub(super) left: &'a Spans,
    pub(super) right: &'a Spans,
    pub(super) boundaries: &'a WordPlaces,
}

/// Called with the spans of both sides in one entry.
type OfEntry<'f> = &'f mut dyn FnMut(RecordId, &[Span], &[Span]) -> Result<(), Exhausted>;

impl Entries<'_> {
    /// Visits the entries that have spans of both sides.
    fn each(self, of_entry: OfEntry<'_>) -> Result<(), Exhausted> {
        let (mut at_left, mut at_right) = (0, 0);
        for (record, boundaries) in self.boundaries.by_record() {
            match self.left.0.get(at_left) {
                None => break,
                Some(next) if next.record > record => continue,
                Some(_) => {}
            }
            for pair in boundaries.windows(2) {
                let [start, end] = pair else { continue };
                let (start, end) = ((record, start.position), (record, end.position));
                let left = self.left.between(&mut at_left, start, end);
                let right = self.right.between(&mut at_right, start, end);
                if !left.is_empty() && !right.is_empty() {
                    of_entry(record, left, right)?;
                }
            }
        }
        Ok(())
    }
}
