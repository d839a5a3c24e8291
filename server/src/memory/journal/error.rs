//! Why a journal cannot be used.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a journal cannot be used. The database is not loaded then, or the change is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file system refuses to read it.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Changes cannot be written to it.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Its contents are not as they were written.
    #[error(
        "{} is damaged ({reason}): restore it from a copy, or move it away to serve its file without the changes in it",
        path.display()
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later version of the program wrote it.
    #[error(
        "{} was written by a newer version of this program ({format}): use that version",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Its format, and the one that this version reads.
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
        /// Its journal.
        journal: PathBuf,
        /// The changes in the journal.
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
        /// Its journal.
        journal: PathBuf,
        /// The changes in the journal.
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
        /// The field of its docids.
        docid: String,
        /// The configured field.
        configured: String,
    },
}
