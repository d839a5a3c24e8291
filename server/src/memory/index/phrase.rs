//! Words one behind the other, anywhere in an entry or at its edges.

use super::dictionary::{Dictionary, at, record};
use super::pattern::{Matches, Pattern, matches};
use super::places::Places;
use super::segment::Segment;
use super::strings::Strings;
use super::{BOUNDARY, Exhausted, Index, RECORDS_A_UNIT, Terms, Work};
use crate::memory::fields::{IndexId, SUBFIELD_MARK};
use crate::memory::hits::{HitSet, Part, Union};

/// What has to be in front of a phrase or behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) enum Edge {
    /// Whatever there is.
    #[default]
    Any,
    /// The edge of a subfield or of its field.
    Subfield,
    /// The edge of the field.
    Field,
}

/// The edges at which a phrase has to stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct Edges {
    /// In front of its first word.
    pub(in crate::memory) first: Edge,
    /// Behind its last word.
    pub(in crate::memory) last: Edge,
}

impl Index {
    /// The records with words like the patterns one behind the other in one entry of the index.
    ///
    /// # Errors
    /// When it is too much work.
    pub(in crate::memory) fn phrase(
        &self,
        index: IndexId,
        words: &[Pattern<'_>],
        edges: Edges,
        work: &mut Work,
    ) -> Result<HitSet<'_>, Exhausted> {
        if let (
            [only],
            Edges {
                first: Edge::Any,
                last: Edge::Any,
            },
        ) = (words, edges)
        {
            return self.find(Terms::Words(index), only, work);
        }
        let mut parts = Vec::with_capacity(self.segments.len());
        for (number, segment, _) in self.segments() {
            let places = in_segment(segment, index, words, edges, None, work)?;
            let mut records: Vec<_> = places.into_iter().map(record).collect();
            records.dedup();
            parts.push((number, Part::of_vec(records)));
        }
        Ok(HitSet::of_parts(parts))
    }

    /// The places of the first words of such phrases in some records (`None`: in all).
    ///
    /// # Errors
    /// When it is too much work.
    pub(in crate::memory) fn phrase_places(
        &self,
        index: IndexId,
        words: &[Pattern<'_>],
        edges: Edges,
        within: Option<&HitSet<'_>>,
        work: &mut Work,
    ) -> Result<Places, Exhausted> {
        let mut places = Places::default();
        for (number, segment, _) in self.segments() {
            let within = match within.map(|within| within.part(number)) {
                None => None,
                Some(None) => continue,
                Some(part) => part,
            };
            places.extend(
                number,
                &in_segment(segment, index, words, edges, within, work)?,
            );
        }
        Ok(places)
    }
}

/// Places of a word that belong to a phrase if the phrase begins so many places before.
struct Step {
    terms: Matches,
    behind: u16,
}

/// The places of the first words, packed as in a dictionary.
fn in_segment(
    segment: &Segment,
    index: IndexId,
    words: &[Pattern<'_>],
    edges: Edges,
    within: Option<&Part<'_>>,
    work: &mut Work,
) -> Result<Vec<u32>, Exhausted> {
    work.spend(1)?;
    let Some((dictionary, strings)) = segment.dictionary(Terms::Words(index)) else {
        return Ok(Vec::new());
    };
    let mut steps = Vec::with_capacity(words.len());
    for (behind, word) in (0..=u16::MAX).zip(words) {
        let terms = matches(dictionary, strings, word, work)?;
        if terms.len() == 0 {
            return Ok(Vec::new());
        }
        steps.push(Step { terms, behind });
    }
    let Some(mut candidates) = records_with_all(dictionary, &steps, work)? else {
        return Ok(Vec::new());
    };
    if let Some(within) = within {
        candidates = candidates.and(within);
    }
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    // The rarest word leaves the fewest places to look behind.
    steps.sort_by_key(|step| {
        step.terms
            .iter()
            .map(|term| dictionary.count(term))
            .sum::<usize>()
    });
    let mut starts: Option<Vec<u32>> = None;
    for step in &steps {
        let places = places_of(dictionary, &step.terms, &candidates, step.behind, work)?;
        starts = Some(match starts {
            None => places,
            Some(starts) => common(&starts, &places),
        });
    }
    let mut starts = starts.unwrap_or_default();
    let length = u16::try_from(words.len()).unwrap_or(u16::MAX);
    for (edge, front) in [(edges.first, true), (edges.last, false)] {
        if edge != Edge::Any && !starts.is_empty() {
            at_edge(
                &mut starts,
                dictionary,
                strings,
                (edge, front),
                length,
                work,
            )?;
        }
    }
    Ok(starts)
}

/// The records in which there is a word for each step.
fn records_with_all<'a>(
    dictionary: &'a Dictionary,
    steps: &[Step],
    work: &mut Work,
) -> Result<Option<Part<'a>>, Exhausted> {
    let mut all: Option<Part<'a>> = None;
    for step in steps {
        let records: usize = step.terms.iter().map(|term| dictionary.count(term)).sum();
        work.spend(step.terms.len() + records / RECORDS_A_UNIT)?;
        let mut terms = step.terms.iter();
        let part = match (terms.next(), terms.next()) {
            (Some(only), None) => dictionary.part(only),
            _ => {
                let mut union = Union::default();
                step.terms
                    .iter()
                    .for_each(|term| union.add(&dictionary.part(term)));
                union.into_part()
            }
        };
        all = Some(match all {
            None => part,
            Some(all) => all.and(&part),
        });
    }
    Ok(all)
}

