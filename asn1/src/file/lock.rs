//! Who writes a file: one process at a time, and one part of it.
//!
//! A lock on the file itself would be lost when the file is replaced by renaming, and there is none before the file
//! exists. So the lock is on a file beside it, `.NAME.lock`, which is removed with it; a lock on the file itself, where
//! there is one, also keeps away those who reach it by another name. Both end with the process, however it ends.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::destination::{Destination, is_same};
use super::{Error, folder};

/// How often to try again where the lock file goes away at the moment when it is locked.
const TRIES: usize = 100;

/// The right to write a file; ends when it is dropped.
#[derive(Debug)]
pub struct Lock {
    target: PathBuf,
    /// The lock file and its path. `None` where the folder takes no new files: then nobody renames in it either.
    beside: Option<(File, PathBuf)>,
    /// The file itself, while it exists.
    file: Option<File>,
    /// Whether that is open for writing.
    is_writable: bool,
}

impl Lock {
    /// Locks the file that a path leads to, which need not exist.
    ///
    /// # Errors
    /// [`Error::Busy`] where somebody else has locked it; a path that leads to no file.
    pub fn take(path: &Path) -> Result<Self, Error> {
        match Destination::of(path)? {
            Destination::File(target) => Self::at(target, path),
            Destination::Stream(_) => {
                let error = io::Error::other("it is not a regular file");
                Err(Error::unwritable(path)(error))
            }
        }
    }

    /// Locks a file by its resolved path; `asked` is what messages say.
    pub(super) fn at(target: PathBuf, asked: &Path) -> Result<Self, Error> {
        let unwritable = Error::unwritable(asked);
        let busy = || Error::Busy {
            path: asked.to_owned(),
        };
        let mut lock = Self {
            beside: None,
            file: None,
            is_writable: false,
            target,
        };
        match beside(&lock.target).map_err(&unwritable)? {
            Locked::By(file, path) => lock.beside = Some((file, path)),
            Locked::BySomebodyElse => return Err(busy()),
            Locked::ByNobody => {}
        }
        match open(&lock.target) {
            Ok((file, is_writable)) => match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(busy()),
                // A file system without locks has none to give.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    lock.file = Some(file);
                    lock.is_writable = is_writable;
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // It may still be replaced; whoever wants to write it finds out.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            Err(error) => return Err(unwritable(error)),
        }
        Ok(lock)
    }

    /// The file, its path without links.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Takes the file itself out, open for reading and writing; `None` where it does not exist yet. It stays locked for
    /// as long as it is open.
    ///
    /// # Errors
    /// The file may not be written, or created.
    pub(super) fn opened(&mut self) -> io::Result<Option<File>> {
        let may_be_written = match &self.file {
            Some(_) => self.is_writable,
            None => self.beside.is_some(),
        };
        match may_be_written {
            true => Ok(self.file.take()),
            false => Err(ErrorKind::PermissionDenied.into()),
        }
    }

    /// Goes on with the file that has taken the place of the one that was locked.
    pub fn renew(&mut self, file: File) {
        // Nobody else can have locked what was a draft until now; without locks there is nothing to do.
        let _ = file.try_lock();
        self.file = Some(file);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.beside {
            // While it is locked: whoever opened it before sees that it is gone, and makes another.
            let _ = fs::remove_file(path);
        }
    }
}

enum Locked {
    By(File, PathBuf),
    BySomebodyElse,
    /// Locks cannot be had in this folder.
    ByNobody,
}

/// Locks the file beside another.
fn beside(target: &Path) -> io::Result<Locked> {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".lock");
    let path = folder(target).join(name);
    for _ in 0..TRIES {
        let mut new = File::options();
        let file = match new.write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => existing(&path),
            other => other,
        };
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                return match error.kind() {
                    // The last one: the name of the file is almost as long as a name may be.
                    ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
                    | ErrorKind::InvalidFilename => Ok(Locked::ByNobody),
                    _ => Err(error),
                };
            }
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Locked::BySomebodyElse),
            Err(TryLockError::Error(_)) => {
                // A file system without locks; the file may still be written.
                return Ok(Locked::By(file, path));
            }
        }
        // The one who had it may have removed it in between: then others lock another file of the same name.
        let is_current = fs::symlink_metadata(&path)
            .and_then(|found| Ok(is_same(&found, &file.metadata()?).unwrap_or(true)));
        if is_current.unwrap_or(false) {
            return Ok(Locked::By(file, path));
        }
    }
    Err(io::Error::other(format!(
        "{} cannot be locked",
        path.display()
    )))
}

/// Opens a lock file that is there. Nothing is ever written to it.
fn existing(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        let words = format!("{} is not a lock file; remove it", path.display());
        return Err(io::Error::other(words));
    }
    open(path).map(|(file, _)| file)
}

/// Opens a file for reading and writing, or for reading alone where it may not be written.
///
/// Says whether it may be written.
fn open(path: &Path) -> io::Result<(File, bool)> {
    match File::options().read(true).write(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(error) => match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Ok((File::open(path)?, false))
            }
            _ => Err(error),
        },
    }
}
