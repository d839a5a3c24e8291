//! Loads databases from files and folders, in every supported format, using all processors. A damaged record is reported and does
//! not affect other records.

mod check;
mod read;
mod workers;

use std::error::Error;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use z3950_marc::{Iso2709Error, MarcRecord, iso2709};

pub use self::check::{Checked, check_files};
#[cfg(feature = "save")]
pub use self::check::{CheckedJournal, check_journal};
pub(super) use self::workers::{DamagedFiles, Loaded, Served, load};
use crate::headroom::{Headroom, MEGABYTE};

/// The progress of loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of files to read.
    pub files: usize,
    /// The number of files read completely.
    pub files_read: usize,
    /// The total size of the files, in octets.
    pub octets: u64,
    /// The number of octets read so far.
    pub octets_read: u64,
    /// The number of records read so far.
    pub records: u64,
}

/// The notes on the damaged records in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileNotes {
    /// The path of the file.
    pub path: PathBuf,
    /// At most [`MAX_NOTES`] notes, which are the first ones in the order of the file.
    pub notes: Vec<Note>,
    /// The number of notes beyond [`MAX_NOTES`].
    pub more: usize,
}

/// The maximum number of notes that are kept for a file.
pub const MAX_NOTES: usize = 100;

/// A note on a damaged record in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The record was repaired.
    #[error(
        "record {number} at octet {offset} {}: {repair}{}", if *.is_loss { "is incomplete" } else { "repaired" }, others(*.more, "fault", "faults")
    )]
    Repaired {
        /// The number of the record, from 1.
        number: u64,
        /// The offset of the record's first octet in the file.
        offset: u64,
        /// A description of the first repair.
        repair: String,
        /// The number of further repairs.
        more: usize,
        /// Whether part of the record is missing.
        is_loss: bool,
    },
    /// The record cannot be read or served, so it is left out.
    #[error("record {number} at octet {offset} left out: {reason}")]
    LeftOut {
        /// The number of the record, from 1.
        number: u64,
        /// The offset of the record's first octet in the file.
        offset: u64,
        /// The reason why the record is left out.
        reason: String,
    },
    /// The record has a structural fault, but is served unchanged.
    #[error("record {number} at octet {offset}: {fault}")]
    Faulty {
        /// The number of the record, from 1.
        number: u64,
        /// The offset of the record's first octet in the file.
        offset: u64,
        /// A description of the fault.
        fault: String,
    },
}

impl Note {
    /// Returns the number of the record, from 1.
    pub fn number(&self) -> u64 {
        match self {
            Self::Repaired { number, .. }
            | Self::LeftOut { number, .. }
            | Self::Faulty { number, .. } => *number,
        }
    }

    /// Returns whether the record or part of it is lost.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Repaired { is_loss, .. } => *is_loss,
            Self::LeftOut { .. } => true,
            Self::Faulty { .. } => false,
        }
    }
}

/// Returns the words for further items after the first, such as ` and 7 other faults`.
fn others(count: usize, one: &str, several: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!(" and 1 other {one}"),
        more => format!(" and {more} other {several}"),
    }
}

fn damaged(records: usize) -> String {
    match records {
        0 => String::new(),
        1 => "; 1 other record is damaged".to_owned(),
        more => format!("; {more} other records are damaged"),
    }
}

