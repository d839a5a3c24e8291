//! The records of an index whose terms are like something.

use super::pattern::{Matches, Pattern, matches};
use super::segment::Segment;
use super::{BOUNDARY, Exhausted, Index, RECORDS_A_UNIT, Terms, Work};
use crate::memory::fields::IndexId;
use crate::memory::hits::{HitSet, LIST, Part, Union};

impl Index {
    /// The records with a term like the pattern.
    ///
    /// # Errors
    /// When it is too much work.
    pub(in crate::memory) fn find(
        &self,
        terms: Terms,
        pattern: &Pattern<'_>,
        work: &mut Work,
    ) -> Result<HitSet<'_>, Exhausted> {
        let mut parts = Vec::with_capacity(self.segments.len());
        for (number, segment, _) in self.segments() {
            work.spend(1)?;
            parts.push((number, in_segment(segment, terms, pattern, work)?));
        }
        Ok(HitSet::of_parts(parts))
    }

    /// The records with a text in the index, or with a key where it has no texts.
    pub(in crate::memory) fn having(&self, index: IndexId) -> HitSet<'_> {
        let parts = self.segments().map(|(number, segment, _)| {
            let mut work = Work::new(u64::MAX);
            let terms = Terms::Words(index);
            let texts = in_segment(segment, terms, &Pattern::Exact(BOUNDARY), &mut work);
            let keys = || {
                in_segment(
                    segment,
                    Terms::Keys(index),
                    &Pattern::Any,
                    &mut Work::new(u64::MAX),
                )
            };
            let found = texts
                .ok()
                .filter(|texts| !texts.is_empty())
                .or_else(|| keys().ok());
            (number, found.unwrap_or_else(|| Part::first(0)))
        });
        HitSet::of_parts(parts)
    }

    /// The records whose docid is exactly these octets.
    pub(in crate::memory) fn docid(&self, docid: &[u8]) -> HitSet<'_> {
        let parts = self.segments().map(|(number, segment, _)| {
            let string = segment.docids.find(docid);
            let term = string.and_then(|string| segment.of_docids.term(string));
            let part = term.map(|term| segment.of_docids.part(term));
            (number, part.unwrap_or_else(|| Part::first(0)))
        });
        HitSet::of_parts(parts)
    }
}

fn in_segment<'a>(
    segment: &'a Segment,
    terms: Terms,
    pattern: &Pattern<'_>,
    work: &mut Work,
) -> Result<Part<'a>, Exhausted> {
    let Some((dictionary, strings)) = segment.dictionary(terms) else {
        return Ok(Part::first(0));
    };
    let found = matches(dictionary, strings, pattern, work)?;
    if let Matches::Range(range) = &found
        && range.len() <= 1
    {
        return Ok(range
            .clone()
            .next()
            .map_or_else(|| Part::first(0), |term| dictionary.part(term)));
    }
    let counts = found.iter().map(|term| dictionary.count(term));
    let records: usize = counts.sum();
    work.spend(found.len() + records / RECORDS_A_UNIT)?;
    let parts = found.iter().map(|term| dictionary.part(term));
    if records > LIST {
        let mut union = Union::default();
        parts.for_each(|part| union.add(&part));
        return Ok(union.into_part());
    }
    let mut list: Vec<u16> = Vec::with_capacity(records);
    for part in parts {
        list.extend(part.iter());
    }
    list.sort_unstable();
    list.dedup();
    Ok(Part::of_vec(list))
}
