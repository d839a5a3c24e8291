//! Shows the progress of a long conversion, on one line of a terminal that is erased at the end.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Conversions that end within this time show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// The maximum number of updates of the line per second.
const REFRESHES: u8 = 5;
/// The clock is checked once per this number of records.
const STRIDE: u64 = 256;

/// The progress line, if there is a terminal for it.
pub(super) struct ProgressLine {
    enabled: bool,
    begin: Instant,
    bar: Option<ProgressBar>,
}

impl ProgressLine {
    /// Creates the line, which is shown if standard error is a terminal and standard output is not.
    pub(super) fn new() -> Self {
        Self {
            enabled: io::stderr().is_terminal() && !io::stdout().is_terminal(),
            begin: Instant::now(),
            bar: None,
        }
    }

    /// Updates the line with the number of records read, and the number of octets read of a file of `size`.
    pub(super) fn at(&mut self, records: u64, octets: u64, size: Option<u64>) {
        if !self.enabled || !records.is_multiple_of(STRIDE) || self.begin.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let target = ProgressDrawTarget::stderr_with_hz(REFRESHES);
            ProgressBar::with_draw_target(size, target).with_style(style(size.is_some()))
        });
        if bar.length() != size {
            match size {
                Some(size) => bar.set_length(size),
                None => bar.unset_length(),
            }
            bar.set_style(style(size.is_some()));
        }
        bar.set_message(format!("{records} records"));
        bar.set_position(octets);
    }

    /// Erases the line, so that something else can be written.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Returns the parts of the line. There is a bar only if the size of the input is known.
fn style(sized: bool) -> ProgressStyle {
    let template = if sized {
        "{wide_bar} {percent} %, {msg}"
    } else {
        "{spinner} {bytes}, {msg}"
    };
    // The templates are valid, so the default is never used.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
