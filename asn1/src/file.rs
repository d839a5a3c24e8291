//! How the client and the server write files, with the standard library and `tempfile`.
//!
//! | type | for | how |
//! |---|---|---|
//! | [`Whole`] | results that are useful only when complete | a [`Draft`] next to the file, renamed when finished, kept as `NAME.part` otherwise |
//! | [`Reserved`] | the same, if nothing is written before the end | locked until then |
//! | [`Growing`] | reports, transcripts, the output of a batch with a report | in place, continued by a later run |
//!
//! All three types hold a [`Lock`] on the file while they write it. Devices, pipes and standard output (`/dev/stdout`) are
//! written directly, without draft and lock. Symbolic links are followed to their target; drafts and lock files are always
//! newly created and never follow links.

mod destination;
mod draft;
mod growing;
#[cfg(feature = "size-limit")]
mod limit;
mod lock;
mod stamp;
mod whole;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub use destination::{is_named_pipe, same};
pub use draft::Draft;
pub use growing::Growing;
#[cfg(feature = "size-limit")]
pub use limit::survive_size_limit;
pub use lock::Lock;
pub use stamp::Stamp;
pub use whole::{Reserved, Whole};

/// What to do with a file that exists. An empty file is always written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Fail.
    #[default]
    Refuse,
    /// Replace the file: a [`Whole`] file when the new one is complete, a [`Growing`] file when its first octet is written.
    Replace,
}

impl Existing {
    /// Returns [`Existing::Replace`] if `force` is set, otherwise [`Existing::Refuse`].
    pub fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Refuse }
    }
}

/// The reason why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file exists, and [`Existing::Refuse`] was given.
    #[error("{} already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process, or another part of this process, holds the lock of the file.
    #[error(
        "{} is being written by another run; wait for it, or choose another file",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The path leads to a folder.
    #[error("{} is a folder, not a file", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder of the file does not exist.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// The operating system refuses to write the file.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A complete draft cannot replace the file and is kept.
    #[error("{}; what was written is in {}", in_full(error), part.display())]
    Kept {
        /// The path of the draft.
        part: PathBuf,
        /// The reason why the draft was kept.
        error: Box<Error>,
    },
}

impl Error {
    /// Returns [`Error::Unwritable`] with this path, for `map_err`.
    pub fn unwritable(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Unwritable {
            path: path.clone(),
            source,
        }
    }
}

/// Returns an error with its cause as text.
fn in_full(error: &Error) -> String {
    match error {
        Error::Unwritable { source, .. } => format!("{error}: {source}"),
        error => error.to_string(),
    }
}

/// Returns the parent folder of a path.
fn folder(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Syncs the entries of a file's folder to the disk, on systems on which folders can be opened.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path)).map_or(Ok(()), |folder| folder.sync_all())
}

#[cfg(test)]
mod tests;
