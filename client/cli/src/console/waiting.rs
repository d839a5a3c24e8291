//! Shows an animated line on the terminal while the program waits for a server, so that the user sees that it is
//! running. The line is erased before anything else is written.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::{self, IsTerminal};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::{Instant, sleep};

use crate::console::interrupt::Unechoed;

/// The time without output after which the line appears.
const PATIENCE: Duration = Duration::from_millis(500);
/// The interval between two frames of the animation.
const TICK: Duration = Duration::from_millis(100);
/// The maximum number of updates of the line per second.
const REFRESHES: u8 = 20;

/// The waiting line; `None` if it is not wanted or the terminal cannot show it. All clones share the same line.
#[derive(Clone)]
pub(crate) struct WaitingLine(Option<Rc<LineState>>);

struct LineState {
    /// The visible line; `None` while it is not shown.
    bar: RefCell<Option<ProgressBar>>,
    /// The time of the last output, from which [`PATIENCE`] is counted.
    since: Cell<Instant>,
    /// The number of guards that currently hide the line.
    held: Cell<u32>,
    /// Whether data on the terminal ended in the middle of a line, which the waiting line would overwrite.
    is_within_line: Cell<bool>,
    /// The current activity, to be shown in the line; `None` while the program waits for a server.
    doing: RefCell<Option<String>>,
}

impl WaitingLine {
    /// Creates the line on standard error, if `wanted` is true and standard error is a terminal.
    pub(crate) fn new(wanted: bool) -> Self {
        let is_dumb = || std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        let is_shown = wanted && io::stderr().is_terminal() && !is_dumb();
        Self(is_shown.then(|| {
            Rc::new(LineState {
                bar: RefCell::default(),
                since: Cell::new(Instant::now()),
                held: Cell::new(0),
                is_within_line: Cell::new(false),
                doing: RefCell::default(),
            })
        }))
    }

    /// Awaits work. The line appears if nothing is written for [`PATIENCE`].
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(line) = &self.0 else {
            return work.await;
        };
        line.clear();
        let _unechoed = Unechoed::begin();
        // The line is also erased if the work is abandoned.
        let _erased = Erased(line);
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                () = sleep(line.next()) => line.tick(),
            }
        }
    }

    /// Shows a description of the current activity, immediately and until the next call.
    pub(crate) fn says(&self, words: Option<String>) {
        if let Some(line) = &self.0 {
            let is_shown = words.is_some();
            *line.doing.borrow_mut() = words;
            if is_shown { line.tick() } else { line.clear() }
        }
    }

    /// Erases the line before other output.
    pub(crate) fn clear(&self) {
        if let Some(line) = &self.0 {
            line.clear();
        }
    }

    /// Records whether data on the terminal ended in the middle of a line.
    pub(crate) fn follows(&self, data: &[u8]) {
        if let (Some(line), Some(last)) = (&self.0, data.last()) {
            line.is_within_line.set(*last != b'\n');
        }
    }

    /// Hides the line until the returned value is dropped, so that the terminal can be used for something else.
    pub(crate) fn hold(&self) -> Held {
        if let Some(line) = &self.0 {
            line.clear();
            line.held.set(line.held.get() + 1);
        }
        Held(self.clone())
    }

    /// Hides the line until the program ends, so that other programs can use the terminal.
    pub(crate) fn give_up(&self) {
        std::mem::forget(self.hold());
    }
}

impl LineState {
    /// Returns the time until the line is next updated or, if it is not shown, until the next check whether to show it.
    fn next(&self) -> Duration {
        if self.bar.borrow().is_some() || self.doing.borrow().is_some() {
            TICK
        } else {
            PATIENCE
                .saturating_sub(self.since.get().elapsed())
                .max(TICK / 2)
        }
    }

    fn tick(&self) {
        let doing = self.doing.borrow();
        let waited = self.since.get().elapsed();
        if self.held.get() > 0
            || self.is_within_line.get()
            || (doing.is_none() && waited < PATIENCE)
        {
            return;
        }
        let words = doing.clone().unwrap_or_else(|| {
            format!(
                "waiting for the server, {} s; Ctrl-C stops",
                waited.as_secs()
            )
        });
        let mut bar = self.bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| {
            let target = ProgressDrawTarget::stderr_with_hz(REFRESHES);
            // The template is valid, so the default is never used.
            let style = ProgressStyle::with_template("{spinner} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            ProgressBar::with_draw_target(None, target).with_style(style)
        });
        bar.set_message(words);
        bar.tick();
    }

    fn clear(&self) {
        self.since.set(Instant::now());
        if let Some(bar) = self.bar.borrow_mut().take() {
            bar.finish_and_clear();
        }
    }
}

/// A guard that erases the line when it is dropped.
struct Erased<'a>(&'a LineState);

impl Drop for Erased<'_> {
    fn drop(&mut self) {
        *self.0.doing.borrow_mut() = None;
        self.0.clear();
    }
}

/// A guard that hides the line until it is dropped.
pub(crate) struct Held(WaitingLine);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(line) = &self.0.0 {
            line.held.set(line.held.get().saturating_sub(1));
            line.since.set(Instant::now());
        }
    }
}
