//! Shows the progress and speed of a run on a line of the terminal, which is erased at the end.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::arguments::Batch;
use super::report::Tally;
use crate::answer::NameRecord;
use crate::console::input::STANDARD;
use crate::console::interrupt::Unechoed;

/// The maximum number of updates of the line per second.
const REFRESHES: u8 = 5;
/// The interval between updates of the line while no answers arrive.
const TICK: Duration = Duration::from_millis(500);

/// The progress line. It is empty unless it is shown on a terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Suppresses the echo of Ctrl-C while the line exists.
    _unechoed: Option<Unechoed>,
    /// The total number of answers, or 0 while it is unknown.
    total: Arc<AtomicU64>,
}

impl Progress {
    /// Creates the line. It is shown if standard error is a terminal, unless records are written to a terminal or the run
    /// is quiet.
    pub(super) fn new(
        arguments: &Batch,
        given: usize,
        names_records: Option<NameRecord>,
        targets: usize,
        is_quiet: bool,
    ) -> Self {
        let fills_terminal = arguments.file().is_none() && io::stdout().is_terminal();
        let total = Arc::new(AtomicU64::new(0));
        if is_quiet || fills_terminal || !io::stderr().is_terminal() {
            return Self {
                bar: ProgressBar::hidden(),
                _unechoed: None,
                total,
            };
        }
        count(arguments, given, names_records, targets, Arc::clone(&total));
        let target = ProgressDrawTarget::stderr_with_hz(REFRESHES);
        let bar = ProgressBar::with_draw_target(None, target).with_style(style(false));
        Self {
            bar,
            _unechoed: Some(Unechoed::begin()),
            total,
        }
    }

    /// Sets the number of answers from earlier runs.
    pub(super) fn begin(&self, answers: u64) {
        self.bar.set_position(answers);
        self.bar.reset_eta();
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(TICK);
        }
    }

    /// Counts an answer and updates the line.
    pub(super) fn answered(&self, tally: &Tally) {
        if self.bar.is_hidden() {
            return;
        }
        let total = self.total.load(Ordering::Relaxed);
        if self.bar.length().is_none() && total > 0 {
            self.bar.set_length(total);
            self.bar.set_style(style(true));
        }
        // All counts are in a single message, so that they are consistent whenever the line is drawn.
        let done = self.bar.position() + 1;
        let done = match self.bar.length() {
            Some(total) => format!("{done}/{total}"),
            None => done.to_string(),
        };
        self.bar.set_message(format!("{done}: {tally}"));
        self.bar.inc(1);
    }

    /// Erases the line while `say` prints other text.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// Erases the line.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Counts the inputs in another thread, if all of them can be read a second time.
fn count(
    arguments: &Batch,
    given: usize,
    names_records: Option<NameRecord>,
    targets: usize,
    total: Arc<AtomicU64>,
) {
    let is_file = |path: &Path| {
        path != Path::new(STANDARD) && path.metadata().is_ok_and(|data| data.is_file())
    };
    if !arguments.inputs.iter().all(|path| is_file(path)) {
        return;
    }
    // The run itself reports files that cannot be opened, so such errors are ignored here.
    let Ok(inputs) = arguments.inputs(Vec::new(), names_records) else {
        return;
    };
    std::thread::spawn(move || {
        let answers = (inputs.count() + given).saturating_mul(targets);
        total.store(u64::try_from(answers).unwrap_or(0), Ordering::Relaxed);
    });
}

/// Returns the template of the line. It contains a bar only if the number of inputs is known.
fn style(sized: bool) -> ProgressStyle {
    let template = if sized {
        "{wide_bar} {rate}, {eta} left, {msg}"
    } else {
        "{spinner} {rate}, {msg}"
    };
    // The templates are valid, so the default is never used.
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", |state: &ProgressState, line: &mut dyn Write| {
            // A progress line that cannot be written is ignored.
            let _ = write!(line, "{:.0}/s", state.per_sec());
        })
}
