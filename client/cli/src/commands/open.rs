//! `z3950 open`: a session by URL, target or name, and the prompt on it (RFC 2056 §3); without one, the prompt alone.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use tokio::runtime::Runtime;
use z3950::client::{Client, ClientOptions};

use crate::args::Open;
use crate::commands::connection::{Setup, plan_options};
use crate::commands::url::mode;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};
use crate::prompt::{self, Input, State, Tape, Ways};
use crate::render::Format;

pub(crate) fn run(
    arguments: &Open,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (asker, questions) = prompt::questions();
    let is_terminal = io::stdin().is_terminal();
    let input = match is_terminal {
        true => Input::terminal(questions)?,
        false => Input::pipe(questions),
    };
    let setup = runtime.block_on(Setup::read(&arguments.connection))?;
    let mut options = ClientOptions::default();
    options.plan = plan_options(&arguments.execution, setup.init);
    options.timeouts = setup.timeouts;
    let tape = Tape::default();
    let client = Client::with_routes(options, tape.on(setup.routes));
    let ways = Ways {
        client: client.with_profiles(setup.profiles),
        tape,
        asker: is_terminal.then(|| Arc::new(asker)),
    };
    let records = &arguments.records;
    let mut state = State::new(
        ways,
        mode(arguments.execution.strict),
        records.format,
        records.charset,
        arguments.stop_on_error,
    );
    let target = arguments.url.as_ref().map(|url| url.as_encoded_bytes());
    if !is_terminal && !matches!(records.format, Format::Text | Format::Brief) {
        output.gather();
    }
    let exit = prompt::run(&mut state, input, target, runtime, output);
    let ended = output.finish();
    exit.and_then(|exit| ended.map(|()| exit))
}
