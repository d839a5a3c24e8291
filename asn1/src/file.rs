//! How programs write files: the one place that decides it, for the client and the server. Standard library, `tempfile`
//! and `signal-hook` only; no sockets, no clock.
//!
//! | way | for | how |
//! |---|---|---|
//! | [`Whole`] | results that are good only when complete | a [`Draft`] beside the file, renamed when it is finished; kept as `NAME.part` when it is not |
//! | [`Growing`] | reports, transcripts, the output of a batch with a report | in place, continued by a later run |
//!
//! Both hold a [`Lock`] on the file for as long as they write it. Devices, pipes and standard output (`/dev/stdout`) are
//! written directly: they have no draft and no lock. A path that is a symbolic link means the file it leads to; drafts
//! and lock files are created new and never follow links.

mod destination;
mod draft;
mod growing;
mod limit;
mod lock;
mod stamp;
mod whole;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub use destination::same;
pub use draft::Draft;
pub use growing::Growing;
pub use limit::survive_size_limit;
pub use lock::Lock;
pub use stamp::Stamp;
pub use whole::Whole;

/// What to do with a file that exists. An empty one has nothing to lose and is always written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Leave it alone, and fail.
    #[default]
    Refuse,
    /// Replace it: a whole file once the new one is complete, a growing one with its first octet.
    Replace,
}

impl Existing {
    /// [`Existing::Replace`] where a user asks for it.
    pub fn forced(force: bool) -> Self {
        match force {
            true => Self::Replace,
            false => Self::Refuse,
        }
    }
}

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is there, and [`Existing::Refuse`] was asked for.
    #[error("{} is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else holds its lock.
    #[error(
        "{} is being written by another run; wait for it, or choose another file",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The path is that of a folder.
    #[error("{} is a folder, not a file", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder of the file is not there.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// The system refuses.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A draft that is complete cannot take the place of the file; it is kept.
    #[error("{}; what was written is in {}", in_full(error), part.display())]
    Kept {
        /// Where the draft is.
        part: PathBuf,
        /// Why it stays there.
        error: Box<Error>,
    },
}

impl Error {
    /// [`Error::Unwritable`], for `map_err`.
    pub fn unwritable(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Unwritable {
            path: path.clone(),
            source,
        }
    }
}

/// An error with its cause.
fn in_full(error: &Error) -> String {
    match error {
        Error::Unwritable { source, .. } => format!("{error}: {source}"),
        error => error.to_string(),
    }
}

/// The folder that a path lies in.
fn folder(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Makes sure that the names in a file's folder are on the disk. Where folders cannot be opened, nothing more can be done.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path)).map_or(Ok(()), |folder| folder.sync_all())
}

#[cfg(test)]
mod tests;
