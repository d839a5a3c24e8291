//! The destination for the records from a run: standard output, a file or a folder.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use z3950_files::{Existing, Growing, Whole};

use super::arguments::{Batch, is_folder};
use super::report::later::LaterAnswers;
use super::sinks::{FileSink, FolderSink, Remains, length as length_of};
use super::sync::Written;
use crate::answer::{Ask, Piece, Printed};
use crate::console::output::{Failure, Output};
use crate::render::{Format, Style};

pub(super) enum Destination {
    Standard(Printed),
    /// A file that appears only when it is complete.
    Whole {
        sink: FileSink<Whole>,
        path: PathBuf,
    },
    /// A file that a later run can continue.
    Growing {
        sink: FileSink<Growing>,
        /// Whether the file has been passed to the thread that syncs it.
        is_noted: bool,
    },
    Folder {
        sink: FolderSink,
        /// The part of an incomplete answer that is kept.
        remains: Remains,
    },
}

impl Destination {
    /// Opens and locks the output without changing it.
    pub(super) fn open(arguments: &Batch, style: Style, targets: usize) -> Result<Self, Failure> {
        let Some(path) = arguments.file() else {
            return Ok(Self::Standard(Printed::new(style)));
        };
        let existing = if arguments.resume {
            Existing::Replace
        } else {
            arguments.existing()
        };
        let hint = arguments.hint();
        let unopened = |error| Failure::unopened(&error, hint);
        if is_folder(path) {
            // A run creates the folder before it writes the first line of the report, so a report without its folder cannot be
            // resumed.
            let begun = arguments.report.as_deref().filter(|_| arguments.resume);
            if !path.is_dir()
                && begun.is_some_and(|report| report.metadata().is_ok_and(|data| data.len() > 0))
            {
                let words = format!("cannot resume: there is no folder {}", path.display());
                return Err(Failure::Usage(words));
            }
            let sink = FolderSink::new(path, extension(style.format()), style, targets, existing);
            let remains = match arguments.report {
                Some(_) => Remains::Answers,
                None => Remains::Records,
            };
            let sink = sink.map_err(unopened)?;
            return Ok(Self::Folder { sink, remains });
        }
        if arguments.report.is_some() {
            let sink = FileSink::new(arguments.growing(path)?, style);
            let is_noted = false;
            return Ok(Self::Growing { sink, is_noted });
        }
        let file = Whole::create(path, existing).map_err(unopened)?;
        let (sink, path) = (FileSink::new(file, style), path.to_owned());
        Ok(Self::Whole { sink, path })
    }

    /// If the output is a growing file, returns its length in octets, and whether it existed before.
    pub(super) fn length(&self) -> Option<(u64, bool)> {
        match self {
            Self::Growing { sink, .. } if sink.file.is_file() => {
                Some((sink.file.len(), sink.file.exists()))
            }
            _ => None,
        }
    }

    /// Returns whether the output contains all records for an `Ask`, given the length in its report line.
    pub(super) fn has(&self, ask: &Ask, input: &str, length: u64) -> bool {
        match self {
            Self::Folder { sink, .. } => sink.has(ask, input, length),
            // After a power cut, the file may contain NUL in place of octets that were never written.
            _ => {
                self.length().is_none_or(|(found, _)| length <= found)
                    && self.octet_before(length) != Some(0)
            }
        }
    }

    /// Returns whether a record may end at this offset of the file. If not, the report belongs to a different output.
    pub(super) fn may_end_record(&self, length: u64) -> bool {
        let last = match self {
            Self::Growing { sink, .. } => sink.style.last_octet(),
            _ => None,
        };
        let found = self.octet_before(length).zip(last);
        found.is_none_or(|(found, last)| found == last)
    }

    /// Returns whether the existing file is a table with the columns of this run, or the output is not a table.
    pub(super) fn has_columns(&self) -> bool {
        match self {
            Self::Growing { sink, .. } if sink.file.is_file() && sink.style.format().is_table() => {
                let header = sink.style.before(true).as_bytes();
                let found = sink.file.octets_after(0, length_of(header));
                found.is_ok_and(|found| found == header)
            }
            _ => true,
        }
    }

    fn octet_before(&self, position: u64) -> Option<u8> {
        match self {
            Self::Growing { sink, .. } => sink.file.octet_before(position).ok().flatten(),
            _ => None,
        }
    }

    /// Returns whether answers from an earlier run can be inserted after new answers. This is possible in a single
    /// file, and in a folder with a file for each answer.
    pub(super) fn takes_back(&self) -> bool {
        self.length().is_some() || matches!(self, Self::Folder { .. })
    }

    /// Returns the file in which records are inserted; `None` if the output is a folder or cannot be continued.
    pub(super) fn growing(&mut self) -> Option<&mut Growing> {
        match self {
            Self::Growing { sink, .. } => Some(&mut sink.file),
            _ => None,
        }
    }

