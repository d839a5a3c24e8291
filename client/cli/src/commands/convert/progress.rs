//! How far a long conversion has come, on one line of a terminal that is wiped out again.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Conversions that end within this time show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line changes in a second, at most.
const REFRESHES: u8 = 5;
/// The clock is looked at once in so many records.
const STRIDE: u64 = 256;

/// The line, if there is a terminal for it.
pub(super) struct Progress {
    enabled: bool,
    begin: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Shows itself where standard error is a terminal and standard output does not fill one.
    pub(super) fn new() -> Self {
        Self {
            enabled: io::stderr().is_terminal() && !io::stdout().is_terminal(),
            begin: Instant::now(),
            bar: None,
        }
    }

    /// So many records have been read, and so many octets of a file of that size.
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

    /// Wipes the line out, so that something else can be written.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// The parts of the line: a bar only where the size of the input is known.
fn style(sized: bool) -> ProgressStyle {
    let template = match sized {
        true => "{wide_bar} {percent} %, {msg}",
        false => "{spinner} {bytes}, {msg}",
    };
    // The templates are right; a wrong one would leave the usual line.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
