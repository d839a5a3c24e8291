//! The options for many inputs, and whether they go together.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;

use super::destination::{is_folder, is_same};
use crate::batch::{Inputs, Resumed};
use crate::cli::output::Failure;
use crate::render::Format;

/// The name that stands for standard input or output.
pub(super) const STANDARD: &str = "-";

/// The most jobs at once.
const MAX_JOBS: i64 = 256;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options for many inputs")]
pub(in crate::cli) struct Batch {
    /// Read more inputs from a file, one a line, behind those given; - is standard input. Blank lines and lines that
    /// begin with # are passed over.
    #[arg(long = "input", value_name = "FILE")]
    pub(in crate::cli) inputs: Vec<PathBuf>,

    /// How many inputs to ask for at once. A profile may say how many sessions its server bears.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=MAX_JOBS), hide_short_help = true)]
    pub(super) jobs: Option<u16>,

    /// Write records to this file, in the form that its name ends in (.mrc, .xml, .jsonl, .mrk or .txt) unless --format
    /// says another; or into this folder, if a slash is behind its name, a file for each input.
    #[arg(long, value_name = "FILE|FOLDER/", conflicts_with = "json")]
    pub(super) output: Option<PathBuf>,

    /// Write a line for each input to this file, in the form that its name ends in (.tsv or .json): what came of it, hits,
    /// the step that answered, diagnostic, milliseconds, and the length of the output.
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Go on with a run that was broken off, by its report and output; the inputs must be the same.
    #[arg(long, requires = "report", requires = "output", hide_short_help = true)]
    pub(super) resume: bool,
}

impl Batch {
    /// Whether this is more than inputs on a command line and answers on a terminal.
    pub(in crate::cli) fn is_wanted(&self) -> bool {
        !self.inputs.is_empty() || self.output.is_some() || self.report.is_some()
    }

    /// The file or folder for records, if they do not go to standard output.
    pub(super) fn file(&self) -> Option<&Path> {
        let output = self.output.as_deref();
        output.filter(|path| *path != Path::new(STANDARD))
    }

    /// How records are written: as the option says, if it says anything but text, else as the output is called.
    pub(in crate::cli) fn format(&self, asked: Format) -> Result<Format, Failure> {
        let Some(path) = self.file().filter(|path| !is_folder(path)) else {
            return Ok(asked);
        };
        if asked != Format::default() {
            return Ok(asked);
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.and_then(by_extension).ok_or_else(|| {
            let name = path.display();
            Failure::Usage(format!(
                "--output {name}: its name says no form; let it end in .mrc, .xml, .jsonl, .mrk or .txt, or in / for a \
                 folder, or give --format"
            ))
        })
    }

    /// The inputs given, and those of the files, which are all opened now: a name that is wrong is known at once.
    pub(super) fn inputs(&self, given: Vec<Vec<u8>>) -> Result<Inputs, Failure> {
        let mut inputs = Inputs::given(given);
        for path in &self.inputs {
            if path == Path::new(STANDARD) {
                inputs.add("standard input", BufReader::new(io::stdin()));
                continue;
            }
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| Failure::input(&name, &error))?;
            inputs.add(name, BufReader::new(file));
        }
        Ok(inputs)
    }

    /// Refuses a file that is written and is another one too.
    pub(super) fn check_files(&self) -> Result<(), Failure> {
        let written = [self.file(), self.report.as_deref()];
        let written: Vec<&Path> = written.into_iter().flatten().collect();
        let mut read = self.inputs.iter().map(PathBuf::as_path);
        let twice = match written.as_slice() {
            [output, report] if is_same(output, report) => Some(*output),
            written => read.find(|read| written.iter().any(|written| is_same(read, written))),
        };
        match twice {
            None => Ok(()),
            Some(path) => Err(Failure::Usage(format!(
                "{} cannot be two of input, output and report",
                path.display()
            ))),
        }
    }

    /// Refuses to go on without a report where there is output: nothing tells what it is.
    pub(super) fn check_output_is_new(&self) -> Result<(), Failure> {
        match self.output_length() {
            Some((path, length)) if length > 0 => Err(Failure::Usage(format!(
                "cannot go on: {} has records and the report is empty",
                path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses an output that is shorter than its report says, or not there.
    pub(super) fn check_output_is_of(&self, resumed: &Resumed) -> Result<(), Failure> {
        let said = resumed.output_length;
        if let Some(path) = self.file().filter(|path| is_folder(path) && !path.is_dir())
            && resumed.answers > 0
        {
            let words = format!("cannot go on: there is no folder {}", path.display());
            return Err(Failure::Usage(words));
        }
        match self.output_length() {
            Some((path, length)) if length < said => Err(Failure::Usage(format!(
                "cannot go on: {} has {length} octets, and its report speaks of {said}",
                path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// The length of an output that is one file; 0 if it is not there.
    fn output_length(&self) -> Option<(&Path, u64)> {
        let path = self.file().filter(|path| !is_folder(path))?;
        Some((path, path.metadata().map_or(0, |data| data.len())))
    }
}

fn by_extension(extension: &str) -> Option<Format> {
    Some(match extension {
        "mrc" | "marc" => Format::Marc,
        "xml" => Format::Marcxml,
        "json" | "jsonl" => Format::Json,
        "mrk" => Format::Mrk,
        "txt" => Format::Text,
        _ => return None,
    })
}
