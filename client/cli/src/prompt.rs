//! `z3950 open` and its prompt (RFC 2056 §3): runs commands from a terminal, a pipe or a file until `quit` or the end
//! of the input, and handles Ctrl-C (Z39.50-2003 §3.2.6.2).
//!
//! `table` contains the list of commands and finds a command by its name. Each group of commands has its own file.

mod browse;
mod command;
mod help;
mod logs;
mod opening;
mod query;
mod questions;
mod records;
mod search;
mod setters;
mod settings;
mod shared;
mod show;
mod state;
mod table;
mod tasks;
mod terminal;
mod titles;
mod waiting;

use std::ffi::OsString;
use std::future::Future;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use z3950::client::{Client, ClientOptions};
use z3950::url::Mode;
use z3950_asn1::apdu::TriggerResourceControlRequest;

use self::command::{CommandResult, Refusal};
use self::questions::{Prompter, Question};
use self::state::{Prompt, SessionContext};
use self::table::Handler;
use self::terminal::{Terminal, Typed, at_home};
use crate::commands::complete;
use crate::commands::connection::{ConnectionOptions, Execution, Setup};
use crate::commands::options::RecordOutput;
use crate::console::exit::Exit;
use crate::console::input::Lines;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::logging::shows_apdus;
use crate::console::output::{Failure, Output};
use crate::console::waiting::WaitingLine;
use crate::render::Format;
use crate::tape::Tape;

/// The maximum nesting depth of files that run other files with `source`.
const MAX_DEPTH: usize = 8;

/// The maximum time for sending the request that stops an operation.
const LONGEST_TRIGGER: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// A session URL, z39.50s://host[:port][/database[?docid]][;esn=element-set][;rs=record-syntax]; a retrieval URL,
    /// whose record becomes the first result; host[:port][/database]; or the name of a target. If omitted, use `open`
    /// at the prompt
    #[arg(value_name = "TARGET", add = complete::target())]
    pub(crate) url: Option<OsString>,

    #[command(flatten)]
    pub(crate) records: RecordOutput,

    #[command(flatten)]
    pub(crate) execution: Execution,

    /// Stop at the first command that fails, and exit with its exit code; a command that finds no record does not count. By default,
    /// a script runs to its end, and the program exits with the most serious exit code of its commands.
    #[arg(long)]
    pub(crate) stop_on_error: bool,

    #[command(flatten)]
    pub(crate) connection: ConnectionOptions,
}

pub(crate) fn open(
    arguments: &Open,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    // The password prompt has to come before the line editor takes over the terminal.
    let setup = runtime.block_on(Setup::read(&arguments.connection))?;
    let (input, asker) = Input::standard(io::stdin().is_terminal())?;
    let mut options = ClientOptions::default();
    let identity = &arguments.connection.identity;
    options.plan = arguments.execution.plan_options(setup.init, identity);
    options.timeouts = setup.timeouts;
    options.awaits_close = shows_apdus();
    let tape = Tape::default();
    let client = Client::with_routes(options, tape.on(setup.routes));
    let context = SessionContext {
        client: client.with_profiles(setup.profiles),
        tape,
        asker,
    };
    let records = &arguments.records;
    // The result is not used, because the format may be changed later; this only checks the options.
    records.style()?;
    let mut state = Prompt::new(
        context,
        arguments.execution.mode(),
        records,
        arguments.stop_on_error,
    );
    let target = arguments.url.as_ref().map(|url| url.as_encoded_bytes());
    state.write_as(records.format(), output)?;
    let exit = run(&mut state, input, target, runtime, output);
    let ended = output.finish();
    exit.and_then(|exit| ended.map(|()| exit))
}

/// The text that `z3950 try` shows before the prompt.
pub(crate) struct Introduction {
    pub(crate) text: String,
    pub(crate) error: Option<String>,
}

