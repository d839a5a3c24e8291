//! `z3950 open`: a session URL, and the prompt on the session it opens (RFC 2056 §3).

use std::io::{self, IsTerminal};

use tokio::runtime::Runtime;

use super::args::{Global, Open};
use super::exit::Exit;
use super::input::Lines;
use super::output::{Failure, Output};
use super::url::mode;
use super::{Interrupt, connection, demo, plan_options, timeouts};
use crate::client::{Client, ClientOptions};
use crate::plan::Fallback;
use crate::repl::{self, Input, State, Tape, Taped};
use crate::transport::{Routes, Tcp};

pub(super) fn run(
    arguments: &Open,
    global: &Global,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let options = ClientOptions {
        plan: plan_options(
            &arguments.execution,
            Fallback::default(),
            connection::init(&global.connection)?,
        ),
        timeouts: timeouts(global),
        keep_open: true,
    };
    let tape = Tape::default();
    let routes = match global.demo {
        // Whatever is named, in whatever way, is this server.
        true => Routes::fixed(Tcp::new(runtime.block_on(demo::start())?)),
        false => connection::routes(&global.connection)?,
    };
    let taped = || Taped {
        routes: routes.clone(),
        tape: tape.clone(),
        endpoint: None,
    };
    let client = Client::with_routes(options, Routes::fixed(taped()));
    let records = &arguments.records;
    let mut state = State::new(
        client,
        taped(),
        mode(arguments.execution.strict),
        records.format,
        records.charset,
        arguments.stop_on_error,
    );
    let opening = async {
        let exit = state.own_file(output).await?;
        if state.is_leaving() || state.stops_after(exit) {
            return Ok(exit);
        }
        state.first(arguments.url.as_encoded_bytes(), output).await
    };
    let exit = match runtime.block_on(Interrupt.or(opening)) {
        Ok(exit) => exit?,
        Err(_) => return Ok(Exit::Interrupted),
    };
    if state.stops_after(exit) || !(state.is_open() || state.is_leaving()) {
        runtime.block_on(state.close_all());
        return Ok(exit);
    }
    let input = match io::stdin().is_terminal() {
        true => Input::terminal()?,
        false => Input::Pipe(Lines::stdin()),
    };
    repl::run(&mut state, input, runtime, output)
}
