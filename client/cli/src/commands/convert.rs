//! `z3950 convert`: converts files of records to another format, or checks them, in constant memory.

mod arguments;
mod dedupe;
mod progress;
mod sink;

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::path::Path;

use serde_json::json;
use z3950_asn1::file::same;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{
    Charset, FieldProblem, Options, ProblemKind, Unencodable, to_charset, to_utf8,
};
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::faults::faults;
use z3950_marc::stream::{InputForm, InputRecord, RecordReader};

pub(crate) use self::arguments::Convert;
use self::dedupe::Seen;
use self::progress::ProgressLine;
use self::sink::Sink;
use crate::answer::Envelope;
use crate::console::exit::Exit;
use crate::console::few::FewMessages;
use crate::console::input::{open, readable};
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, Output, Words};
use crate::render::{Format, counted, not_encoded, shown, undecoded};

/// Converts or checks all files. The exit code is 8 if records are left out or lose data, or if a check finds faults.
pub(crate) fn run(arguments: &Convert, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(path) = arguments
        .files
        .iter()
        .find(|path| is_output(path, arguments))
    {
        output.error(&format!("{} is both input and output", path.display()));
        return Ok(Exit::Usage);
    }
    let style = arguments.style()?;
    if arguments.to_charset.is_some() && !matches!(style.format(), Format::Marc | Format::Text) {
        output.error("--to-charset is for --format marc and line; other formats are always UTF-8");
        return Ok(Exit::Usage);
    }
    let is_quiet = output.is_quiet();
    let mut run = Run {
        arguments,
        output,
        sink: Sink::new(arguments, style),
        progress: ProgressLine::new(is_quiet),
        seen: arguments.dedupe.map(Seen::new),
        read: 0,
        whole: 0,
        incomplete: 0,
        left_out: 0,
        repeated: 0,
        messages: FewMessages::default(),
    };
    // Signals are watched before a file is created, so that a signal cannot leave an incomplete file behind.
    run.stopped();
    let mut result = if arguments.check {
        Ok(())
    } else {
        // All inputs are checked first, so that a missing file is reported before anything is written.
        readable(&arguments.files).and_then(|()| run.sink.begin())
    };
    for path in &arguments.files {
        if result.is_err() || run.is_done() {
            break;
        }
        result = run.file(path);
    }
    let stopped = run.stopped();
    run.progress.clear();
    run.messages.end(run.output);
    if result.is_ok() && stopped.is_none() {
        run.count();
    }
    let faulty = run.incomplete + run.left_out;
    let Run {
        mut sink, output, ..
    } = run;
    if result.is_ok() && !arguments.check && stopped.is_none() {
        result = sink.finish(output);
    }
    match (&result, stopped) {
        (Ok(()), None) | (Err(Failure::BrokenPipe | Failure::Write(_)), _) => {}
        // The records converted before the error still form a complete document.
        _ => {
            if let Some(part) = sink.keep(output)? {
                let words = format!("incomplete; what was written is in {}", part.display());
                output.note(&words);
            }
        }
    }
    if let Some(Stopped(exit)) = stopped {
        return Ok(exit);
    }
    result?;
    Ok(match faulty {
        0 => Exit::Delivered,
        _ => Exit::FaultsFound,
    })
}

/// Returns whether an input file is the same as the output file.
fn is_output(path: &Path, arguments: &Convert) -> bool {
    let output = arguments.file();
    output.is_some_and(|output| same(path, output))
}

struct Run<'a> {
    arguments: &'a Convert,
    output: &'a mut Output,
    sink: Sink,
    progress: ProgressLine,
    /// The keys of the records so far; `None` if repeated records are kept.
    seen: Option<Seen>,
    /// The number of records read from all files.
    read: u64,
    /// The number of records read without damage.
    whole: u64,
    /// The number of records written with a loss of data.
    incomplete: u64,
    /// The number of records left out, or found to have faults.
    left_out: u64,
    /// The number of records left out because an earlier record has the same key.
    repeated: u64,
    /// The messages about records.
    messages: FewMessages,
}

