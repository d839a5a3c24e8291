//! The state of a run: pieces to their destination, answers to the report, and what is said at the end.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use z3950::retrieve::OutcomeName;
use z3950::url::{Locator, Mode};
use z3950_asn1::file::Growing;

use crate::answer::{Answer, Ask, AskEvent};
use crate::batch::arguments::Batch;
use crate::batch::destination::Destination;
use crate::batch::later::LaterAnswers;
use crate::batch::progress::Progress;
use crate::batch::report::{ReportForm, ReportLine};
use crate::batch::resume::Tally;
use crate::batch::sinks::Remains;
use crate::batch::sync::Syncer;
use crate::console::exit::Exit;
use crate::console::interrupt::Stopped;
use crate::console::output::{Failure, Output, Words};
use crate::render::{counted, named, shown};

/// What a run writes to, and its results so far.
pub(super) struct BatchState<'a> {
    pub(super) names: AskNames,
    pub(super) destination: Destination,
    pub(super) report: Option<(Growing, ReportForm)>,
    /// Whether the report was passed to the syncing thread.
    pub(super) report_is_noted: bool,
    /// Answers of an earlier run that come after inputs that are asked again.
    pub(super) later: Option<LaterAnswers>,
    pub(super) syncer: Option<Syncer>,
    /// Counts of the current ask.
    pub(super) of_ask: RecordCounts,
    /// Counts of all answers of this run.
    pub(super) records: RecordCounts,
    /// Whether an answer failed after some of its records.
    pub(super) is_torn: bool,
    /// The number of answers of earlier runs.
    pub(super) before: u64,
    /// How many inputs had no answer.
    pub(super) unanswered: u64,
    /// For how many inputs each of several targets failed, and its first message.
    pub(super) failed: BTreeMap<String, (u64, String)>,
    /// All answers.
    pub(super) tally: Tally,
    pub(super) progress: Progress,
    pub(super) output: &'a mut Output,
}

/// How many records were received, written, and written after a repair.
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
    /// Reports what earlier runs have done.
    pub(super) fn begin(&self) {
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
    pub(super) fn take(&mut self, ask: &Ask, event: AskEvent) -> Result<(), Failure> {
        let number = self.names.number(ask);
        self.put_back(number)?;
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

    /// Puts answers of an earlier run back, up to that of the ask with this number.
    pub(super) fn put_back(&mut self, end: u64) -> Result<(), Failure> {
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
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
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
    pub(super) fn synced(&mut self) -> Result<(), Failure> {
        match self.syncer.take().map(Syncer::finish) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Failure::Unwritten(format!(
                "cannot write the output to disk: {error}"
            ))),
        }
    }

    /// `3 inputs: 2 delivered, 1 no match; 2 records written`, the last part if records go to a file.
    pub(super) fn sum(&self, is_written: bool, is_over: bool) -> String {
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
        // Whether standard output is closed or cannot be written.
        let is_closed = matches!(&ran, Ok(Err(Failure::BrokenPipe | Failure::Write(_))));
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
        let finished = match is_closed && is_standard {
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
pub(super) struct AskNames {
    pub(super) targets: Vec<String>,
    /// Whether inputs are URLs, possibly malformed.
    pub(super) takes_urls: bool,
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
    pub(super) fn of(&self, ask: &Ask) -> (String, String) {
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
            | Of::SortRefused
            | Of::Unavailable
    )
}
