//! The state of a run, which writes pieces to their destination and answers to the report, and prints a summary at the
//! end.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::time::Duration;

use z3950::retrieve::OutcomeName;

use crate::answer::{Answer, Ask, AskEvent};
use crate::batch::arguments::Batch;
use crate::batch::destination::Destination;
use crate::batch::progress::Progress;
use crate::batch::repeats::EarlierAnswers;
use crate::batch::report::{AskNames, Report, ReportLine, Tally};
use crate::batch::sinks::Remains;
use crate::batch::sync::Syncer;
use crate::console::exit::Exit;
use crate::console::interrupt::Stopped;
use crate::console::output::{Failure, Output, Words};
use crate::render::{Style, counted, shown};

/// The files to which a run writes, and its results so far.
pub(super) struct BatchState<'a> {
    names: AskNames,
    destination: Destination,
    report: Option<Report>,
    syncer: Option<Syncer>,
    /// The record counts for the current `Ask`.
    of_ask: RecordCounts,
    /// The record counts for all answers in this run.
    records: RecordCounts,
    /// Whether an answer failed after some of its records had been written.
    is_torn: bool,
    /// The number of answers from earlier runs.
    before: u64,
    /// The number of inputs that had no answer.
    unanswered: u64,
    /// The targets that failed, if the run has several targets. For each of them, the number of inputs for which it
    /// failed, and its first message.
    failed: BTreeMap<String, (u64, String)>,
    /// The number of answers for each exit code and outcome.
    tally: Tally,
    earlier: EarlierAnswers,
    progress: Progress,
    output: &'a mut Output,
}

/// The numbers of records that were received, written, and repaired before writing.
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

    /// Returns the numbers as words, such as `14 of 45 records written, 2 of them repaired`.
    fn in_words(self, whose: &str) -> String {
        let written = if self.came > self.written {
            format!("{} of {}", self.written, counted(self.came, "record"))
        } else {
            counted(self.written, "record")
        };
        let repaired = match self.repaired {
            0 => String::new(),
            repaired => format!(", {repaired} of them repaired"),
        };
        format!("{written} written{whose}{repaired}")
    }
}

impl<'a> BatchState<'a> {
    /// Opens output and report without changing them.
    pub(super) fn open(
        arguments: &Batch,
        style: Style,
        names: AskNames,
        earlier: EarlierAnswers,
        progress: Progress,
        output: &'a mut Output,
    ) -> Result<Self, Failure> {
        let destination = Destination::open(arguments, style, names.targets.len())?;
        let path = arguments.report.as_deref();
        Ok(Self {
            names,
            destination,
            report: path.map(|path| Report::open(path, arguments)).transpose()?,
            syncer: None,
            of_ask: RecordCounts::default(),
            records: RecordCounts::default(),
            is_torn: false,
            before: 0,
            unanswered: 0,
            failed: BTreeMap::new(),
            tally: Tally::default(),
            earlier,
            progress,
            output,
        })
    }

    /// If `--resume` is given, continues an earlier run: removes the `Ask`s that it answered from `asks`, and returns
    /// the `Ask`s without an answer, which are processed again.
    pub(super) fn resume(
        &mut self,
        arguments: &Batch,
        asks: &mut Peekable<impl Iterator<Item = Result<Ask, Failure>>>,
    ) -> Result<Vec<Ask>, Failure> {
        let mut again = Vec::new();
        if let Some(report) = &mut self.report {
            let destination = &mut self.destination;
            let (names, earlier) = (&self.names, &mut self.earlier);
            let resumed =
                report.resume(arguments, destination, asks, names, earlier, self.output)?;
            self.before = resumed.tally.total();
            self.tally = resumed.tally;
            again = resumed.later.map(|lines| lines.asks).unwrap_or_default();
        }
        if self.report.is_some() || matches!(self.destination, Destination::Folder { .. }) {
            let unstarted = |error| Failure::machine("start the program's threads", &error);
            self.syncer = Some(Syncer::start().map_err(unstarted)?);
        }
        if self.before > 0 {
            let words = match (self.before, self.names.targets.len()) {
                (1, 0 | 1) => "1 input was answered before".to_owned(),
                (before, 0 | 1) => format!("{before} inputs were answered before"),
                (before, _) => format!("the report already has {before} answers"),
            };
            self.output.note(&words);
        }
        self.progress.begin(self.before);
        Ok(again)
    }

