//! Tracks the health of targets: logs when a target goes down or comes back, and counts the searches at each target.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use z3950_server::Diagnostic;

use super::failure;
use crate::trouble::Trouble;

/// The number of searches at a target, and whether the target answered the last search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetCounts {
    /// The target, without a user and password.
    pub target: String,
    /// The number of searches so far.
    pub searches: u64,
    /// The number of searches that failed or were refused.
    pub failures: u64,
    /// Whether the target answered the last search, even with a refusal; `true` before the first search.
    pub is_up: bool,
}

/// The health of a target of a database.
pub(super) struct TargetHealth {
    /// The name of the database that consists of the target's records: `NAME@TARGET`.
    name: String,
    searches: AtomicU64,
    failures: AtomicU64,
    is_down: AtomicBool,
    trouble: Trouble,
}

impl TargetHealth {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            searches: AtomicU64::default(),
            failures: AtomicU64::default(),
            is_down: AtomicBool::default(),
            trouble: Trouble::default(),
        }
    }

    pub(super) fn is_of(&self, name: &str) -> bool {
        self.name == name
    }

    /// Counts a search. Logs warnings while the target does not answer, and when it answers again.
    pub(super) fn searched(&self, failure: Option<&Diagnostic>) {
        self.searches.fetch_add(1, Ordering::Relaxed);
        if failure.is_some() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        let target = &*self.name;
        let why = failure.map(failure::in_words);
        match (failure.filter(|why| failure::is_outage(why)), why) {
            (Some(_), Some(why)) => {
                self.is_down.store(true, Ordering::Relaxed);
                if let Some(searches) = self.trouble.failed() {
                    tracing::warn!(target, searches, %why, "the target does not answer");
                } else {
                    tracing::debug!(target, %why, "the target does not answer");
                }
            }
            (_, why) => {
                // A search that was never sent says nothing about the target.
                let is_answer = failure.is_none_or(|why| !failure::is_unasked(why));
                if is_answer {
                    self.is_down.store(false, Ordering::Relaxed);
                    if let Some(failed) = self.trouble.end() {
                        tracing::warn!(target, failed, "the target answers again");
                    }
                }
                if let Some(why) = why {
                    tracing::info!(target, %why, "no answer to a search");
                }
            }
        }
    }

    pub(super) fn counts(&self) -> TargetCounts {
        let target = self.name.split_once('@').map(|(_, target)| target);
        TargetCounts {
            target: target.unwrap_or(&self.name).to_owned(),
            searches: self.searches.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            is_up: !self.is_down.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use z3950_asn1::bib1::diagnostics::Condition;
    use z3950_server::diagnostic;

    use super::*;

    #[test]
    fn a_target_is_down_until_it_answers() {
        let health = TargetHealth::new("union@lib.example:210/a");
        let refusal = diagnostic(Condition::USE, "9999");
        let outage = failure::unavailable("closed");
        let crowded = failure::crowded(Duration::from_secs(1));
        for (failure, failures, is_up) in [
            (None, 0, true),
            (Some(&refusal), 1, true),
            (Some(&outage), 2, false),
            (Some(&crowded), 3, false),
            (Some(&refusal), 4, true),
            (Some(&crowded), 5, true),
        ] {
            health.searched(failure);
            let counts = health.counts();
            assert_eq!((counts.failures, counts.is_up), (failures, is_up));
        }
        let counts = health.counts();
        assert_eq!((&*counts.target, counts.searches), ("lib.example:210/a", 6));
    }
}
