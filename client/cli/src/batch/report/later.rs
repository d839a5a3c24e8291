//! The answers of an earlier run after the first input that had no answer. They are copied before that input is asked again, and
//! put back after it, so that output and report stay in the order of the inputs. A run that is killed meanwhile loses them to the
//! next one, which asks for them again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use z3950_asn1::file::Growing;

use super::form::ReportForm;
use crate::answer::Ask;

/// Lines of a report from the first without an answer to the last with one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LaterLines {
    /// How many.
    pub(crate) count: u64,
    /// Octets of the report and of the output up to their end.
    pub(crate) report_end: u64,
    pub(crate) output_end: u64,
    /// Those without an answer.
    pub(crate) asks: Vec<Ask>,
}

/// A copy of these lines and of their records.
pub(crate) struct LaterAnswers {
    lines: BufReader<File>,
    form: ReportForm,
    /// The records, and how many of their octets were put back; `None` if each answer has a file of its own.
    records: Option<(BufReader<File>, u64)>,
    /// The number of the ask, among all asks, that the next line answers; from 0.
    next: u64,
    left: u64,
}

impl LaterAnswers {
    /// Copies the lines after `begin` octets of a report, the first of which answers the ask with the number `next`, and the records
    /// after `output.1` octets of an output.
    pub(super) fn copy(
        later: &LaterLines,
        next: u64,
        (report, begin, form): (&mut Growing, u64, ReportForm),
        output: Option<(&mut Growing, u64)>,
    ) -> io::Result<Self> {
        let lines = copy(report, begin, later.report_end)?;
        let records = match output {
            Some((output, begin)) => Some((copy(output, begin, later.output_end)?, begin)),
            None => None,
        };
        Ok(Self {
            lines,
            form,
            records,
            next,
            left: later.count,
        })
    }

    /// The number of the ask that the next line answers; `None` after the last line.
    pub(super) fn next(&self) -> Option<u64> {
        (self.left > 0).then_some(self.next)
    }

    /// Takes the next line, without its end, and where the octets of its records were; `None` if there is no file of them.
    pub(super) fn take(&mut self) -> io::Result<(String, Option<Range<u64>>)> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        self.next += 1;
        self.left = self.left.saturating_sub(1);
        let line = line.trim_end_matches('\n').to_owned();
        let parsed = self.form.read(&line).ok_or(ErrorKind::InvalidData)?;
        let length = match &mut self.records {
            Some((_, end)) => {
                let begin = std::mem::replace(end, parsed.length);
                Some(begin..parsed.length)
            }
            None => None,
        };
        Ok((line, length))
    }

    /// The records, from those of the line taken last on. All of them are to be read, or skipped.
    pub(crate) fn records(&mut self) -> Option<&mut BufReader<File>> {
        self.records.as_mut().map(|(records, _)| records)
    }

    /// Drops the next line, whose input has been asked again, and its records.
    pub(super) fn skip(&mut self) -> io::Result<()> {
        let (_, place) = self.take()?;
        if let (Some(records), Some(Range { start, end })) = (self.records(), place) {
            let length = i64::try_from(end.saturating_sub(start));
            records.seek_relative(length.map_err(|_| ErrorKind::InvalidData)?)?;
        }
        Ok(())
    }
}

/// A nameless copy of the octets between two offsets of a file, in its folder.
fn copy(file: &mut Growing, begin: u64, end: u64) -> io::Result<BufReader<File>> {
    let folder = file
        .path()
        .parent()
        .filter(|path| !path.as_os_str().is_empty());
    let mut copy = tempfile::tempfile_in(folder.unwrap_or(Path::new(".")))?;
    if let Some(mut file) = file.read()? {
        file.seek(SeekFrom::Start(begin))?;
        io::copy(&mut file.take(end.saturating_sub(begin)), &mut copy)?;
    }
    copy.rewind()?;
    Ok(BufReader::new(copy))
}
