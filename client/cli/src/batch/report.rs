//! The report file of a batch. It contains a line for each answer, from which a later run can resume. Each line is
//! written after the records of its answer are complete in the output.

pub(super) mod form;
pub(super) mod later;
pub(super) mod resume;
mod saved;

use std::fs::File;
use std::io::{self, BufReader, Seek, Write};
use std::iter::Peekable;
use std::path::Path;
use std::sync::Arc;

use z3950::url::{Locator, Mode};
use z3950_files::Growing;

use self::form::ReportForm;
pub(super) use self::form::ReportLine;
use self::later::LaterAnswers;
pub(super) use self::resume::Resumed;
pub(crate) use self::resume::Tally;
use self::resume::{UnansweredLines, resume};
use super::arguments::Batch;
use super::destination::Destination;
use super::repeats::EarlierAnswers;
use crate::answer::Ask;
use crate::console::output::{Failure, Output};
use crate::render::{named, shown};

/// A report to which lines are added.
pub(super) struct Report {
    file: Growing,
    form: ReportForm,
    /// Answers from an earlier run that follow inputs without an answer, which are processed again.
    later: Option<LaterAnswers>,
    /// Whether the file has been passed to the thread that syncs it.
    is_noted: bool,
    /// Whether the report was rewritten in its original form, because another program had saved it.
    is_restored: bool,
}

impl Report {
    /// Opens the report at `path` without changing it. Fails if it exists, unless the run resumes or replaces it.
    pub(super) fn open(path: &Path, arguments: &Batch) -> Result<Self, Failure> {
        let Some(form) = ReportForm::by_extension(path) else {
            return Err(Failure::Usage(format!(
                "--report {}: its name must end in .tsv, .csv, .json or .jsonl",
                path.display()
            )));
        };
        let is_restored = arguments.resume && form == ReportForm::Csv && saved::restore(path)?;
        Ok(Self {
            file: arguments.growing(path)?,
            form,
            later: None,
            is_noted: false,
            is_restored,
        })
    }

    /// If `--resume` is given, truncates report and output to the part that an earlier run completed in both, and
    /// removes the answered `Ask`s from `asks`.
    pub(super) fn resume(
        &mut self,
        arguments: &Batch,
        destination: &mut Destination,
        asks: &mut Peekable<impl Iterator<Item = Result<Ask, Failure>>>,
        names: &AskNames,
        earlier: &mut EarlierAnswers,
        output: &Output,
    ) -> Result<Resumed, Failure> {
        if !arguments.resume {
            self.begin(0)?;
            return Ok(Resumed::default());
        }
        if self.is_restored {
            let name = self.file.path().display();
            output.note(&format!(
                "{name} was saved by another program; it is written anew"
            ));
        }
        let resumed = self.read(arguments, destination, asks, names, earlier)?;
        let mut known = resumed.output_length;
        if let Some(lines) = &resumed.later {
            let report = (&mut self.file, resumed.report_length, self.form);
            let records = destination.growing().map(|file| (file, known));
            let copied = LaterAnswers::copy(lines, resumed.answers, report, records);
            self.later = Some(copied.map_err(|error| self.unwritten(&error))?);
            known = lines.output_end;
        }
        self.begin(resumed.report_length)?;
        let moved = destination.cut_back(resumed.output_length, known)?;
        if let Some(path) = arguments.file().map(Path::display) {
            if let Some(part) = moved {
                let part = part.display();
                output.note(&format!(
                    "moved what {path} had after octet {known}, which the report does not account for, to {part}"
                ));
            }
            if let Some((line, _)) = resumed.ahead {
                output.note(&format!(
                    "{path} lacks the record that line {line} of the report lists: repeating the inputs from there on"
                ));
            }
        }
        match resumed.unanswered {
            0 => {}
            1 => output.note("1 input had no answer and is asked again"),
            count => output.note(&format!("{count} inputs had no answer and are asked again")),
        }
        Ok(resumed)
    }

