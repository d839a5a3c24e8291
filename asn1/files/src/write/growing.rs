//! A file that is written in place and can be continued later.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::destination::{Destination, is_same};
use super::lock::release;
use super::whole::{cut, stream};
use super::{Draft, Error, Existing, Lock, sync_folder};

/// A file that grows, such as a log. It is created when its first octet is written.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    /// The lock on the file; `None` for a stream.
    lock: Option<Lock>,
    file: Option<File>,
    /// Whether the existing contents are removed when the first octet is written.
    is_replaced: bool,
}

impl Growing {
    /// Prepares a new file. If it replaces a file, the old contents are removed when the first octet is written.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Busy`], or another reason why the path cannot be written.
    pub fn create(path: &Path, existing: Existing) -> Result<Self, Error> {
        let mut growing = Self::resume(path)?;
        if !growing.is_empty() {
            if existing == Existing::Refuse {
                return Err(Error::Exists {
                    path: path.to_owned(),
                });
            }
            growing.is_replaced = true;
        }
        Ok(growing)
    }

    /// Opens a file to continue it at its end. A file that does not exist is created when its first octet is written.
    /// Call [`Growing::cut`] to continue at another position.
    ///
    /// # Errors
    /// [`Error::Busy`], or another reason why the path cannot be written.
    pub fn resume(path: &Path) -> Result<Self, Error> {
        let unwritable = Error::unwritable(path);
        let target = match Destination::of(path)? {
            Destination::File(target) => target,
            Destination::Stream(path) => {
                return Ok(Self {
                    file: Some(stream(&path)?),
                    path,
                    lock: None,
                    is_replaced: false,
                });
            }
        };
        let mut lock = Lock::at(target, path)?;
        let mut file = lock.opened().map_err(&unwritable)?;
        if let Some(file) = &mut file {
            file.seek(SeekFrom::End(0)).map_err(unwritable)?;
        }
        Ok(Self {
            path: path.to_owned(),
            lock: Some(lock),
            file,
            is_replaced: false,
        })
    }

    /// Returns the length of the file in octets, including contents that will be replaced; 0 for a stream and for a
    /// file that does not exist.
    pub fn len(&self) -> u64 {
        let data = self.regular().and_then(|file| file.metadata().ok());
        data.map_or(0, |data| data.len())
    }

    /// Returns whether the file is empty or does not exist.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether this is an existing file, and not a stream.
    pub fn exists(&self) -> bool {
        self.regular().is_some()
    }

    /// Returns whether this is a file, and not a device or a pipe.
    pub fn is_file(&self) -> bool {
        self.lock.is_some()
    }

    /// Returns the file, positioned at its beginning for reading. Returns `None` if it does not exist, and for a
    /// stream.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn read(&mut self) -> io::Result<Option<&File>> {
        if let Some(mut file) = self.regular() {
            file.seek(SeekFrom::Start(0))?;
        }
        Ok(self.regular())
    }

    /// Copies everything after an offset to a new file, `NAME.part`, and returns the path of the new file. Returns
    /// `None` for a stream and for a file that does not exist. Call [`Growing::cut`] afterwards, to set where writing
    /// continues.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn keep_after(&self, position: u64) -> Result<Option<PathBuf>, Error> {
        let (Some(mut file), Some(lock)) = (self.file.as_ref(), &self.lock) else {
            return Ok(None);
        };
        let mut draft = Draft::visible(lock.target())?;
        let copied = file
            .seek(SeekFrom::Start(position))
            .and_then(|_| io::copy(&mut file, draft.file()))
            .and_then(|_| draft.file().sync_all());
        copied.map_err(Error::unwritable(draft.path()))?;
        draft.keep().map(Some)
    }

    /// Returns the octet before an offset. Returns `None` for a stream, and for a file that has no octet there. Call
    /// [`Growing::cut`] afterwards, to set where writing continues.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn octet_before(&self, position: u64) -> io::Result<Option<u8>> {
        let before = position.checked_sub(1);
        let octets = before.map(|before| self.octets_after(before, 1));
        Ok(octets
            .transpose()?
            .and_then(|octets| octets.first().copied()))
    }

    /// Reads at most `most` octets that follow an offset, or none from a stream. Call [`Growing::cut`] afterwards, to
    /// set where writing continues.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn octets_after(&self, position: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut octets = Vec::new();
        if let Some(mut file) = self.regular() {
            file.seek(SeekFrom::Start(position))?;
            file.take(most).read_to_end(&mut octets)?;
        }
        Ok(octets)
    }

    /// Truncates the file to a length in octets, after which writing continues at its end. Does nothing for a stream or
    /// a file that does not exist.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn cut(&mut self, length: u64) -> io::Result<()> {
        self.is_replaced = false;
        match self.file.as_mut().filter(|_| self.lock.is_some()) {
            Some(file) => cut(file, length),
            None => Ok(()),
        }
    }

    /// Returns a second handle to the file, which another thread can sync. Returns `None` for a stream and for a file
    /// that does not exist.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn handle(&self) -> io::Result<Option<File>> {
        self.regular().map(File::try_clone).transpose()
    }

    /// Opens the path again if its file was moved or removed, for example by a program that rotates logs. Writing then
    /// continues in the file that is now at the path, which is created if necessary.
    ///
    /// # Errors
    /// Errors from the operating system. After an error, writing continues in the old file.
    pub fn follow(&mut self) -> io::Result<()> {
        let (Some(lock), Some(file)) = (&self.lock, &self.file) else {
            return Ok(());
        };
        let now = match fs::metadata(lock.target()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        if let Some(now) = now
            && is_same(&now, &file.metadata()?).unwrap_or(true)
        {
            return Ok(());
        }
        let mut options = File::options();
        let options = options.read(true).write(true).create(true);
        let mut file = options.open(lock.target())?;
        // A failure is ignored, because the file system may not support locks.
        let _ = file.try_lock();
        file.seek(SeekFrom::End(0))?;
        self.file = Some(file);
        Ok(())
    }

    /// Writes all data to the disk.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn sync(&mut self) -> io::Result<()> {
        self.regular().map_or(Ok(()), File::sync_data)
    }

    /// Returns the path by which the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file at once, rather than when its first octet is written, so that other programs can already open
    /// it.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn begin(&mut self) -> io::Result<()> {
        self.file().map(drop)
    }

    /// Returns the open file; `None` for a stream and for a file that does not exist.
    fn regular(&self) -> Option<&File> {
        self.file.as_ref().filter(|_| self.lock.is_some())
    }

    /// Returns the open file, and creates it if necessary.
    fn file(&mut self) -> io::Result<&mut File> {
        if std::mem::take(&mut self.is_replaced)
            && let Some(file) = &mut self.file
        {
            cut(file, 0)?;
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => self.created()?,
        };
        Ok(self.file.insert(file))
    }

    fn created(&self) -> io::Result<File> {
        let target = self.lock.as_ref().map_or(&*self.path, Lock::target);
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true);
        let file = file.open(target)?;
        // No other process can have locked this new file, so a failure only means that locks are not supported.
        let _ = file.try_lock();
        sync_folder(target)?;
        Ok(file)
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if let Some(file) = self.regular() {
            release(file);
        }
    }
}

impl Write for Growing {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match octets {
            [] => Ok(0),
            octets => self.file()?.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.flush(),
            None => Ok(()),
        }
    }
}
