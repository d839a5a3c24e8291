//! A run of a batch. It reads the inputs, opens output and report, and resumes an earlier run; then it sends pieces to
//! their destination, messages to standard error and answers to the report.

mod state;

use std::collections::BTreeMap;
use std::io::{BufReader, Seek, Write};
use std::iter::Peekable;
use std::path::Path;

use futures_util::{Stream, stream};
use tokio::sync::mpsc;
use z3950_asn1::file::Growing;

use self::state::{AskNames, BatchState, RecordCounts};
use super::arguments::Batch;
use super::destination::Destination;
use super::inputs::asks;
use super::later::LaterAnswers;
use super::progress::Progress;
use super::report::ReportForm;
use super::resume::{Resumed, UnansweredLines, resume};
use super::sync::Syncer;
use crate::answer::{Ask, Job, Work, run};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::render::shown;

/// How many inputs are read ahead of the jobs.
const READ_AHEAD: usize = 64;

/// Carries out all inputs: as a batch if options ask for one, else those of the command line.
pub(crate) async fn run_all<W: Work>(
    arguments: &Batch,
    job: Job<W>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    if !arguments.is_wanted() {
        return job.print(output).await;
    }
    let targets = job.targets.iter();
    let names = AskNames {
        targets: targets.map(|target| shown(target.as_bytes())).collect(),
        takes_urls: W::TAKES_URLS,
    };
    let targets = names.targets.len();
    let progress = Progress::new(arguments, job.given.len(), job.names_records, targets);
    arguments.check_files()?;
    let mut asks = asks(arguments.inputs(job.given, job.names_records)?, targets).peekable();
    // Nothing is changed until everything is open.
    let mut destination = Destination::open(arguments, job.style.clone(), targets)?;
    let mut resumed = Resumed::default();
    let mut report = None;
    let mut later = None;
    if let Some(path) = &arguments.report {
        let (mut file, form);
        (file, form, resumed) = open_report(path, arguments, &destination, &mut asks, &names)?;
        let end = resumed.output_length;
        let known = match &resumed.later {
            Some(lines) => {
                let report = (&mut file, resumed.report_length, form);
                let output = destination.growing().map(|output| (output, end));
                let copied = LaterAnswers::copy(lines, resumed.answers, report, output);
                later = Some(copied.map_err(|error| Failure::unwritten(path, &error))?);
                lines.output_end
            }
            None => end,
        };
        report = Some((go_on(file, form, resumed.report_length)?, form));
        if arguments.resume
            && let Some(part) = destination.cut_back(end, known)?
            && let Some(path) = arguments.file()
        {
            output.note(&format!(
                "moved what {} had after octet {known}, which the report does not account for, to {}",
                path.display(),
                part.display()
            ));
        }
    }
    let again = resumed.later.take().map(|lines| lines.asks);
    let again = again.into_iter().flatten().map(Ok);
    let needs_syncing = report.is_some() || matches!(destination, Destination::Folder { .. });
    let syncer = needs_syncing.then(Syncer::start).transpose();
    let syncer = syncer.map_err(|error| Failure::machine("start the program's threads", &error))?;
    if let (Some((line, _)), Some(path)) = (resumed.ahead, arguments.file()) {
        output.note(&format!(
            "{} lacks the record that line {line} of the report lists: repeating the inputs from there on",
            path.display()
        ));
    }
    match resumed.unanswered {
        0 => {}
        1 => output.note("1 input had no answer and is asked again"),
        count => output.note(&format!("{count} inputs had no answer and are asked again")),
    }
    let mut state = BatchState {
        names,
        destination,
        report,
        report_is_noted: false,
        later,
        syncer,
        of_ask: RecordCounts::default(),
        records: RecordCounts::default(),
        is_torn: false,
        before: resumed.tally.total(),
        unanswered: 0,
        failed: BTreeMap::new(),
        tally: resumed.tally,
        progress,
        output,
    };
    state.begin();
    let ran = run(
        feed(again.chain(asks)),
        job.jobs,
        &job.work,
        async |ask: &Ask, event| state.take(ask, event),
    );
    let ran = Interrupt.or(ran).await;
    state.end(ran, arguments)
}

/// The asks as a stream. Inputs are read in another thread, as standard input may block for ever.
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
    stream::poll_fn(move |context| receiver.poll_recv(context))
}

/// Opens a report and reads how far it goes, taking the asks that it answers from `asks`. A new run refuses an existing
/// report.
fn open_report(
    path: &Path,
    arguments: &Batch,
    destination: &Destination,
    asks: &mut Peekable<impl Iterator<Item = Result<Ask, Failure>>>,
    names: &AskNames,
) -> Result<(Growing, ReportForm, Resumed), Failure> {
    let name = path.display();
    let usage = |words: String| Err(Failure::Usage(words));
    let Some(form) = ReportForm::by_extension(path) else {
        return usage(format!(
            "--report {name}: its name must end in .tsv, .csv, .json or .jsonl"
        ));
    };
    let mut file = arguments.growing(path)?;
    if !arguments.resume {
        return Ok((file, form, Resumed::default()));
    }
    let output = arguments.file().unwrap_or(path).display();
    let found = destination.length();
    let unread = |error| Failure::unwritten(path, &error);
    let mut resumed = Resumed::default();
    if !file.is_empty()
        && let Some(mut lines) = file.read().map_err(unread)?
    {
        let refused = |error| Failure::Usage(format!("cannot resume from {name}: {error}"));
        let unanswered = UnansweredLines::of(BufReader::new(lines), form).map_err(refused)?;
        let unanswered = match destination.takes_back() {
            true => unanswered,
            false => unanswered.at_end(),
        };
        lines.rewind().map_err(unread)?;
        let shown = |ask: &Ask| names.of(ask);
        let is_there = |ask: &Ask, input: &str, length: u64| destination.has(ask, input, length);
        let lines = BufReader::new(lines);
        resumed = resume(lines, form, unanswered, asks, shown, is_there).map_err(refused)?;
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
    let length = resumed.output_length;
    if length > 0 && !destination.has_columns() {
        return usage(format!(
            "cannot resume: {output} has other columns; give the same --format and --fields"
        ));
    }
    if !destination.may_end_record(length) {
        return usage(format!(
            "cannot resume: no record of {output} ends at octet {length}, as {name} says; is --output the file of that run?"
        ));
    }
    Ok((file, form, resumed))
}

/// Cuts off an incomplete line of a report, after which it continues. The header is on disk before the output gets anything,
/// as an output without a report could not be resumed.
fn go_on(mut file: Growing, form: ReportForm, end: u64) -> Result<Growing, Failure> {
    let begun = file.cut(end).and_then(|()| file.begin());
    let begun = begun.and_then(|()| match end {
        0 => file.write_all(form.header().as_bytes()),
        _ => Ok(()),
    });
    match begun.and_then(|()| file.sync()) {
        Ok(()) => Ok(file),
        Err(error) => Err(Failure::unwritten(file.path(), &error)),
    }
}
