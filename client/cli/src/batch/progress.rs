//! How far a run has come, and how fast, on one line of a terminal that is wiped out again.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::arguments::{Batch, STANDARD};
use super::resume::Tally;

/// How often the line changes in a second, at most.
const REFRESHES: u8 = 5;
/// How often its clock goes on while nothing is answered.
const TICK: Duration = Duration::from_millis(500);

/// The line, if there is a terminal for it.
pub(super) struct Progress {
    bar: ProgressBar,
    /// How many answers there will be, as soon as that is known; 0 before.
    total: Arc<AtomicU64>,
}

impl Progress {
    /// Shows itself where standard error is a terminal that records are not written to as well.
    pub(super) fn new(arguments: &Batch, given: usize, targets: usize) -> Self {
        let fills_terminal = arguments.file().is_none() && io::stdout().is_terminal();
        let total = Arc::new(AtomicU64::new(0));
        if fills_terminal || !io::stderr().is_terminal() {
            let bar = ProgressBar::hidden();
            return Self { bar, total };
        }
        count(arguments, given, targets, Arc::clone(&total));
        let target = ProgressDrawTarget::stderr_with_hz(REFRESHES);
        let bar = ProgressBar::with_draw_target(None, target).with_style(style(false));
        Self { bar, total }
    }

    /// So many answers are there from an earlier run.
    pub(super) fn begin(&self, answers: u64) {
        self.bar.set_position(answers);
        self.bar.reset_eta();
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(TICK);
        }
    }

    /// There is one answer more.
    pub(super) fn answered(&self, tally: &Tally) {
        if self.bar.is_hidden() {
            return;
        }
        let total = self.total.load(Ordering::Relaxed);
        if self.bar.length().is_none() && total > 0 {
            self.bar.set_length(total);
            self.bar.set_style(style(true));
        }
        self.bar.set_message(super::state::in_words(tally));
        self.bar.inc(1);
    }

    /// Says something while the line is wiped out.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// Wipes the line out.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Counts the inputs, where all can be read twice.
fn count(arguments: &Batch, given: usize, targets: usize, total: Arc<AtomicU64>) {
    let is_file = |path: &Path| {
        path != Path::new(STANDARD) && path.metadata().is_ok_and(|data| data.is_file())
    };
    if !arguments.inputs.iter().all(|path| is_file(path)) {
        return;
    }
    // What cannot be opened is found out by the run itself.
    let Ok(inputs) = arguments.inputs(Vec::new()) else {
        return;
    };
    std::thread::spawn(move || {
        let answers = (inputs.count() + given).saturating_mul(targets);
        total.store(u64::try_from(answers).unwrap_or(0), Ordering::Relaxed);
    });
}

/// The parts of the line: a bar only where it is known how many inputs there are.
fn style(sized: bool) -> ProgressStyle {
    let template = match sized {
        true => "{wide_bar} {pos}/{len}, {rate}, {eta} left, {msg}",
        false => "{spinner} {pos}, {rate}, {msg}",
    };
    // The templates are right; a wrong one would leave the usual line.
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", |state: &ProgressState, line: &mut dyn Write| {
            // There is no more to be done about a line that takes no text.
            let _ = write!(line, "{:.0}/s", state.per_sec());
        })
}
