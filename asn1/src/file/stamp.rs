//! What a file looks like from outside: whether somebody else has changed it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A file as it was at one moment. Another process that writes the file, or puts another in its place, changes its stamp;
/// one that changes its permissions or links to it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device and inode.
    #[cfg(unix)]
    identity: (u64, u64),
}

impl Stamp {
    /// The stamp of a file; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be found out.
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
