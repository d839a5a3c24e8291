//! Logs failures to save changes, at most once per period.

use std::error::Error;
use std::time::Instant;

use super::SaveError;
use crate::metrics::PERIOD;

/// The log of failures to save changes. Failures with the same cause are logged at most once per [`PERIOD`].
#[derive(Debug, Default)]
pub(super) struct SaveFailures {
    /// The last failure that was logged, and the time at which it was logged.
    logged: Option<(String, Instant)>,
    /// The number of failures since the last one that was logged.
    more: u64,
}

impl SaveFailures {
    /// Logs a failure, unless the same one was logged recently; also logs the first success after a failure.
    pub(super) fn log(&mut self, outcome: &Result<(), SaveError>, database: &str) {
        let more = self.more;
        let Err(error) = outcome else {
            if self.logged.take().is_some() {
                self.more = 0;
                tracing::warn!(database, more, "the database is saved again");
            }
            return;
        };
        let cause = error.source().map(|cause| format!(": {cause}"));
        let words = format!("{error}{}", cause.unwrap_or_default());
        let is_known = self
            .logged
            .as_ref()
            .is_some_and(|(known, since)| *known == words && since.elapsed() < PERIOD);
        if is_known {
            self.more += 1;
            return;
        }
        tracing::error!(
            database,
            error = words,
            more,
            "the database cannot be saved"
        );
        self.logged = Some((words, Instant::now()));
        self.more = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_to_save_are_logged_once_in_a_while() {
        let mut failures = SaveFailures::default();
        let mut check = |outcome: Result<(), &str>, is_logged: bool, more: u64| {
            let outcome = outcome.map_err(|name| SaveError::NoDatabase(name.to_owned()));
            let before = failures.logged.clone();
            failures.log(&outcome, "books");
            assert_eq!(failures.logged != before, is_logged, "{failures:?}");
            assert_eq!(failures.more, more, "{failures:?}");
        };
        check(Ok(()), false, 0);
        check(Err("a"), true, 0);
        check(Err("a"), false, 1);
        check(Err("a"), false, 2);
        check(Err("b"), true, 0);
        check(Err("b"), false, 1);
        check(Ok(()), true, 0);
        check(Err("b"), true, 0);
        let long_ago = Instant::now().checked_sub(PERIOD).expect("a time");
        failures.logged = failures.logged.map(|(words, _)| (words, long_ago));
        failures.more = 7;
        let outcome = Err(SaveError::NoDatabase("b".to_owned()));
        failures.log(&outcome, "books");
        assert_eq!(failures.more, 0);
    }
}
