//! The reasons why a journal cannot be used.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// The reason why a journal cannot be used. In that case, the database is not loaded, or the change is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file system refuses to read the journal.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The journal.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Changes cannot be written to the journal.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The journal.
        path: PathBuf,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The contents of the journal are not as they were written.
    #[error(
        "{} is damaged ({reason}): restore it from a copy, or move it away to serve its file without the changes in it",
        path.display()
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong with the contents.
        reason: String,
    },
    /// The journal was written by a later version of the program.
    #[error(
        "{} was written by a newer version of this program ({format}): use that version",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// The journal's format, and the format that this version reads.
        format: String,
    },
    /// The file is not the one that the journal belongs to.
    #[error(
        "{} was changed by another program, but {} holds {changes} changes of the file as it was: put that file back, or move the journal away to do without them",
        path.display(), journal.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The journal of the file.
        journal: PathBuf,
        /// The number of changes in the journal.
        changes: u64,
    },
    /// The file that the journal belongs to does not exist.
    #[error(
        "there is no file {}, but {} holds {changes} changes of it: put the file back, or move the journal away to do without them",
        path.display(), journal.display()
    )]
    NoFile {
        /// The file.
        path: PathBuf,
        /// The journal of the file.
        journal: PathBuf,
        /// The number of changes in the journal.
        changes: u64,
    },
    /// The docid field has been changed since the journal began.
    #[error(
        "the docids in {} are from field {docid}, not {configured}: fold it into its file first (z3950d --fold FILE)",
        journal.display()
    )]
    OtherDocid {
        /// The journal.
        journal: PathBuf,
        /// The field that the journal's docids are from.
        docid: String,
        /// The configured field.
        configured: String,
    },
}