    /// Inserts the records of the answer that was last taken from `later` into the output again. Returns the length of
    /// the file; `None` for a folder.
    pub(super) fn put_back(
        &mut self,
        later: &mut LaterAnswers,
        place: Option<Range<u64>>,
    ) -> Result<Option<u64>, Failure> {
        let (Self::Growing { sink, .. }, Some(records), Some(place)) =
            (self, later.records(), place)
        else {
            return Ok(None);
        };
        let length = sink.put_back(records, place);
        let unwritten = |error| Failure::unwritten(sink.file.path(), &error);
        length.map(Some).map_err(unwritten)
    }

    /// Drops the records for an `Ask` that is not complete.
    pub(super) fn drop_incomplete(&mut self) -> Result<(), Failure> {
        match self {
            Self::Growing { sink, .. } => sink
                .drop_incomplete()
                .map_err(|error| Failure::unwritten(sink.file.path(), &error)),
            Self::Folder { sink, .. } => {
                sink.drop_incomplete();
                Ok(())
            }
            Self::Standard(_) | Self::Whole { .. } => Ok(()),
        }
    }

    /// Truncates the file to `length` octets. The octets after the first `known` octets are saved in another file,
    /// whose path is returned, unless they are only the end of a document.
    pub(super) fn cut_back(&mut self, length: u64, known: u64) -> Result<Option<PathBuf>, Failure> {
        let Self::Growing { sink, .. } = self else {
            return Ok(None);
        };
        if !sink.file.exists() {
            return Ok(None);
        }
        let path = sink.file.path().to_owned();
        let unwritten = |error| Failure::unwritten(&path, &error);
        let begin = if known == 0 {
            sink.style.before(true)
        } else {
            ""
        };
        let empty = format!("{begin}{}", sink.style.end());
        let rest = sink
            .file
            .octets_after(known, length_of(empty.as_bytes()) + 1);
        let kept = if empty.as_bytes().starts_with(&rest.map_err(unwritten)?) {
            None
        } else {
            sink.file.keep_after(known)?
        };
        sink.go_on(length).map_err(unwritten)?;
        Ok(kept)
    }

    /// Adds the octets of a piece to the output.
    pub(super) fn write(&mut self, piece: &Piece, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Standard(printed) => printed.write(piece, output),
            _ if !piece.is_record || piece.octets.is_empty() => Ok(()),
            Self::Whole { sink, path } => sink
                .record(&piece.octets)
                .map_err(|error| Failure::unwritten(path, &error)),
            Self::Growing { sink, .. } => sink
                .record(&piece.octets)
                .map_err(|error| Failure::unwritten(sink.file.path(), &error)),
            Self::Folder { sink, .. } => Ok(sink.record(&piece.octets)?),
        }
    }

    /// Completes the records for an `Ask`, and returns the length of the output.
    pub(super) fn complete(&mut self, ask: &Ask, input: &str) -> Result<u64, Failure> {
        match self {
            Self::Standard(printed) => Ok(printed.length),
            Self::Whole { sink, path } => sink
                .complete()
                .map_err(|error| Failure::unwritten(path, &error)),
            Self::Growing { sink, .. } => sink
                .complete()
                .map_err(|error| Failure::unwritten(sink.file.path(), &error)),
            Self::Folder { sink, .. } => Ok(sink.complete(ask, input)?),
        }
    }

    /// Returns the files written since the last call, which must be synced.
    pub(super) fn written(&mut self) -> Result<Written, Failure> {
        let mut written = Written::default();
        match self {
            Self::Growing { sink, is_noted } if !*is_noted => {
                let handle = sink.file.handle();
                let unwritten = |error| Failure::unwritten(sink.file.path(), &error);
                written.output = handle.map_err(unwritten)?.map(Arc::new);
                *is_noted = written.output.is_some();
            }
            Self::Folder { sink, .. } => written.files = std::mem::take(&mut sink.new),
            _ => {}
        }
        Ok(written)
    }

    /// Ends the document after the complete answers or, for [`Remains::Records`], after the records of an interrupted
    /// answer. If these records are saved in another file, returns its path and the number of records in it.
    ///
    /// `is_empty` is whether nothing matched and nothing failed.
    pub(super) fn finish(
        self,
        remains: Remains,
        is_empty: bool,
        output: &mut Output,
    ) -> Result<Option<(PathBuf, u64)>, Failure> {
        match self {
            Self::Whole { sink, .. } if remains == Remains::Records => Ok(sink.keep()?),
            Self::Whole { sink, path } => sink.end(&path).map(|_| None),
            Self::Growing { mut sink, .. } => {
                let ended = sink.finish(Remains::Answers);
                let synced = ended.and_then(|_| sink.file.sync());
                synced.map_err(|error| Failure::unwritten(sink.file.path(), &error))?;
                Ok(None)
            }
            Self::Folder { mut sink, remains } => Ok(sink.finish(remains)?),
            Self::Standard(printed) => printed.end(is_empty, output).map(|()| None),
        }
    }
}

/// Returns the file extension for a format.
fn extension(format: Format) -> &'static str {
    match format {
        Format::Marc => "mrc",
        Format::Marcxml | Format::Marcxchange | Format::Dc => "xml",
        Format::Json => "json",
        Format::Mrk => "mrk",
        Format::Csv | Format::Spreadsheet => "csv",
        Format::Tsv => "tsv",
        Format::Text | Format::Brief => "txt",
        Format::Raw => "raw",
    }
}
