//! Converts the records of all files, one after the other, and prints messages about them.

use std::fmt;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{
    Charset, FieldProblem, Options, ProblemKind, Unencodable, to_charset, to_utf8,
};
use z3950_marc::counts::FieldCounts;
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::faults::faults;

use super::arguments::Convert;
use super::dedupe::Seen;
use super::progress::ProgressLine;
use super::revise::Revision;
use super::sink::Sink;
use super::sorted::Sorter;
use super::source::{FoundRecord, Source};
use super::stats;
use crate::answer::Envelope;
use crate::console::exit::Exit;
use crate::console::input::readable;
use crate::console::interrupt::{Interrupt, Stopped};
use crate::console::output::{Failure, FewMessages, Output, Words};
use crate::render::{Style, counted, not_encoded, shown, undecoded};

/// A conversion in progress.
pub(super) struct Run<'a> {
    arguments: &'a Convert,
    output: &'a mut Output,
    sink: Sink,
    /// The records that are waiting to be sorted; `None` if they are written in input order.
    sorter: Option<Sorter<Sorted>>,
    revision: Revision<'a>,
    /// The counts of fields so far, if fields are counted instead of written.
    counts: Option<FieldCounts>,
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
    /// The messages about records, of which only the first ones are printed.
    messages: FewMessages,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        arguments: &'a Convert,
        style: Style,
        output: &'a mut Output,
    ) -> Result<Self, Failure> {
        let is_quiet = output.is_quiet();
        let sorter = arguments.sort.clone().map(Sorter::new).transpose()?;
        Ok(Self {
            arguments,
            output,
            sink: Sink::new(arguments, style),
            sorter,
            revision: Revision::new(arguments),
            counts: arguments.stats.then(FieldCounts::default),
            progress: ProgressLine::new(is_quiet),
            seen: arguments.dedupe.map(Seen::new),
            read: 0,
            whole: 0,
            incomplete: 0,
            left_out: 0,
            repeated: 0,
            messages: FewMessages::default(),
        })
    }

    /// Reads all files, and writes the requested output. Returns the exit code.
    pub(super) fn carry_out(mut self) -> Result<Exit, Failure> {
        let arguments = self.arguments;
        // The program begins to watch for signals before a file is created, so that a signal cannot leave an incomplete
        // file behind.
        self.stopped();
        let mut result = if arguments.converts() {
            // All inputs are checked first, so that a missing file is reported before anything is written.
            readable(&arguments.files).and_then(|()| self.sink.begin())
        } else {
            Ok(())
        };
        for path in &arguments.files {
            if result.is_err() || self.is_done() {
                break;
            }
            result = self.file(path);
        }
        if result.is_ok() && self.stopped().is_none() {
            result = self.end();
        }
        let stopped = self.stopped();
        self.progress.clear();
        self.messages.end(self.output);
        if result.is_ok() && stopped.is_none() {
            self.print_closing_notes();
        }
        let faulty = self.incomplete + self.left_out;
        let Run {
            mut sink, output, ..
        } = self;
        if result.is_ok() && arguments.converts() && stopped.is_none() {
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
}

impl Run<'_> {
    fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let mut reader = Source::open(path, self.arguments, self.is_watching())?;
        let name = reader.name();
        let size = path
            .metadata()
            .ok()
            .filter(Metadata::is_file)
            .map(|data| data.len());
        if let Some(words) = reader.remark() {
            self.progress.clear();
            self.output.note(&words);
        }
        let before = (self.read, self.whole);
        let skipped = self.arguments.first.skipped();
        while !self.is_done() {
            let Some(found) = reader.next()? else {
                break;
            };
            self.read += 1;
            self.progress.at(self.read, reader.offset(), size);
            if self.read > skipped {
                self.record(&name, found)?;
            }
        }
        if self.read == before.0 && !self.is_done() {
            self.progress.clear();
            self.output.note(&format!("{name}: it contains no records"));
        }
        if self.read > before.0.max(skipped) && self.whole == before.1 {
            self.progress.clear();
            let form = reader.form();
            self.output.error(&format!(
                "{name}: no {form} records found; --from selects another format"
            ));
        }
        Ok(())
    }

    /// Writes the output that needs all records: the sorted records, or the counts of their fields.
    fn end(&mut self) -> Result<(), Failure> {
        if let Some(counts) = self.counts.take() {
            self.progress.clear();
            return stats::write(&counts, self.arguments.json, self.output);
        }
        let Some(sorter) = self.sorter.take() else {
            return Ok(());
        };
        for sorted in sorter.sorted()? {
            let (record, Sorted { place, was_loss }) = sorted?;
            if self.stopped().is_some() {
                break;
            }
            self.incomplete -= u64::from(was_loss);
            self.write(&place, record, Vec::new(), was_loss)?;
        }
        Ok(())
    }

    /// Prints the notes and warnings at the end of a run, such as the number of records that lost data.
    fn print_closing_notes(&self) {
        let (read, incomplete, left_out) = (self.read, self.incomplete, self.left_out);
        let skipped = self.arguments.first.skipped();
        if read > 0 && read <= skipped {
            let start = self.arguments.first.position();
            let words = format!("--start {start} skips all records: there are {read}");
            self.output.note(&words);
        }
        for words in self.revision.notes() {
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

    /// Returns whether the requested range has been read, or whether a signal has arrived.
    fn is_done(&self) -> bool {
        let skipped = self.arguments.first.skipped();
        let count = self.arguments.count;
        count.is_some_and(|count| self.read >= skipped.saturating_add(count))
            || self.stopped().is_some()
    }

    /// Returns whether signals are handled, so that the records written so far are kept. Without an output file, a
    /// signal ends the program, as it ends any other filter.
    fn is_watching(&self) -> bool {
        self.arguments.file().is_some()
    }

    /// Returns the signal that has arrived, if any.
    fn stopped(&self) -> Option<Stopped> {
        self.is_watching().then(|| Interrupt.arrived()).flatten()
    }

    fn record(&mut self, name: &Arc<str>, found: FoundRecord) -> Result<(), Failure> {
        let place = RecordPlace {
            name: Arc::clone(name),
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
        if !self.revision.selects(&converted.record) {
            return Ok(());
        }
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
        if self.is_repeated(&place, &converted.record) {
            return Ok(());
        }
        let mut record = converted.record;
        if let Some(counts) = &mut self.counts {
            counts.add(&record);
            self.incomplete += u64::from(is_loss);
            self.note(&place, &notes, is_loss);
            return Ok(());
        }
        if let Err(error) = self.revision.revise(&mut record) {
            notes.push(error.to_string());
            is_loss = true;
        }
        self.put(place, record, notes, is_loss)
    }

    /// Returns whether an earlier record has the same key. If so, counts the record as repeated.
    fn is_repeated(&mut self, place: &RecordPlace, record: &MarcRecord) -> bool {
        let Some(seen) = &mut self.seen else {
            return false;
        };
        let Some(earlier) = seen.earlier(record, self.read) else {
            return false;
        };
        let number = record.control_number().unwrap_or_default();
        tracing::info!(
            "{place}, 001 {}: left out; it has {} with record {earlier} of this run",
            shown(number),
            seen.key.in_words()
        );
        self.repeated += 1;
        true
    }

    /// Writes a record that is in UTF-8, or stores it to be sorted later.
    fn put(
        &mut self,
        place: RecordPlace,
        record: MarcRecord,
        notes: Vec<String>,
        is_loss: bool,
    ) -> Result<(), Failure> {
        let Some(sorter) = &mut self.sorter else {
            return self.write(&place, record, notes, is_loss);
        };
        let was_loss = is_loss;
        sorter.add(
            &record,
            Sorted {
                place: place.clone(),
                was_loss,
            },
        )?;
        self.incomplete += u64::from(is_loss);
        self.note(&place, &notes, is_loss);
        Ok(())
    }

    /// Writes a record in the character set of the output, and reports any loss.
    fn write(
        &mut self,
        place: &RecordPlace,
        record: MarcRecord,
        mut notes: Vec<String>,
        mut is_loss: bool,
    ) -> Result<(), Failure> {
        let record = self.in_output_charset(record, &mut notes, &mut is_loss);
        match self.sink.write(&record, Some(&place.name), self.output)? {
            Ok(written) => {
                is_loss |= written.is_loss;
                notes.extend(written.notes);
                self.incomplete += u64::from(is_loss);
                self.note(place, &notes, is_loss);
                Ok(())
            }
            Err(error) => {
                notes.push(error.to_string());
                self.left_out(place, &notes)
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
    fn left_out(&mut self, place: &RecordPlace, faults: &[String]) -> Result<(), Failure> {
        self.left_out += 1;
        self.progress.clear();
        if self.arguments.json && self.arguments.check {
            let answer = json!({
                "file": &*place.name,
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

    /// Reports the repairs made to a record, and its losses of data.
    fn note(&mut self, place: &RecordPlace, notes: &[String], is_loss: bool) {
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

/// A record that is waiting to be sorted.
struct Sorted {
    place: RecordPlace,
    /// Whether data was lost when the record was read, which has already been reported.
    was_loss: bool,
}

/// The position of a record in the input, for messages.
#[derive(Clone)]
struct RecordPlace {
    name: Arc<str>,
    number: u64,
    offset: u64,
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            number,
            offset,
        } = self;
        write!(f, "{name}: record {number} (octet {offset})")
    }
}
