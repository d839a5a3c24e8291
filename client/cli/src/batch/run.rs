//! A run of a batch: reads its inputs, opens its output and report, and resumes an earlier run.

use std::io::{BufReader, Seek, Write};
use std::path::Path;

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use z3950_asn1::file::Growing;

use super::arguments::Batch;
use super::destination::Destination;
use super::inputs::Asks;
use super::progress::Progress;
use super::report::ReportForm;
use super::resume::{Resumed, UnansweredTail, resume};
use super::state::{self, BatchState, names};
use super::sync::Syncer;
use crate::answer::{Ask, Job, Work, run};
use crate::console::exit::Exit;
use crate::console::interrupt::Interrupt;
use crate::console::output::{Failure, Output};
use crate::render::{Format, shown};

/// How many inputs are read ahead of the jobs.
const READ_AHEAD: usize = 64;

/// Carries out all inputs.
pub(crate) async fn run_all<W: Work>(
    arguments: &Batch,
    job: Job<W>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let targets = job.targets.iter();
    let targets: Vec<String> = targets.map(|target| shown(target.as_bytes())).collect();
    let progress = Progress::new(arguments, job.given.len(), targets.len());
    arguments.check_files()?;
    let mut asks = Asks::new(arguments.inputs(job.given)?, targets.len());
    // Nothing is changed until everything is open.
    let mut destination = Destination::open(arguments, job.format, targets.len())?;
    let mut resumed = Resumed::default();
    let mut report = None;
    if let Some(path) = &arguments.report {
        let (file, form);
        (file, form, resumed) = open_report(path, arguments, &destination, &mut asks, &targets)?;
        check_end(path, arguments, &destination, job.format, &resumed)?;
        report = Some((go_on(file, form, resumed.report_length)?, form));
        if arguments.resume {
            cut_back(&mut destination, arguments, job.format, &resumed, output)?;
        }
    }
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
        targets,
        destination,
        report,
        report_is_noted: false,
        syncer,
        of_ask: state::RecordCounts::default(),
        records: state::RecordCounts::default(),
        is_torn: false,
        before: resumed.tally.total(),
        unanswered: 0,
        tally: resumed.tally,
        progress,
        output,
    };
    state.begin();
    let ran = run(feed(asks), job.jobs, &job.work, |ask, event| {
        state.take(ask, event)
    });
    let ran = Interrupt.or(ran).await;
    state.end(ran, arguments)
}

/// The asks as a stream. Files are read in another thread, as standard input may block for ever.
fn feed(asks: Asks) -> impl Stream<Item = Result<Ask, Failure>> + Unpin {
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

/// Opens a report and reads how far it goes; takes the asks that it has answers to from `asks`. A new run must not have one.
fn open_report(
    path: &Path,
    arguments: &Batch,
    destination: &Destination,
    asks: &mut Asks,
    targets: &[String],
) -> Result<(Growing, ReportForm, Resumed), Failure> {
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
        let unanswered = UnansweredTail::at_end(BufReader::new(lines), form).map_err(refused)?;
        lines.rewind().map_err(unread)?;
        let shown = |ask: &Ask| names(targets, ask);
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
    Ok((file, form, resumed))
}

/// Refuses an output without the end of a record where the report says.
fn check_end(
    path: &Path,
    arguments: &Batch,
    destination: &Destination,
    format: Format,
    resumed: &Resumed,
) -> Result<(), Failure> {
    let length = resumed.output_length;
    match arguments.file() {
        Some(output) if !destination.may_end_record(length, format) => {
            Err(Failure::Usage(format!(
                "cannot resume: no record of {} ends at octet {length}, as {} says; is --output the file of that run?",
                output.display(),
                path.display()
            )))
        }
        _ => Ok(()),
    }
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

/// Cuts an output to what its report accounts for. The rest, which may have another origin, is kept in another file.
fn cut_back(
    destination: &mut Destination,
    arguments: &Batch,
    format: Format,
    resumed: &Resumed,
    output: &Output,
) -> Result<(), Failure> {
    if !destination.length().is_some_and(|(_, is_there)| is_there) {
        return Ok(());
    }
    let length = resumed.output_length;
    if let Some(part) = destination.keep_after(length, format)?
        && let Some(path) = arguments.file()
    {
        output.note(&format!(
            "moved what {} had after octet {length}, which the report does not account for, to {}",
            path.display(),
            part.display()
        ));
    }
    destination.go_on(length)
}
