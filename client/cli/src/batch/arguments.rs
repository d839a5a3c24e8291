//! The options for batches, and the conflicts between them.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use z3950_files::{Existing, Growing, same};

use super::column::{ColumnReader, InputColumn};
use super::inputs::{Inputs, record_form, refusal};
use super::text;
use crate::answer::NameRecord;
use crate::console::input::STANDARD;
use crate::console::output::Failure;
use crate::render::{Format, shown};

/// The maximum number of parallel jobs.
const MAX_JOBS: i64 = 256;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options for many inputs")]
pub(crate) struct Batch {
    /// Read more inputs from a file, one per line; - is standard input. Blank lines and lines that begin with # are ignored. `lookup` also
    /// takes files of MARC records.
    #[arg(long = "input", value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Read the --input files as tables with commas, semicolons or tabs, and take the inputs from this column: its name in the first row,
    /// or its number. Each row after the row of names is an input, even if its cell is empty.
    #[arg(
        long,
        value_name = "NAME|NUMBER",
        requires = "inputs",
        hide_short_help = true
    )]
    column: Option<InputColumn>,

    /// How many inputs to process in parallel. A profile may limit the number of sessions with its server.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=MAX_JOBS), hide_short_help = true)]
    jobs: Option<u16>,

    /// Write records to this file. Its extension (.mrc, .xml, .json, .jsonl, .csv, .tsv, .mrk or .txt) selects the format unless
    /// --format is given. If it is a folder, or the name ends in a slash, each input gets its own file in it. An existing
    /// file is left alone without --overwrite or --resume, and if no record is found.
    #[arg(short, long, value_name = "FILE|FOLDER/", conflicts_with = "json")]
    pub(super) output: Option<PathBuf>,

    /// Write one line per input to this file, .tsv, .csv or .json.
    ///
    /// The columns are position, target, input, outcome, exit,
    /// hits, step (the index that answered), input_record and record (the 001 of the input and of what was delivered),
    /// choice (of --best), diagnostic, message, milliseconds and length (of the output).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) report: Option<PathBuf>,

    /// Resume an interrupted run from its report and output; the inputs must be the same, but may have been appended to.
    #[arg(long, requires = "report", requires = "output", hide_short_help = true)]
    pub(super) resume: bool,

    /// Overwrite an existing output or report.
    #[arg(
        long,
        alias = "force",
        conflicts_with = "resume",
        hide_short_help = true
    )]
    pub(super) overwrite: bool,
}

