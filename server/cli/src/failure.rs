//! Exit codes and failure messages.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use z3950_marc::text::escape_unprintable;

/// The exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Stopped = 0,
    Unexpected = 1,
    Usage = 2,
    FaultsFound = 8,
    Interrupted = 130,
}

impl Exit {
    /// Returns the more serious of two exit codes.
    pub(crate) fn and(self, other: Self) -> Self {
        let graver = [Self::Interrupted, Self::Unexpected, Self::Usage];
        let mut known = graver.into_iter().chain([Self::FaultsFound]);
        known
            .find(|exit| [self, other].contains(exit))
            .unwrap_or(Self::Stopped)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The reason why the program fails: a message and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) words: String,
}

impl Failure {
    /// Creates a failure for invalid usage, or for something named on the command line that cannot be used.
    pub(crate) fn usage(cause: impl Into<Box<dyn Error>>) -> Self {
        Self {
            exit: Exit::Usage,
            words: chain(&*cause.into()),
        }
    }

    /// Creates a failure for an operation, such as reading a file or binding an address.
    pub(crate) fn cannot(what: &str, cause: impl Into<Box<dyn Error>>) -> Self {
        Self::usage(format!("{what}: {}", chain(&*cause.into())))
    }

    /// Creates a failure for an unexpected system error.
    pub(crate) fn unexpected(cause: io::Error) -> Self {
        Self {
            exit: Exit::Unexpected,
            words: chain(&cause),
        }
    }
}

/// Describes an error and its chain of causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let text = deeper.to_string();
        // Skip a cause that only repeats the words before it, as in `connection refused: Connection refused (os error 111)`.
        let last = words.rsplit(": ").next().unwrap_or_default();
        if !text.to_lowercase().starts_with(&last.to_lowercase()) {
            words.push_str(&format!(": {text}"));
        }
        cause = deeper.source();
    }
    words
}

/// Whether notes and progress messages are suppressed by `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses notes and progress messages from now on; errors and warnings are still printed.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Returns whether notes and progress messages are suppressed.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a message that does not report a problem, in the form of [`complain`], unless notes are suppressed.
pub(crate) fn note(words: &dyn fmt::Display) {
    if !is_quiet() {
        complain(words);
    }
}

/// Prints an error or a warning to standard error, with the name of the program before each line.
pub(crate) fn complain(words: &dyn fmt::Display) {
    for line in words.to_string().lines() {
        // If standard error cannot be written, there is no place left to report the failure.
        let line = escape_unprintable(line, |one| one == '\t');
        let _ = writeln!(io::stderr(), "z3950d: {line}");
    }
}
