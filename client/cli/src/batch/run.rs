//! A run of a batch. It reads the inputs, opens output and report, and resumes an earlier run; then it sends pieces to
//! their destination, messages to standard error and answers to the report.

use std::collections::BTreeMap;
use std::io::{BufReader, Seek, Write};
use std::iter::Peekable;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::sync::mpsc;
use z3950::retrieve::OutcomeName;
use z3950::url::{Locator, Mode};
use z3950_asn1::file::Growing;

use super::arguments::Batch;
use super::destination::Destination;
use super::inputs::asks;
use super::later::LaterAnswers;
use super::progress::Progress;
use super::report::{ReportForm, ReportLine};
use super::resume::{Resumed, Tally, UnansweredLines, resume};
use super::sinks::Remains;
use super::sync::Syncer;
use crate::answer::{Answer, Ask, Event, Job, Work, run};
use crate::console::exit::Exit;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output, Words};
use crate::render::{counted, named, shown};

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

/// What a run writes to, and its results so far.
struct BatchState<'a> {
    names: AskNames,
    destination: Destination,
    report: Option<(Growing, ReportForm)>,
    /// Whether the report was passed to the syncing thread.
    report_is_noted: bool,
    /// Answers of an earlier run that come after inputs that are asked again.
    later: Option<LaterAnswers>,
    syncer: Option<Syncer>,
    /// Counts of the current ask.
    of_ask: RecordCounts,
    /// Counts of all answers of this run.
    records: RecordCounts,
    /// Whether an answer failed after some of its records.
    is_torn: bool,
    /// The number of answers of earlier runs.
    before: u64,
    /// How many inputs had no answer.
    unanswered: u64,
    /// For how many inputs each of several targets failed, and its first message.
    failed: BTreeMap<String, (u64, String)>,
    /// All answers.
    tally: Tally,
    progress: Progress,
    output: &'a mut Output,
}

/// How many records were received, written, and written after a repair.
#[derive(Debug, Clone, Copy, Default)]
struct RecordCounts {
    came: u64,
    written: u64,
    repaired: u64,
}

impl RecordCounts {
    fn add(&mut self, more: Self) {
        self.came += more.came;
        self.written += more.written;
        self.repaired += more.repaired;
    }

    /// `14 of 45 records written, 2 of them repaired`
    fn in_words(self, whose: &str) -> String {
        let written = match self.came > self.written {
            true => format!("{} of {}", self.written, counted(self.came, "record")),
            false => counted(self.written, "record"),
        };
        let repaired = match self.repaired {
            0 => String::new(),
            repaired => format!(", {repaired} of them repaired"),
        };
        format!("{written} written{whose}{repaired}")
    }
}

