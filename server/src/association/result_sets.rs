//! The result sets of a session (Z39.50-2003 §3.1.6): their names and limits, and which are evicted first.

use std::collections::BTreeMap;

use crate::backend::ResultSet;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::limits::Limits;

/// Result sets by name, which is compared octet for octet (§3.2.2.1.4), limited in number and in total hits.
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

    /// Keeps a set, replacing an earlier one of that name and evicting the least recently used ones.
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

    /// Drops the least recently used set, but keeps its name.
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
mod tests;