    /// Determines how much of an earlier run's report is complete.
    ///
    /// # Errors
    /// Fails if the report contains different inputs or belongs to a different output.
    fn read(
        &mut self,
        arguments: &Batch,
        destination: &Destination,
        asks: &mut Peekable<impl Iterator<Item = Result<Ask, Failure>>>,
        names: &AskNames,
        earlier: &mut EarlierAnswers,
    ) -> Result<Resumed, Failure> {
        let path = self.file.path().to_owned();
        let output = arguments.file().unwrap_or(&path).display();
        let name = path.display();
        let refused = |words: String| Failure::Usage(format!("cannot resume: {words}"));
        let refused_line = |error| Failure::Usage(format!("cannot resume from {name}: {error}"));
        let unread = |error: io::Error| Failure::unwritten(&path, &error);
        let found = destination.length();
        let mut resumed = Resumed::default();
        if !self.file.is_empty()
            && let Some(mut lines) = self.file.read().map_err(unread)?
        {
            let mut unanswered =
                UnansweredLines::of(BufReader::new(lines), self.form).map_err(refused_line)?;
            if !destination.takes_back() {
                unanswered = unanswered.at_end();
            }
            lines.rewind().map_err(unread)?;
            let shown = |ask: &Ask| names.of(ask);
            let has = |ask: &Ask, input: &str, length: u64| destination.has(ask, input, length);
            let lines = BufReader::new(lines);
            let remember = |ask: &Ask, line: &_, outcome| earlier.read(ask, line, outcome);
            let read = resume(lines, self.form, unanswered, asks, shown, has, remember);
            resumed = read.map_err(refused_line)?;
            if let (Some((line, length)), Some((_, false))) = (resumed.ahead, found) {
                return Err(refused(format!(
                    "{output} does not exist, but line {line} of {name} says that it has {length} octets"
                )));
            }
        } else if matches!(found, Some((1.., _))) && !self.file.exists() {
            return Err(refused(format!(
                "{output} has records, but there is no report {name}; name the report of that run"
            )));
        }
        let length = resumed.output_length;
        if length > 0 && !destination.has_columns() {
            return Err(refused(format!(
                "{output} has other columns; give the same --format and --fields"
            )));
        }
        if !destination.may_end_record(length) {
            return Err(refused(format!(
                "no record of {output} ends at octet {length}, as {name} says; is --output the file of that run?"
            )));
        }
        Ok(resumed)
    }

    /// Truncates the report after its last complete line. The header is synced to disk before anything is written to
    /// the output, because an output without a report could not be resumed.
    fn begin(&mut self, end: u64) -> Result<(), Failure> {
        let begun = self.file.cut(end).and_then(|()| self.file.begin());
        begun.map_err(|error| self.unwritten(&error))?;
        if end == 0 {
            self.write(self.form.header().as_str())?;
        }
        self.sync()
    }

    /// Adds the line for the `Ask` with this number. If an earlier run wrote a line for the `Ask`, that line is
    /// dropped.
    pub(super) fn add(&mut self, number: u64, line: &ReportLine) -> Result<(), Failure> {
        self.write(&self.form.line(line))?;
        match &mut self.later {
            Some(later) if later.next() == Some(number) => {
                later.skip().map_err(|error| self.unwritten(&error))
            }
            _ => Ok(()),
        }
    }

    /// Inserts the answers from an earlier run again, up to but not including the `Ask` with this number.
    pub(super) fn put_back(
        &mut self,
        end: u64,
        destination: &mut Destination,
    ) -> Result<(), Failure> {
        while let Some(later) = &mut self.later
            && later.next().is_some_and(|next| next < end)
        {
            let (line, place) = match later.take() {
                Ok(taken) => taken,
                Err(error) => return Err(self.unwritten(&error)),
            };
            let line = match destination.put_back(later, place)? {
                Some(length) => self.form.with_length(&line, length).unwrap_or_default(),
                None => line + "\n",
            };
            self.write(&line)?;
        }
        Ok(())
    }

    /// Returns whether the report has answers from an earlier run that may have to be inserted again.
    pub(super) fn has_later(&self) -> bool {
        self.later.is_some()
    }

    /// Returns the file for the thread that syncs it; `None` after the first call, because the thread needs the file
    /// only once.
    pub(super) fn unnoted(&mut self) -> Result<Option<Arc<File>>, Failure> {
        if self.is_noted {
            return Ok(None);
        }
        self.is_noted = true;
        let handle = self.file.handle().map_err(|error| self.unwritten(&error))?;
        Ok(handle.map(Arc::new))
    }

    /// Syncs the report to disk.
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
        let synced = self.file.sync();
        synced.map_err(|error| self.unwritten(&error))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| self.unwritten(&error))
    }

    fn unwritten(&self, error: &io::Error) -> Failure {
        Failure::unwritten(self.file.path(), error)
    }
}

/// The settings that determine how targets and inputs are named in a report.
#[derive(Debug)]
pub(super) struct AskNames {
    pub(super) targets: Vec<String>,
    /// Whether inputs are URLs, which may be malformed.
    pub(super) takes_urls: bool,
}

impl AskNames {
    /// Returns the 0-based number of an `Ask` among all `Ask`s.
    pub(super) fn number(&self, ask: &Ask) -> u64 {
        let [targets, target] = [self.targets.len().max(1), ask.target]
            .map(|number| u64::try_from(number).unwrap_or(u64::MAX));
        let before = ask.position.saturating_sub(1);
        before.saturating_mul(targets).saturating_add(target)
    }

    /// Returns the names of the target and the input. From URLs, only user names and passwords are removed, so that
    /// different inputs can still be distinguished.
    pub(super) fn of(&self, ask: &Ask) -> (String, String) {
        let target = self.targets.get(ask.target).cloned().unwrap_or_default();
        let input = ask.input.trim_ascii();
        let is_url = || input.is_ascii() && is_address(input);
        let input = if self.takes_urls || is_url() {
            named(input)
        } else {
            shown(input)
        };
        (target, input)
    }
}

/// Returns whether text is a complete URL with a host.
fn is_address(text: &[u8]) -> bool {
    let has_host = text.windows(3).any(|part| part == b"://");
    has_host && Locator::parse(text, Mode::Lenient).is_ok()
}