impl BatchState<'_> {
    /// Reports what earlier runs have done.
    fn begin(&self) {
        if self.before > 0 {
            let words = match (self.before, self.names.targets.len()) {
                (1, 0 | 1) => "1 input was answered before".to_owned(),
                (before, 0 | 1) => format!("{before} inputs were answered before"),
                (before, _) => format!("the report has {before} answers already"),
            };
            self.output.note(&words);
        }
        self.progress.begin(self.before);
    }

    /// Takes an event of an ask. Messages that are in a report are only logged.
    fn take(&mut self, ask: &Ask, event: Event) -> Result<(), Failure> {
        let number = self.names.number(ask);
        self.put_back(number)?;
        match event {
            Event::Piece(piece) => {
                for words in &piece.words {
                    self.say(words);
                }
                let is_written = piece.is_record && !piece.octets.is_empty();
                self.of_ask.add(RecordCounts {
                    came: u64::from(piece.is_record),
                    written: u64::from(is_written),
                    repaired: u64::from(is_written && piece.is_repaired),
                });
                self.destination.write(&piece, self.output)
            }
            Event::Answer(answer, took) => self.answered(ask, *answer, took),
        }
    }

    /// Puts answers of an earlier run back, up to that of the ask with this number.
    fn put_back(&mut self, end: u64) -> Result<(), Failure> {
        let (Some((report, form)), Some(later)) = (&mut self.report, &mut self.later) else {
            return Ok(());
        };
        while later.next().is_some_and(|next| next < end) {
            let unwritten = |error| Failure::unwritten(report.path(), &error);
            let (line, place) = later.take().map_err(unwritten)?;
            let line = match self.destination.put_back(later, place)? {
                Some(length) => form.with_length(&line, length).unwrap_or_default(),
                None => line + "\n",
            };
            let written = report.write_all(line.as_bytes());
            written.map_err(|error| Failure::unwritten(report.path(), &error))?;
        }
        Ok(())
    }

    fn answered(&mut self, ask: &Ask, mut answer: Answer, took: Duration) -> Result<(), Failure> {
        let (mut target, input) = self.names.of(ask);
        if let Some(found) = answer.target.take() {
            target = shown(found.as_bytes());
        }
        let is_unanswered = answer.exit == Exit::Transport;
        let length = match &self.destination {
            // The records of an earlier run stay.
            Destination::Folder { .. } if is_unanswered && self.of_ask.written == 0 => 0,
            _ => self.destination.complete(ask, &input)?,
        };
        for (target, words) in std::mem::take(&mut answer.failed) {
            let (count, _) = self.failed.entry(target).or_insert((0, words));
            *count += 1;
        }
        self.tally.add(answer.exit, answer.outcome);
        self.unanswered += u64::from(is_unanswered);
        let of_ask = std::mem::take(&mut self.of_ask);
        self.records.add(of_ask);
        if of_ask.repaired > 0 {
            let repaired = format!("{} repaired", counted(of_ask.repaired, "record"));
            answer = answer.adding(&repaired);
        }
        self.is_torn |= of_ask.written > 0 && breaks_off(answer.outcome);
        if let Some((report, form)) = &mut self.report {
            let entry = ReportLine {
                position: ask.position,
                target,
                input,
                input_record: ask.control_number(),
                answer,
                took,
                length,
            };
            let written = report.write_all(form.line(&entry).as_bytes());
            written.map_err(|error| Failure::unwritten(report.path(), &error))?;
        }
        let number = self.names.number(ask);
        if let Some((later, (report, _))) = self.later.as_mut().zip(self.report.as_ref())
            && later.next() == Some(number)
        {
            let skipped = later.skip();
            skipped.map_err(|error| Failure::unwritten(report.path(), &error))?;
        }
        self.sync()?;
        self.progress.answered(&self.tally);
        Ok(())
    }

    /// Passes what has been written to the syncing thread.
    fn sync(&mut self) -> Result<(), Failure> {
        let Some(syncer) = &self.syncer else {
            return Ok(());
        };
        let mut written = self.destination.written()?;
        if let Some((report, _)) = &mut self.report
            && !self.report_is_noted
        {
            let handle = report.handle();
            let handle = handle.map_err(|error| Failure::unwritten(report.path(), &error))?;
            written.report = handle.map(Arc::new);
            self.report_is_noted = true;
        }
        syncer.note(written);
        match syncer.has_failed() {
            false => Ok(()),
            true => self.synced(),
        }
    }

    /// Waits until everything is on disk.
    fn synced(&mut self) -> Result<(), Failure> {
        match self.syncer.take().map(Syncer::finish) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Failure::Unwritten(format!(
                "cannot write the output to disk: {error}"
            ))),
        }
    }

    /// `3 inputs: 2 delivered, 1 no match; 2 records written`, the last part if records go to a file.
    fn sum(&self, is_written: bool, is_over: bool) -> String {
        let total = self.tally.total();
        let begin = match (total, self.names.targets.len()) {
            (0, _) if is_over => return "there are no inputs".to_owned(),
            (0, _) => return "no input was completed".to_owned(),
            (_, 0 | 1) => counted(total, "input"),
            (_, targets) => format!("{total} searches at {targets} targets"),
        };
        let end = match (is_written, self.before) {
            (false, _) => String::new(),
            (true, 0) => format!("; {}", self.records.in_words("")),
            (true, _) => format!("; {}", self.records.in_words(" by this run")),
        };
        format!("{begin}: {}{end}", self.tally)
    }

    fn say(&self, words: &Words) {
        match words {
            Words::Note(words) | Words::Warning(words) | Words::Error(words)
                if self.report.is_some() =>
            {
                tracing::info!("{words}");
            }
            Words::Note(words) => tracing::info!("{words}"),
            words => self
                .progress
                .aside(|| self.output.say(std::slice::from_ref(words))),
        }
    }

    /// Ends the run: output and report agree, however it ended.
    fn end(
        mut self,
        ran: Result<Result<(), Failure>, Stopped>,
        arguments: &Batch,
    ) -> Result<Exit, Failure> {
        self.progress.clear();
        let remains = match (&ran, self.is_torn) {
            (Ok(Ok(())), false) => Remains::Answers,
            _ => Remains::Records,
        };
        let has_no_match = self.tally.exits().any(|exit| exit == Exit::NoMatch);
        let is_empty = remains == Remains::Answers && has_no_match;
        // Whether standard output is closed or cannot be written.
        let is_deaf = matches!(&ran, Ok(Err(Failure::BrokenPipe | Failure::Write(_))));
        let is_standard = matches!(self.destination, Destination::Standard(_));
        // After an interruption, the lines without an answer stay too.
        let is_broken = matches!(
            ran,
            Ok(Err(Failure::Unwritten(_)
                | Failure::Write(_)
                | Failure::BrokenPipe))
        );
        let put_back = match self.later.is_some() && !is_broken {
            true => self
                .destination
                .drop_incomplete()
                .and_then(|()| self.put_back(u64::MAX)),
            false => Ok(()),
        };
        let synced = self.synced();
        let is_over = matches!(ran, Ok(Ok(())));
        let sum = self.sum(arguments.file().is_some(), is_over);
        let finished = match is_deaf && is_standard {
            true => Ok(None),
            false => self.destination.finish(remains, is_empty, self.output),
        };
        for (target, (count, words)) in &self.failed {
            let inputs = counted(*count, "input");
            let words = format!("{target} failed for {inputs}: {words}");
            self.output.warning(&words);
        }
        self.output.note(&sum);
        let exit = self.tally.exits().fold(Exit::Delivered, Exit::and);
        let may_go_on = self.report.is_some() && arguments.file().is_some();
        if may_go_on && !matches!(ran, Ok(Ok(()))) {
            let words = "incomplete; the same command with --resume continues from here";
            self.output.note(words);
        } else if may_go_on && self.unanswered > 0 {
            let inputs = counted(self.unanswered, "input");
            self.output.note(&format!(
                "no answer to {inputs}: run the same command with --resume to ask again"
            ));
        }
        if let Ok(Some((part, records))) = &finished {
            let (part, verb) = (part.display(), if *records == 1 { "is" } else { "are" });
            let records = counted(*records, "record");
            self.output
                .note(&format!("incomplete; {records} {verb} in {part}"));
        }
        let exit = match ran {
            Ok(Ok(())) => exit,
            // Without files, a reader such as `head` has what it wants.
            Ok(Err(Failure::BrokenPipe)) if self.report.is_some() || arguments.file().is_some() => {
                let words = "standard output was closed before all inputs were answered";
                return Err(Failure::Unwritten(words.into()));
            }
            Ok(Err(failure)) => return Err(failure),
            Err(Stopped(exit)) => exit,
        };
        put_back?;
        finished?;
        synced?;
        if let Some((report, _)) = &mut self.report {
            let synced = report.sync();
            synced.map_err(|error| Failure::unwritten(report.path(), &error))?;
        }
        Ok(exit)
    }
}

