//! Limits the log lines about a lasting failure: one when it begins, at most one a minute while it lasts, and one
//! when it ends.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use z3950_server::lock;

/// The minimum time between two lines about failures.
const QUIET: Duration = Duration::from_secs(60);

/// The state of logging for a failure that may occur with every request.
#[derive(Debug, Default)]
pub(crate) struct Trouble(Mutex<LogState>);

#[derive(Debug, Default)]
struct LogState {
    /// The time of the last log line about the failure.
    last: Option<Instant>,
    /// The number of failures since that log line.
    since: u64,
    /// Whether the end of the failure still has to be logged.
    is_open: bool,
}

impl Trouble {
    /// Counts a failure. If a line should be logged, returns the number of failures for this line: this one, and those since the
    /// last line.
    pub(crate) fn failed(&self) -> Option<u64> {
        let mut state = lock(&self.0);
        state.since = state.since.saturating_add(1);
        if state.last.is_some_and(|last| last.elapsed() < QUIET) {
            return None;
        }
        state.last = Some(Instant::now());
        state.is_open = true;
        Some(std::mem::take(&mut state.since))
    }

    /// Reports that the failure has ended. If it was logged but its end was not, returns the number of failures since the last
    /// log line. A failure that comes and goes therefore gets at most two log lines a minute.
    pub(crate) fn end(&self) -> Option<u64> {
        let mut state = lock(&self.0);
        let was_open = std::mem::take(&mut state.is_open);
        was_open.then(|| std::mem::take(&mut state.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn audit_trouble_gets_a_line_when_it_begins_each_minute_and_at_its_end() {
        let trouble = Trouble::default();
        assert_eq!(trouble.end(), None);
        assert_eq!(trouble.failed(), Some(1), "it begins");
        for _ in 0..100 {
            assert_eq!(trouble.failed(), None);
        }
        tokio::time::advance(QUIET - Duration::from_millis(1)).await;
        assert_eq!(trouble.failed(), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(trouble.failed(), Some(102), "it lasts");
        assert_eq!(trouble.failed(), None);
        assert_eq!(trouble.end(), Some(1));
        assert_eq!(trouble.end(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn audit_repeated_failures_get_a_line_each_minute() {
        let trouble = Trouble::default();
        assert_eq!((trouble.failed(), trouble.end()), (Some(1), Some(0)));
        for _ in 0..100 {
            assert_eq!((trouble.failed(), trouble.end()), (None, None));
        }
        tokio::time::advance(QUIET).await;
        assert_eq!((trouble.failed(), trouble.end()), (Some(101), Some(0)));
    }
}
