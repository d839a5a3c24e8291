//! Where the records of a run go: standard output, a file or a folder.

use std::path::{Path, PathBuf};

use z3950_asn1::record::Form;

use super::arguments::Batch;
use crate::batch::{Ask, FileSink, FolderSink, Piece, Sink};
use crate::cli::output::{Failure, Output};
use crate::render::Format;

/// Where records go.
pub(super) enum Destination {
    /// Standard output.
    Standard {
        format: Format,
        /// Whether a record was written.
        has_records: bool,
        /// Octets written.
        length: u64,
    },
    /// A file or a folder.
    Sink { sink: Box<dyn Sink>, path: PathBuf },
}

impl Destination {
    /// Opens what the options name; of a file, what is behind that length is cut off.
    pub(super) fn open(
        arguments: &Batch,
        format: Format,
        targets: usize,
        length: u64,
    ) -> Result<Self, Failure> {
        let Some(path) = arguments.file() else {
            return Ok(Self::Standard {
                format,
                has_records: false,
                length: 0,
            });
        };
        let unopened = |error| unwritten(path, &error);
        let form = format.form();
        let sink: Box<dyn Sink> = match is_folder(path) {
            true => {
                let sink = FolderSink::new(path, extension(format), form, targets);
                Box::new(sink.map_err(unopened)?)
            }
            false => Box::new(FileSink::open(path, length, form).map_err(unopened)?),
        };
        let path = path.to_owned();
        Ok(Self::Sink { sink, path })
    }

    /// Adds what a piece has for it.
    pub(super) fn write(&mut self, piece: &Piece, output: &mut Output) -> Result<(), Failure> {
        if piece.octets.is_empty() {
            return Ok(());
        }
        match self {
            Self::Sink { sink, path } if piece.is_record => sink
                .record(&piece.octets)
                .map_err(|error| unwritten(path, &error)),
            // Lines that are no records are for those who read standard output.
            Self::Sink { .. } => Ok(()),
            Self::Standard {
                format,
                has_records,
                length,
            } => {
                if piece.is_record {
                    let before = format.form().map_or("", |form| match *has_records {
                        true => form.between(),
                        false => form.begin(),
                    });
                    *has_records = true;
                    *length += octets(before.as_bytes());
                    output.octets(before.as_bytes(), false)?;
                }
                *length += octets(&piece.octets);
                output.octets(&piece.octets, *format == Format::Raw)
            }
        }
    }

    /// Completes the records of an ask, and gives the length of what they are in.
    pub(super) fn complete(&mut self, ask: &Ask, input: &str) -> Result<u64, Failure> {
        match self {
            Self::Standard { length, .. } => Ok(*length),
            Self::Sink { sink, path } => sink
                .complete(ask, input)
                .map_err(|error| unwritten(path, &error)),
        }
    }

    /// Ends the document.
    pub(super) fn finish(&mut self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Sink { sink, path } => sink.finish().map_err(|error| unwritten(path, &error)),
            Self::Standard {
                format,
                has_records: true,
                ..
            } => output.octets(format.form().map_or("", Form::end).as_bytes(), false),
            Self::Standard { .. } => Ok(()),
        }
    }
}

/// Whether a path is that of a folder, be it there or not.
pub(super) fn is_folder(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    let is_separator = |octet: &u8| std::path::is_separator(char::from(*octet));
    last.is_some_and(is_separator) || path.is_dir()
}

/// Whether two paths lead to one file, be it there or not.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    one == other || place(one).is_some_and(|one| place(other).is_some_and(|other| one == other))
}

/// The one path of a file, which need not be there.
fn place(path: &Path) -> Option<PathBuf> {
    let whole = path.canonicalize().ok();
    whole.or_else(|| {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    })
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

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::machine("write", &format!("{}: {error}", path.display()))
}
