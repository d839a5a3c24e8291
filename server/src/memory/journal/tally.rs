//! What was done with the journal of a saved file, for the operator.

use std::sync::Mutex;
use std::time::SystemTime;

use crate::lock::lock;

/// The journal of a saved database, and what was done with it since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalTotals {
    /// The database.
    pub database: String,
    /// The octets of the changes that are not in the file yet.
    pub octets: u64,
    /// The number of octets at which the changes are folded into the file.
    pub limit: u64,
    /// The number of commits; changes that arrive at the same time share one.
    pub commits: u64,
    /// How often the file was rewritten with the changes.
    pub folds: u64,
    /// The number of commits and folds that failed.
    pub failures: u64,
    /// When the last failure occurred.
    pub last_failure: Option<SystemTime>,
}

/// Counts what is done with a journal. It can be read while the journal is in use.
#[derive(Debug, Default)]
pub(in crate::memory) struct JournalTally(Mutex<JournalTotals>);

impl JournalTally {
    pub(in crate::memory) fn new(limit: u64) -> Self {
        Self(Mutex::new(JournalTotals {
            limit,
            ..JournalTotals::default()
        }))
    }

    pub(in crate::memory) fn totals(&self, database: &str) -> JournalTotals {
        JournalTotals {
            database: database.to_owned(),
            ..lock(&self.0).clone()
        }
    }

    /// Notes the octets that are not in the file yet.
    pub(in crate::memory) fn holds(&self, octets: u64) {
        lock(&self.0).octets = octets;
    }

    /// Counts a commit, and whether it succeeded. `octets` is the number of octets in the journal afterwards.
    pub(in crate::memory) fn committed(&self, has_succeeded: bool, octets: u64) {
        let mut totals = lock(&self.0);
        totals.octets = octets;
        if has_succeeded {
            totals.commits += 1;
        } else {
            totals.fail();
        }
    }

    /// Counts a fold, and whether it succeeded. `octets` is the number of octets in the journal afterwards.
    pub(in crate::memory) fn folded(&self, has_succeeded: bool, octets: u64) {
        let mut totals = lock(&self.0);
        totals.octets = octets;
        if has_succeeded {
            totals.folds += 1;
        } else {
            totals.fail();
        }
    }
}

impl JournalTotals {
    fn fail(&mut self) {
        self.failures += 1;
        self.last_failure = Some(SystemTime::now());
    }
}
