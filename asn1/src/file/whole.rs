//! A file that is there when it is complete, and not before.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::destination::Destination;
use super::{Draft, Error, Existing, Lock};

/// A file in the making: finished, kept as `NAME.part`, or dropped, which leaves nothing of it.
#[derive(Debug)]
pub struct Whole(Backing);

#[derive(Debug)]
enum Backing {
    Draft {
        draft: Draft,
        existing: Existing,
        // Dropped last: the draft is renamed or removed while the file is locked.
        _lock: Lock,
    },
    Stream(File),
}

impl Whole {
    /// Begins a file.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`]; a path that cannot be written.
    pub fn create(path: &Path, existing: Existing) -> Result<Self, Error> {
        let target = match Destination::of(path)? {
            Destination::Stream(path) => return Ok(Self(Backing::Stream(stream(&path)?))),
            Destination::File(target) => target,
        };
        let lock = Lock::at(target, path)?;
        let target = lock.target();
        let has_content = target.metadata().is_ok_and(|data| data.len() > 0);
        if existing == Existing::Refuse && has_content {
            return Err(Error::Exists {
                path: path.to_owned(),
            });
        }
        let draft = Draft::visible(target).map_err(|error| match error {
            Error::Unwritable { source, .. } => Error::unwritable(path)(source),
            other => other,
        })?;
        Ok(Self(Backing::Draft {
            draft,
            existing,
            _lock: lock,
        }))
    }

    /// Cuts what is written to a length in octets, to be written on from there. A stream stays as it is.
    ///
    /// # Errors
    /// What the system has against it.
    pub fn cut(&mut self, length: u64) -> io::Result<()> {
        match &mut self.0 {
            Backing::Draft { draft, .. } => cut(draft.file(), length),
            Backing::Stream(_) => Ok(()),
        }
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// What the system has against it; then the draft is kept, and the error says where.
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

    /// Leaves what was written as `NAME.part`, and says where that is; `None` for a stream, which has it already.
    ///
    /// # Errors
    /// What the system has against it.
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

impl Write for Whole {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.file().write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Cuts a file, to be written on from there.
pub(super) fn cut(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length))?;
    Ok(())
}

/// Opens what is written directly. Standard output may be a file that has something already.
pub(super) fn stream(path: &Path) -> Result<File, Error> {
    let file = own(path).unwrap_or_else(|| File::options().append(true).open(path));
    file.map_err(Error::unwritable(path))
}

/// A stream of this process by its name, which goes on where the stream is: opened anew, a file would have a position of
/// its own, and what other programs write after it would overwrite it.
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
