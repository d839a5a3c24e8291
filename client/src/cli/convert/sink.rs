//! Where converted records go: standard output, a file, or a row of files.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use z3950_asn1::record::{Form, MarcRecord, WriteError};

use super::Convert;
use crate::cli::output::{Failure, Output};

/// How many octets are collected before they are written.
const BUFFER: usize = 64 * 1024;
/// Digits of the number of a file, at least.
const DIGITS: usize = 4;

/// A document, or several in a row, under way to where it is written.
pub(super) struct Sink {
    form: Form,
    path: Option<PathBuf>,
    /// Records of one file.
    split: Option<u64>,
    file: Option<File>,
    /// Files begun.
    files: u64,
    held: Vec<u8>,
    /// Records in the document that is open.
    records: u64,
}

impl Sink {
    pub(super) fn new(arguments: &Convert) -> Self {
        Self {
            form: arguments.to,
            path: arguments.output.clone(),
            split: arguments.split.map(u64::from),
            file: None,
            files: 0,
            held: Vec::new(),
            records: 0,
        }
    }

    /// Adds a record; the inner result is what the form could not hold, or why it cannot hold the record at all.
    pub(super) fn write(
        &mut self,
        record: &MarcRecord,
        output: &mut Output,
    ) -> Result<Result<Vec<String>, WriteError>, Failure> {
        if self.split == Some(self.records) {
            self.close(output)?;
        }
        let before = self.held.len();
        let in_front = match self.records {
            0 => self.form.begin(),
            _ => self.form.between(),
        };
        self.held.extend_from_slice(in_front.as_bytes());
        let written = self.form.write(record, &mut self.held);
        match &written {
            Ok(_) => self.records += 1,
            Err(_) => self.held.truncate(before),
        }
        if self.held.len() >= BUFFER {
            self.flush(output)?;
        }
        Ok(written)
    }

    /// Ends the last document. One without records is written too, unless there are others.
    pub(super) fn finish(&mut self, output: &mut Output) -> Result<(), Failure> {
        if self.records > 0 {
            return self.close(output);
        }
        if self.files == 0 {
            self.held.extend_from_slice(self.form.begin().as_bytes());
            self.close(output)?;
        }
        Ok(())
    }

    fn close(&mut self, output: &mut Output) -> Result<(), Failure> {
        self.held.extend_from_slice(self.form.end().as_bytes());
        self.flush(output)?;
        self.file = None;
        self.records = 0;
        Ok(())
    }

    fn flush(&mut self, output: &mut Output) -> Result<(), Failure> {
        match &self.path {
            None => output.octets(&self.held, false)?,
            Some(template) => {
                if self.file.is_none() {
                    self.files += 1;
                    self.file = Some(create(template, self.split.map(|_| self.files))?);
                }
                if let Some(file) = &mut self.file {
                    file.write_all(&self.held)
                        .map_err(|error| unwritten(template, &error))?;
                }
            }
        }
        self.held.clear();
        Ok(())
    }
}

/// Creates a file, with its number in its name if it has one.
fn create(template: &Path, number: Option<u64>) -> Result<File, Failure> {
    let path = match number {
        None => template.to_owned(),
        Some(number) => numbered(template, number),
    };
    File::create(&path).map_err(|error| unwritten(&path, &error))
}

/// The name of a file: `{}` becomes the number, which stands in front of the extension otherwise.
fn numbered(template: &Path, number: u64) -> PathBuf {
    let name = template.file_name().unwrap_or_default().to_string_lossy();
    let number = format!("{number:0DIGITS$}");
    let name = match (name.split_once("{}"), name.rsplit_once('.')) {
        (Some((before, after)), _) => format!("{before}{number}{after}"),
        (None, Some((stem, extension))) => format!("{stem}-{number}.{extension}"),
        (None, None) => format!("{name}-{number}"),
    };
    template.with_file_name(name)
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::machine("write", &format!("{}: {error}", path.display()))
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
            assert_eq!(numbered(Path::new(template), 12), Path::new(name));
        }
    }
}
