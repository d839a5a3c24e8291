//! The source of the octets during a replay: memory, or a file from which a line is read when it is needed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Mutex;

use bytes::Bytes;

use super::lines::{Line, Place};
use crate::lock::lock;

/// The source of recorded octets.
#[derive(Debug)]
pub(super) enum RecordedOctets {
    Memory(Vec<Bytes>),
    File(Mutex<File>),
}

impl Default for RecordedOctets {
    fn default() -> Self {
        Self::Memory(Vec::new())
    }
}

impl RecordedOctets {
    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Returns the octets of the APDU at this place.
    ///
    /// # Errors
    /// The file cannot be read, or has been changed.
    pub(super) fn octets(&self, place: Place) -> io::Result<Bytes> {
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "the file was changed");
        match self {
            Self::Memory(all) => {
                let index = usize::try_from(place.at).map_err(|_| changed())?;
                all.get(index).cloned().ok_or_else(changed)
            }
            Self::File(file) => {
                let mut line = String::new();
                let mut file = lock(file);
                file.seek(SeekFrom::Start(place.at))?;
                (&mut *file)
                    .take(u64::from(place.length))
                    .read_to_string(&mut line)?;
                drop(file);
                match Line::read(&line) {
                    Ok(Line::Apdu(entry)) => Ok(entry.octets),
                    _ => Err(changed()),
                }
            }
        }
    }
}