/// Opens the session for a URL, and writes what `introduce` returns for the open session. Afterwards, reads commands if
/// standard input and output are terminals. The user's `.z3950rc` is not run, so that all users see the same output.
pub(crate) fn open_introduced(
    (client, tape): (Client, Tape),
    url: &str,
    introduce: impl FnOnce(&Output) -> Introduction,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let is_read = is_at_terminal(output);
    let (mut input, asker) = Input::standard(is_read)?;
    let context = SessionContext {
        client,
        tape,
        asker,
    };
    let mut state = Prompt::new(context, Mode::Lenient, &RecordOutput::default(), false);
    // The introduction already says which session is open, so no greeting is printed.
    state.greets = false;
    let waiting = output.waiting();
    let opened = input.attend(&waiting, state.introduced(url, introduce, output));
    let exit = match runtime.block_on(opened) {
        Ok(exit) => exit?,
        Err(Stopped(exit)) => return Ok(exit),
    };
    state.greets = true;
    let of_commands = if is_read && state.has_session() {
        read(&mut state, &mut input, runtime, output)
    } else {
        Ok(exit)
    };
    runtime.block_on(state.close_all());
    of_commands
}

/// Returns whether standard input and output are terminals, so that a user can type commands and see the results.
pub(crate) fn is_at_terminal(output: &Output) -> bool {
    io::stdin().is_terminal() && output.is_terminal()
}

/// The source of commands, and of the user's answers to questions from servers.
struct Input {
    source: CommandSource,
    questions: mpsc::Receiver<Question>,
}

enum CommandSource {
    /// A user, with line editing and history.
    Terminal(Box<Terminal>),
    /// A file, or a pipe from another program.
    Pipe(Lines),
}

impl Input {
    /// Returns standard input and, if a user is at a terminal, the means to ask the user questions.
    fn standard(is_terminal: bool) -> Result<(Self, Option<Arc<Prompter>>), Failure> {
        let (asker, questions) = questions::channel();
        let source = if is_terminal {
            CommandSource::Terminal(Box::new(Terminal::new()?))
        } else {
            CommandSource::Pipe(Lines::stdin())
        };
        let asker = is_terminal.then(|| Arc::new(asker));
        Ok((Self { source, questions }, asker))
    }

    fn is_terminal(&self) -> bool {
        matches!(self.source, CommandSource::Terminal(_))
    }

    fn next(&mut self, state: &mut Prompt, output: &mut Output) -> Result<Typed, Failure> {
        match &mut self.source {
            CommandSource::Terminal(terminal) => match terminal.line(state, output)? {
                Typed::Line(line) => typed(terminal, state, line),
                other => Ok(other),
            },
            CommandSource::Pipe(lines) => Ok(match lines.next()? {
                Some(line) => String::from_utf8(line).map_or_else(
                    |error| Typed::Malformed(error.utf8_error().valid_up_to()),
                    Typed::Line,
                ),
                None => Typed::End,
            }),
        }
    }

    /// Runs work, and meanwhile passes questions from servers to the user. A signal interrupts the work.
    async fn attend<T>(
        &mut self,
        waiting: &WaitingLine,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        let mut work = pin!(waiting.during(Interrupt.or(work)));
        loop {
            tokio::select! {
                // The work is polled first, so that a signal ends it before the next question is asked.
                biased;
                result = &mut work => return result,
                Some(question) = self.questions.recv() => match &mut self.source {
                    CommandSource::Terminal(terminal) => {
                        let _held = waiting.hold();
                        question.put_to(&mut **terminal);
                    }
                    // A script cannot answer, so the question is dropped.
                    CommandSource::Pipe(_) => {}
                },
            }
        }
    }

    /// After Ctrl-C, discards the lines that were pasted together with the current line.
    fn give_up(&mut self) {
        if let CommandSource::Terminal(terminal) = &mut self.source {
            terminal.give_up();
        }
    }
}

