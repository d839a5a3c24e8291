//! The prompt of a session: commands from a terminal or a pipe, until `quit` or the end of input.

mod command;
mod query;
mod state;

pub(crate) use state::State;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::runtime::Runtime;

use crate::cli::input::Lines;
use crate::cli::output::{Failure, Output};
use crate::cli::{Exit, Interrupt, Stopped};
use command::{Command, CommandError};

/// Where commands come from.
pub(crate) enum Input {
    /// A person, with editing and history.
    Terminal(Box<DefaultEditor>),
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
        let editor = DefaultEditor::new()
            .map_err(|error| Failure::machine("read from the terminal", &error))?;
        Ok(Self::Terminal(Box::new(editor)))
    }

    fn next(&mut self) -> Result<Line, Failure> {
        match self {
            Self::Terminal(editor) => match editor.readline("z3950> ") {
                Ok(line) => {
                    // A line that cannot be remembered can still be carried out.
                    let _ = editor.add_history_entry(&line);
                    Ok(Line::Text(line))
                }
                Err(ReadlineError::Interrupted) => Ok(Line::GivenUp),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(error) => Err(Failure::machine("read from the terminal", &error)),
            },
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

/// Carries out commands until the last, or the first that fails if `stop_on_error` is set.
pub(crate) fn run(
    state: &mut State,
    mut input: Input,
    stop_on_error: bool,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    loop {
        let line = match input.next()? {
            Line::Text(line) => Ok(line),
            Line::Malformed(at) => Err(CommandError::Malformed(at)),
            Line::GivenUp => continue,
            Line::End => break,
        };
        let exit = match line.and_then(|line| command::parse(&line)) {
            Ok(None) => continue,
            Ok(Some(Command::Quit)) => break,
            Ok(Some(command)) => {
                match runtime.block_on(Interrupt.or(state.execute(command, output))) {
                    Ok(exit) => exit?,
                    Err(Stopped) => {
                        output.error("interrupted");
                        Exit::Interrupted
                    }
                }
            }
            Err(error) => {
                output.error(&error.to_string());
                error.exit()
            }
        };
        if stop_on_error && exit != Exit::Delivered {
            runtime.block_on(state.close_all());
            return Ok(exit);
        }
    }
    runtime.block_on(state.close_all());
    Ok(Exit::Delivered)
}
