//! `z3950 open`: a session by URL, target or name, and the prompt on it (RFC 2056 §3); without one, the prompt alone.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use tokio::runtime::Runtime;
use z3950::transport::{Routes, Tcp};

use crate::args::{Connection, Open};
use crate::commands::url::mode;
use crate::commands::{connection, demo, plan_options, timeouts};
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
    let Connection {
        network,
        known,
        identity,
    } = &arguments.connection;
    let timeouts = timeouts(network);
    let init = connection::init(identity, timeouts.deadline)?;
    let ways = Ways {
        plan: plan_options(&arguments.execution, init),
        timeouts,
        routes: match network.demo {
            // Whatever is named, in whatever way, is this server.
            true => Routes::fixed(Tcp::new(runtime.block_on(demo::start())?)),
            false => connection::routes(network)?,
        },
        tape: Tape::default(),
        profiles: connection::profiles(known)?,
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
