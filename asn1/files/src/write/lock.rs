//! Locks that let only one part of one process write a file at a time.
//!
//! A lock on the file itself would be lost when the file is replaced by renaming, and would be impossible before the
//! file exists. Therefore the lock is held on a second file in the same folder, `.NAME.lock`, which is removed when the
//! lock is released. If the file itself exists, it is locked too, because other processes may open it by another name.
//! Both locks are released when the process ends, even if it is killed.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::destination::{Destination, is_same};
use super::{Error, folder};
use crate::input;

/// The maximum number of attempts to lock a file. An attempt fails if the lock file is removed just before it is
/// locked.
const TRIES: usize = 100;

/// The exclusive right to write a file, until this value is dropped.
#[derive(Debug)]
pub struct Lock {
    target: PathBuf,
    /// The lock file and its path. `None` if files cannot be created in the folder; in this case, the file cannot be
    /// renamed either.
    beside: Option<(File, PathBuf)>,
    /// The locked file itself, if it exists.
    file: Option<File>,
    /// Whether `file` is open for writing.
    is_writable: bool,
}

impl Lock {
    /// Locks the file to which a path leads. The file need not exist.
    ///
    /// # Errors
    /// [`Error::Busy`] if the file is already locked, or another error if the path does not lead to a file.
    pub fn take(path: &Path) -> Result<Self, Error> {
        match Destination::of(path)? {
            Destination::File(target) => Self::at(target, path),
            Destination::Stream(_) => {
                let name =
                    fs::metadata(path).map_or("no file", |found| input::name(found.file_type()));
                let error = io::Error::other(format!("it is {name}, and a regular file is needed"));
                Err(Error::unwritable(path)(error))
            }
        }
    }

    /// Locks a file by its resolved path; error messages show the path `asked`.
    pub(super) fn at(target: PathBuf, asked: &Path) -> Result<Self, Error> {
        let fault = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock => Error::Busy {
                path: asked.to_owned(),
            },
            _ => Error::unwritable(asked)(error),
        };
        let mut lock = Self {
            beside: beside(&target).map_err(fault)?,
            file: None,
            is_writable: false,
            target,
        };
        match open(&lock.target) {
            Ok((file, is_writable)) => {
                // Errors other than `WouldBlock` are ignored, because the file system may not support locks.
                if let Err(locked @ TryLockError::WouldBlock) = file.try_lock() {
                    return Err(fault(locked.into()));
                }
                lock.file = Some(file);
                lock.is_writable = is_writable;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // A file that may not be opened can still be replaced; writing to it directly will fail later.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            Err(error) => return Err(fault(error)),
        }
        Ok(lock)
    }

    /// Returns the path of the locked file, with all links resolved.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Takes the locked file, which is open for reading and writing. Returns `None` if it does not exist yet. The file
    /// stays locked while it is open.
    ///
    /// # Errors
    /// Fails if the file cannot be written or created.
    pub(super) fn opened(&mut self) -> io::Result<Option<File>> {
        let may_be_written = match &self.file {
            Some(_) => self.is_writable,
            None => self.beside.is_some(),
        };
        if may_be_written {
            Ok(self.file.take())
        } else {
            Err(ErrorKind::PermissionDenied.into())
        }
    }

    /// Locks the new file that has replaced the locked file.
    pub fn renew(&mut self, file: File) {
        // No other process can have locked a draft, so a failure only means that locks are not supported.
        let _ = file.try_lock();
        self.file = Some(file);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.beside {
            // The file is removed while it is locked, so a process that has already opened it notices the removal and creates a
            // new lock file.
            let _ = fs::remove_file(path);
        }
        let beside = self.beside.as_ref().map(|(file, _)| file);
        for file in beside.into_iter().chain(&self.file) {
            release(file);
        }
    }
}

/// Releases the lock on a file that is about to be closed. Closing the file alone would not be enough while a child
/// process that is just being started still shares it.
pub(super) fn release(file: &File) {
    // A failure only means that locks are not supported.
    let _ = file.unlock();
}

/// Creates and locks the lock file for a target. Returns `None` if files cannot be created in its folder. Fails with
/// `WouldBlock` if another process holds the lock.
fn beside(target: &Path) -> io::Result<Option<(File, PathBuf)>> {
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
                    // `InvalidFilename` means that the suffix makes the file name too long.
                    ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
                    | ErrorKind::InvalidFilename => Ok(None),
                    _ => Err(error),
                };
            }
        };
        match file.try_lock() {
            Ok(()) => {}
            // The file system does not support locks; the file may still be written.
            Err(TryLockError::Error(_)) => return Ok(Some((file, path))),
            Err(locked) => return Err(locked.into()),
        }
        // The previous holder may have removed the file in the meantime; other processes then lock a new file with this name, so
        // try again.
        let is_current = fs::symlink_metadata(&path)
            .and_then(|found| Ok(is_same(&found, &file.metadata()?).unwrap_or(true)));
        if is_current.unwrap_or(false) {
            return Ok(Some((file, path)));
        }
    }
    Err(io::Error::other(format!(
        "{} cannot be locked",
        path.display()
    )))
}

/// Opens an existing lock file. Lock files are always empty.
fn existing(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        let words = format!("{} is not a lock file; remove it", path.display());
        return Err(io::Error::other(words));
    }
    open(path).map(|(file, _)| file)
}

/// Opens a file for reading and writing, or only for reading if it is not writable. Returns the file and whether it may
/// be written.
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
