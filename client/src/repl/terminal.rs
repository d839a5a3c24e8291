//! The prompt of a person: editing, history in `~/.z3950_history`, the Tab key, and passwords that are not echoed.

use std::borrow::Cow;

use rustyline::completion::{Completer, FilenameCompleter};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};
use z3950_asn1::query::names;

use super::command::{self, Completes};
use super::script::at_home;
use super::settings;
use crate::cli::output::Failure;

/// How many lines are remembered.
const MAX_HISTORY: usize = 1000;

/// An editor on the terminal.
pub(crate) struct Terminal {
    editor: Editor<Assistant, DefaultHistory>,
}

/// What a person typed.
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C: the line is given up.
    GivenUp,
    /// Ctrl-D.
    End,
}

impl Terminal {
    pub(super) fn new() -> Result<Self, Failure> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(|error| Failure::machine("read from the terminal", &error))?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config)
            .map_err(|error| Failure::machine("read from the terminal", &error))?;
        editor.set_helper(Some(Assistant::default()));
        if let Some(path) = at_home(".z3950_history") {
            // There is none the first time.
            let _ = editor.load_history(&path);
        }
        Ok(Self { editor })
    }

    /// The lines of earlier times, oldest first.
    pub(super) fn history(&self) -> Vec<String> {
        self.editor.history().iter().cloned().collect()
    }

    /// The next line; `databases` are offered by the Tab key.
    pub(super) fn line(&mut self, prompt: &str, databases: Vec<String>) -> Result<Typed, Failure> {
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.databases = databases;
        }
        self.read(prompt)
    }

    /// Remembers a line for the arrow keys, and for the next time.
    pub(super) fn remember(&mut self, line: &str) {
        // A line that cannot be remembered can still be carried out.
        let _ = self.editor.add_history_entry(line);
        if let Some(path) = at_home(".z3950_history") {
            let _ = self.editor.append_history(&path);
        }
    }

    /// A line that is not shown.
    pub(super) fn password(&mut self, prompt: &str) -> Result<Typed, Failure> {
        self.hide(true);
        let typed = self.read(prompt);
        self.hide(false);
        typed
    }

    fn hide(&mut self, hides: bool) {
        use rustyline::config::Configurer;
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.hides = hides;
        }
        let mode = match hides {
            // Hiding is done by colouring, whatever the terminal says of colours.
            true => ColorMode::Forced,
            false => ColorMode::Enabled,
        };
        self.editor.set_color_mode(mode);
    }

    fn read(&mut self, prompt: &str) -> Result<Typed, Failure> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Typed::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Typed::GivenUp),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(Failure::machine("read from the terminal", &error)),
        }
    }
}

/// What the editor asks while a line is typed.
#[derive(Default)]
struct Assistant {
    databases: Vec<String>,
    hides: bool,
}

impl Helper for Assistant {}
impl Hinter for Assistant {
    type Hint = String;
}
impl Validator for Assistant {}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match self.hides {
            true => Cow::Owned(" ".repeat(line.chars().count())),
            false => Cow::Borrowed(line),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.hides && kind != CmdKind::MoveCursor
    }
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        if self.hides {
            return Ok((position, Vec::new()));
        }
        let typed = line.get(..position).unwrap_or_default();
        let start = typed
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + 1);
        if of_line(typed) == Some(Completes::Files) {
            let files = FilenameCompleter::new();
            let (start, found) = files.complete(line, position, context)?;
            let found = found.into_iter().map(|pair| pair.replacement);
            return Ok((start, found.collect()));
        }
        Ok((start, self.candidates(typed)))
    }
}

/// What may follow: `None` for the name of a command.
fn of_line(typed: &str) -> Option<Completes> {
    let (name, _) = typed.trim_start().split_once(char::is_whitespace)?;
    Some(command::entry(name).map_or(Completes::Nothing, |entry| entry.completes))
}

impl Assistant {
    /// The words that begin like the last one typed.
    fn candidates(&self, typed: &str) -> Vec<String> {
        let start = typed
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + 1);
        let word = typed.get(start..).unwrap_or_default();
        let commands = || command::all().map(|entry| entry.name.to_owned()).collect();
        let words: Vec<String> = match of_line(typed) {
            None | Some(Completes::Commands) => commands(),
            Some(Completes::Nothing | Completes::Files) => Vec::new(),
            Some(Completes::Databases) => self.databases.clone(),
            Some(Completes::Indexes) => names::TABLE
                .iter()
                .map(|index| format!("{}:", index.name))
                .collect(),
            Some(Completes::Settings) => names_of(settings::NAMES),
            Some(Completes::Words(words)) => names_of(words),
        };
        let lower = word.to_ascii_lowercase();
        let fits = |candidate: &String| candidate.to_ascii_lowercase().starts_with(&lower);
        words.into_iter().filter(fits).collect()
    }
}

fn names_of(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_offered() {
        let assistant = Assistant {
            databases: vec!["books".into(), "serials".into()],
            hides: false,
        };
        for (typed, offered) in [
            ("fi", &["find"][..]),
            ("queryt", &["querytype"]),
            ("base b", &["books"]),
            ("base books s", &["serials"]),
            ("find tit", &["title:"]),
            ("format us", &["usmarc"]),
            ("help hist", &["history"]),
            ("set setn", &["setnames"]),
            ("fund x", &[]),
            ("quit ", &[]),
        ] {
            assert_eq!(assistant.candidates(typed), offered, "{typed}");
        }
    }
}
