//! Counts the commits and folds of journals, for operators.

use std::sync::Mutex;
use std::time::SystemTime;

use crate::lock::lock;

/// The totals of the journal of a saved database since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalTotals {
    /// The name of the database.
    pub database: String,
    /// The size of the changes that have not been folded into the file, in octets.
    pub octets: u64,
    /// The size at which the changes are folded into the file, in octets.
    pub limit: u64,
    /// The number of commits; changes that arrive at the same time share a commit.
    pub commits: u64,
    /// The number of times the changes were folded into the file.
    pub folds: u64,
    /// The number of commits and folds that failed.
    pub failures: u64,
    /// The time of the last failure; `None` if there was none.
    pub last_failure: Option<SystemTime>,
}

/// The totals of a journal, which can be read while the journal is in use.
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

    /// Sets the size of the changes that have not been folded into the file, in octets.
    pub(in crate::memory) fn holds(&self, octets: u64) {
        lock(&self.0).octets = octets;
    }

    /// Counts a commit as a success or a failure; `octets` is the size of the changes in the journal afterwards.
    pub(in crate::memory) fn committed(&self, has_succeeded: bool, octets: u64) {
        let mut totals = lock(&self.0);
        totals.octets = octets;
        if has_succeeded {
            totals.commits += 1;
        } else {
            totals.fail();
        }
    }

    /// Counts a fold as a success or a failure; `octets` is the size of the changes in the journal afterwards.
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
