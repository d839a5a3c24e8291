//! Many inputs for `get`, `lookup` and `search`: where they come from, where records and answers go, and how a run that was
//! broken off is gone on with. A command without these options is a run of its own with few inputs.

mod arguments;
mod destination;
mod progress;
mod state;
mod writing;

pub(super) use self::arguments::Batch;
pub(super) use self::writing::{Writing, graver, refused};

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::path::Path;

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;

use self::destination::Destination;
use self::progress::Progress;
use self::state::State;
use super::Interrupt;
use super::exit::Exit;
use super::output::{Failure, Output};
use super::report::chain;
use super::url::named;
use crate::batch::{
    Answer, Ask, Asks, Cut, InputError, MAX_INPUT, Records, Report, ReportForm, Resumed, Work,
    resume, run,
};
use crate::client::Lease;
use crate::render::{Format, shown};
use crate::session::Repeat;

/// How many inputs are read ahead of the jobs.
const READ_AHEAD: usize = 64;

/// What a command does with its inputs.
pub(super) struct Job<W> {
    /// What is done with each.
    pub(super) work: W,
    /// Those of the command line itself.
    pub(super) given: Vec<Vec<u8>>,
    /// What each is asked of, by name.
    pub(super) targets: Vec<String>,
    /// How records are written.
    pub(super) format: Format,
    /// How many are asked for at once where no option says.
    pub(super) jobs: usize,
}

/// Carries out all inputs.
pub(super) async fn run_all<W: Work>(
    arguments: &Batch,
    job: Job<W>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let targets = job.targets.iter();
    let targets: Vec<String> = targets.map(|target| shown(target.as_bytes())).collect();
    let progress = Progress::new(arguments, job.given.len(), targets.len());
    let mut asks = Asks::new(arguments.inputs(job.given)?, targets.len());
    arguments.check_files()?;
    let before = match &arguments.report {
        None => None,
        Some(path) => Some(Before::read(path, arguments, &mut asks, &targets)?),
    };
    let resumed = before
        .as_ref()
        .map_or_else(Resumed::default, |before| before.resumed.clone());
    // Nothing is changed before it is known that all can be written.
    let length = resumed.output_length;
    let destination = Destination::open(arguments, job.format, targets.len(), length)?;
    let report = before.map(Before::go_on).transpose()?;
    let mut state = State {
        is_batch: arguments.is_wanted(),
        targets,
        destination,
        report,
        before: resumed.tally.total(),
        tally: resumed.tally,
        progress,
        output,
    };
    state.begin();
    let jobs = arguments.jobs.map_or(job.jobs, usize::from);
    let work = Bounded(job.work);
    let ran = run(feed(asks), jobs, &work, |ask, event| state.take(ask, event));
    let ran = Interrupt.or(ran).await;
    state.end(ran, arguments)
}

/// Work on whole inputs only.
struct Bounded<W>(W);

impl<W: Work> Work for Bounded<W> {
    async fn answer(&self, ask: &Ask, records: &Records) -> Answer {
        if !ask.is_cut {
            return self.0.answer(ask, records).await;
        }
        let words = format!("input {} has more than {MAX_INPUT} octets", ask.position);
        let (piece, answer) = refused(words);
        records.send(piece).await;
        answer
    }
}

/// How often to make a request in a session that others may have used before: only where nobody used it for a while has a
/// server reason to drop it without a word.
pub(super) fn repeat(lease: &Lease) -> Repeat {
    match lease.is_reused() {
        true => Repeat::IfLost,
        false => Repeat::IfUnsent,
    }
}

/// Which target and which input an ask is, as the report has them.
fn names(targets: &[String], ask: &Ask) -> (String, String) {
    let target = targets.get(ask.target).cloned().unwrap_or_default();
    (target, named(&ask.input))
}

/// The asks as they come. Files are read in a thread of their own: standard input may keep it waiting for ever.
fn feed(asks: Asks) -> impl Stream<Item = Result<Ask, InputError>> + Unpin {
    if !asks.are_read() {
        return stream::iter(asks).left_stream();
    }
    let (sender, mut receiver) = mpsc::channel(READ_AHEAD);
    std::thread::spawn(move || {
        for ask in asks {
            if sender.blocking_send(ask).is_err() {
                break;
            }
        }
    });
    stream::poll_fn(move |context| receiver.poll_recv(context)).right_stream()
}

/// A report as it is before a run, and how far it goes.
struct Before {
    file: File,
    name: String,
    form: ReportForm,
    resumed: Resumed,
}

impl Before {
    /// Reads a report, and takes what it has answers to from `asks`. Of a new run, there must be none.
    fn read(
        path: &Path,
        arguments: &Batch,
        asks: &mut Asks,
        targets: &[String],
    ) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let usage = |words: String| Err(Failure::Usage(words));
        let Some(form) = ReportForm::by_extension(path) else {
            return usage(format!(
                "--report {name}: its name must end in .tsv, .json or .jsonl"
            ));
        };
        let file = open(path).map_err(|error| unwritten(&name, &error))?;
        let length = file.metadata().map_err(|error| unwritten(&name, &error))?;
        let resumed = match (length.len(), arguments.resume) {
            (0, false) => Resumed::default(),
            (0, true) => {
                arguments.check_output_is_new()?;
                Resumed::default()
            }
            (_, false) => {
                return usage(format!(
                    "{name} is there already: --resume goes on where it ends; for a new run, remove it"
                ));
            }
            (_, true) => {
                let lines = BufReader::new(&file);
                match resume(lines, form, asks, |ask| names(targets, ask)) {
                    Ok(resumed) => resumed,
                    Err(error) => {
                        return usage(format!("cannot go on with {name}: {}", chain(&error)));
                    }
                }
            }
        };
        arguments.check_output_is_of(&resumed)?;
        Ok(Self {
            file,
            name,
            form,
            resumed,
        })
    }

    /// Cuts a torn last line off, and goes on behind the others.
    fn go_on(mut self) -> Result<Report, Failure> {
        let end = self.resumed.report_length;
        let report = self.file.cut(end).and_then(|()| match end {
            0 => Report::begin(self.file, self.form),
            _ => Ok(Report::after(self.file, self.form)),
        });
        report.map_err(|error| unwritten(&self.name, &error))
    }
}

fn unwritten(name: &str, error: &io::Error) -> Failure {
    Failure::machine("write", &format!("{name}: {error}"))
}

/// Opens a file for reading and writing without touching what it has.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}