impl Run<'_> {
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let (name, input) = open(path, self.is_watching())?;
        let regular = path.metadata().ok().filter(Metadata::is_file);
        let size = regular.map(|data| data.len());
        let unread = |error: io::Error| Failure::input(&name, &error);
        let mut reader = match self.arguments.from {
            Some(form) => RecordReader::new(input, form),
            None => {
                let extension = path.extension().and_then(|extension| extension.to_str());
                let fallback = extension.and_then(InputForm::by_extension);
                RecordReader::guessing(input, fallback.unwrap_or(InputForm::Marc))
                    .map_err(unread)?
            }
        };
        let before = (self.read, self.whole);
        let skipped = self.arguments.first.skipped();
        while !self.is_done() {
            let Some(found) = reader.next() else {
                break;
            };
            let found = found.map_err(unread)?;
            self.read += 1;
            self.progress.at(self.read, reader.offset(), size);
            if self.read > skipped {
                self.record(&name, found)?;
            }
        }
        if self.read == before.0 && !self.is_done() {
            self.progress.clear();
            let words = format!("{}: it contains no records", name);
            self.output.note(&words);
        }
        if self.read > before.0.max(skipped) && self.whole == before.1 {
            let form = match reader.form() {
                InputForm::Marc => "ISO 2709",
                InputForm::MarcXml => "MARCXML",
                InputForm::Json => "MARC-in-JSON",
                InputForm::Mrk => "mrk",
                InputForm::Line => "line-form",
                _ => "readable",
            };
            self.progress.clear();
            self.output.error(&format!(
                "{}: no {form} records found; --from selects another format",
                name
            ));
        }
        Ok(())
    }

    /// Reports the number of records that lost data, or that the requested range is empty.
    fn count(&self) {
        let (read, incomplete, left_out) = (self.read, self.incomplete, self.left_out);
        let skipped = self.arguments.first.skipped();
        if read > 0 && read <= skipped {
            let start = self.arguments.first.position();
            let words = format!("--start {start} skips all records: there are {read}");
            self.output.note(&words);
        }
        let read = read.saturating_sub(skipped);
        if self.arguments.check {
            let words = match (read, left_out) {
                (0, _) => return,
                (read, 0) => format!("{}, no structural faults", counted(read, "record")),
                (read, faulty) => format!(
                    "{}, {faulty} with structural faults",
                    counted(read, "record")
                ),
            };
            self.output.note(&words);
            return;
        }
        if let Some(seen) = self.seen.as_ref().filter(|_| self.repeated > 0) {
            let words = format!(
                "{}, {} left out, each with {} with an earlier one; -v lists them",
                counted(read, "record"),
                self.repeated,
                seen.key.in_words()
            );
            self.output.note(&words);
        }
        if incomplete + left_out == 0 {
            return;
        }
        let parts = [(incomplete, "incomplete"), (left_out, "left out")];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let words = format!("{}, {}", counted(read, "record"), parts.join(", "));
        self.output.warning(&words);
    }

    /// Returns whether the requested range has been read, or a signal has arrived.
    fn is_done(&self) -> bool {
        let skipped = self.arguments.first.skipped();
        let count = self.arguments.count;
        count.is_some_and(|count| self.read >= skipped.saturating_add(count))
            || self.stopped().is_some()
    }

    /// Returns whether signals are handled, so that the records written so far are kept. Without an output file, a
    /// signal ends the program, like any other filter.
    fn is_watching(&self) -> bool {
        self.arguments.file().is_some()
    }

    /// Returns the signal that has arrived, if any.
    fn stopped(&self) -> Option<Stopped> {
        self.is_watching().then(|| Interrupt.arrived()).flatten()
    }

    fn record(&mut self, name: &str, found: InputRecord) -> Result<(), Failure> {
        let place = RecordPlace {
            name,
            number: found.number,
            offset: found.offset,
        };
        let mut notes = found.notes;
        let mut is_loss = found.incomplete;
        let record = match found.record {
            Ok(record) => {
                self.whole += 1;
                record
            }
            Err(damage) => {
                notes.push(damage);
                return self.left_out(&place, &notes);
            }
        };
        let mut options = Options::default();
        options.charset = self.arguments.charset;
        options.character_references = true;
        let converted = to_utf8(&record, &options);
        if self.arguments.check {
            notes.extend(faults(&record, &converted));
            return if notes.is_empty() {
                Ok(())
            } else {
                self.left_out(&place, &notes)
            };
        }
        notes.extend(undecoded(&converted.problems));
        is_loss |= converted.is_loss();
        if self.arguments.strict && !notes.is_empty() {
            return self.left_out(&place, &notes);
        }
        if let Some(seen) = &mut self.seen
            && let Some(earlier) = seen.earlier(&converted.record, self.read)
        {
            let number = converted.record.control_number().unwrap_or_default();
            tracing::info!(
                "{place}, 001 {}: left out; it has {} with record {earlier} of this run",
                shown(number),
                seen.key.in_words()
            );
            self.repeated += 1;
            return Ok(());
        }
        let record = self.in_output_charset(converted.record, &mut notes, &mut is_loss);
        match self.sink.write(&record, Some(name), self.output)? {
            Ok(written) => {
                is_loss |= written.is_loss;
                notes.extend(written.notes);
                self.incomplete += u64::from(is_loss);
                self.note(&place, &notes, is_loss);
                Ok(())
            }
            Err(error) => {
                notes.push(error.to_string());
                self.left_out(&place, &notes)
            }
        }
    }

    fn in_output_charset(
        &self,
        record: MarcRecord,
        notes: &mut Vec<String>,
        is_loss: &mut bool,
    ) -> MarcRecord {
        let Some(charset) = self.arguments.to_charset else {
            return record;
        };
        // MARC 21 defines references for characters that MARC-8 lacks; in other character sets they would be plain text.
        let unencodable = if charset == Charset::Marc8 && !is_unimarc(&record) {
            Unencodable::Reference
        } else {
            Unencodable::QuestionMark
        };
        let mut options = Options::default();
        options.unencodable = unencodable;
        let encoded = to_charset(&record, charset, &options);
        let is_unencodable = |problem: &&FieldProblem| {
            matches!(problem.problem.kind, ProblemKind::Unencodable { .. })
        };
        let others = encoded
            .problems
            .iter()
            .filter(|problem| !is_unencodable(problem));
        notes.extend(others.map(ToString::to_string));
        if let Some(words) = not_encoded(&encoded.problems, unencodable) {
            notes.push(words);
            *is_loss |= unencodable != Unencodable::Reference;
        }
        encoded.record
    }

    /// Reports the faults of a record that is left out. In a check, this report is the output.
    fn left_out(&mut self, place: &RecordPlace<'_>, faults: &[String]) -> Result<(), Failure> {
        self.left_out += 1;
        self.progress.clear();
        if self.arguments.json {
            let answer = json!({
                "file": place.name,
                "record": place.number,
                "offset": place.offset,
                "faults": faults,
            });
            return Envelope::from(answer).write(self.output);
        }
        if self.arguments.check {
            return faults
                .iter()
                .try_for_each(|fault| self.output.line(&format!("{place}: {fault}")));
        }
        let words = Words::Error(format!("{place} left out: {}", faults.join("; ")));
        self.messages.say(words, self.output);
        Ok(())
    }

    /// Reports the repairs and losses in a record.
    fn note(&mut self, place: &RecordPlace<'_>, notes: &[String], is_loss: bool) {
        if notes.is_empty() && !is_loss {
            return;
        }
        self.progress.clear();
        let words = format!("{place}: {}", notes.join("; "));
        let words = if is_loss {
            Words::Warning(words)
        } else {
            Words::Note(words)
        };
        self.messages.say(words, self.output);
    }
}

/// The position of a record in the input, for messages.
struct RecordPlace<'a> {
    name: &'a str,
    number: u64,
    offset: u64,
}

impl fmt::Display for RecordPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, number, offset) = (self.name, self.number, self.offset);
        write!(f, "{name}: record {number} (octet {offset})")
    }
}
