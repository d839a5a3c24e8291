//! A run in progress: sends pieces to their destination, messages to standard error and answers to the report; and its end.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use z3950::retrieve::OutcomeName;
use z3950_asn1::file::Growing;

use super::arguments::Batch;
use super::destination::Destination;
use super::progress::Progress;
use super::report::{ReportForm, ReportLine};
use super::resume::Tally;
use super::sinks::Remains;
use super::sync::Syncer;
use crate::answer::{Answer, Ask, Event};
use crate::console::exit::Exit;
use crate::console::interrupt::Stopped;
use crate::console::output::{Failure, Output, Words};
use crate::render::{counted, named};

/// What a run writes to, and its results so far.
pub(super) struct BatchState<'a> {
    /// The targets, as the report has them.
    pub(super) targets: Vec<String>,
    pub(super) destination: Destination,
    pub(super) report: Option<(Growing, ReportForm)>,
    /// Whether the syncing thread knows the report.
    pub(super) report_is_noted: bool,
    pub(super) syncer: Option<Syncer>,
    /// RecordCounts of the current ask.
    pub(super) of_ask: RecordCounts,
    /// RecordCounts of all answers of this run.
    pub(super) records: RecordCounts,
    /// Whether an answer failed after some of its records.
    pub(super) is_torn: bool,
    /// The number of answers of earlier runs.
    pub(super) before: u64,
    /// How many of the last inputs had no answer.
    pub(super) unanswered: u64,
    /// All answers.
    pub(super) tally: Tally,
    pub(super) progress: Progress,
    pub(super) output: &'a mut Output,
}

/// How many records were received, written, and of those repaired.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecordCounts {
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
    /// Says what earlier runs have done.
    pub(super) fn begin(&self) {
        if self.before > 0 {
            let words = match (self.before, self.targets.len()) {
                (1, 0 | 1) => "1 input was answered before".to_owned(),
                (before, 0 | 1) => format!("{before} inputs were answered before"),
                (before, _) => format!("the report has {before} answers already"),
            };
            self.output.note(&words);
        }
        self.progress.begin(self.before);
    }

    /// Takes an event of an ask. Messages that are in a report are only logged.
    pub(super) fn take(&mut self, ask: &Ask, event: Event) -> Result<(), Failure> {
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

    fn answered(&mut self, ask: &Ask, mut answer: Answer, took: Duration) -> Result<(), Failure> {
        let (target, input) = names(&self.targets, ask);
        let is_unanswered = answer.exit == Exit::Transport;
        let length = match &self.destination {
            // The records of an earlier run stay.
            Destination::Folder { .. } if is_unanswered && self.of_ask.written == 0 => 0,
            _ => self.destination.complete(ask, &input)?,
        };
        self.tally.add(answer.exit, answer.outcome);
        self.unanswered = if is_unanswered {
            self.unanswered + 1
        } else {
            0
        };
        let of_ask = std::mem::take(&mut self.of_ask);
        self.records.add(of_ask);
        if of_ask.repaired > 0 {
            let repaired = format!("{} repaired", counted(of_ask.repaired, "record"));
            answer.message = Some(match answer.message {
                Some(words) => format!("{words}; {repaired}"),
                None => repaired,
            });
        }
        self.is_torn |= of_ask.written > 0 && breaks_off(answer.outcome);
        if let Some((report, form)) = &mut self.report {
            let entry = ReportLine {
                position: ask.position,
                target,
                input,
                answer,
                took,
                length,
            };
            let written = report.write_all(form.line(&entry).as_bytes());
            written.map_err(|error| Failure::unwritten(report.path(), &error))?;
        }
        self.sync()?;
        self.progress.answered(&self.tally);
        Ok(())
    }

    /// Tells the syncing thread what has been written.
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
    fn sum(&self, is_written: bool) -> String {
        let total = self.tally.total();
        let begin = match (total, self.targets.len()) {
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
        // Standard output is closed, or cannot be written.
        let is_deaf = matches!(&ran, Ok(Err(Failure::BrokenPipe | Failure::Write(_))));
        let is_standard = matches!(self.destination, Destination::Standard(_));
        let synced = self.synced();
        let sum = self.sum(arguments.file().is_some());
        let finished = match is_deaf && is_standard {
            true => Ok(None),
            false => self.destination.finish(remains, is_empty, self.output),
        };
        self.output.note(&sum);
        let exit = self.tally.exits().fold(Exit::Delivered, Exit::and);
        let may_go_on = self.report.is_some() && arguments.file().is_some();
        if may_go_on && !matches!(ran, Ok(Ok(()))) {
            let words = "broken off; the same command with --resume goes on from here";
            self.output.note(words);
        } else if may_go_on && self.unanswered > 0 {
            let last = match self.unanswered {
                1 => "the last input".to_owned(),
                count => format!("the last {count} inputs"),
            };
            self.output.note(&format!(
                "no answer to {last}: run the same command with --resume to ask again"
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
            Ok(Err(failure)) => return Err(failure),
            Err(Stopped(exit)) => exit,
        };
        finished?;
        synced?;
        if let Some((report, _)) = &mut self.report {
            let synced = report.sync();
            synced.map_err(|error| Failure::unwritten(report.path(), &error))?;
        }
        Ok(exit)
    }
}

/// The target and the input of an ask, as the report has them.
pub(super) fn names(targets: &[String], ask: &Ask) -> (String, String) {
    let target = targets.get(ask.target).cloned().unwrap_or_default();
    (target, named(&ask.input))
}

/// Whether an outcome means that further records are missing.
fn breaks_off(outcome: OutcomeName) -> bool {
    use OutcomeName::{AccessRefused, Closed, PresentRefused, ProtocolError, Unavailable};
    matches!(
        outcome,
        AccessRefused | Closed | PresentRefused | ProtocolError | Unavailable
    )
}
