//! The result sets of a session, by name; names are compared octet for octet (Z39.50-2003 §3.1.6, §3.2.2.1.4).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use z3950_asn1::bib1::diagnostics::Condition;

use crate::backend::{Backend, Hits};
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::limits::Limits;

/// The records of a result set, and their backend.
#[derive(Clone)]
pub(crate) struct ResultSet {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) hits: Hits,
}

impl fmt::Debug for ResultSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hits.fmt(f)
    }
}

/// Result sets, limited in number and in total hits.
#[derive(Debug)]
pub(crate) struct ResultSets {
    sets: BTreeMap<Box<[u8]>, NamedSet>,
    hits: usize,
    /// A counter for `last_use`.
    uses: u64,
    max_sets: usize,
    max_hits: usize,
}

/// The entry of a name.
#[derive(Debug)]
struct NamedSet {
    /// `None` after the set was evicted.
    set: Option<ResultSet>,
    last_use: u64,
}

impl ResultSets {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            sets: BTreeMap::new(),
            hits: 0,
            uses: 0,
            max_sets: limits.result_sets,
            max_hits: limits.hits,
        }
    }

    /// The set of this name, which shares its hits.
    ///
    /// # Errors
    /// Condition 30 with the name if there is none, 27 if it was evicted.
    pub(crate) fn find(&self, name: &[u8]) -> Result<ResultSet, Diagnostic> {
        match self.sets.get(name) {
            Some(NamedSet { set: Some(set), .. }) => Ok(set.clone()),
            Some(NamedSet { set: None, .. }) => {
                Err(diagnostic(Condition::RESULT_SET_DELETED, name))
            }
            None => Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name)),
        }
    }

    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.find(name).is_ok()
    }

    /// [`ResultSets::find`], and marks the set as used.
    pub(crate) fn look_up(&mut self, name: &[u8]) -> Result<ResultSet, Diagnostic> {
        self.uses += 1;
        if let Some(kept) = self.sets.get_mut(name) {
            kept.last_use = self.uses;
        }
        self.find(name)
    }

    /// Whether there is room for a set of this name; checked before a search.
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

    /// Keeps a set, replacing an earlier one of that name and evicting those that were not used for longest.
    ///
    /// # Errors
    /// Condition 31 if its hits alone are too many, and 112 as [`ResultSets::check_room`]. The earlier set is deleted in either
    /// case.
    pub(crate) fn keep(&mut self, name: &[u8], set: ResultSet) -> Result<(), Diagnostic> {
        self.check_room(name)?;
        let hits = set.hits.len();
        if hits > self.max_hits {
            self.delete(name);
            return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, ""));
        }
        if let Some(earlier) = self.sets.get_mut(name).and_then(|kept| kept.set.take()) {
            self.hits = self.hits.saturating_sub(earlier.hits.len());
        }
        while self.hits.saturating_add(hits) > self.max_hits {
            self.evict();
        }
        self.hits += hits;
        self.uses += 1;
        let new = NamedSet {
            set: Some(set),
            last_use: self.uses,
        };
        match self.sets.get_mut(name) {
            Some(kept) => *kept = new,
            None => {
                self.sets.insert(name.into(), new);
            }
        }
        Ok(())
    }

    /// Deletes a set; returns whether there was one.
    pub(crate) fn delete(&mut self, name: &[u8]) -> bool {
        let deleted = self.sets.remove(name).and_then(|kept| kept.set);
        if let Some(set) = &deleted {
            self.hits = self.hits.saturating_sub(set.hits.len());
        }
        deleted.is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.sets.clear();
        self.hits = 0;
    }

    /// Drops the set that was not used for longest, but keeps its name.
    fn evict(&mut self) {
        let sets = self.sets.values_mut();
        let filled = sets.filter(|kept| kept.set.as_ref().is_some_and(|set| !set.hits.is_empty()));
        match filled.min_by_key(|kept| kept.last_use) {
            Some(kept) => {
                let hits = kept.set.take().map_or(0, |set| set.hits.len());
                self.hits = self.hits.saturating_sub(hits);
            }
            None => self.hits = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::RecordId;
    use crate::requests::Sizes;

    fn limits(result_sets: usize, hits: usize) -> Limits {
        Limits {
            result_sets,
            hits,
            ..Limits::default()
        }
    }

    fn set(count: u32) -> ResultSet {
        ResultSet {
            backend: Arc::new(Sizes(Vec::new())),
            hits: (0..count).map(RecordId).collect(),
        }
    }

    fn keep(sets: &mut ResultSets, name: &str, count: u32) -> Result<(), i64> {
        let kept = sets.keep(name.as_bytes(), set(count));
        kept.map_err(|diagnostic| diagnostic.condition)
    }

    /// How many hits the set has, or which condition it is refused with.
    fn look(sets: &ResultSets, name: &str) -> Result<usize, i64> {
        let found = sets.find(name.as_bytes());
        found
            .map(|set| set.hits.len())
            .map_err(|diagnostic| diagnostic.condition)
    }

    #[test]
    fn limits_hold_at_and_past_them() {
        let mut sets = ResultSets::new(&limits(2, 10));
        assert_eq!(keep(&mut sets, "1", 4), Ok(()));
        assert_eq!(keep(&mut sets, "2", 6), Ok(()));
        assert_eq!(keep(&mut sets, "3", 0), Err(112));
        assert_eq!(keep(&mut sets, "2", 11), Err(31));
        // The failed replacement has deleted the old set.
        assert_eq!(look(&sets, "2"), Err(30));
        assert_eq!(keep(&mut sets, "3", 6), Ok(()));
        assert_eq!(look(&sets, "1"), Ok(4));
    }

    #[test]
    fn sets_make_room_the_longest_unused_first() {
        let mut sets = ResultSets::new(&limits(9, 10));
        for (name, count) in [("1", 4), ("2", 3), ("none", 0), ("3", 3)] {
            assert_eq!(keep(&mut sets, name, count), Ok(()));
        }
        sets.look_up(b"1").expect("a set");
        assert_eq!(keep(&mut sets, "4", 5), Ok(()));
        let seen = ["1", "2", "none", "3", "4"].map(|name| look(&sets, name));
        assert_eq!(seen, [Ok(4), Err(27), Ok(0), Err(27), Ok(5)]);
        // The name is free for a new set, and forgotten when it is deleted.
        assert_eq!(keep(&mut sets, "2", 1), Ok(()));
        assert!(!sets.delete(b"3"));
        assert_eq!((look(&sets, "2"), look(&sets, "3")), (Ok(1), Err(30)));
        assert_eq!(keep(&mut sets, "all", 10), Ok(()));
        assert_eq!(sets.hits, 10);
    }

    #[test]
    fn names_are_compared_octet_for_octet() {
        let mut sets = ResultSets::new(&limits(3, 10));
        for (name, count) in [("a", 1), ("A", 2), ("", 3)] {
            assert_eq!(keep(&mut sets, name, count), Ok(()));
        }
        assert_eq!((look(&sets, "A"), look(&sets, "")), (Ok(2), Ok(3)));
        assert!(sets.delete(b"A") && !sets.delete(b"A"));
        sets.clear();
        assert_eq!((look(&sets, "a"), sets.hits), (Err(30), 0));
    }
}
