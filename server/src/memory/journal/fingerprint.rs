//! Fingerprints of files, by which a journal identifies its file.

use std::hash::Hasher;
use std::io::{self, Read, Write};
use std::path::Path;

use twox_hash::XxHash3_64;
use z3950_files::input;

/// The fingerprint of a file's contents: its length and a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::memory) struct Fingerprint(pub(super) String);

impl Fingerprint {
    /// Returns the fingerprint of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(in crate::memory) fn of(path: &Path) -> io::Result<Option<Self>> {
        let mut file = match input::open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut hashed = Hashed::new(io::sink());
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = file.read(&mut buffer)?;
            let Some(read @ [_, ..]) = buffer.get(..length) else {
                return Ok(Some(hashed.fingerprint()));
            };
            hashed.write_all(read)?;
        }
    }
}

/// A writer that passes octets on, and computes their fingerprint.
pub(in crate::memory) struct Hashed<W> {
    output: W,
    length: u64,
    hash: XxHash3_64,
}

impl<W> Hashed<W> {
    pub(in crate::memory) fn new(output: W) -> Self {
        Self {
            output,
            length: 0,
            hash: XxHash3_64::new(),
        }
    }

    /// Returns the fingerprint of the octets written so far.
    pub(in crate::memory) fn fingerprint(&self) -> Fingerprint {
        Fingerprint(format!("{} {:016x}", self.length, self.hash.finish()))
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let length = self.output.write(octets)?;
        self.hash.write(octets.get(..length).unwrap_or_default());
        self.length += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
