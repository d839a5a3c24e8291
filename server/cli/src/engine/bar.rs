//! The output of a load in progress: a progress line on a terminal, and messages that do not disturb this line.

use std::fmt;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tokio::sync::oneshot;

use crate::failure::{complain, is_quiet, note};
use crate::signals;

/// The progress line of a load, shown if standard error is a terminal. A clone is another handle to the same line.
#[derive(Clone, Debug)]
pub(super) struct LoadBar(ProgressBar);

impl LoadBar {
    pub(super) fn new() -> Self {
        if is_quiet() || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        let style =
            ProgressStyle::with_template("{spinner} {human_pos} records, {rate}, {elapsed}");
        let rate = |state: &ProgressState, text: &mut dyn fmt::Write| {
            // An error could only come from writing to the line, so it is ignored.
            let _ = write!(text, "{:.0}/s", state.per_sec());
        };
        Self(match style {
            Ok(style) => bar.with_style(style.with_key("rate", rate)),
            Err(_) => bar,
        })
    }

    pub(super) fn is_hidden(&self) -> bool {
        self.0.is_hidden()
    }

    /// Adds to the number of records that were sent.
    pub(super) fn advance(&self, records: u64) {
        self.0.inc(records);
    }

    /// Erases the progress line.
    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }

    /// Prints a note above the progress line.
    pub(super) fn note(&self, words: &dyn fmt::Display) {
        self.0.suspend(|| note(words));
    }

    /// Prints a message above the progress line.
    pub(super) fn complain(&self, words: &dyn fmt::Display) {
        self.0.suspend(|| complain(words));
    }

    /// Returns a callback that reports a slow cluster.
    pub(super) fn slow_cluster(&self) -> impl Fn(Duration) + Send + Sync + use<> {
        let bar = self.clone();
        move |waited| {
            let waited = waited.as_secs();
            bar.complain(&format_args!(
                "the search engine has taken no records for {waited} s; the load waits for up to 5 minutes"
            ));
        }
    }

    /// Returns a receiver that resolves at the first signal to stop; a second signal ends the program.
    ///
    /// # Errors
    /// Signals cannot be watched.
    pub(super) fn stop_signal(&self) -> io::Result<oneshot::Receiver<()>> {
        let (first, last) = (self.clone(), self.clone());
        signals::stop(
            move || {
                first.note(
                    &"stopping as soon as the search engine has what was read; another signal ends it at once",
                );
            },
            move || {
                last.note(
                    &"ended at once: the last records may not be in the search engine; run the same command again",
                );
            },
        )
    }
}
