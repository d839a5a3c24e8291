//! A new file that is written next to the file it will replace.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::{Error, Existing, folder, sync_folder};

/// The maximum number of kept drafts of a file. Once there are so many, a new draft replaces the oldest.
const MAX_PARTS: u32 = 100;

/// A newly created file that will replace another file when it is complete. It is removed on drop, unless it has
/// replaced that file or is kept.
#[derive(Debug)]
pub struct Draft {
    file: File,
    path: TempPath,
    target: PathBuf,
}

impl Draft {
    /// Creates a draft that is useful even if it is never finished. Its name is `NAME.part`, or `NAME.part.2` and so on
    /// up to 100 if earlier drafts exist. If there are 100 drafts, the oldest is replaced. `target` is a path in which
    /// all links have been resolved.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn visible(target: &Path) -> Result<Self, Error> {
        let unwritable = Error::unwritable(target);
        for number in 1..=MAX_PARTS {
            match new(&part(target, number)) {
                Ok((file, path)) => return Ok(Self::of(file, path, target)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(unwritable(error)),
            }
        }
        let written = |part: &PathBuf| part.metadata().and_then(|data| data.modified()).ok();
        let parts = (1..=MAX_PARTS).map(|number| part(target, number));
        let oldest = parts.min_by_key(written).unwrap_or_else(|| part(target, 1));
        let replaced = fs::remove_file(&oldest).and_then(|()| new(&oldest));
        let (file, path) = replaced.map_err(unwritable)?;
        Ok(Self::of(file, path, target))
    }

    /// Creates a draft that is useless unless it is finished. Its name is `.NAME.draft`. The caller holds the
    /// [`Lock`](super::Lock) on the target or on its folder, so an existing draft was left by a killed process and is
    /// removed.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn hidden(target: &Path) -> Result<Self, Error> {
        Self::remove_hidden(target)?;
        let (file, path) = new(&hidden(target)).map_err(Error::unwritable(target))?;
        Ok(Self::of(file, path, target))
    }

    /// Removes a hidden draft that a killed process left behind. The caller holds the lock on the target.
    ///
    /// # Errors
    /// Fails if the draft cannot be removed.
    pub fn remove_hidden(target: &Path) -> Result<(), Error> {
        match fs::remove_file(hidden(target)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::unwritable(target)(error))
            }
            _ => Ok(()),
        }
    }

    fn of(file: File, path: TempPath, target: &Path) -> Self {
        let target = target.to_owned();
        Self { file, path, target }
    }

    /// Returns the open file of the draft, for writing.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Changes the file that the draft will replace, for a draft that was created before that file was known. The file
    /// must be in the same folder as the draft.
    #[must_use]
    pub fn of_file(self, target: PathBuf) -> Self {
        Self { target, ..self }
    }

    /// Returns the path of the draft.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the target with the draft, and keeps the target's permissions. If `sync` is set, the draft is first
    /// written to the disk. Returns the open file, which is now the target.
    ///
    /// # Errors
    /// [`Error::Exists`] if `existing` is [`Existing::Refuse`] and the target is not empty, or errors from the
    /// operating system. If the draft cannot replace the target, it is kept, and the error contains its path.
    pub fn persist(self, existing: Existing, sync: bool) -> Result<File, Error> {
        let Self { file, path, target } = self;
        let unwritable = Error::unwritable(&target);
        let kept = |path: TempPath, error: Error| match path.keep() {
            Ok(part) => Error::Kept {
                part,
                error: Box::new(error),
            },
            Err(_) => error,
        };
        let prepared =
            permit(&file, &target).and_then(|()| if sync { file.sync_all() } else { Ok(()) });
        if let Err(error) = prepared {
            return Err(kept(path, unwritable(error)));
        }
        let has_content = target.metadata().is_ok_and(|data| data.len() > 0);
        let persisted = match existing {
            Existing::Refuse if has_content || !target.exists() => path.persist_noclobber(&target),
            _ => path.persist(&target),
        };
        if let Err(failed) = persisted {
            let error = match failed.error.kind() {
                ErrorKind::AlreadyExists => Error::Exists { path: target },
                _ => unwritable(failed.error),
            };
            return Err(kept(failed.path, error));
        }
        if sync {
            sync_folder(&target).map_err(unwritable)?;
        }
        Ok(file)
    }

    /// Keeps the draft instead of removing it, and returns its path.
    ///
    /// # Errors
    /// Errors from the operating system.
    pub fn keep(self) -> Result<PathBuf, Error> {
        let unwritable = Error::unwritable(&self.target);
        let path = self.path.keep();
        path.map_err(|error| unwritable(error.error))
    }
}

impl Write for Draft {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.file.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns the path of a kept draft.
fn part(target: &Path, number: u32) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    if number > 1 {
        name.push(format!(".{number}"));
    }
    folder(target).join(name)
}

/// Returns the path of a hidden draft.
fn hidden(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".draft");
    folder(target).join(name)
}

/// Creates a file. Fails if anything exists at the path, even a symbolic link, which is not followed.
fn new(path: &Path) -> io::Result<(File, TempPath)> {
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(path)?;
    let path = TempPath::try_from_path(path)?;
    Ok((file, path))
}

/// Gives a draft the permissions of the file that it replaces.
fn permit(draft: &File, target: &Path) -> io::Result<()> {
    match fs::metadata(target) {
        Ok(data) => draft.set_permissions(data.permissions()),
        Err(_) => Ok(()),
    }
}
