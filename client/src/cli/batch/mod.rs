//! Many inputs for `get`, `lookup` and `search`: where they come from, where records and answers go, and how a run that was
//! broken off is gone on with. A command without these options is a run of its own with few inputs.

mod arguments;
mod destination;
mod progress;
mod state;
mod writing;

pub(super) use self::arguments::Batch;
pub(super) use self::writing::{Writing, graver, refused};

use std::io::BufReader;
use std::path::Path;

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use z3950_asn1::file::Growing;

use self::destination::Destination;
use self::progress::Progress;
use self::state::State;
use super::Interrupt;
use super::exit::Exit;
use super::output::{Failure, Output};
use super::report::chain;
use super::url::named;
use crate::batch::{
    Answer, Ask, Asks, InputError, MAX_INPUT, Records, Report, ReportForm, Resumed, Syncer, Work,
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
    arguments.check_files()?;
    let mut asks = Asks::new(arguments.inputs(job.given)?, targets.len());
    // Nothing is changed before it is known that all can be written.
    let mut destination = Destination::open(arguments, job.format, targets.len())?;
    let mut resumed = Resumed::default();
    let mut report = None;
    if let Some(path) = &arguments.report {
        let before = Before::read(path, arguments, &destination, &mut asks, &targets)?;
        resumed = before.resumed.clone();
        if !destination.may_end_record(resumed.output_length, job.format)
            && let Some(output) = arguments.file()
        {
            return Err(Failure::Usage(format!(
                "cannot resume: no record of {} ends at octet {}, as {} says; is --output the file of that run?",
                output.display(),
                resumed.output_length,
                path.display()
            )));
        }
        report = Some((before.go_on(path)?, path.clone()));
        if arguments.resume && destination.length().is_some_and(|(_, is_there)| is_there) {
            if let Some(part) = destination.keep_after(resumed.output_length)?
                && let Some(path) = arguments.file()
            {
                output.note(&format!(
                    "{} has more data after octet {} than an interrupted run leaves; it has been moved to {}",
                    path.display(),
                    resumed.output_length,
                    part.display()
                ));
            }
            destination.go_on(resumed.output_length)?;
        }
    }
    let needs_syncing = report.is_some() || matches!(destination, Destination::Folder { .. });
    let syncer = match needs_syncing {
        true => Some(Syncer::start()),
        false => None,
    };
    let syncer = syncer.transpose();
    let syncer = syncer.map_err(|error| Failure::machine("start the program's threads", &error))?;
    if let (Some((line, _)), Some(path)) = (resumed.ahead, arguments.file()) {
        output.note(&format!(
            "{} lacks the record that line {line} of the report lists: repeating the inputs from there on",
            path.display()
        ));
    }
    let mut state = State {
        is_batch: arguments.is_wanted(),
        targets,
        destination,
        report,
        report_is_noted: false,
        syncer,
        written: 0,
        is_torn: false,
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
    file: Growing,
    form: ReportForm,
    resumed: Resumed,
}

impl Before {
    /// Reads a report, and takes what it has answers to from `asks`, as far as the output has their records. Of a new run,
    /// there must be none.
    fn read(
        path: &Path,
        arguments: &Batch,
        destination: &Destination,
        asks: &mut Asks,
        targets: &[String],
    ) -> Result<Self, Failure> {
        let name = path.display();
        let usage = |words: String| Err(Failure::Usage(words));
        let Some(form) = ReportForm::by_extension(path) else {
            return usage(format!(
                "--report {name}: its name must end in .tsv, .json or .jsonl"
            ));
        };
        let file = match arguments.resume {
            true => Growing::resume(path),
            false => Growing::create(path, arguments.existing()),
        };
        let mut file = file.map_err(|error| Failure::unopened(&error, arguments.hint()))?;
        let mut resumed = Resumed::default();
        if !arguments.resume {
            return Ok(Self {
                file,
                form,
                resumed,
            });
        }
        let output = arguments.file().unwrap_or(path).display();
        let found = destination.length();
        if let Some(lines) = file
            .read()
            .map_err(|error| Failure::unwritten(path, &error))?
            && lines.metadata().is_ok_and(|data| data.len() > 0)
        {
            let shown = |ask: &Ask| names(targets, ask);
            let is_there =
                |ask: &Ask, input: &str, length: u64| destination.has(ask, input, length);
            resumed = match resume(BufReader::new(lines), form, asks, shown, is_there) {
                Ok(resumed) => resumed,
                Err(error) => {
                    return usage(format!("cannot resume from {name}: {}", chain(&error)));
                }
            };
            if let (Some((line, length)), Some((_, false))) = (resumed.ahead, found) {
                return usage(format!(
                    "cannot resume: {output} does not exist, but line {line} of {name} says that it has {length} octets"
                ));
            }
        } else if let Some((1.., _)) = found
            && !file.exists()
        {
            return usage(format!(
                "cannot resume: {output} has records, but there is no report {name}; name the report of that run"
            ));
        }
        Ok(Self {
            file,
            form,
            resumed,
        })
    }

    /// Cuts off what is not a complete line, and goes on after the others. What the report begins with is on the disk before
    /// the output gets anything: an output without a report would be nobody's.
    fn go_on(mut self, path: &Path) -> Result<Report, Failure> {
        let end = self.resumed.report_length;
        let begun = self.file.cut(end).and_then(|()| self.file.begin());
        let report = begun.and_then(|()| match end {
            0 => Report::begin(self.file, self.form),
            _ => Ok(Report::after(self.file, self.form)),
        });
        let report = report.and_then(|mut report| report.to().sync().map(|()| report));
        report.map_err(|error| Failure::unwritten(path, &error))
    }
}