/// The places of terms in some records, so many places before where they are; ascending.
fn places_of(
    dictionary: &Dictionary,
    terms: &Matches,
    records: &Part<'_>,
    before: u16,
    work: &mut Work,
) -> Result<Vec<u32>, Exhausted> {
    let mut found = Vec::new();
    for term in terms.iter() {
        work.spend(1 + dictionary.count(term) / RECORDS_A_UNIT * 4)?;
        found.reserve(dictionary.count(term).min(records.len()));
        dictionary.each_place_in(term, records, |record, place| {
            if let Some(start) = place.checked_sub(before) {
                found.push(at(record, start));
            }
        });
    }
    if terms.len() > 1 {
        found.sort_unstable();
    }
    Ok(found)
}

/// Keeps the starts of phrases that stand at an edge: in front of them, or behind so many words.
fn at_edge(
    starts: &mut Vec<u32>,
    dictionary: &Dictionary,
    strings: &Strings,
    (edge, front): (Edge, bool),
    length: u16,
    work: &mut Work,
) -> Result<(), Exhausted> {
    let mut records: Vec<_> = starts.iter().map(|start| record(*start)).collect();
    records.dedup();
    let records = Part::of_vec(records);
    let mut places = |sign: &str, before: u16| -> Result<Vec<u32>, Exhausted> {
        let terms = matches(dictionary, strings, &Pattern::Exact(sign), work)?;
        places_of(dictionary, &terms, &records, before, work)
    };
    // A boundary stands at the place before the first word, or behind the last; the mark of a subfield at that of its first word.
    let mut edges = match front {
        true => places(BOUNDARY, 0)?
            .into_iter()
            .map(|at| at.saturating_add(1))
            .collect(),
        false => places(BOUNDARY, length)?,
    };
    if edge == Edge::Subfield {
        let mark = SUBFIELD_MARK.to_string();
        edges.extend(places(&mark, if front { 0 } else { length })?);
        edges.sort_unstable();
    }
    *starts = common(starts, &edges);
    Ok(())
}

/// A list so many times longer than the other is looked into, and not walked along.
const FAR_LONGER: usize = 16;

/// What is in both of two ascending lists.
fn common(left: &[u32], right: &[u32]) -> Vec<u32> {
    let (short, mut long) = match left.len() <= right.len() {
        true => (left, right),
        false => (right, left),
    };
    let mut both = Vec::with_capacity(short.len());
    if short.len() < long.len() / FAR_LONGER {
        for at in short {
            long = long
                .get(long.partition_point(|other| other < at)..)
                .unwrap_or_default();
            if long.first() == Some(at) {
                both.push(*at);
            }
        }
    } else {
        let (mut here, mut there) = (0, 0);
        while let (Some(at), Some(other)) = (short.get(here), long.get(there)) {
            if at == other {
                both.push(*at);
            }
            // Without a branch: which of the two is behind cannot be foreseen.
            here += usize::from(at <= other);
            there += usize::from(other <= at);
        }
    }
    both.dedup();
    both
}
