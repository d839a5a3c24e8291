//! The lines of a transcript: parses their contents, reads files of any size line by line, and reads the octets of an APDU when a
//! replay needs them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Mutex;

use bytes::Bytes;
use serde_json::Value;
use z3950_files::input::open_regular;

use super::{CLOSED, FORMAT_VERSION, HttpEntry, OPENED, RecordingError, TranscriptEntry};
use crate::lock::lock;
use crate::metrics::SessionEnd;

/// The reason why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is invalid.
    #[error(transparent)]
    Line(#[from] RecordingError),
    /// The recording only has HTTP messages, which cannot be replayed.
    #[error("only APDUs are replayed, and it has messages of HTTP alone")]
    HttpOnly,
    /// The recording has more than this number of requests or sessions.
    #[error("more than {0} requests or sessions")]
    TooLarge(usize),
}

/// The place of an APDU in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The offset of the APDU's line in the file or, for a recording in memory, the number of the APDU, from 0.
    pub(super) at: u64,
    /// The number of octets in the line.
    pub(super) length: u32,
}

/// The contents of a line.
#[derive(Debug)]
pub(super) enum Line {
    Apdu(TranscriptEntry),
    Http(HttpEntry),
    Event(LineEvent),
    Empty,
}

/// An event about a connection or about the file.
#[derive(Debug)]
pub(super) enum LineEvent {
    /// A session begins.
    Opened(u64),
    /// A session ends; the value is true if it is known that the server ended it.
    Closed(u64, bool),
    /// Any other event; the value is true if it has the version of the format.
    Other(bool),
}

impl Line {
    /// Parses a line.
    ///
    /// # Errors
    /// The line is invalid; the message says why.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::Empty);
        }
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if !value.is_object() {
            return Err("not a JSON object".to_owned());
        }
        let version = value.get("version");
        if let Some(version) = version.filter(|version| version.as_u64() != Some(FORMAT_VERSION)) {
            return Err(format!(
                "version {version} of the format, and this program reads version {FORMAT_VERSION}"
            ));
        }
        if let Some(entry) = TranscriptEntry::from_json(&value)? {
            return Ok(Self::Apdu(entry));
        }
        if let Some(entry) = HttpEntry::from_json(&value)? {
            return Ok(Self::Http(entry));
        }
        let session = value
            .get("session")
            .and_then(Value::as_u64)
            .ok_or("session is not a number");
        let event = value.get("event").and_then(Value::as_str);
        Ok(Self::Event(match event {
            Some(OPENED) if version.is_none() => {
                return Err("version of the format is missing".to_owned());
            }
            Some(OPENED) => LineEvent::Opened(session?),
            Some(CLOSED) => {
                let end = value.get("end").and_then(Value::as_str);
                LineEvent::Closed(session?, end.is_some_and(|end| !OF_CLIENT.contains(&end)))
            }
            Some(_) => LineEvent::Other(version.is_some()),
            None => return Err("no octets, no head and no event".to_owned()),
        }))
    }
}

/// The names of the reasons for ending a session for which the client is responsible.
const OF_CLIENT: [&str; 3] = [
    SessionEnd::Closed.name(),
    SessionEnd::Left.name(),
    SessionEnd::Lost.name(),
];

/// The maximum number of octets in a line.
pub(super) const MAX_LINE: u64 = 128 << 20;

/// Reads the lines of a file one by one, with their numbers. An incomplete last line is skipped, and a remark about it is
/// returned.
///
/// # Errors
/// The file cannot be read, or a line is invalid or too long.
pub(super) fn read_lines(
    path: &Path,
    most: u64,
    mut each: impl FnMut(usize, Line, Place) -> Result<(), ReplayError>,
) -> Result<(File, Option<String>), ReplayError> {
    let file = open_regular(path)?;
    let mut lines = BufReader::new(file.try_clone()?);
    let (mut at, mut octets) = (0_u64, Vec::new());
    for line in 1_usize.. {
        octets.clear();
        let count = (&mut lines)
            .take(most.saturating_add(1))
            .read_until(b'\n', &mut octets)?;
        let refuse = |reason: String| RecordingError { line, reason };
        if count == 0 {
            break;
        }
        let is_whole = octets.ends_with(b"\n");
        let length = u32::try_from(count).ok();
        let length = length.filter(|length| u64::from(*length) <= most);
        let Some(length) = length else {
            return Err(refuse(format!("longer than {most} octets")).into());
        };
        let text = std::str::from_utf8(&octets).map_err(|error| error.to_string());
        let held = match text.and_then(Line::read) {
            Ok(held) => held,
            Err(_) if !is_whole => {
                let remark = format!("line {line} is cut short, and is left out");
                return Ok((file, Some(remark)));
            }
            Err(reason) => return Err(refuse(reason).into()),
        };
        each(line, held, Place { at, length })?;
        at = at.saturating_add(count as u64);
    }
    Ok((file, None))
}

/// The source of recorded octets: memory, or a file from which a line is read when it is needed.
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
