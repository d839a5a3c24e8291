//! The result of a command at the prompt, and the parser for the words on a command line.

use std::str::FromStr;

use z3950::error::Error;

use crate::commands::target::Unanswered;
use crate::console::exit::Exit;
use crate::console::output::Failure;
use crate::console::report::explain;
use z3950::error::chain;

/// The result of a command at the prompt.
pub(super) type CommandResult = Result<Exit, Refusal>;

/// The reason why a command was not performed.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The arguments do not match the usage.
    Usage,
    /// The command failed for this reason. With `--stop-on-error`, the program ends with this exit code.
    Because(Exit, String),
    /// An error occurred on this machine. It ends the program.
    Machine(Failure),
}

impl Refusal {
    /// Creates the refusal for invalid input.
    pub(super) fn wrong(reason: impl ToString) -> Self {
        Self::Because(Exit::Usage, reason.to_string())
    }

    /// Creates the refusal for invalid input. The reason consists of the error's message and those of all its causes.
    pub(super) fn caused(error: impl std::error::Error) -> Self {
        Self::wrong(chain(&error))
    }

    /// Creates the refusal for a file that cannot be read or written.
    pub(super) fn file(path: &str, error: &impl ToString) -> Self {
        Self::wrong(format!("{path}: {}", error.to_string()))
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Machine(failure)
    }
}

impl From<Unanswered> for Refusal {
    fn from(failure: Unanswered) -> Self {
        let (exit, words) = failure.explain();
        Self::Because(exit, words)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let (exit, message) = explain(&error);
        Self::Because(exit, message)
    }
}

/// Splits a line into the name and the arguments of a command. Returns `None` for a blank line or a comment (`# …`). No
/// space is required after the command `!`.
pub(super) fn split(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    if let (Some("!"), Some(arguments)) = (line.get(..1), line.get(1..)) {
        return Some(("!", arguments.trim_start()));
    }
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((name, arguments.trim_start()))
}

/// Splits the arguments of a line at spaces, except those within quotation marks or after a backslash.
pub(super) fn words(text: &str) -> Vec<String> {
    parsed(text).into_iter().map(|word| word.meant).collect()
}

/// Parses a value such as a number. Malformed text is reported as wrong usage.
pub(super) fn number<T: FromStr>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| Refusal::Usage)
}

/// Parses a value such as a number. Returns the default if the text is empty.
pub(super) fn number_or<T: FromStr>(text: &str, default: T) -> Result<T, Refusal> {
    match text {
        "" => Ok(default),
        text => number(text),
    }
}

/// Removes single quotes around text, as a shell would.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''));
    inner.filter(|inner| !inner.contains('\'')).unwrap_or(text)
}

/// The options that consist of a hyphen and one letter. Any other word with a single hyphen may belong to a query.
const SHORT_OPTIONS: [&str; 2] = ["-f", "-n"];

/// A word on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PromptWord<'a> {
    /// The word as written.
    pub(super) written: &'a str,
    /// The value of the word, without quotation marks and backslashes.
    pub(super) meant: String,
}

impl PromptWord<'_> {
    /// Returns whether the word is an option, such as `--count`, `--count=5` or `-n`.
    pub(super) fn is_option(&self) -> bool {
        let name = self.written.strip_prefix("--");
        SHORT_OPTIONS.contains(&self.written)
            || name.is_some_and(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
    }
}

/// Parses the words on a command line.
pub(super) fn parsed(text: &str) -> Vec<PromptWord<'_>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let (mut start, mut is_quoted) = (0, false);
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if word.is_none() {
            start = at;
        }
        match character {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' => {
                let next = characters.next().map(|(_, character)| character);
                word.get_or_insert_default().extend(next);
            }
            blank if blank.is_whitespace() && !is_quoted => {
                words.extend(word.take().map(|meant| PromptWord {
                    written: text.get(start..at).unwrap_or_default(),
                    meant,
                }));
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word.map(|meant| PromptWord {
        written: text.get(start..).unwrap_or_default(),
        meant,
    }));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_into_words() {
        for (line, parts) in [
            ("", None),
            ("  # a remark", None),
            ("quit", Some(("quit", ""))),
            ("!ls -l", Some(("!", "ls -l"))),
            ("! ls -l", Some(("!", "ls -l"))),
            (" f  @attr 1=4 \"a  b\" ", Some(("f", "@attr 1=4 \"a  b\""))),
        ] {
            assert_eq!(split(line), parts, "{line:?}");
        }
        for (text, expected) in [
            ("", &[][..]),
            (" a  b ", &["a", "b"]),
            ("\"a b\" c\\ d \"\"", &["a b", "c d", ""]),
            ("x\"y z", &["xy z"]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
        let written: Vec<&str> = parsed("a \"b c\"  d\\ e ")
            .iter()
            .map(|word| word.written)
            .collect();
        assert_eq!(written, ["a", "\"b c\"", "d\\ e"]);
    }
}
