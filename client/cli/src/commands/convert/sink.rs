//! The destination of converted records: standard output, a file, or numbered files.

use std::path::{Path, PathBuf};

use z3950_files::{Existing, Whole};
use z3950_marc::{MarcRecord, Remarks, WriteError};

use super::Convert;
use crate::batch::FileSink;
use crate::console::output::{Failure, Output};
use crate::render::{RecordContext, Style};

/// The number of octets in the buffer for standard output.
const BUFFER: usize = 64 * 1024;
/// The minimum number of digits in a file's number.
const DIGITS: usize = 4;

/// A writer of one document, or of several documents one after the other.
pub(super) struct Sink {
    style: Style,
    /// The path of the file, or the pattern for the names of numbered files; `None` for standard output.
    path: Option<PathBuf>,
    /// The maximum number of records in one file.
    split: Option<u64>,
    existing: Existing,
    file: Option<(FileSink<Whole>, PathBuf)>,
    /// The number of files begun so far.
    files: u64,
    /// The octets buffered for standard output, or the record to be added to the current file.
    held: Vec<u8>,
    /// The number of records in the current document.
    records: u64,
}

impl Sink {
    pub(super) fn new(arguments: &Convert, style: Style) -> Self {
        Self {
            style,
            path: arguments.file().map(Path::to_owned),
            split: arguments.split.map(u64::from),
            existing: Existing::forced(arguments.overwrite),
            file: None,
            files: 0,
            held: Vec::new(),
            records: 0,
        }
    }

    /// Begins the first file, to find out immediately whether the file can be written.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        match self.path {
            Some(_) => self.file().map(drop),
            None => Ok(()),
        }
    }

    /// Writes a record from this source. The inner result contains remarks on what was written, or the reason why the
    /// format cannot represent the record.
    pub(super) fn write(
        &mut self,
        record: &MarcRecord,
        source: Option<&str>,
        output: &mut Output,
    ) -> Result<Result<Remarks, WriteError>, Failure> {
        if self.split == Some(self.records) {
            self.close(output)?;
        }
        let length = self.held.len();
        if self.path.is_none() {
            let before = self.style.before(self.records == 0);
            self.held.extend_from_slice(before.as_bytes());
        }
        let context = RecordContext {
            origin: source.into(),
            ..RecordContext::default()
        };
        let written = self.style.write(record, context, &mut self.held);
        match &written {
            Ok(_) => self.records += 1,
            Err(_) => self.held.truncate(length),
        }
        if written.is_ok() && self.path.is_some() {
            let held = std::mem::take(&mut self.held);
            let (file, path) = self.file()?;
            let added = file.record(&held);
            added.map_err(|error| Failure::unwritten(path, &error))?;
        } else if self.held.len() >= BUFFER {
            output.octets(&std::mem::take(&mut self.held), false)?;
        }
        Ok(written)
    }

    /// Ends the last document. If there are no records, no file is written, and an existing file is left unchanged.
    pub(super) fn finish(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.records > 0 {
            self.close(output)?;
            self.stale(output);
            return Ok(());
        }
        if let Some((_, path)) = self.file.take() {
            let words = format!("no record was converted: {} is not written", path.display());
            output.note(&words);
            return Ok(());
        }
        if self.files == 0 && self.path.is_none() {
            let begin = self.style.before(true);
            self.held.extend_from_slice(begin.as_bytes());
            self.close(output)?;
        }
        Ok(())
    }

    /// Warns about files with higher numbers from an earlier run, because they appear to belong to this run.
    fn stale(&self, output: &Output) {
        let Some(template) = self.path.as_deref().filter(|_| self.split.is_some()) else {
            return;
        };
        let path = |number| numbered(template, Some(number));
        let first = self.files + 1;
        let count = (first..)
            .take_while(|number| path(*number).exists())
            .count();
        let last = self.files + u64::try_from(count).unwrap_or_default();
        match count {
            0 => {}
            1 => output.note(&format!("{} is of an earlier run", path(first).display())),
            _ => output.note(&format!(
                "{} to {} are of an earlier run",
                path(first).display(),
                path(last).display()
            )),
        }
    }

    /// Ends an interrupted run. Returns the path of the file with the records converted so far, if there is one.
    pub(super) fn keep(mut self, output: &mut Output) -> Result<Option<PathBuf>, Failure> {
        if self.path.is_none() && self.records > 0 {
            self.close(output)?;
        }
        match self.file.take() {
            Some((file, _)) => Ok(file.keep()?.map(|(part, _)| part)),
            None => Ok(None),
        }
    }

    fn close(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.path.is_none() {
            self.held.extend_from_slice(self.style.end().as_bytes());
            output.octets(&std::mem::take(&mut self.held), false)?;
        } else if let Some((file, path)) = self.file.take() {
            file.end(&path)?;
        }
        self.records = 0;
        Ok(())
    }

    /// Returns the current file and its path.
    fn file(&mut self) -> Result<&mut (FileSink<Whole>, PathBuf), Failure> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let number = self.files + 1;
                let template = self.path.as_deref().unwrap_or(Path::new(""));
                let path = numbered(template, self.split.map(|_| number));
                let file = Whole::create(&path, self.existing)
                    .map_err(|error| Failure::unopened(&error, "--overwrite replaces it"))?;
                let sink = FileSink::new(file, self.style.clone());
                self.files = number;
                (sink, path)
            }
        };
        Ok(self.file.insert(file))
    }
}

/// Returns the name of the file with this number. The number replaces `{}`, or is inserted before the extension.
fn numbered(template: &Path, number: Option<u64>) -> PathBuf {
    let Some(number) = number else {
        return template.to_owned();
    };
    let name = template.file_name().unwrap_or_default().to_string_lossy();
    let number = format!("{number:0DIGITS$}");
    let name = match (name.split_once("{}"), name.rsplit_once('.')) {
        (Some((before, after)), _) => format!("{before}{number}{after}"),
        (None, Some((stem, extension))) => format!("{stem}-{number}.{extension}"),
        (None, None) => format!("{name}-{number}"),
    };
    template.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        for (template, name) in [
            ("a/part-{}.mrc", "a/part-0012.mrc"),
            ("part.mrc", "part-0012.mrc"),
            ("part", "part-0012"),
        ] {
            assert_eq!(numbered(Path::new(template), Some(12)), Path::new(name));
        }
    }
}
