//! The program z3950: arguments in, exit code out. Data goes to standard output, words to standard error.

mod args;
mod convert;
mod demo;
mod exit;
mod get;
mod gopher;
pub(crate) mod input;
mod interrupt;
mod logging;
mod open;
pub(crate) mod output;
mod plan;
mod query;
mod register;
mod report;
mod url;

pub(crate) use exit::Exit;
pub(crate) use interrupt::{Interrupt, Stopped};
pub(crate) use query::SORT_LEFT_OUT;
pub(crate) use report::{explain, explain_outcome};
pub(crate) use url::read as read_url;

use std::ffi::OsString;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::client::{Client, ClientOptions};
use crate::plan::{Fallback, PlanOptions};
use crate::transport::Timeouts;
use args::{Cli, Command, Execution, Global};
use output::{Failure, Output};

/// Runs the program with the arguments of the process, its own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(message) => {
            // Help and version are asked for; anything else is wrong usage. A closed pipe is no fault.
            let _ = message.print();
            return if message.use_stderr() {
                Exit::Usage
            } else {
                Exit::Delivered
            };
        }
    };
    logging::install(cli.global.verbose, cli.global.color);
    let mut output = Output::new(cli.global.color);
    match execute(&cli, &mut output) {
        Ok(exit) => exit,
        Err(Failure::BrokenPipe) => Exit::Delivered,
        Err(failure) => {
            output.error(&failure.to_string());
            match failure {
                Failure::Input { .. } => Exit::Usage,
                _ => Exit::Unexpected,
            }
        }
    }
}

fn execute(cli: &Cli, output: &mut Output) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Url(command) => url::run(command, &cli.global, output),
        Command::Register(arguments) => register::run(arguments, output),
        Command::Unregister => register::undo(output),
        Command::Convert(arguments) => convert::run(arguments, output),
        Command::Plan(arguments) => plan::run(arguments, output),
        Command::Query(command) => query::run(command, output),
        Command::Get(arguments) => {
            let runtime = runtime()?;
            let exit = runtime.block_on(get::run(arguments, &cli.global, output));
            end(runtime);
            exit
        }
        Command::Open(arguments) => {
            let runtime = runtime()?;
            let exit = open::run(arguments, &cli.global, &runtime, output);
            end(runtime);
            exit
        }
    }
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::machine("start the program's threads", &error))
}

/// How long tasks in the background may take to end.
const LAST_WORDS: Duration = Duration::from_millis(100);

fn end(runtime: Runtime) {
    runtime.shutdown_timeout(LAST_WORDS);
}

/// The client that the options describe, against the built-in catalogue if `--demo` is given.
async fn client(global: &Global, options: ClientOptions) -> Result<Client, Failure> {
    Ok(match global.demo {
        true => Client::with_resolver(options, demo::start().await?),
        false => Client::new(options),
    })
}

fn timeouts(global: &Global) -> Timeouts {
    Timeouts {
        connect: global.connect_timeout.0,
        answer: global.timeout.0,
        deadline: global.deadline.0.map(|wait| Instant::now() + wait),
        ..Timeouts::default()
    }
}

fn plan_options(execution: &Execution, fallback: Fallback) -> PlanOptions {
    PlanOptions {
        strict: execution.strict,
        strategy: execution.strategy,
        hints: execution.hints,
        auto_present: !execution.no_auto_present,
        allow_reserved_port: execution.allow_reserved_port,
        allow_url_credentials: execution.allow_url_credentials,
        fallback,
        ..PlanOptions::default()
    }
}
