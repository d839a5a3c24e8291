//! Which servers of an engine answer: told in the log when that changes, and counted.

use std::time::Duration;

use tokio::time::Instant;

/// How long a server that fails again and again gets no further warning.
const QUIET: Duration = Duration::from_secs(60);

/// Warnings about a server: one when it stops answering and one when it answers again, but not more of them each minute.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    last: Option<Instant>,
    /// Whether the last failure got one.
    is_open: bool,
}

impl Warnings {
    /// Whether that it stops answering is worth a warning.
    pub(super) fn begins(&mut self) -> bool {
        self.is_open = self.last.is_none_or(|last| last.elapsed() >= QUIET);
        if self.is_open {
            self.last = Some(Instant::now());
        }
        self.is_open
    }

    /// Whether that it answers again is worth one.
    pub(super) fn ends(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }
}

/// A server of an engine, and how often it did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCounts {
    /// Its address: `HOST:PORT`.
    pub server: String,
    /// The requests that it did not answer.
    pub failures: u64,
    /// Whether it answered the last one; `true` before the first.
    pub is_up: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_again_and_again_gets_a_warning_each_minute() {
        let mut warnings = Warnings::default();
        assert!(warnings.begins() && warnings.ends() && !warnings.ends());
        tokio::time::advance(QUIET - Duration::from_millis(1)).await;
        assert!(!warnings.begins() && !warnings.ends());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(warnings.begins() && warnings.ends());
    }
}
