//! The runtime that a command runs in, and how it ends.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::console::exit::Exit;
use crate::console::output::Failure;

/// Carries out a command that needs the network, in the thread that there is: to start others takes as long as a request.
/// Not part of its caller, where every command would have its place on the stack.
#[inline(never)]
pub(crate) fn connecting<W>(command: impl FnOnce() -> W) -> Result<Exit, Failure>
where
    W: Future<Output = Result<Exit, Failure>>,
{
    let runtime = built(&mut Builder::new_current_thread())?;
    let exit = runtime.block_on(command());
    end(runtime);
    exit
}

/// Threads in which sessions go on while the program waits for a person.
pub(crate) fn threads() -> Result<Runtime, Failure> {
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

pub(crate) fn end(runtime: Runtime) {
    runtime.shutdown_timeout(LAST_WORDS);
}
