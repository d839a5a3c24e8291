//! The result sets of a session (Z39.50-2003 §3.1.6), with their names, limits and eviction.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::ResultSet;
use crate::budget::{Account, Charge};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::limits::Limits;

/// Result sets by name. Names are compared octet by octet (§3.2.2.1.4); the number of sets, the total number of hits and the
/// total size in octets are limited.
#[derive(Debug)]
pub(crate) struct ResultSets {
    sets: BTreeMap<Box<[u8]>, NamedSet>,
    hits: usize,
    /// A counter that is incremented with each use of a set, for `last_use`.
    uses: u64,
    max_sets: usize,
    max_hits: usize,
    charge: Charge,
}

/// The entry for the name of a set.
#[derive(Debug)]
struct NamedSet {
    /// The set; `None` if it was evicted.
    set: Option<ResultSet>,
    last_use: u64,
    /// The size of the list of hits, in octets.
    octets: usize,
}

/// The size of an entry in octets, without its name and list of hits.
const ENTRY: usize = 128;

impl ResultSets {
    /// Creates an empty collection, whose sets are charged to the account.
    pub(crate) fn new(limits: &Limits, account: &Arc<Account>) -> Self {
        Self {
            sets: BTreeMap::new(),
            hits: 0,
            uses: 0,
            max_sets: limits.result_sets,
            max_hits: limits.hits,
            charge: Charge::to(account),
        }
    }

    /// Returns a copy of the set with this name; the copy shares the hits.
    ///
    /// # Errors
    /// Fails with condition 30 and the name if the set does not exist, or with 27 if the set was evicted or the backend has
    /// dropped its records.
    pub(crate) fn find(&self, name: &[u8]) -> Result<ResultSet, Diagnostic> {
        match self.sets.get(name) {
            Some(NamedSet { set: Some(set), .. }) if !set.hits.is_gone() => Ok(set.clone()),
            Some(_) => Err(diagnostic(Condition::RESULT_SET_DELETED, name)),
            None => Err(diagnostic(Condition::RESULT_SET_DOES_NOT_EXIST, name)),
        }
    }

    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.find(name).is_ok()
    }

    /// Finds a set like [`ResultSets::find`], and marks it as used.
    pub(crate) fn look_up(&mut self, name: &[u8]) -> Result<ResultSet, Diagnostic> {
        self.uses += 1;
        if let Some(kept) = self.sets.get_mut(name) {
            kept.last_use = self.uses;
        }
        self.find(name)
    }

    /// Checks whether there is room for a set with this name, so that a search can be refused before it begins.
    ///
    /// # Errors
    /// Fails with condition 112 and the maximum number of sets.
    pub(crate) fn check_room(&self, name: &[u8]) -> Result<(), Diagnostic> {
        if self.sets.len() < self.max_sets || self.sets.contains_key(name) {
            return Ok(());
        }
        let most = self.max_sets.to_string();
        Err(diagnostic(Condition::TOO_MANY_RESULT_SETS, most))
    }

    /// Keeps a set. It replaces an earlier set with the same name, and the least recently used sets are evicted to make room.
    ///
    /// # Errors
    /// Fails with condition 31 if this set alone exceeds the limit on hits or octets, or with 112 like
    /// [`ResultSets::check_room`]. The earlier set is deleted in either case.
    pub(crate) fn keep(&mut self, name: &[u8], set: ResultSet) -> Result<(), Diagnostic> {
        self.check_room(name)?;
        let hits = set.hits.len();
        if hits > self.max_hits {
            self.delete(name);
            let most = self.max_hits;
            let words = format!(
                "{hits} records are found, and a session keeps at most {most} in its result sets (hits): narrow the search"
            );
            return Err(diagnostic(Condition::RESOURCES_EXHAUSTED, words));
        }
        let mut entry = ENTRY + name.len();
        if let Some(kept) = self.sets.get_mut(name) {
            let earlier = kept.set.take().map_or(0, |set| set.hits.len());
            let octets = std::mem::take(&mut kept.octets);
            self.hits = self.hits.saturating_sub(earlier);
            self.free(octets);
            entry = 0;
        }
        while self.hits.saturating_add(hits) > self.max_hits {
            self.evict();
        }
        let octets = set.hits.octets();
        let more = entry.saturating_add(octets);
        while let Err(why) = self.charge.set(self.charge.octets().saturating_add(more)) {
            if !self.evict() {
                self.delete(name);
                return Err(why);
            }
        }
        self.hits += hits;
        self.uses += 1;
        let new = NamedSet {
            set: Some(set),
            last_use: self.uses,
            octets,
        };
        match self.sets.get_mut(name) {
            Some(kept) => *kept = new,
            None => {
                self.sets.insert(name.into(), new);
            }
        }
        Ok(())
    }

    /// Deletes a set; returns whether it existed.
    pub(crate) fn delete(&mut self, name: &[u8]) -> bool {
        let Some(deleted) = self.sets.remove(name) else {
            return false;
        };
        self.free(ENTRY + name.len() + deleted.octets);
        if let Some(set) = &deleted.set {
            self.hits = self.hits.saturating_sub(set.hits.len());
        }
        deleted.set.is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.sets.clear();
        self.hits = 0;
        self.free(self.charge.octets());
    }

    /// Evicts the least recently used set with hits, but keeps its name; returns whether one was evicted.
    fn evict(&mut self) -> bool {
        let sets = self.sets.values_mut();
        let filled = sets.filter(|kept| kept.set.as_ref().is_some_and(|set| !set.hits.is_empty()));
        let Some(kept) = filled.min_by_key(|kept| kept.last_use) else {
            self.hits = 0;
            return false;
        };
        let hits = kept.set.take().map_or(0, |set| set.hits.len());
        let octets = std::mem::take(&mut kept.octets);
        self.hits = self.hits.saturating_sub(hits);
        self.free(octets);
        true
    }

    fn free(&mut self, octets: usize) {
        let left = self.charge.octets().saturating_sub(octets);
        // Reducing a charge is never refused, so there is no error.
        let _ = self.charge.set(left);
    }
}

#[cfg(test)]
mod tests;