impl Batch {
    /// Returns whether an option that requires a batch was given.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.inputs.is_empty() || self.output.is_some() || self.report.is_some()
    }

    /// Returns the maximum number of times that a request is sent again after its session was lost. The number is higher in a batch, where
    /// a request for another input may have caused the loss.
    pub(crate) fn max_repeats(&self) -> usize {
        if self.is_wanted() { 4 } else { 1 }
    }

    /// Returns the number of inputs to process in parallel; the default is `usual`.
    pub(crate) fn jobs(&self, usual: usize) -> usize {
        self.jobs.map_or(usual, usize::from)
    }

    /// Returns the file or folder for records; `None` for standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        let output = self.output.as_deref();
        output.filter(|path| *path != Path::new(STANDARD))
    }

    /// Returns the format of records: `asked`, unless it is the default format and the file extension of the output
    /// determines another one.
    pub(crate) fn format(&self, asked: Format) -> Result<Format, Failure> {
        let Some(path) = self.file().filter(|path| !is_folder(path)) else {
            return Ok(asked);
        };
        Format::for_file(path, asked).map_err(|words| {
            Failure::Usage(format!(
                "--output {words}, or in / for a folder, or give --format"
            ))
        })
    }

    /// Returns how to treat an existing output or report.
    pub(super) fn existing(&self) -> Existing {
        Existing::forced(self.overwrite)
    }

    /// Returns advice for the user about an existing output or report.
    pub(super) fn hint(&self) -> &'static str {
        match self.report {
            Some(_) => "--resume continues it, --overwrite replaces it",
            None => "--overwrite replaces it",
        }
    }

    /// Opens a report or an output that a later run can continue.
    pub(super) fn growing(&self, path: &Path) -> Result<Growing, Failure> {
        let file = if self.resume {
            Growing::resume(path)
        } else {
            Growing::create(path, self.existing())
        };
        file.map_err(|error| Failure::unopened(&error, self.hint()))
    }

    /// Returns the inputs given on the command line, followed by the inputs in the files. If `names_records` is set,
    /// the files may contain records. All files are opened immediately, so that the name of a missing file is reported
    /// before the run begins.
    pub(super) fn inputs(
        &self,
        given: Vec<Vec<u8>>,
        names_records: Option<NameRecord>,
    ) -> Result<Inputs, Failure> {
        let is_lookup = names_records.is_some();
        // The cells of a column are identifiers, never records.
        let names_records = names_records.filter(|_| self.column.is_none());
        let mut inputs = Inputs::given(given).naming_records(names_records);
        for path in &self.inputs {
            if path == Path::new(STANDARD) {
                let lines = BufReader::new(io::stdin());
                match &self.column {
                    Some(column) => {
                        let lines = text::from_marked_utf16(lines);
                        let cells = ColumnReader::new(lines, column.clone(), is_lookup);
                        inputs.add_cells("standard input", cells);
                    }
                    None => inputs.add("standard input", lines),
                }
                continue;
            }
            let name = path.display().to_string();
            let unread = |error| Failure::input(&name, &error);
            let file = File::open(path).map_err(unread)?;
            let is_file = file.metadata().is_ok_and(|data| data.is_file());
            let mut lines = BufReader::new(file);
            let mut is_utf16 = false;
            // A file is checked before the run writes anything. A pipe is not, because reading its beginning may block.
            if is_file {
                let begin = lines.fill_buf().map_err(unread)?;
                is_utf16 = text::is_utf16(begin);
                let has_records = names_records.is_some() && record_form(begin).is_some();
                let words = refusal(begin).map(str::to_owned).filter(|_| !has_records);
                let table = || is_table(path, begin).filter(|_| is_lookup && self.column.is_none());
                if let Some(words) = words.or_else(table) {
                    return Err(unread(io::Error::other(words)));
                }
            }
            let Some(column) = &self.column else {
                if is_lookup && is_named_table(path) {
                    inputs.add_table(name, lines);
                } else {
                    inputs.add(name, lines);
                }
                continue;
            };
            let lines = if is_utf16 {
                text::from_utf16(lines)
            } else {
                boxed(lines)
            };
            let mut cells = ColumnReader::new(lines, column.clone(), is_lookup);
            if is_file {
                cells.begin().map_err(unread)?;
            }
            inputs.add_cells(name, cells);
        }
        Ok(inputs)
    }

    /// Checks that no file to be written is also used for another purpose.
    pub(super) fn check_files(&self) -> Result<(), Failure> {
        let written = [self.file(), self.report.as_deref()];
        let written: Vec<&Path> = written.into_iter().flatten().collect();
        let mut read = self.inputs.iter().map(PathBuf::as_path);
        let twice = match written.as_slice() {
            [output, report] if same(output, report) => Some(*output),
            written => read.find(|read| written.iter().any(|written| same(read, written))),
        };
        match twice {
            None => Ok(()),
            Some(path) => Err(Failure::Usage(format!(
                "{} is given as more than one of input, output and report",
                path.display()
            ))),
        }
    }
}

fn boxed(input: impl BufRead + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(input)
}

/// The maximum number of octets of the first row that a message shows.
const MAX_ROW: usize = 200;

/// If the name and the first line of a file show that it is a table with several columns, returns an error message,
/// because the lines of such a table are not inputs.
fn is_table(path: &Path, begin: &[u8]) -> Option<String> {
    let first = begin.split(|octet| *octet == b'\n').next()?;
    let is_it = is_named_table(path) && first.iter().any(|octet| b",;\t".contains(octet));
    is_it.then(|| {
        let row = first.get(..MAX_ROW).unwrap_or(first).trim_ascii();
        format!(
            "it is a table: --column names the column to look up; its first row is {}",
            shown(row)
        )
    })
}

/// Returns whether a file name has a table's extension.
fn is_named_table(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        ["csv", "tsv"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(extension))
    })
}

/// Returns whether a path names a folder. The folder may not exist yet.
pub(super) fn is_folder(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    let is_separator = |octet: &u8| std::path::is_separator(char::from(*octet));
    last.is_some_and(is_separator) || path.is_dir()
}
