//! Writes files for the client and the server, with the standard library and `tempfile`.
//!
//! | type | for | how |
//! |---|---|---|
//! | [`Whole`] | results that are useful only when complete | a [`Draft`] next to the file, renamed when finished, kept as `NAME.part` otherwise |
//! | [`Reserved`] | results that are written only at the end | locked until the file is written |
//! | [`Growing`] | reports, transcripts, the output of a batch with a report | in place, continued by a later run |
//!
//! All three types hold a [`Lock`] on the file while they write it. Devices, pipes and standard output (`/dev/stdout`) are written
//! directly, without a draft or a lock. A symbolic link to a file is followed to its target. A symbolic link at the path of a draft or a
//! lock file is never followed.

mod destination;
mod draft;
mod growing;
mod lock;
mod whole;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use destination::{is_named_pipe, same};
pub use draft::Draft;
pub use growing::Growing;
pub use lock::Lock;
pub use whole::{Reserved, Whole};

/// What to do if a file already exists. An empty file is always overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Fail with an error.
    #[default]
    Refuse,
    /// Replace the file. A [`Whole`] file is replaced when the new file is complete, a [`Growing`] file when its first
    /// octet is written.
    Replace,
}

impl Existing {
    /// Returns [`Existing::Replace`] if `force` is set, and [`Existing::Refuse`] if not.
    pub fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Refuse }
    }
}

/// The reason why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file exists, and [`Existing::Refuse`] was passed.
    #[error("{} already exists", path.display())]
    Exists {
        /// The path of the existing file.
        path: PathBuf,
    },
    /// Another process, or another part of this process, holds the lock on the file.
    #[error(
        "{} is being written by another run; wait for it, or choose another file",
        path.display()
    )]
    Busy {
        /// The path of the locked file.
        path: PathBuf,
    },
    /// The path leads to a folder.
    #[error("{} is a folder, not a file", path.display())]
    Folder {
        /// The path of the folder.
        path: PathBuf,
    },
    /// The folder in which the file would be created does not exist.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The path of the file.
        path: PathBuf,
        /// The path of the missing folder.
        folder: PathBuf,
    },
    /// The operating system reported an error while the file was written.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The path of the file.
        path: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// A complete draft cannot replace the file, so the draft is kept.
    #[error("{}; what was written is in {}", in_full(error), part.display())]
    Kept {
        /// The path of the draft.
        part: PathBuf,
        /// The reason why the draft could not replace the file.
        error: Box<Error>,
    },
}

impl Error {
    /// Returns a function that converts an I/O error to [`Error::Unwritable`] with this path, for use with `map_err`.
    pub fn unwritable(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Unwritable {
            path: path.clone(),
            source,
        }
    }
}

/// Returns an error's message, followed by the message of its cause.
fn in_full(error: &Error) -> String {
    match error {
        Error::Unwritable { source, .. } => format!("{error}: {source}"),
        error => error.to_string(),
    }
}

/// Returns the folder that contains a path.
fn folder(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Syncs the entries of a file's folder to the disk, on systems where folders can be opened.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path)).map_or(Ok(()), |folder| folder.sync_all())
}

/// The state of a file, for detecting changes. The stamp changes when the file is written or replaced, but not when its
/// permissions change or a link to it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// The device and inode of the file.
    #[cfg(unix)]
    identity: (u64, u64),
}

impl Stamp {
    /// Returns the stamp of a file; `None` if the file does not exist.
    ///
    /// # Errors
    /// Errors from the file system.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Ok(Some(Self {
            length: data.len(),
            modified: data.modified().ok(),
            #[cfg(unix)]
            identity: (data.dev(), data.ino()),
        }))
    }
}

/// Makes writes beyond the limit on file sizes fail with an error, as on a full disk, instead of ending the process
/// with the signal SIGXFSZ. Call this function once, when the program starts.
///
/// # Errors
/// Fails if the signal handler cannot be installed.
#[cfg(all(unix, feature = "size-limit"))]
pub fn survive_size_limit() -> io::Result<()> {
    // Any handler will do: as long as the signal does not end the process, the write fails with an error instead.
    let ignored = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored).map(drop)
}

/// Does nothing, because only Unix has the signal SIGXFSZ.
///
/// # Errors
/// Never fails.
#[cfg(all(not(unix), feature = "size-limit"))]
pub fn survive_size_limit() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
