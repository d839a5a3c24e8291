//! The state of an engine between requests: which servers answer, whether answers are complete, and how many records
//! there are.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use z3950_server::lock;

use super::answer::AskError;
use crate::trouble::Trouble;

/// The health of a database in an engine.
#[derive(Debug, Default)]
pub(super) struct DatabaseHealth {
    /// The state of the logging of requests that were not answered.
    unanswered: Trouble,
    /// The state of the logging of answers from which records are missing.
    partial: Trouble,
    records: Mutex<RecordCount>,
}

/// The number of records in a database.
#[derive(Debug, Default)]
struct RecordCount {
    /// The time of the last count; `None` before the first one.
    asked: Option<Instant>,
    /// The number of records, if all parts of the index were counted.
    known: Option<u64>,
}

/// The minimum time between two counts of all records.
const COUNT_PAUSE: Duration = Duration::from_secs(60);

impl DatabaseHealth {
    /// Records an answer, and the reason why records are missing from it, if any are.
    pub(super) fn answered(&self, database: &str, missing: Option<&str>) {
        if let Some(failed) = self.unanswered.end() {
            tracing::warn!(database, failed, "the search engine answers requests again");
        }
        match missing {
            Some(why) => {
                if let Some(answers) = self.partial.failed() {
                    tracing::warn!(database, answers, why, "records are missing from answers");
                }
            }
            None => {
                if let Some(answers) = self.partial.end() {
                    tracing::warn!(database, answers, "no records are missing any more");
                }
            }
        }
    }

    /// Records a request that was not answered.
    pub(super) fn failed(&self, database: &str, why: &AskError) {
        if let Some(requests) = self.unanswered.failed() {
            tracing::warn!(database, requests, %why, "the search engine does not answer a request");
        } else {
            tracing::debug!(database, %why, "the search engine does not answer a request");
        }
    }

    /// Returns whether all records should be counted now, which is at most once a minute.
    pub(super) fn begins_count(&self) -> bool {
        let mut records = lock(&self.records);
        let begins = records
            .asked
            .is_none_or(|asked| asked.elapsed() >= COUNT_PAUSE);
        if begins {
            records.asked = Some(Instant::now());
        }
        begins
    }

    /// Sets the number of records; `None` if it is not known.
    pub(super) fn set_records(&self, known: Option<u64>) {
        lock(&self.records).known = known;
    }

    /// Returns the number of records at the last count.
    pub(super) fn records(&self) -> Option<u64> {
        lock(&self.records).known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn audit_records_are_counted_at_most_once_a_minute() {
        let health = DatabaseHealth::default();
        assert_eq!(health.records(), None);
        assert!(health.begins_count() && !health.begins_count());
        health.set_records(Some(7));
        tokio::time::advance(COUNT_PAUSE - Duration::from_millis(1)).await;
        assert!(!health.begins_count());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(health.begins_count());
        assert_eq!(health.records(), Some(7), "until the next answer");
        health.set_records(None);
        assert_eq!(health.records(), None);
    }
}
