//! The runtimes that commands run in, and how they end.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::console::exit::Exit;
use crate::console::output::Failure;

/// Runs a command that needs the network in this thread: starting others takes as long as a request.
// Not inlined: `execute` would have room on its stack for the futures of all commands.
#[inline(never)]
pub(crate) fn connecting<W>(command: impl FnOnce() -> W) -> Result<Exit, Failure>
where
    W: Future<Output = Result<Exit, Failure>>,
{
    on(&mut Builder::new_current_thread(), |runtime| {
        runtime.block_on(command())
    })
}

/// Runs a command with threads in which sessions continue while the command waits for input.
pub(crate) fn threaded(
    command: impl FnOnce(&Runtime) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    on(Builder::new_multi_thread().worker_threads(2), command)
}

/// How long background tasks may take to end.
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
