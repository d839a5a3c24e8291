//! A file that appears only when it is complete.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::destination::Destination;
use super::{Draft, Error, Existing, Lock};

/// A file that is being written. In the end it is moved to its path, kept as `NAME.part`, or dropped without a trace.
#[derive(Debug)]
pub struct Whole(Backing);

#[derive(Debug)]
enum Backing {
    Draft {
        draft: Draft,
        existing: Existing,
        // This field is dropped last, so that the draft is renamed or removed while the file is locked.
        _lock: Lock,
    },
    Stream(File),
}

impl Whole {
    /// Begins to write a file.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`], or another reason why the path cannot be written.
    pub fn create(path: &Path, existing: Existing) -> Result<Self, Error> {
        Reserved::take(path, existing)?.begin()
    }

    /// Truncates what has been written so far to a length in octets. Writing continues at the new end. Does nothing for
    /// a stream.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn cut(&mut self, length: u64) -> io::Result<()> {
        match &mut self.0 {
            Backing::Draft { draft, .. } => cut(draft.file(), length),
            Backing::Stream(_) => Ok(()),
        }
    }

    /// Completes the file and moves it to its path.
    ///
    /// # Errors
    /// Errors from the operating system. After an error, the draft is kept, and the error contains its path.
    pub fn finish(self) -> Result<(), Error> {
        match self.0 {
            Backing::Draft {
                draft,
                existing,
                _lock,
            } => draft.persist(existing, true).map(drop),
            Backing::Stream(_) => Ok(()),
        }
    }

    /// Keeps the octets written so far as `NAME.part`, and returns the path of that file; `None` for a stream.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn keep(self) -> Result<Option<PathBuf>, Error> {
        match self.0 {
            Backing::Draft { draft, .. } => draft.keep().map(Some),
            Backing::Stream(_) => Ok(None),
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.0 {
            Backing::Draft { draft, .. } => draft.file(),
            Backing::Stream(file) => file,
        }
    }
}

/// An exclusive claim on a file that will be written later. Until writing begins, only the lock file exists, next to
/// the path.
#[derive(Debug)]
pub struct Reserved {
    path: PathBuf,
    existing: Existing,
    place: ReservedPlace,
}

#[derive(Debug)]
enum ReservedPlace {
    File(Lock),
    Stream(File),
}

impl Reserved {
    /// Locks a file, after checking that it can be written.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`], or another reason why the path cannot be written.
    pub fn take(path: &Path, existing: Existing) -> Result<Self, Error> {
        let place = match Destination::of(path)? {
            Destination::Stream(path) => ReservedPlace::Stream(stream(&path)?),
            Destination::File(target) => {
                let lock = Lock::at(target, path)?;
                let has_content = lock.target().metadata().is_ok_and(|data| data.len() > 0);
                if existing == Existing::Refuse && has_content {
                    return Err(Error::Exists {
                        path: path.to_owned(),
                    });
                }
                // This draft is removed at once. It only tests whether files can be created in the folder.
                drop(draft(&lock, path)?);
                ReservedPlace::File(lock)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            existing,
            place,
        })
    }

    /// Begins to write the reserved file.
    ///
    /// # Errors
    /// Fails if the path can no longer be written.
    pub fn begin(self) -> Result<Whole, Error> {
        Ok(Whole(match self.place {
            ReservedPlace::Stream(file) => Backing::Stream(file),
            ReservedPlace::File(lock) => Backing::Draft {
                draft: draft(&lock, &self.path)?,
                existing: self.existing,
                _lock: lock,
            },
        }))
    }
}

/// Creates the draft of a locked file; error messages show the path `asked`.
fn draft(lock: &Lock, asked: &Path) -> Result<Draft, Error> {
    Draft::visible(lock.target()).map_err(|error| match error {
        Error::Unwritable { source, .. } => Error::unwritable(asked)(source),
        other => other,
    })
}

impl Write for Whole {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.file().write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Truncates a file and moves to its new end.
pub(super) fn cut(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length))?;
    Ok(())
}

/// Opens a stream for writing. If it is standard output redirected to a file, the contents of that file are kept.
pub(super) fn stream(path: &Path) -> Result<File, Error> {
    let file = own(path).unwrap_or_else(|| File::options().append(true).open(path));
    file.map_err(Error::unwritable(path))
}

/// Opens a stream of this process by its name, so that it shares the position of the process's own handle. A file
/// opened by path would have its own position, and later output of other programs would overwrite it.
#[cfg(unix)]
fn own(path: &Path) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    let own = match path.to_str()? {
        "/dev/stdout" => io::stdout().as_fd().try_clone_to_owned(),
        "/dev/stderr" => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(own.map(File::from))
}

#[cfg(not(unix))]
fn own(_: &Path) -> Option<io::Result<File>> {
    None
}
