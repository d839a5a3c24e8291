//! Shows the progress of a long conversion on a line of the terminal, which is erased at the end.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time after which progress is shown; shorter conversions show none.
const PATIENCE: Duration = Duration::from_secs(1);
/// The maximum number of updates of the line per second.
const REFRESHES: u8 = 5;
/// The number of records between two checks of the clock.
const STRIDE: u64 = 256;

/// The progress line. It is empty unless it is shown on a terminal.
pub(super) struct ProgressLine {
    enabled: bool,
    begin: Instant,
    bar: Option<ProgressBar>,
}

impl ProgressLine {
    /// Creates the line. It is shown if standard error is a terminal and standard output is not, unless the run is quiet.
    pub(super) fn new(is_quiet: bool) -> Self {
        Self {
            enabled: !is_quiet && io::stderr().is_terminal() && !io::stdout().is_terminal(),
            begin: Instant::now(),
            bar: None,
        }
    }

    /// Updates the line with the number of records read. `octets` is the number of octets read from the current file,
    /// whose size is `size`.
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

    /// Erases the line, so that other text can be written.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Returns the template of the line. It contains a bar only if the size of the input is known.
fn style(sized: bool) -> ProgressStyle {
    let template = if sized {
        "{wide_bar} {percent} %, {msg}"
    } else {
        "{spinner} {bytes}, {msg}"
    };
    // The templates are valid, so the default is never used.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
