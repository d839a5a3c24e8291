//! What a command of the prompt is, how a line finds its own, and what comes of carrying it out.

use std::future::Future;
use std::pin::Pin;

use z3950::error::Error;
use z3950::target::redacted;
use z3950_asn1::query::nearest;

use super::state::State;
use super::table::{OURS, YAZ};
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::console::report::explain;

/// How a command ended.
pub(super) type Answer = Result<Exit, Stop>;

/// A command being carried out.
pub(super) type Work<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// Why a command was not carried out.
#[derive(Debug)]
pub(super) enum Stop {
    /// The arguments are not those of the table.
    Usage,
    /// In these words; the exit is for `--stop-on-error`.
    Because(Exit, String),
    /// A fault of the machine, which ends the program.
    Machine(Failure),
}

impl Stop {
    /// Something the user wrote cannot be used.
    pub(super) fn wrong(reason: impl Into<String>) -> Self {
        Self::Because(Exit::Usage, reason.into())
    }

    /// A file that cannot be read or written.
    pub(super) fn file(path: &str, error: &impl ToString) -> Self {
        Self::wrong(format!("{path}: {}", error.to_string()))
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Machine(failure)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        let (exit, message) = explain(&error);
        Self::Because(exit, message)
    }
}

/// What carries a command out: the state, the arguments as they were written, and where answers go.
pub(super) enum Run {
    /// Nothing is waited for.
    Here(fn(&mut State, &str, &mut Output) -> Answer),
    /// A server may be waited for.
    There(for<'a> fn(&'a mut State, &'a str, &'a mut Output) -> Work<'a>),
}

/// What the Tab key offers behind the name of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completes {
    Nothing,
    Commands,
    Databases,
    Files,
    /// The names that queries know, each with its colon.
    Indexes,
    Settings,
    /// Targets that are known by name or were opened before.
    Targets,
    /// One of these.
    Words(&'static [&'static str]),
}

/// A command of the table.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) summary: &'static str,
    pub(super) examples: &'static [&'static str],
    pub(super) completes: Completes,
    pub(super) run: Run,
}

impl Entry {
    /// `show [N[+M]]`
    pub(super) fn usage(&self) -> String {
        match self.arguments {
            "" => self.name.to_owned(),
            arguments => format!("{} {arguments}", self.name),
        }
    }

    /// Usage, summary and examples, a line each.
    pub(super) fn help(&self) -> String {
        let mut lines = vec![self.usage(), format!("  {}", self.summary)];
        let examples = self.examples.iter();
        lines.extend(examples.map(|example| format!("  e.g. {example}")));
        lines.join("\n")
    }
}

/// All commands: those of yaz-client in its order, then ours.
pub(super) fn all() -> impl Iterator<Item = &'static Entry> {
    YAZ.iter().chain(OURS)
}

/// The command of a name, or the first of yaz-client's that begins so: ours need their full name.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    let lower = name.to_ascii_lowercase();
    all()
        .find(|entry| entry.name == lower)
        .or_else(|| YAZ.iter().find(|entry| entry.name.starts_with(&lower)))
}

/// Says that there is no such command, and which one may have been meant.
pub(super) fn unknown(name: &str) -> String {
    let hint = match nearest(name, all().map(|entry| entry.name)) {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => "; help lists them".to_owned(),
    };
    format!("unknown command {name}{hint}")
}

/// Name and arguments of a line; `None` if there is nothing on it but blanks or a comment (`# …`). Behind `!` no blank is
/// needed.
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

/// Whether a line is not for other eyes: it may hold a password, in a target or as a setting.
pub(super) fn is_secret(line: &str) -> bool {
    let Some((name, arguments)) = split(line) else {
        return false;
    };
    let Some(entry) = entry(name) else {
        // Mistyped, it may be any of those below.
        return redacted(line) != line || redacted(arguments) != arguments;
    };
    match entry.name {
        "authentication" => true,
        // `@:2100` is this machine; before any other @ stands who one is.
        "open" | "init" | "proxy" => arguments.find('@').is_some_and(|at| at > 0),
        "set" | "settings" | "list_all" => is_secret(arguments),
        _ => false,
    }
}

/// Arguments separated by blanks; quotation marks and backslashes keep them together.
pub(super) fn words(text: &str) -> Vec<String> {
    pieces(text).into_iter().map(|piece| piece.word).collect()
}

/// A text without the single quotes around it, which a shell would have taken off.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''));
    inner.filter(|inner| !inner.contains('\'')).unwrap_or(text)
}

/// A word of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// As it was written.
    pub(super) written: &'a str,
    /// As it was meant: without quotation marks and backslashes.
    pub(super) word: String,
}

impl Piece<'_> {
    /// Whether it is the name of an option, `--count` or `--count=5`.
    pub(super) fn is_option(&self) -> bool {
        let name = self.written.strip_prefix("--");
        name.is_some_and(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
    }
}

/// The words of a line.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
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
                pieces.extend(word.take().map(|word| Piece {
                    written: text.get(start..at).unwrap_or_default(),
                    word,
                }));
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    pieces.extend(word.map(|word| Piece {
        written: text.get(start..).unwrap_or_default(),
        word,
    }));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_takes_the_first_command_of_yaz_client() {
        for (name, found) in [
            ("open", Some("open")),
            ("EXIT", Some("exit")),
            ("e", Some("elements")),
            ("ex", Some("exit")),
            ("f", Some("find")),
            ("fo", Some("format")),
            ("s", Some("show")),
            ("sc", Some("scan")),
            ("so", Some("sort")),
            ("sort+", Some("sort+")),
            ("au", Some("authentication")),
            ("el", Some("elements")),
            ("q", Some("quit")),
            ("set", Some("set")),
            ("sets", Some("setscan")),
            ("save", Some("save")),
            ("sav", None),
            ("us", None),
            ("h", Some("help")),
            ("c", Some("cancel")),
            ("cancel_f", Some("cancel_find")),
            ("set_auto", Some("set_auto_reconnect")),
            ("set_auto_w", Some("set_auto_wait")),
            ("w", Some("wait_response")),
            ("i", Some("itemorder")),
            ("ini", Some("init")),
            (".", Some(".")),
            ("!", Some("!")),
            ("fund", None),
        ] {
            assert_eq!(entry(name).map(|entry| entry.name), found, "{name}");
        }
    }

    #[test]
    fn lines_are_taken_apart() {
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
        let written: Vec<&str> = pieces("a \"b c\"  d\\ e ")
            .iter()
            .map(|piece| piece.written)
            .collect();
        assert_eq!(written, ["a", "\"b c\"", "d\\ e"]);
    }

    #[test]
    fn lines_with_passwords_are_known() {
        for (line, is_it) in [
            ("authentication ada secret", true),
            ("au ada secret", true),
            ("set authentication ada secret", true),
            ("open z39.50s://ada:secret@lib.example/", true),
            ("open connect:ada:secret@proxy.example,lib.example", true),
            ("open @:2100", false),
            ("find a secret", false),
            ("opne ada:secret@lib.example/", true),
            ("opne lib.example/", false),
            ("", false),
        ] {
            assert_eq!(is_secret(line), is_it, "{line}");
        }
    }

    #[test]
    fn every_command_is_there_once_and_every_example_is_its_own() {
        let mut names: Vec<&str> = all().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        for command in all() {
            for example in command.examples {
                let name = split(example).expect(example).0;
                let found = entry(name).expect(example);
                assert_eq!(found.name, command.name, "{example}");
            }
        }
    }
}