    /// Handles an event from an `Ask`. A message that also appears in a report is only logged.
    pub(super) fn take(&mut self, ask: &Ask, event: AskEvent) -> Result<(), Failure> {
        if let Some(report) = &mut self.report {
            report.put_back(self.names.number(ask), &mut self.destination)?;
        }
        match event {
            AskEvent::Piece(piece) => {
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
            AskEvent::Answer(answer, took) => self.answered(ask, *answer, took),
        }
    }

    fn answered(&mut self, ask: &Ask, mut answer: Answer, took: Duration) -> Result<(), Failure> {
        let (mut target, input) = self.names.of(ask);
        if let Some(repeated) = self.earlier.answer(ask) {
            answer = repeated;
            let first = ask.repeats.unwrap_or_default();
            let position = ask.position;
            self.say(&Words::Note(format!(
                "input {position}, {input}, is the same as input {first}"
            )));
        }
        if let Some(found) = answer.ending.target.take() {
            target = shown(found.as_bytes());
        }
        let is_unanswered = answer.exit == Exit::Transport;
        let length = match &self.destination {
            // The file may hold records from an earlier run, which an unanswered `Ask` must not remove.
            Destination::Folder { .. } if is_unanswered && self.of_ask.written == 0 => 0,
            _ => self.destination.complete(ask, &input)?,
        };
        for (target, words) in std::mem::take(&mut answer.failed) {
            let (count, _) = self.failed.entry(target).or_insert((0, words));
            *count += 1;
        }
        self.tally.add(answer.exit, answer.ending.outcome);
        self.earlier.add(ask, &target, &answer);
        self.unanswered += u64::from(is_unanswered);
        let of_ask = std::mem::take(&mut self.of_ask);
        self.records.add(of_ask);
        if of_ask.repaired > 0 {
            let repaired = format!("{} repaired", counted(of_ask.repaired, "record"));
            answer = answer.adding(&repaired);
        }
        self.is_torn |= of_ask.written > 0 && breaks_off(answer.ending.outcome);
        if let Some(report) = &mut self.report {
            let line = ReportLine {
                position: ask.position,
                target,
                input,
                input_record: ask.control_number(),
                answer,
                took,
                length,
            };
            report.add(self.names.number(ask), &line)?;
        }
        self.sync()?;
        self.progress.answered(&self.tally);
        Ok(())
    }

    /// Passes the files written since the last call to the thread that syncs them.
    fn sync(&mut self) -> Result<(), Failure> {
        let Some(syncer) = &self.syncer else {
            return Ok(());
        };
        let mut written = self.destination.written()?;
        if let Some(report) = &mut self.report {
            written.report = report.unnoted()?;
        }
        syncer.note(written);
        if syncer.has_failed() {
            self.synced()
        } else {
            Ok(())
        }
    }

    /// Waits until everything that was written is on disk.
    fn synced(&mut self) -> Result<(), Failure> {
        match self.syncer.take().map(Syncer::finish) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Failure::Unwritten(format!(
                "cannot write the output to disk: {error}"
            ))),
        }
    }

    /// Returns a summary such as `3 inputs: 2 delivered, 1 no match; 2 records written`. The last part is present only
    /// if records are written to a file.
    fn sum(&self, is_written: bool, is_over: bool) -> String {
        let total = self.tally.total();
        let begin = match (total, self.names.targets.len()) {
            (0, _) if is_over => return "there are no inputs".to_owned(),
            (0, _) => return "no input was completed".to_owned(),
            (_, 0 | 1) => counted(total, "input"),
            (_, targets) => format!("{total} searches at {targets} targets"),
        };
        let repeats = match self.earlier.repeats {
            0 => String::new(),
            1 => "; 1 repeats an earlier one".to_owned(),
            repeats => format!("; {repeats} repeat earlier ones"),
        };
        let end = match (is_written, self.before) {
            (false, _) => String::new(),
            (true, 0) => format!("; {}", self.records.in_words("")),
            (true, _) => format!("; {}", self.records.in_words(" by this run")),
        };
        format!("{begin}: {}{repeats}{end}", self.tally)
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

    /// Ends the run. Output and report agree afterwards, even if the run failed or was interrupted.
    pub(super) fn end(
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
        // These failures mean that standard output is closed or cannot be written, so the document cannot be ended.
        let is_closed = matches!(&ran, Ok(Err(Failure::BrokenPipe | Failure::Write(_))));
        let is_standard = matches!(self.destination, Destination::Standard(_));
        // An interruption is not a failure to write, so the later lines of the report are put back after an
        // interruption too.
        let is_broken = matches!(
            ran,
            Ok(Err(Failure::Unwritten(_)
                | Failure::Write(_)
                | Failure::BrokenPipe))
        );
        let put_back = match &mut self.report {
            Some(report) if report.has_later() && !is_broken => self
                .destination
                .drop_incomplete()
                .and_then(|()| report.put_back(u64::MAX, &mut self.destination)),
            _ => Ok(()),
        };
        let synced = self.synced();
        let is_over = matches!(ran, Ok(Ok(())));
        let sum = self.sum(arguments.file().is_some(), is_over);
        let finished = if is_closed && is_standard {
            Ok(None)
        } else {
            self.destination.finish(remains, is_empty, self.output)
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
            // If no files are written, a closed output is a success: a reader such as `head` has read all it wants.
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
        if let Some(report) = &mut self.report {
            report.sync()?;
        }
        Ok(exit)
    }
}

/// Returns whether an answer with this outcome may have ended before all of its records were delivered.
fn breaks_off(outcome: OutcomeName) -> bool {
    use OutcomeName as Of;
    // A reconnection repeats the search, so even a refused search can end an answer early.
    matches!(
        outcome,
        Of::AccessRefused
            | Of::Closed
            | Of::PresentRefused
            | Of::ProtocolError
            | Of::SearchRefused
            | Of::SortRefused
            | Of::Unavailable
    )
}
