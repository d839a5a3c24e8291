//! The answers from an earlier run that follow the first input without an answer. They are copied before that input is
//! processed again, and inserted after its new answer, so that output and report stay in the order of the inputs. If
//! the run is killed before they are inserted, they are lost, and the next run processes their inputs again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use z3950_files::Growing;

use super::form::ReportForm;
use crate::answer::Ask;

/// The lines of a report from the first line without an answer to the last line with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LaterLines {
    /// The number of these lines.
    pub(crate) count: u64,
    /// The length of the report up to the end of these lines, in octets. The next field is the length of the output at
    /// that point.
    pub(crate) report_end: u64,
    pub(crate) output_end: u64,
    /// The `Ask`s of those lines that have no answer.
    pub(crate) asks: Vec<Ask>,
}

/// A copy of [`LaterLines`] and their records, which are inserted again one by one.
pub(crate) struct LaterAnswers {
    lines: BufReader<File>,
    form: ReportForm,
    /// The records, and the number of their octets that have been inserted; `None` if each answer has its own file.
    records: Option<(BufReader<File>, u64)>,
    /// The 0-based number, among all `Ask`s, of the `Ask` to which the next line belongs.
    next: u64,
    left: u64,
}

impl LaterAnswers {
    /// Copies the lines after the first `begin` octets of a report, and the records after the first `output.1` octets
    /// of an output. The first line belongs to the `Ask` with the number `next`.
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

    /// Returns the number of the `Ask` to which the next line belongs; `None` after the last line.
    pub(super) fn next(&self) -> Option<u64> {
        (self.left > 0).then_some(self.next)
    }

    /// Takes the next line, without its line end, and the range of its records in the output. The range is `None` if
    /// the records are not in one file.
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

    /// Returns a reader that begins at the records of the last line taken. The caller must read or skip all of them.
    pub(crate) fn records(&mut self) -> Option<&mut BufReader<File>> {
        self.records.as_mut().map(|(records, _)| records)
    }

    /// Drops the next line and its records, because its input has been processed again.
    pub(super) fn skip(&mut self) -> io::Result<()> {
        let (_, place) = self.take()?;
        if let (Some(records), Some(Range { start, end })) = (self.records(), place) {
            let length = i64::try_from(end.saturating_sub(start));
            records.seek_relative(length.map_err(|_| ErrorKind::InvalidData)?)?;
        }
        Ok(())
    }
}

/// Copies the octets between two offsets of a file to an unnamed file in the same folder.
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
