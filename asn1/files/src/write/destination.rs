//! Finds the destination of a path: a file or a stream.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::{Error, folder};

/// The maximum number of symbolic links on the way to a file; the same as in Linux.
const MAX_LINKS: usize = 40;

/// The destination of a path: a file or a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Destination {
    /// The path of a file, with all links resolved. The file need not exist.
    File(PathBuf),
    /// The path of a device, a pipe, or a stream of this process, which is written directly.
    Stream(PathBuf),
}

impl Destination {
    /// Resolves a path to its destination.
    ///
    /// # Errors
    /// Fails if the path leads to a folder, if the file's folder does not exist, or if there are too many links.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let mut at = path.to_owned();
        for _ in 0..=MAX_LINKS {
            if is_stream(&at) {
                return Ok(Self::Stream(path.to_owned()));
            }
            match fs::symlink_metadata(&at) {
                Ok(data) if data.is_symlink() => {
                    let target = fs::read_link(&at).map_err(Error::unwritable(path))?;
                    at = folder(&at).join(target);
                }
                Ok(data) if data.is_dir() => {
                    return Err(Error::Folder {
                        path: path.to_owned(),
                    });
                }
                Ok(data) if !data.is_file() => return Ok(Self::Stream(path.to_owned())),
                Ok(_) => return Ok(Self::File(in_folder(path, &at)?)),
                Err(error) if leads_nowhere(&error) => {
                    return Ok(Self::File(in_folder(path, &at)?));
                }
                Err(error) => return Err(Error::unwritable(path)(error)),
            }
        }
        let error = io::Error::other("too many levels of symbolic links");
        Err(Error::unwritable(path)(error))
    }
}

/// Returns whether a path names a stream of this process. Such a path is not resolved further: if standard output is
/// redirected to a file, output is appended to that file instead of replacing it.
fn is_stream(path: &Path) -> bool {
    let own = ["/dev/stdout", "/dev/stderr"];
    own.iter().any(|own| path == Path::new(own))
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc")
}

/// Returns the path of a file, with the path of its folder resolved.
fn in_folder(asked: &Path, path: &Path) -> Result<PathBuf, Error> {
    let Some(name) = path.file_name() else {
        return Err(Error::Folder {
            path: asked.to_owned(),
        });
    };
    match folder(path).canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder.join(name)),
        Ok(_) => Err(no_folder(asked, path)),
        Err(error) if leads_nowhere(&error) => Err(no_folder(asked, path)),
        Err(error) => Err(Error::unwritable(asked)(error)),
    }
}

fn leads_nowhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn no_folder(asked: &Path, path: &Path) -> Error {
    Error::NoFolder {
        path: asked.to_owned(),
        folder: folder(path).to_owned(),
    }
}

/// Returns whether a path leads to a named pipe, which cannot be opened for writing before another program reads it. The
/// streams of this process, such as `/dev/stdout` and `/dev/fd/63`, are already open.
pub fn is_named_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let is_pipe = fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo());
        is_pipe && !is_stream(path)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Returns whether two paths lead to the same file, even if they do so through different folders, symbolic links or
/// hard links. The file need not exist.
pub fn same(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    let data = |path| fs::metadata(path).ok();
    if let (Some(one), Some(other)) = (data(one), data(other))
        && let Some(same) = is_same(&one, &other)
    {
        return same;
    }
    let place = |path| match Destination::of(path) {
        Ok(Destination::File(path)) => Some(path),
        _ => None,
    };
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Returns whether two files are the same; `None` on systems without file numbers.
pub(super) fn is_same(one: &Metadata, other: &Metadata) -> Option<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(one.dev() == other.dev() && one.ino() == other.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        None
    }
}
