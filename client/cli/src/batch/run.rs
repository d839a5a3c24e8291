//! A run of a batch. It reads the inputs, opens output and report, and resumes an earlier run. It then writes pieces to
//! the destination, messages to standard error, and answers to the report.

mod state;

use std::task::{Poll, ready};

use futures_util::{Stream, stream};
use tokio::sync::mpsc;

use self::state::BatchState;
use super::arguments::Batch;
use super::inputs::asks;
use super::progress::Progress;
use super::repeats::{EarlierAnswers, Repeats};
use super::report::AskNames;
use crate::answer::{Answer, Ask, Job, Recipient, run};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::render::shown;

/// The number of inputs that are read ahead, before a job needs them. As many more may be waiting for a job.
const READ_AHEAD: usize = 64;

/// Processes all inputs: as a batch if the options require one, and otherwise only the inputs from the command line.
pub(crate) async fn run_all(
    arguments: &Batch,
    mut job: Job<impl AsyncFn(&Ask, &mut Recipient) -> Answer>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if !arguments.is_wanted() {
        return job.print(output).await;
    }
    let targets = job.targets.iter();
    let names = AskNames {
        targets: targets.map(|target| shown(target.as_bytes())).collect(),
        takes_urls: job.takes_urls,
    };
    let targets = names.targets.len();
    let key_of = job.key_of.take();
    let earlier = EarlierAnswers::new(targets, key_of.is_some());
    let progress = Progress::new(
        arguments,
        job.given.len(),
        job.names_records,
        targets,
        output.is_quiet(),
    );
    arguments.check_files()?;
    let given = std::mem::take(&mut job.given);
    let inputs = Repeats::of(arguments.inputs(given, job.names_records)?, key_of);
    let mut asks = asks(inputs, targets).peekable();
    // Open everything before changing anything, so that a failure to open leaves all files as they were.
    let mut state = BatchState::open(
        arguments,
        job.style.clone(),
        names,
        earlier,
        progress,
        output,
    )?;
    let again = state.resume(arguments, &mut asks)?;
    let asks = feed(again.into_iter().map(Ok).chain(asks));
    let ran = run(asks, job.jobs, &job.work, async |ask: &Ask, event| {
        state.take(ask, event)
    });
    let ran = Interrupt.or(ran).await;
    state.end(ran, arguments)
}

/// Returns the `Ask`s as a stream. Inputs are read in another thread, because reading standard input may block
/// indefinitely. That thread is woken once for up to [`READ_AHEAD`] inputs, because waking it takes a good part of the
/// time of a lookup.
fn feed(
    asks: impl Iterator<Item = Result<Ask, Failure>> + Send + 'static,
) -> impl Stream<Item = Result<Ask, Failure>> + Unpin {
    let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
    std::thread::spawn(move || {
        for ask in asks {
            if sender.blocking_send(ask).is_err() {
                break;
            }
        }
    });
    let mut received = Vec::new().into_iter();
    stream::poll_fn(move |context| {
        if received.len() == 0 {
            let mut asks = Vec::with_capacity(READ_AHEAD);
            ready!(receiver.poll_recv_many(context, &mut asks, READ_AHEAD));
            received = asks.into_iter();
        }
        Poll::Ready(received.next())
    })
}
