//! The program z3950: arguments in, exit code out. Data goes to standard output, words to standard error.

mod args;
mod batch;
mod connection;
mod convert;
mod decode;
mod demo;
mod envelope;
mod exit;
mod facets;
mod fallback;
mod get;
mod gopher;
mod help;
pub(crate) mod input;
mod interrupt;
mod logging;
mod lookup;
mod manual;
mod open;
mod order;
pub(crate) mod output;
mod plan;
mod probe;
mod query;
mod register;
mod report;
mod scan;
mod search;
mod target;
mod targets;
mod task;
mod update;
mod url;

pub(crate) use exit::Exit;
pub(crate) use fallback::told;
pub(crate) use interrupt::{Interrupt, Stopped};
pub(crate) use query::{pointed_out, prefixed, remark};
pub(crate) use report::{chain, explain, explain_outcome};
pub(crate) use target::{did_you_mean, is_unresolved};
pub(crate) use task::lines as task_lines;
pub(crate) use url::read as read_url;

use std::ffi::OsString;
use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use args::{Cli, Command, Execution, Network};
use output::{Failure, Output};
use z3950_client::client::{Client, ClientOptions};
use z3950_client::plan::PlanOptions;
use z3950_client::service::init::InitOptions;
use z3950_client::transport::{Tcp, Timeouts};

/// Runs the program with the arguments of the process, its own name first.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
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
    logging::install(cli.messages.verbose, cli.messages.color);
    // Without it a file that grows too large ends the program, and that only then.
    let _ = z3950_asn1::file::survive_size_limit();
    let mut output = Output::new(cli.messages.color);
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
        Command::Plan(arguments) => plan::run(arguments, output),
        Command::Query(command) => query::run(command, output),
        Command::Get(arguments) => connecting(|| get::run(arguments, output)),
        Command::Decode(arguments) => decode::run(arguments, output),
        Command::Completions(shell) => manual::completions(shell, output),
        Command::Man => manual::page(output),
        Command::Search(arguments) => connecting(|| search::run(arguments, output)),
        Command::Scan(arguments) => connecting(|| scan::run(arguments, output)),
        Command::Lookup(arguments) => connecting(|| lookup::run(arguments, output)),
        Command::Update(arguments) => connecting(|| update::run(arguments, output)),
        Command::Order(arguments) => connecting(|| order::run(arguments, output)),
        Command::Probe(arguments) => connecting(|| probe::run(arguments, output)),
        Command::Targets(command) => connecting(|| targets::run(command, output)),
        Command::Open(arguments) => {
            let runtime = runtime()?;
            let exit = open::run(arguments, &runtime, output);
            end(runtime);
            exit
        }
    }
}

/// Carries out a command that needs the network, in the thread that there is: to start others takes as long as a request.
/// Not part of its caller, where every command would have its place on the stack.
#[inline(never)]
fn connecting<W>(command: impl FnOnce() -> W) -> Result<Exit, Failure>
where
    W: Future<Output = Result<Exit, Failure>>,
{
    let runtime = built(&mut Builder::new_current_thread())?;
    let exit = runtime.block_on(command());
    end(runtime);
    exit
}

/// Threads in which sessions go on while the program waits for a person.
fn runtime() -> Result<Runtime, Failure> {
    built(Builder::new_multi_thread().worker_threads(2))
}

fn built(builder: &mut Builder) -> Result<Runtime, Failure> {
    builder
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
async fn client(network: &Network, options: ClientOptions) -> Result<Client, Failure> {
    let routes = connection::routes(network)?;
    Ok(match network.demo {
        // Whatever is named, in whatever way, is this server.
        true => Client::with_connector(options, Tcp::new(demo::start().await?)),
        false => Client::with_routes(options, routes),
    })
}

fn timeouts(network: &Network) -> Timeouts {
    Timeouts {
        connect: network.connect_timeout.0,
        answer: network.timeout.0,
        deadline: network.deadline.0.map(|wait| Instant::now() + wait),
        ..Timeouts::default()
    }
}

fn plan_options(execution: &Execution, init: InitOptions) -> PlanOptions {
    PlanOptions {
        init,
        strict: execution.strict,
        strategy: execution.strategy,
        hints: execution.hints,
        auto_present: !execution.no_auto_present,
        allow_reserved_port: execution.allow_reserved_port,
        allow_url_credentials: execution.allow_url_credentials,
        fallback: execution.fallbacks.allowed(),
        ..PlanOptions::default()
    }
}