/// The reason why databases cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file to which a database is saved is in use by another process.
    #[cfg(feature = "save")]
    #[error(transparent)]
    Saved(#[from] z3950_files::Error),
    /// The journal of a saved file cannot be used.
    #[cfg(feature = "save")]
    #[error(transparent)]
    Journal(#[from] super::journal::JournalError),
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The path of the file or folder.
        path: PathBuf,
        /// The error from the file system.
        source: io::Error,
    },
    /// A file does not contain any records.
    #[error("no record in {}{}", path.display(), first(.notes))]
    NoRecord {
        /// The path of the file.
        path: PathBuf,
        /// Notes on the contents of the file.
        notes: Vec<Note>,
    },
    /// A file is more damaged than the records being served: more records are lost or incomplete, fewer records can be read, or
    /// no record is intact. It does not replace the records being served.
    #[error(
        "{} is damaged, and does not replace what is served{}{}", path.display(), first(.notes), damaged(*.more + .notes.len().saturating_sub(1))
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// Notes on the damage, losses first.
        notes: Vec<Note>,
        /// The number of notes that were left out of the list.
        more: usize,
    },
    /// The file to which a database is saved has been removed since it was last read or written.
    #[error(
        "{} has been removed: put it back, or the next update will write it again",
        path.display()
    )]
    Removed {
        /// The path of the file.
        path: PathBuf,
    },
    /// A reload would change the set of saved databases, or the files to which they are saved.
    #[cfg(feature = "save")]
    #[error("which databases are saved, their files and their order change at the next start only")]
    OtherSaves,
    /// The files need more memory than the process can still allocate.
    #[error("loading the files needs about {} MB of memory, and {headroom}", needed.div_ceil(MEGABYTE))]
    NoMemory {
        /// The number of octets needed.
        needed: u64,
        /// The memory that can still be allocated.
        headroom: Headroom,
    },
    /// A folder does not contain any file with a known extension.
    #[error("no file of records in {}", path.display())]
    NoFile {
        /// The path of the folder.
        path: PathBuf,
    },
    /// The databases have too many records.
    #[error("more records than can be served at once")]
    TooMany,
    /// Several errors.
    #[error("{}", lines(.0))]
    Several(
        /// The errors.
        Vec<LoadError>,
    ),
}

impl LoadError {
    /// Combines errors into one; returns `Ok` if the list is empty.
    fn of_all(errors: Vec<Self>) -> Result<(), Self> {
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Self::as_one(errors))
        }
    }

    fn as_one(errors: Vec<Self>) -> Self {
        match <[Self; 1]>::try_from(errors) {
            Ok([one]) => one,
            Err(several) => Self::Several(several),
        }
    }

    /// Returns the errors combined in [`Self::Several`]; for any other error, the error itself.
    pub fn each(&self) -> Vec<&Self> {
        match self {
            Self::Several(errors) => errors.iter().flat_map(Self::each).collect(),
            one => vec![one],
        }
    }
}

/// Returns the values of two results, if both succeeded.
///
/// # Errors
/// If either result is an error, returns `errors`, followed by the errors of both results.
pub(super) fn both<A, B, E: Into<LoadError>>(
    mut errors: Vec<LoadError>,
    first: Result<A, Vec<E>>,
    second: Result<B, LoadError>,
) -> Result<(A, B), LoadError> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (first, second) => {
            errors.extend(first.err().into_iter().flatten().map(Into::into));
            errors.extend(second.err());
            Err(LoadError::as_one(errors))
        }
    }
}

/// Formats each error, with its causes, on a line of its own.
fn lines(errors: &[LoadError]) -> String {
    let mut lines = String::new();
    for error in errors {
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str(&error.to_string());
        let mut cause = error.source();
        while let Some(deeper) = cause {
            lines.push_str(&format!(": {deeper}"));
            cause = deeper.source();
        }
    }
    lines
}

fn first(notes: &[Note]) -> String {
    notes
        .first()
        .map(|note| format!(": {note}"))
        .unwrap_or_default()
}

/// Encodes records in ISO 2709.
///
/// # Errors
/// A note on the first record that cannot be encoded.
pub(super) fn encoded(records: impl IntoIterator<Item = MarcRecord>) -> Result<Vec<Bytes>, Note> {
    let encoded = (1..).zip(records).map(|(number, record)| {
        let left_out = |reason: Iso2709Error| Note::LeftOut {
            number,
            offset: 0,
            reason: reason.to_string(),
        };
        iso2709::encode(&record).map(Bytes::from).map_err(left_out)
    });
    encoded.collect()
}

#[cfg(test)]
mod tests;