/// Completes a typed line: replaces an empty line with the name of the command that it continues, such as `show` or
/// `scan`, and asks the user for a missing password. A line that contains a secret is not added to the history.
fn typed(terminal: &mut Terminal, state: &mut Prompt, line: String) -> Result<Typed, Failure> {
    let has_stopped = terminal.has_stopped();
    let Some((name, arguments)) = command::split(&line) else {
        if has_stopped {
            return Ok(Typed::Line(line));
        }
        let goes_on = state.goes_on.filter(|_| line.trim().is_empty());
        return Ok(Typed::Line(goes_on.map_or(line, str::to_owned)));
    };
    let entry = table::entry(name);
    let name = entry.map_or("", |entry| entry.name);
    state.goes_on = match name {
        "more" => state.goes_on,
        "show" | "scan" | "titles" => Some(name),
        "find" | "sort" | "sort+" | "list" => Some("titles"),
        "search" | "next" => Some("show"),
        _ => None,
    };
    if !table::is_secret(&line) {
        terminal.remember(&line);
        state.remember(&line);
        return Ok(Typed::Line(line));
    }
    match command::words(arguments).as_slice() {
        [user] if name == "authentication" && user != "-" && !user.contains('/') => {
            match terminal.password("password (none sends the user as an open string): ")? {
                Typed::Line(password) if password.is_empty() => Ok(Typed::Line(line)),
                Typed::Line(password) => Ok(Typed::Line(format!(
                    "{name} {} {}",
                    kept_together(user),
                    kept_together(&password)
                ))),
                _ => Ok(Typed::GivenUp),
            }
        }
        _ => Ok(Typed::Line(line)),
    }
}

/// Quotes text so that it is parsed as one argument.
fn kept_together(text: &str) -> String {
    text.chars()
        .flat_map(|character| ['\\', character])
        .collect()
}

/// Opens the target given on the command line, if there is one, and runs all commands. With `--stop-on-error`, a failed
/// command ends the run.
///
/// A script ends with the most serious exit code of its commands. At a terminal, the exit code means success, unless a
/// signal or `--stop-on-error` ended the run.
fn run(
    state: &mut Prompt,
    mut input: Input,
    target: Option<&[u8]>,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let waiting = output.waiting();
    let begun = input.attend(&waiting, begin(state, target, output));
    let exit = match runtime.block_on(begun) {
        Ok(exit) => exit?,
        Err(Stopped(exit)) => {
            Interrupt.dealt_with();
            exit
        }
    };
    // If the session could not be opened, a user may continue, but a script may not.
    let cannot_begin = target.is_some() && !state.has_session() && !input.is_terminal();
    if !state.is_leaving && (is_to_end(exit) || cannot_begin || state.stops_after(exit)) {
        if cannot_begin {
            output.note("no session is open: the commands are not run");
        }
        runtime.block_on(state.close_all());
        return Ok(exit);
    }
    let of_commands = read(state, &mut input, runtime, output);
    runtime.block_on(state.close_all());
    Ok(if input.is_terminal() {
        of_commands?
    } else {
        exit.and(of_commands?)
    })
}

/// Returns whether a signal ends the program, instead of only the current request.
fn is_to_end(exit: Exit) -> bool {
    exit.is_by_signal() && exit != Exit::Interrupted
}

/// Runs the user's `.z3950rc`, and opens the target given on the command line.
async fn begin(
    state: &mut Prompt,
    target: Option<&[u8]>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let given = state.settings.output;
    let exit = state.own_file(output).await?;
    // A format on the command line takes precedence over the user's own file.
    if given != Format::default() {
        state.write_as(given, output)?;
    }
    match target {
        Some(target) if !(state.is_leaving || state.stops_after(exit)) => {
            Ok(exit.and(state.first(target, output).await?))
        }
        _ => Ok(exit),
    }
}

