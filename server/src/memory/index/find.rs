//! The records of terms that match a pattern.

use super::pattern::{Matches, Pattern, matches};
use super::segment::Segment;
use super::{BOUNDARY, Exhausted, Index, Terms, Work};
use crate::memory::fields::IndexId;
use crate::memory::hits::{HitSet, Part};

impl Index {
    /// The records with a matching term.
    ///
    /// # Errors
    /// If the work is exhausted.
    pub(in crate::memory) fn find(
        &self,
        terms: Terms,
        pattern: &Pattern,
        work: &mut Work,
    ) -> Result<HitSet<'_>, Exhausted> {
        let mut parts = Vec::with_capacity(self.segments.len());
        for (number, segment, _) in self.segments() {
            work.spend(1)?;
            parts.push((number, in_segment(segment, terms, pattern, work)?));
        }
        Ok(HitSet::of_parts(parts))
    }

    /// The records with a text in the index, or with a key if it has no texts.
    ///
    /// # Errors
    /// If the work is exhausted.
    pub(in crate::memory) fn having(
        &self,
        index: IndexId,
        work: &mut Work,
    ) -> Result<HitSet<'_>, Exhausted> {
        let mut parts = Vec::with_capacity(self.segments.len());
        for (number, segment, _) in self.segments() {
            let boundary = Pattern::Exact(BOUNDARY.to_owned());
            let mut part = in_segment(segment, Terms::Words(index), &boundary, work)?;
            if part.is_empty() {
                part = in_segment(segment, Terms::Keys(index), &Pattern::Any, work)?;
            }
            parts.push((number, part));
        }
        Ok(HitSet::of_parts(parts))
    }

    /// The records with this docid.
    pub(in crate::memory) fn docid(&self, docid: &[u8]) -> HitSet<'_> {
        let parts = self.segments().map(|(number, segment, _)| {
            let docids = segment.dictionary(Terms::Keys(IndexId::DOCID));
            let term = docids.strings().find(docid);
            let part = term.map(|term| docids.part(term));
            (number, part.unwrap_or_else(|| Part::first(0)))
        });
        HitSet::of_parts(parts)
    }
}

fn in_segment<'a>(
    segment: &'a Segment,
    terms: Terms,
    pattern: &Pattern,
    work: &mut Work,
) -> Result<Part<'a>, Exhausted> {
    let dictionary = segment.dictionary(terms);
    match matches(&dictionary, pattern, work)? {
        Matches::Range(range) if range.len() == 1 => Ok(dictionary.part(range.start)),
        Matches::Range(range) => dictionary.union(dictionary.terms(range), work),
        Matches::List(list) => dictionary.union(list.into_iter(), work),
    }
}
