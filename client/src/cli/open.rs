//! `z3950 open`: a session URL, and the prompt on the session it opens (RFC 2056 §3).

use std::io::{self, IsTerminal};

use tokio::runtime::Runtime;

use super::args::{Global, Open};
use super::exit::Exit;
use super::input::Lines;
use super::output::{Failure, Output};
use super::url::mode;
use super::{Interrupt, client, plan_options, timeouts};
use crate::client::ClientOptions;
use crate::plan::Fallback;
use crate::render::Document;
use crate::repl::{self, Input, State};

pub(super) fn run(
    arguments: &Open,
    global: &Global,
    runtime: &Runtime,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let options = ClientOptions {
        plan: plan_options(&arguments.execution, Fallback::default()),
        timeouts: timeouts(global),
        keep_open: true,
    };
    let client = runtime.block_on(client(global, options))?;
    let document = Document::new(arguments.format, arguments.charset);
    let mut state = State::new(client, mode(arguments.execution.strict), document);
    let opening = state.open(arguments.url.as_encoded_bytes(), output);
    let exit = match runtime.block_on(Interrupt.or(opening)) {
        Ok(exit) => exit?,
        Err(_) => return Ok(Exit::Interrupted),
    };
    if exit != Exit::Delivered && (arguments.stop_on_error || !state.is_open()) {
        runtime.block_on(state.close_all());
        return Ok(exit);
    }
    let input = match io::stdin().is_terminal() {
        true => Input::terminal()?,
        false => Input::Pipe(Lines::stdin()),
    };
    repl::run(&mut state, input, arguments.stop_on_error, runtime, output)
}
