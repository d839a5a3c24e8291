//! The reasons why a journal cannot be used.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// The reason why a journal cannot be used. The database is then not loaded, or the change is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file system reports an error when the journal is read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The path of the journal.
        path: PathBuf,
        /// The error from the file system.
        source: io::Error,
    },
    /// Changes cannot be written to the journal.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The path of the journal.
        path: PathBuf,
        /// The error that occurred.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The contents of the journal are damaged.
    #[error(
        "{} is damaged ({reason}): restore it from a copy, or move it away to serve its file without the changes in it",
        path.display()
    )]
    Damaged {
        /// The path of the journal.
        path: PathBuf,
        /// A description of the damage.
        reason: String,
    },
    /// The journal was written by a later version of the program.
    #[error(
        "{} was written by a newer version of this program ({format}): use that version",
        path.display()
    )]
    Newer {
        /// The path of the journal.
        path: PathBuf,
        /// The version of the journal's format, and the version that can be read.
        format: String,
    },
    /// The journal belongs to another version of the file.
    #[error(
        "{} was changed by another program, but {} holds {changes} changes of the file as it was: put that file back, or move the journal away to do without them",
        path.display(), journal.display()
    )]
    Foreign {
        /// The path of the file.
        path: PathBuf,
        /// The path of its journal.
        journal: PathBuf,
        /// The number of changes in the journal.
        changes: u64,
    },
    /// The file to which the journal belongs does not exist.
    #[error(
        "there is no file {}, but {} holds {changes} changes of it: put the file back, or move the journal away to do without them",
        path.display(), journal.display()
    )]
    NoFile {
        /// The path of the file.
        path: PathBuf,
        /// The path of its journal.
        journal: PathBuf,
        /// The number of changes in the journal.
        changes: u64,
    },
    /// The docid field was changed after the journal had been created.
    #[error(
        "the docids in {} are from field {docid}, not {configured}: fold it into its file first (z3950d --fold FILE)",
        journal.display()
    )]
    OtherDocid {
        /// The path of the journal.
        journal: PathBuf,
        /// The docid field with which the journal was created.
        docid: String,
        /// The docid field in the settings.
        configured: String,
    },
}
