//! The prompt of a session: commands from a terminal or a pipe, until `quit` or the end of input.
//!
//! `table` lists the commands, `command` finds them; what they do stands in a file for each concern.

mod browse;
mod charsets;
mod command;
mod facets;
mod help;
mod makeurl;
mod opening;
mod query;
mod questions;
mod save;
mod script;
mod search;
mod sessions;
mod setters;
mod settings;
mod shared;
mod show;
mod state;
mod table;
mod tape;
mod tasks;
mod terminal;
mod waiting;

use std::future::Future;
use std::pin::pin;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::console::exit::Exit;
use crate::console::input::Lines;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output};
pub(crate) use opening::Ways;
pub(crate) use questions::{Question, questions};
pub(crate) use state::State;
pub(crate) use tape::Tape;
use terminal::{Terminal, Typed};

/// The database searched where none is named, as most servers understand it.
const DEFAULT_DATABASE: &str = "Default";

/// Where commands come from, and answers to what servers ask.
pub(crate) struct Input {
    source: Source,
    questions: mpsc::Receiver<Question>,
}

enum Source {
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
    /// An editor on the terminal, where questions are answered too.
    pub(crate) fn terminal(questions: mpsc::Receiver<Question>) -> Result<Self, Failure> {
        let source = Source::Terminal(Box::new(Terminal::new()?));
        Ok(Self { source, questions })
    }

    /// Standard input, which answers no questions.
    pub(crate) fn pipe(questions: mpsc::Receiver<Question>) -> Self {
        let source = Source::Pipe(Lines::stdin());
        Self { source, questions }
    }

    fn is_terminal(&self) -> bool {
        matches!(self.source, Source::Terminal(_))
    }

    fn next(&mut self, state: &mut State, output: &mut Output) -> Result<Line, Failure> {
        match &mut self.source {
            Source::Terminal(terminal) => match terminal.line(state, output)? {
                Typed::Line(line) => typed(terminal, state, line),
                Typed::GivenUp => Ok(Line::GivenUp),
                Typed::End => Ok(Line::End),
            },
            Source::Pipe(lines) => Ok(match lines.next()? {
                Some(line) => String::from_utf8(line).map_or_else(
                    |error| Line::Malformed(error.utf8_error().valid_up_to()),
                    Line::Text,
                ),
                None => Line::End,
            }),
        }
    }

    /// Does work that a server has a part in, while what it asks is answered and a signal ends it.
    async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Stopped> {
        let mut work = pin!(Interrupt.or(work));
        loop {
            tokio::select! {
                result = &mut work => return result,
                Some(question) = self.questions.recv() => match &mut self.source {
                    Source::Terminal(terminal) => question.put_to(&mut **terminal),
                    // Nobody is there: dropping the question gives no answer.
                    Source::Pipe(_) => {}
                },
            }
        }
    }

    /// After Ctrl-C, lines that were pasted with the one given up are not carried out.
    fn give_up(&mut self) {
        if let Source::Terminal(terminal) = &mut self.source {
            terminal.give_up();
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

/// Opens the session of the command line, if it names one, and carries out commands until the last, or the first that
/// fails if the state says so.
///
/// A script ends with the gravest exit of its commands; a person has seen what became of each.
pub(crate) fn run(
    state: &mut State,
    mut input: Input,
    target: Option<&[u8]>,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let exit = match runtime.block_on(input.attend(begin(state, target, output))) {
        Ok(exit) => exit?,
        Err(Stopped(exit)) => {
            Interrupt.dealt_with();
            exit
        }
    };
    // A person goes on from what could not be opened; a script does not.
    let is_in_vain = target.is_some() && !state.has_session() && !input.is_terminal();
    if !state.is_leaving() && (is_to_end(exit) || is_in_vain || state.stops_after(exit)) {
        if is_in_vain {
            output.note("no session is open: the commands are not run");
        }
        runtime.block_on(state.close_all());
        return Ok(exit);
    }
    let of_commands = read(state, &mut input, runtime, output);
    runtime.block_on(state.close_all());
    Ok(match input.is_terminal() {
        true => of_commands?,
        false => exit.and(of_commands?),
    })
}

/// Whether a signal came that ends the whole program, not one request.
fn is_to_end(exit: Exit) -> bool {
    exit.is_by_signal() && exit != Exit::Interrupted
}

/// What comes before the first line: the user's own file, and the target of the command line.
async fn begin(
    state: &mut State,
    target: Option<&[u8]>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let exit = state.own_file(output).await?;
    match target {
        Some(target) if !(state.is_leaving() || state.stops_after(exit)) => {
            Ok(exit.and(state.first(target, output).await?))
        }
        _ => Ok(exit),
    }
}

fn read(
    state: &mut State,
    input: &mut Input,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let Source::Terminal(terminal) = &input.source {
        terminal
            .history()
            .iter()
            .for_each(|line| state.remember(line));
    }
    let mut of_all = Exit::Delivered;
    while !state.is_leaving() {
        let farewell = state.farewell(runtime.handle().clone());
        let line = match Interrupt.waiting(farewell, || input.next(state, output)) {
            Ok(line) => line?,
            Err(Stopped(exit)) => return Ok(exit),
        };
        let exit = match line {
            Line::Text(line) => match runtime.block_on(input.attend(state.line(&line, output))) {
                Ok(exit) => exit?,
                Err(Stopped(exit)) if is_to_end(exit) => {
                    output.error("interrupted");
                    return Ok(exit);
                }
                Err(Stopped(exit)) => {
                    Interrupt.dealt_with();
                    input.give_up();
                    let words = runtime.block_on(state.interrupted());
                    output.error(words);
                    exit
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
            return Ok(exit);
        }
        of_all = of_all.and(exit);
    }
    Ok(match input.is_terminal() {
        true => Exit::Delivered,
        false => of_all,
    })
}
