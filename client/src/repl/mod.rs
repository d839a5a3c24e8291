//! The prompt of a session: commands from a terminal or a pipe, until `quit` or the end of input.
//!
//! `table` lists the commands, `command` finds them; what they do stands in a file for each concern.

mod browse;
mod charsets;
mod command;
mod query;
mod script;
mod search;
mod sessions;
mod setters;
mod settings;
mod show;
mod state;
mod table;
mod tape;
mod tasks;
mod terminal;

pub(crate) use state::State;
pub(crate) use tape::{Tape, Taped};

use tokio::runtime::Runtime;

use crate::cli::input::Lines;
use crate::cli::output::{Failure, Output};
use crate::cli::{Exit, Interrupt, Stopped};
use terminal::{Terminal, Typed};

/// The database searched where none is named, as most servers understand it.
const DEFAULT_DATABASE: &str = "Default";

/// Where commands come from.
pub(crate) enum Input {
    /// A person, with editing and history.
    Terminal(Box<Terminal>),
    /// A file or another program.
    Pipe(Lines),
}

/// What the next line is.
enum Line {
    Text(String),
    /// Not UTF-8, from this octet on. In a query, PQF has \xNN for other octets.
    Malformed(usize),
    /// Ctrl-C while typing: the line is given up.
    GivenUp,
    End,
}

impl Input {
    /// An editor on the terminal.
    pub(crate) fn terminal() -> Result<Self, Failure> {
        Ok(Self::Terminal(Box::new(Terminal::new()?)))
    }

    fn next(&mut self, state: &mut State) -> Result<Line, Failure> {
        match self {
            Self::Terminal(terminal) => {
                let line = match terminal.line(&state.prompt(), state.known_databases())? {
                    Typed::Line(line) => line,
                    Typed::GivenUp => return Ok(Line::GivenUp),
                    Typed::End => return Ok(Line::End),
                };
                typed(terminal, state, line)
            }
            Self::Pipe(lines) => Ok(match lines.next()? {
                Some(line) => String::from_utf8(line).map_or_else(
                    |error| Line::Malformed(error.utf8_error().valid_up_to()),
                    Line::Text,
                ),
                None => Line::End,
            }),
        }
    }
}

/// A line as it was meant: Enter alone goes on with `show` and `scan`, a password that was left out is asked for. Lines
/// with secrets are not remembered.
fn typed(terminal: &mut Terminal, state: &mut State, line: String) -> Result<Line, Failure> {
    let Some((name, arguments)) = command::split(&line) else {
        let goes_on = state.goes_on.filter(|_| line.trim().is_empty());
        return Ok(Line::Text(goes_on.map_or(line, str::to_owned)));
    };
    let entry = command::entry(name);
    let name = entry.map_or("", |entry| entry.name);
    state.goes_on = Some(name).filter(|name| matches!(*name, "show" | "scan"));
    if !command::is_secret(&line) {
        terminal.remember(&line);
        state.remember(&line);
        return Ok(Line::Text(line));
    }
    match command::words(arguments).as_slice() {
        [user] if name == "authentication" && user != "-" && !user.contains('/') => {
            match terminal.password("password (none sends the user as an open string): ")? {
                Typed::Line(password) if password.is_empty() => Ok(Line::Text(line)),
                Typed::Line(password) => Ok(Line::Text(format!(
                    "{name} {} {}",
                    kept_together(user),
                    kept_together(&password)
                ))),
                Typed::GivenUp | Typed::End => Ok(Line::GivenUp),
            }
        }
        _ => Ok(Line::Text(line)),
    }
}

/// The text as one argument.
fn kept_together(text: &str) -> String {
    text.chars()
        .flat_map(|character| ['\\', character])
        .collect()
}

/// Carries out commands until the last, or the first that fails if the state says so.
pub(crate) fn run(
    state: &mut State,
    mut input: Input,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Input::Terminal(terminal) = &input {
        terminal
            .history()
            .iter()
            .for_each(|line| state.remember(line));
    }
    while !state.is_leaving() {
        let exit = match input.next(state)? {
            Line::Text(line) => match runtime.block_on(Interrupt.or(state.line(&line, output))) {
                Ok(exit) => exit?,
                Err(Stopped) => {
                    runtime.block_on(state.interrupted());
                    output.error("interrupted");
                    Exit::Interrupted
                }
            },
            Line::Malformed(at) => {
                output.error(&format!("the line is not UTF-8 from octet {at} on"));
                Exit::Usage
            }
            Line::GivenUp => continue,
            Line::End => break,
        };
        if state.stops_after(exit) {
            runtime.block_on(state.close_all());
            return Ok(exit);
        }
    }
    runtime.block_on(state.close_all());
    Ok(Exit::Delivered)
}
