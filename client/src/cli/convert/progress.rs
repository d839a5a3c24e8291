//! How far a long conversion has come, on one line of a terminal that is wiped out again.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Conversions that end within this time show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line changes.
const INTERVAL: Duration = Duration::from_millis(200);
/// The clock is looked at once in so many records.
const STRIDE: u64 = 256;

/// The line, if there is a terminal for it.
pub(super) struct Progress {
    enabled: bool,
    shown: bool,
    next: Instant,
}

impl Progress {
    /// Shows itself where standard error is a terminal and standard output does not fill one.
    pub(super) fn new() -> Self {
        Self {
            enabled: io::stderr().is_terminal() && !io::stdout().is_terminal(),
            shown: false,
            next: Instant::now() + PATIENCE,
        }
    }

    /// So many records have been read, and so many octets of a file of that size.
    pub(super) fn at(&mut self, records: u64, octets: u64, size: Option<u64>) {
        if !self.enabled || records % STRIDE != 0 || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + INTERVAL;
        self.shown = true;
        let share = size
            .filter(|size| *size > 0)
            .map(|size| format!(", {} %", octets.min(size).saturating_mul(100) / size));
        let line = format!("\r\x1b[K{records} records{}", share.unwrap_or_default());
        // Without a terminal any more, there is nobody to show it to.
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// Wipes the line out, so that something else can be written.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