/// How a report names an ask.
#[derive(Debug)]
struct AskNames {
    targets: Vec<String>,
    /// Whether inputs are URLs, possibly malformed.
    takes_urls: bool,
}

impl AskNames {
    /// The number of an ask among all, from 0.
    fn number(&self, ask: &Ask) -> u64 {
        let [targets, target] = [self.targets.len().max(1), ask.target]
            .map(|number| u64::try_from(number).unwrap_or(u64::MAX));
        let before = ask.position.saturating_sub(1);
        before.saturating_mul(targets).saturating_add(target)
    }

    /// The target and the input. Only users and passwords of URLs are left out, so that other inputs can be told apart.
    fn of(&self, ask: &Ask) -> (String, String) {
        let target = self.targets.get(ask.target).cloned().unwrap_or_default();
        let input = ask.input.trim_ascii();
        let is_url = || input.is_ascii() && is_address(input);
        let input = match self.takes_urls || is_url() {
            true => named(input),
            false => shown(input),
        };
        (target, input)
    }
}

/// Whether this is a whole URL with a host.
fn is_address(text: &[u8]) -> bool {
    let has_host = text.windows(3).any(|part| part == b"://");
    has_host && Locator::parse(text, Mode::Lenient).is_ok()
}

/// Whether an outcome means that further records are missing.
fn breaks_off(outcome: OutcomeName) -> bool {
    use OutcomeName as Of;
    // After a reconnection, the search is repeated.
    matches!(
        outcome,
        Of::AccessRefused
            | Of::Closed
            | Of::PresentRefused
            | Of::ProtocolError
            | Of::SearchRefused
            | Of::Unavailable
    )
}
