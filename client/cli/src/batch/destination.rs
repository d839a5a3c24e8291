//! Where the records of a run go: standard output, a file or a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use z3950_asn1::file::{Existing, Growing, Whole};
use z3950_marc::Form;

use super::arguments::Batch;
use super::sinks::{FileSink, FolderSink, OutputFile, Remains};
use super::sync::Written;
use crate::answer::{Ask, Piece, Printed};
use crate::console::output::{Failure, Output};
use crate::render::Format;

/// Where records go.
pub(super) enum Destination {
    /// Standard output.
    Standard(Printed),
    /// One file.
    File {
        sink: FileSink,
        path: PathBuf,
        /// Whether the syncing thread knows the file.
        is_noted: bool,
    },
    /// A folder.
    Folder {
        sink: FolderSink,
        /// What stays of an answer that is not complete.
        remains: Remains,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Every answer is whole, or failed as a whole.
    Complete,
    /// It was broken off, or an answer was in the midst of its records.
    BrokenOff,
}

impl Destination {
    /// Opens what the options name, and locks it; nothing is changed yet.
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
            // It is made before a report gets its first line.
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

    /// The length of an output that is one file which grows, and whether it is there.
    pub(super) fn length(&self) -> Option<(u64, bool)> {
        match self {
            Self::File { sink, .. } => match sink.file() {
                OutputFile::Growing(file) if file.is_file() => Some((file.len(), file.exists())),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether all is there that the answer to an ask brought, by the length in its report.
    pub(super) fn has(&self, ask: &Ask, input: &str, length: u64) -> bool {
        match self {
            Self::Folder { sink, .. } => sink.has(ask, input, length),
            // Octets that were never written are NUL.
            Self::File { .. } => {
                self.length().is_none_or(|(found, _)| length <= found)
                    && self.octet_before(length) != Some(0)
            }
            Self::Standard(_) => true,
        }
    }

    /// Whether a record may end after that many octets of a file. Where none does, the file is not the one that the report
    /// is about.
    pub(super) fn may_end_record(&self, length: u64, format: Format) -> bool {
        let (found, form) = (self.octet_before(length), format.form());
        found
            .zip(form)
            .is_none_or(|(found, form)| found == form.last_octet())
    }

    /// Keeps what a file has after that many octets in a file of its own, unless it is only the end of a document.
    pub(super) fn keep_after(
        &self,
        length: u64,
        format: Format,
    ) -> Result<Option<PathBuf>, Failure> {
        let Self::File { sink, path, .. } = self else {
            return Ok(None);
        };
        let OutputFile::Growing(file) = sink.file() else {
            return Ok(None);
        };
        let (begin, end) = format
            .form()
            .map_or(("", ""), |form| (form.begin(), Form::end(form)));
        let empty = match length {
            0 => format!("{begin}{end}"),
            _ => end.to_owned(),
        };
        // One octet more than can be let go.
        let rest = file.octets_after(length, octets(empty.as_bytes()) + 1);
        let rest = rest.map_err(|error| Failure::unwritten(path, &error))?;
        match empty.as_bytes().starts_with(&rest) {
            true => Ok(None),
            false => Ok(file.keep_after(length)?),
        }
    }

    fn octet_before(&self, position: u64) -> Option<u8> {
        match self {
            Self::File { sink, .. } => match sink.file() {
                OutputFile::Growing(file) => file.octet_before(position).ok().flatten(),
                OutputFile::Whole(_) => None,
            },
            _ => None,
        }
    }

    /// Goes on with a file after that many octets; what comes after them is cut off.
    pub(super) fn go_on(&mut self, length: u64) -> Result<(), Failure> {
        match self {
            Self::File { sink, path, .. } => sink
                .go_on(length)
                .map_err(|error| Failure::unwritten(path, &error)),
            _ => Ok(()),
        }
    }

    /// Adds what a piece has for it.
    pub(super) fn write(&mut self, piece: &Piece, output: &mut Output) -> Result<(), Failure> {
        if piece.octets.is_empty() {
            return Ok(());
        }
        match self {
            Self::File { sink, path, .. } if piece.is_record => sink
                .record(&piece.octets)
                .map_err(|error| Failure::unwritten(path, &error)),
            Self::Folder { sink, .. } if piece.is_record => Ok(sink.record(&piece.octets)?),
            // Lines that are no records are for those who read standard output.
            Self::File { .. } | Self::Folder { .. } => Ok(()),
            Self::Standard(printed) => printed.write(piece, output),
        }
    }

    /// Completes the records of an ask, and gives the length of what they are in.
    pub(super) fn complete(&mut self, ask: &Ask, input: &str) -> Result<u64, Failure> {
        match self {
            Self::Standard(printed) => Ok(printed.length()),
            Self::File { sink, path, .. } => sink
                .complete()
                .map_err(|error| Failure::unwritten(path, &error)),
            Self::Folder { sink, .. } => Ok(sink.complete(ask, input)?),
        }
    }

    /// What has been written since this was last asked for, to be synced.
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

    /// Ends the document. Gives the file that has the records of a run that was broken off, where that is not the one
    /// asked for, and how many they are.
    ///
    /// `is_empty`: nothing matched, and nothing went wrong.
    pub(super) fn finish(
        self,
        ending: Ending,
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
                let has_records = sink.finish(match ending {
                    Ending::Complete => Remains::Answers,
                    Ending::BrokenOff => Remains::Records,
                });
                // On a full disk there may be no room for the end of the document; the records are kept all the same.
                let has_records = match ending {
                    Ending::Complete => has_records.map_err(unwritten)?,
                    Ending::BrokenOff => has_records.unwrap_or(true),
                };
                let remained = sink.remained();
                let OutputFile::Whole(file) = sink.into_file() else {
                    return Ok(None);
                };
                match (has_records, ending) {
                    (false, _) => Ok(None),
                    (true, Ending::Complete) => {
                        file.finish()?;
                        Ok(None)
                    }
                    (true, Ending::BrokenOff) => Ok(file.keep()?.map(|part| (part, remained))),
                }
            }
            Self::Folder { mut sink, remains } => Ok(sink.finish(remains)?),
            Self::Standard(printed) => printed.end(is_empty, output).map(|()| None),
        }
    }
}

/// Whether a path is that of a folder, be it there or not.
pub(super) fn is_folder(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    let is_separator = |octet: &u8| std::path::is_separator(char::from(*octet));
    last.is_some_and(is_separator) || path.is_dir()
}

/// What the names of files in a format end in.
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
