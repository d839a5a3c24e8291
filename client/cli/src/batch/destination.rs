//! Where the records of a run go: standard output, a file or a folder.

use std::path::PathBuf;
use std::sync::Arc;

use z3950_asn1::file::{Existing, Growing, Whole};
use z3950_marc::Form;

use super::arguments::{Batch, is_folder};
use super::sinks::{FileSink, FolderSink, OutputFile, Remains};
use super::sync::Written;
use crate::answer::{Ask, Piece, Printed};
use crate::console::output::{Failure, Output};
use crate::render::Format;

pub(super) enum Destination {
    Standard(Printed),
    File {
        sink: FileSink,
        path: PathBuf,
        /// Whether the file was passed to the syncing thread.
        is_noted: bool,
    },
    Folder {
        sink: FolderSink,
        /// What remains of an incomplete answer.
        remains: Remains,
    },
}

impl Destination {
    /// Opens and locks the output without changing it.
    pub(super) fn open(arguments: &Batch, format: Format, targets: usize) -> Result<Self, Failure> {
        let Some(path) = arguments.file() else {
            return Ok(Self::Standard(Printed::new(format)));
        };
        let existing = match arguments.resume {
            true => Existing::Replace,
            false => arguments.existing(),
        };
        let hint = arguments.hint();
        let form = format.form();
        let unopened = |error| Failure::unopened(&error, hint);
        if is_folder(path) {
            // The folder is made before the first line of a report.
            let begun = arguments.report.as_deref().filter(|_| arguments.resume);
            if !path.is_dir()
                && begun.is_some_and(|report| report.metadata().is_ok_and(|data| data.len() > 0))
            {
                let words = format!("cannot resume: there is no folder {}", path.display());
                return Err(Failure::Usage(words));
            }
            let sink = FolderSink::new(path, extension(format), form, targets, existing);
            let remains = match arguments.report {
                Some(_) => Remains::Answers,
                None => Remains::Records,
            };
            let sink = sink.map_err(unopened)?;
            return Ok(Self::Folder { sink, remains });
        }
        let file = match (&arguments.report, arguments.resume) {
            (None, _) => Whole::create(path, existing).map(OutputFile::Whole),
            (Some(_), true) => Growing::resume(path).map(OutputFile::Growing),
            (Some(_), false) => Growing::create(path, existing).map(OutputFile::Growing),
        };
        let file = file.map_err(unopened)?;
        Ok(Self::File {
            sink: FileSink::new(file, form),
            path: path.to_owned(),
            is_noted: false,
        })
    }

    /// The output if it is a growing file.
    fn growing(&self) -> Option<&Growing> {
        match self {
            Self::File { sink, .. } => match sink.file() {
                OutputFile::Growing(file) => Some(file),
                OutputFile::Whole(_) => None,
            },
            _ => None,
        }
    }

    /// The length of an output that is a growing file, and whether it exists.
    pub(super) fn length(&self) -> Option<(u64, bool)> {
        let file = self.growing().filter(|file| file.is_file())?;
        Some((file.len(), file.exists()))
    }

    /// Whether the output has all records of an ask, according to the length in the report.
    pub(super) fn has(&self, ask: &Ask, input: &str, length: u64) -> bool {
        match self {
            Self::Folder { sink, .. } => sink.has(ask, input, length),
            // Octets lost in a power cut are NUL.
            Self::File { .. } => {
                self.length().is_none_or(|(found, _)| length <= found)
                    && self.octet_before(length) != Some(0)
            }
            Self::Standard(_) => true,
        }
    }

    /// Whether a record may end at this length of a file. If not, the report is about another file.
    pub(super) fn may_end_record(&self, length: u64, format: Format) -> bool {
        let (found, form) = (self.octet_before(length), format.form());
        found
            .zip(form)
            .is_none_or(|(found, form)| found == form.last_octet())
    }

    /// Saves what a file has after `length` octets to another file, unless that is only the end of a document.
    pub(super) fn keep_after(
        &self,
        length: u64,
        format: Format,
    ) -> Result<Option<PathBuf>, Failure> {
        let (Self::File { path, .. }, Some(file)) = (self, self.growing()) else {
            return Ok(None);
        };
        let (begin, end) = format
            .form()
            .map_or(("", ""), |form| (form.begin(), Form::end(form)));
        let empty = match length {
            0 => format!("{begin}{end}"),
            _ => end.to_owned(),
        };
        // One octet more than can be dropped.
        let rest = file.octets_after(length, octets(empty.as_bytes()) + 1);
        let rest = rest.map_err(|error| Failure::unwritten(path, &error))?;
        match empty.as_bytes().starts_with(&rest) {
            true => Ok(None),
            false => Ok(file.keep_after(length)?),
        }
    }

