//! The result sets of a session, by name; names are compared octet for octet (Z39.50-2003 §3.1.6, §3.2.2.1.4).

use std::collections::HashMap;

use z3950_asn1::bib1::diagnostics::Condition;

use crate::backend::Hits;
use crate::diagnostic::{Diagnostic, diagnostic};

/// Result sets, bounded in number and in hits altogether.
#[derive(Debug)]
pub(crate) struct ResultSets {
    sets: HashMap<Box<[u8]>, Hits>,
    hits: usize,
    max_sets: usize,
    max_hits: usize,
}

impl ResultSets {
    /// No sets yet; at most `max_sets`, with at most `max_hits` hits altogether.
    pub(crate) fn new(max_sets: usize, max_hits: usize) -> Self {
        Self {
            sets: HashMap::new(),
            hits: 0,
            max_sets,
            max_hits,
        }
    }

    /// The set of that name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Hits> {
        self.sets.get(name)
    }

    /// Whether a set of that name could be kept: asked before the search is done.
    ///
    /// # Errors
    /// Condition 112 with the largest number of sets.
    pub(crate) fn check_room(&self, name: &[u8]) -> Result<(), Diagnostic> {
        if self.sets.len() < self.max_sets || self.sets.contains_key(name) {
            return Ok(());
        }
        let most = self.max_sets.to_string();
        Err(diagnostic(Condition::TOO_MANY_RESULT_SETS, most))
    }

    /// Keeps a set in the place of an earlier one of that name.
    ///
    /// # Errors
    /// Condition 31 where the hits of all sets would be too many.
    pub(crate) fn keep(&mut self, name: &[u8], hits: Hits) -> Result<(), Diagnostic> {
        self.delete(name);
        self.check_room(name)?;
        let total = self.hits.saturating_add(hits.len());
        if total > self.max_hits {
            return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, ""));
        }
        self.hits = total;
        self.sets.insert(name.into(), hits);
        Ok(())
    }

    /// Deletes a set; answers whether there was one.
    pub(crate) fn delete(&mut self, name: &[u8]) -> bool {
        let deleted = self.sets.remove(name);
        if let Some(hits) = &deleted {
            self.hits -= hits.len();
        }
        deleted.is_some()
    }

    /// Deletes all sets.
    pub(crate) fn clear(&mut self) {
        self.sets.clear();
        self.hits = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::RecordId;

    fn hits(count: u32) -> Hits {
        (0..count).map(RecordId).collect()
    }

    #[test]
    fn limits_hold_at_and_past_them() {
        let mut sets = ResultSets::new(2, 10);
        let mut keep = |name: &str, count| {
            let kept = sets.keep(name.as_bytes(), hits(count));
            kept.map_err(|diagnostic| diagnostic.condition)
        };
        assert_eq!(keep("1", 4), Ok(()));
        assert_eq!(keep("2", 6), Ok(()));
        assert_eq!(keep("3", 0), Err(112));
        assert_eq!(keep("2", 7), Err(31));
        // The failed replacement has deleted the old set.
        assert_eq!(keep("3", 6), Ok(()));
        assert_eq!(sets.find(b"2"), None);
    }

    #[test]
    fn names_are_compared_octet_for_octet() {
        let mut sets = ResultSets::new(3, 10);
        for (name, count) in [("a", 1), ("A", 2), ("", 3)] {
            sets.keep(name.as_bytes(), hits(count)).expect("room");
        }
        assert_eq!(sets.find(b"A").map(|hits| hits.len()), Some(2));
        assert_eq!(sets.find(b"").map(|hits| hits.len()), Some(3));
        assert!(sets.delete(b"A") && !sets.delete(b"A"));
        sets.clear();
        assert_eq!((sets.find(b"a"), sets.hits), (None, 0));
    }
}
