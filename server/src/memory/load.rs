//! Records from files into databases: every form that can be read, folders of them, side by side on all processors. A damaged
//! record never costs its neighbours, and is told of.

mod check;
mod read;
mod workers;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use z3950_marc::Iso2709Error;
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;

pub use self::check::{Checked, check_files};
pub(super) use self::workers::{Demand, load};
use super::catalogue::Database;
use super::docid::DocidField;
use super::index::Rules;

/// A database, and where its records come from.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseFiles {
    /// The name it is searched by.
    pub name: String,
    /// What it is called.
    pub title: Option<String>,
    /// What is in it.
    pub description: Option<String>,
    /// Files of records, and folders of such files: ISO 2709, MARCXML, MARC-in-JSON, MARCMaker text or the lines of YAZ, told
    /// apart by the ends of their names or else by how they begin. Of a folder, those are taken whose names say so.
    pub paths: Vec<PathBuf>,
    /// Where docids stand; `None` for the field that holds for all.
    pub docid: Option<DocidField>,
    /// The file that the database is written to whenever it changes. Once it is there, it is read instead of `paths`.
    pub save: Option<PathBuf>,
}

/// How far loading has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Files to be read.
    pub files: usize,
    /// Files read to the end.
    pub files_read: usize,
    /// Octets of all files.
    pub octets: u64,
    /// Octets read.
    pub octets_read: u64,
    /// Records read.
    pub records: u64,
}

/// What was wrong with records of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileNotes {
    /// The file.
    pub path: PathBuf,
    /// The first of them, by their order in the file; at most [`MAX_NOTES`].
    pub notes: Vec<Note>,
    /// How many more there are.
    pub more: usize,
}

/// The most notes kept of a file.
pub const MAX_NOTES: usize = 100;

/// What was wrong with a record of a file, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// It is served as repaired.
    #[error(
        "record {number} at octet {offset} {}: {repair}{}", if *.is_loss { "is incomplete" } else { "repaired" }, further(*.more)
    )]
    Repaired {
        /// Counted from 1.
        number: u64,
        /// Of the record's first octet in the file.
        offset: u64,
        /// The first repair, in words.
        repair: String,
        /// How many more repairs there were.
        more: usize,
        /// Whether something of the record is missing.
        is_loss: bool,
    },
    /// It is left out.
    #[error("record {number} at octet {offset} left out: {reason}")]
    LeftOut {
        /// Counted from 1.
        number: u64,
        /// Of the record's first octet in the file.
        offset: u64,
        /// Why it is no record, or cannot be served as one.
        reason: String,
    },
}

impl Note {
    /// The number of the record, from 1.
    pub fn number(&self) -> u64 {
        match self {
            Self::Repaired { number, .. } | Self::LeftOut { number, .. } => *number,
        }
    }

    /// Whether the record, or something of it, is missing from what is served.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Repaired { is_loss, .. } => *is_loss,
            Self::LeftOut { .. } => true,
        }
    }
}

fn further(repairs: usize) -> String {
    match repairs {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// Why files give no databases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file that a database is saved to cannot be had for that: another process writes it.
    #[error(transparent)]
    Saved(#[from] z3950_asn1::file::Error),
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing in it is a record.
    #[error("no record in {}{}", path.display(), first(.notes))]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Why what is in it is none.
        notes: Vec<Note>,
    },
    /// It is worse than what is served already: records in it are lost or incomplete, or none is whole.
    #[error(
        "{} is damaged, and does not replace what is served{}{}", path.display(), first(.notes), further(*.more + .notes.len().saturating_sub(1))
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, losses first; the first of many.
        notes: Vec<Note>,
        /// How many more there are.
        more: usize,
    },
    /// The file that a database is saved to was there when it was last read or written, and is not any more.
    #[error(
        "{} has been removed: put it back, or the next update writes it anew",
        path.display()
    )]
    Removed {
        /// The file.
        path: PathBuf,
    },
    /// No name in it is that of a file of records.
    #[error("no file of records in {}", path.display())]
    NoFile {
        /// The folder.
        path: PathBuf,
    },
    /// There are more records than can be numbered.
    #[error("more records than can be served at once")]
    TooMany,
}

fn first(notes: &[Note]) -> String {
    notes
        .first()
        .map(|note| format!(": {note}"))
        .unwrap_or_default()
}

/// Where the records of a backend come from; enough to load it anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    pub(super) rules: Rules,
    /// The databases by their numbers.
    pub(super) databases: Arc<[Database]>,
    /// Where the records of each come from, by the numbers of the databases.
    pub(super) origins: Vec<Origins>,
}

/// Where the records of a database come from, if they have not been saved since.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    /// Records from memory, in their ISO 2709 form.
    pub(super) memory: Vec<Bytes>,
    /// Files, and folders of files.
    pub(super) paths: Vec<PathBuf>,
}

/// The records in their ISO 2709 form.
///
/// # Errors
/// The first that has none.
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
