#![forbid(unsafe_code)]
//! The program z3950, with its arguments and exit code. Data is written to standard output, messages to standard error.

// Nothing that a peer sends may cause a panic; `.clippy.toml` exempts tests from these lints.
#![deny(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

mod answer;
mod args;
mod batch;
mod commands;
mod console;
mod prompt;
mod render;
mod tape;
mod tryout;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::ColorChoice;
use tokio::runtime::{Builder, Runtime};

use args::manual::PROGRAM;
use args::{Cli, Command, Messages, manual};
use commands::{
    convert, decode, get, lookup, plan, probe, query, register, search, target, targets, update,
    url,
};
use console::exit::Exit;
use console::output::{Failure, Output};

fn main() -> ExitCode {
    if PROGRAM.is_asked_for_completions() {
        PROGRAM.complete(std::env::args_os());
        return ExitCode::SUCCESS;
    }
    run(std::env::args_os()).into()
}

/// Runs the program with these arguments, the first of which is the name of the program.
fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(message) => {
            // The message is help, the version or a usage error. A closed pipe is not an error.
            let whole = message.render().to_string();
            let printed = match render::with_short_words(&whole) {
                Cow::Owned(short) if message.use_stderr() => {
                    io::stderr().write_all(short.as_bytes())
                }
                _ => message.print(),
            };
            let printed = printed.and_then(|()| io::stdout().flush());
            return match printed.map_err(Failure::from) {
                _ if message.use_stderr() => Exit::Usage,
                Ok(()) | Err(Failure::BrokenPipe) => Exit::Delivered,
                Err(failure) => {
                    Output::new(ColorChoice::Auto, false, false).error(&failure.to_string());
                    Exit::Unexpected
                }
            };
        }
    };
    console::logging::install(cli.messages.verbose, cli.messages.color);
    // Without this call, a signal ends the program when a file exceeds the size limit. If the call fails, the signal
    // keeps this effect.
    let _ = z3950_files::survive_size_limit();
    let Messages {
        verbose,
        quiet,
        color,
    } = cli.messages;
    let mut output = Output::new(color, verbose > 0, quiet);
    match execute(&cli, &mut output) {
        Ok(exit) => exit,
        Err(Failure::BrokenPipe) => Exit::Delivered,
        Err(failure) => {
            output.error(&failure.to_string());
            match failure {
                Failure::Input { .. } | Failure::Usage(_) => Exit::Usage,
                _ => Exit::Unexpected,
            }
        }
    }
}

fn execute(cli: &Cli, output: &mut Output) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Url(command) => url::run(command, output),
        Command::Register(arguments) => register::run(arguments, output),
        Command::Unregister => register::undo(output),
        Command::Convert(arguments) => convert::run(arguments, output),
        Command::Plan(arguments) => connecting(|| plan::run(arguments, output)),
        Command::Query(command) => query::run(command, output),
        Command::Get(arguments) => connecting(|| get::run(arguments, output)),
        Command::Decode(arguments) => decode::run(arguments, output),
        Command::Completions(arguments) => manual::completions(arguments, output),
        Command::Man(arguments) => manual::page(arguments, output),
        Command::Search(arguments) => connecting(|| search::run(arguments, output)),
        Command::Scan(arguments) => connecting(|| target::run(arguments, output)),
        Command::Explain(arguments) => connecting(|| target::run(arguments, output)),
        Command::Lookup(arguments) => connecting(|| lookup::run(arguments, output)),
        Command::Update(arguments) => connecting(|| update::run(arguments, output)),
        Command::Order(arguments) => connecting(|| target::run(arguments, output)),
        Command::Probe(arguments) => connecting(|| probe::run(arguments, output)),
        Command::Targets(command) => connecting(|| targets::run(command, output)),
        Command::Try(arguments) => threaded(|runtime| tryout::run(arguments, runtime, output)),
        Command::Open(arguments) => threaded(|runtime| prompt::open(arguments, runtime, output)),
    }
}

/// Runs a command that uses the network. All its work is done in the current thread, because starting other threads
/// would take about as long as a request.
// This function is not inlined, because otherwise `execute` would reserve stack space for the futures of all commands.
#[inline(never)]
fn connecting<W>(command: impl FnOnce() -> W) -> Result<Exit, Failure>
where
    W: Future<Output = Result<Exit, Failure>>,
{
    on(&mut Builder::new_current_thread(), |runtime| {
        runtime.block_on(command())
    })
}

/// Runs a command with threads, so that sessions continue while the command waits for input.
fn threaded(command: impl FnOnce(&Runtime) -> Result<Exit, Failure>) -> Result<Exit, Failure> {
    on(Builder::new_multi_thread().worker_threads(2), command)
}

/// How long to wait for background tasks when the program ends.
const SHUTDOWN: Duration = Duration::from_millis(100);

fn on(
    builder: &mut Builder,
    command: impl FnOnce(&Runtime) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| Failure::machine("start the program's threads", &error))?;
    let exit = command(&runtime);
    runtime.shutdown_timeout(SHUTDOWN);
    exit
}