fn read(
    state: &mut Prompt,
    input: &mut Input,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if let CommandSource::Terminal(terminal) = &input.source {
        terminal
            .history()
            .iter()
            .for_each(|line| state.remember(line));
    }
    let waiting = output.waiting();
    let mut of_all = Exit::Delivered;
    let mut of_stop = None;
    while !state.is_leaving {
        let farewell = state.farewell(runtime.handle().clone());
        let line = match Interrupt.waiting(farewell, || input.next(state, output)) {
            Ok(line) => line?,
            Err(Stopped(exit)) => return Ok(exit),
        };
        let exit = match line {
            Typed::Line(line) => {
                let done = input.attend(&waiting, state.line(&line, output));
                match runtime.block_on(done) {
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
                }
            }
            Typed::Malformed(at) => {
                output.error(&format!("octet {} of the line is not UTF-8", at + 1));
                Exit::Usage
            }
            Typed::GivenUp => continue,
            Typed::End => break,
        };
        if state.stops_after(exit) {
            of_stop = Some(exit);
            break;
        }
        of_all = of_all.and(exit);
    }
    match runtime.block_on(input.attend(&waiting, state.last_responses(output))) {
        Ok(exit) => of_all = of_all.and(exit?),
        Err(Stopped(exit)) => return Ok(of_all.and(exit)),
    }
    let of_terminal = input.is_terminal().then_some(Exit::Delivered);
    Ok(of_stop.or(of_terminal).unwrap_or(of_all))
}

impl Prompt {
    /// Opens the session for a URL, and writes its introduction, in pages on a terminal.
    async fn introduced(
        &mut self,
        url: &str,
        introduce: impl FnOnce(&Output) -> Introduction,
        output: &mut Output,
    ) -> Result<Exit, Failure> {
        let exit = self.first(url.as_bytes(), output).await?;
        let Introduction { text, error } = introduce(output);
        self.pages(output)
            .lines(&text, "the conversations", output)
            .await?;
        if let Some(error) = error {
            output.error(&error);
        }
        Ok(exit)
    }

    /// Runs the command on a line, and returns its exit code.
    async fn line(&mut self, line: &str, output: &mut Output) -> Result<Exit, Failure> {
        let Some((name, arguments)) = command::split(line) else {
            return Ok(Exit::Delivered);
        };
        let Some(entry) = table::entry(name) else {
            output.error(&table::unknown(name, std::iter::empty()));
            return Ok(Exit::Usage);
        };
        if let Some(reason) = table::refuse_short(name, entry, arguments) {
            output.error(reason);
            return Ok(Exit::Usage);
        }
        let answer = match entry.run {
            Handler::There(run) => run(self, arguments, output).await,
            _ => self.run_here(entry, arguments, output),
        };
        self.report_refusal(answer, &entry.usage(), output)
    }

    /// Runs the commands of the user's `.z3950rc`, if there is one.
    async fn own_file(&mut self, output: &mut Output) -> Result<Exit, Failure> {
        let Some(path) = at_home(".z3950rc").filter(|path| path.is_file()) else {
            return Ok(Exit::Delivered);
        };
        let line = format!("source {}", path.display());
        self.line(&line, output).await
    }

    /// Asks the server to stop the current operation after Ctrl-C. If the server continues, its answer is ignored.
    /// Returns a message for the user.
    async fn interrupted(&mut self) -> &'static str {
        self.depth = 0;
        let words = self.reclaim_session();
        if let Some(place) = self.opened().filter(|place| place.session.is_open()) {
            let cancel = TriggerResourceControlRequest::cancel();
            let trigger = place.session.trigger_resource_control(cancel);
            let _ = tokio::time::timeout(LONGEST_TRIGGER, trigger).await;
        }
        words.unwrap_or("interrupted")
    }

    async fn source(&mut self, path: &str, output: &mut Output) -> CommandResult {
        if path.is_empty() {
            return Err(Refusal::Usage);
        }
        if self.depth >= MAX_DEPTH {
            return Err(Refusal::wrong(format!(
                "{path}: source is nested more than {MAX_DEPTH} deep"
            )));
        }
        let mut lines = Lines::open(Path::new(path)).map_err(Refusal::wrong)?;
        let mut exit = Exit::Delivered;
        self.depth += 1;
        while let Some(line) = lines.next().map_err(Refusal::wrong)? {
            let line = String::from_utf8_lossy(&line);
            if let Some((name, arguments)) = command::split(&line) {
                let is_secret = table::is_secret(&line);
                let arguments = if is_secret { "…" } else { arguments };
                output.note(&format!("{path}: {name} {arguments}"));
            }
            exit = exit.and(Box::pin(self.line(&line, output)).await?);
            if self.is_leaving || self.stops_after(exit) {
                break;
            }
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(exit)
    }
}
