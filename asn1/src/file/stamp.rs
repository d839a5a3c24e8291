//! Detects changes made to a file by other programs.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// The state of a file. The stamp changes when the file is written or replaced, but not when its permissions change or
/// a link to it is made.
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