    fn octet_before(&self, position: u64) -> Option<u8> {
        self.growing()?.octet_before(position).ok().flatten()
    }

    /// Continues a file after `length` octets; the rest is cut off.
    pub(super) fn go_on(&mut self, length: u64) -> Result<(), Failure> {
        match self {
            Self::File { sink, path, .. } => sink
                .go_on(length)
                .map_err(|error| Failure::unwritten(path, &error)),
            _ => Ok(()),
        }
    }

    /// Adds the octets of a piece.
    pub(super) fn write(&mut self, piece: &Piece, output: &mut Output) -> Result<(), Failure> {
        if piece.octets.is_empty() {
            return Ok(());
        }
        match self {
            Self::File { sink, path, .. } if piece.is_record => sink
                .record(&piece.octets)
                .map_err(|error| Failure::unwritten(path, &error)),
            Self::Folder { sink, .. } if piece.is_record => Ok(sink.record(&piece.octets)?),
            // Other lines are for readers of standard output.
            Self::File { .. } | Self::Folder { .. } => Ok(()),
            Self::Standard(printed) => printed.write(piece, output),
        }
    }

    /// Completes the records of an ask; returns the length of the output.
    pub(super) fn complete(&mut self, ask: &Ask, input: &str) -> Result<u64, Failure> {
        match self {
            Self::Standard(printed) => Ok(printed.length),
            Self::File { sink, path, .. } => sink
                .complete()
                .map_err(|error| Failure::unwritten(path, &error)),
            Self::Folder { sink, .. } => Ok(sink.complete(ask, input)?),
        }
    }

    /// What has been written since the last call, to be synced.
    pub(super) fn written(&mut self) -> Result<Written, Failure> {
        let mut written = Written::default();
        match self {
            Self::File {
                sink,
                path,
                is_noted: is_noted @ false,
            } => {
                if let OutputFile::Growing(file) = sink.file() {
                    let handle = file.handle();
                    let handle = handle.map_err(|error| Failure::unwritten(path, &error))?;
                    *is_noted = handle.is_some();
                    written.output = handle.map(Arc::new);
                }
            }
            Self::Folder { sink, .. } => written.files = sink.take_new(),
            _ => {}
        }
        Ok(written)
    }

    /// Ends the document: with complete answers, or also with the records of one that was interrupted. Returns the other
    /// file that has these, and their number.
    ///
    /// `is_empty`: nothing matched, and nothing failed.
    pub(super) fn finish(
        self,
        remains: Remains,
        is_empty: bool,
        output: &mut Output,
    ) -> Result<Option<(PathBuf, u64)>, Failure> {
        match self {
            Self::File { mut sink, path, .. } => {
                let unwritten = |error| Failure::unwritten(&path, &error);
                if let OutputFile::Growing(_) = sink.file() {
                    sink.finish(Remains::Answers).map_err(unwritten)?;
                    if let OutputFile::Growing(mut file) = sink.into_file() {
                        file.sync().map_err(unwritten)?;
                    }
                    return Ok(None);
                }
                let has_records = match (sink.finish(remains), remains) {
                    (has_records, Remains::Answers) => has_records.map_err(unwritten)?,
                    // On a full disk there may be no room for the end of the document; the records are still kept.
                    (has_records, Remains::Records) => has_records.unwrap_or(true),
                };
                let remained = sink.remained();
                match (sink.into_file(), remains) {
                    (OutputFile::Whole(file), Remains::Answers) if has_records => {
                        file.finish()?;
                        Ok(None)
                    }
                    (OutputFile::Whole(file), Remains::Records) if has_records => {
                        Ok(file.keep()?.map(|part| (part, remained)))
                    }
                    _ => Ok(None),
                }
            }
            Self::Folder { mut sink, remains } => Ok(sink.finish(remains)?),
            Self::Standard(printed) => printed.end(is_empty, output).map(|()| None),
        }
    }
}

/// The extension of files in a format.
fn extension(format: Format) -> &'static str {
    match format {
        Format::Marc => "mrc",
        Format::Marcxml | Format::Dc => "xml",
        Format::Json => "json",
        Format::Mrk => "mrk",
        Format::Text | Format::Brief => "txt",
        Format::Raw => "raw",
    }
}

fn octets(text: &[u8]) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
