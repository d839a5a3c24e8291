//! The lines of a transcript: what one holds, and reading a file of any size line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;
use z3950_asn1::input::open_regular;

use super::{FORMAT_VERSION, HttpEntry, RecordingError, TranscriptEntry};

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is wrong.
    #[error(transparent)]
    Line(#[from] RecordingError),
    /// It has messages of HTTP only, which are not replayed.
    #[error("only APDUs are replayed, and it has messages of HTTP alone")]
    HttpOnly,
    /// It has more requests than this.
    #[error("more than {0} requests")]
    TooLarge(usize),
}

/// The place of an APDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Where its line begins in the file, or its number in memory.
    pub(super) at: u64,
    /// Octets of the line.
    pub(super) length: u32,
}

/// What a line holds.
#[derive(Debug)]
pub(super) enum Line {
    Apdu(TranscriptEntry),
    Http(HttpEntry),
    /// An event, or nothing.
    Other,
}

impl Line {
    /// # Errors
    /// What is wrong with the line, in words.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::Other);
        }
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if !value.is_object() {
            return Err("not a JSON object".to_owned());
        }
        if let Some(version) = value.get("version")
            && version.as_u64() != Some(FORMAT_VERSION)
        {
            return Err(format!(
                "version {version} of the format, and this program reads version {FORMAT_VERSION}"
            ));
        }
        if let Some(entry) = TranscriptEntry::from_json(&value)? {
            return Ok(Self::Apdu(entry));
        }
        Ok(HttpEntry::from_json(&value)?.map_or(Self::Other, Self::Http))
    }
}

/// The most octets of a line.
pub(super) const MAX_LINE: u64 = 128 << 20;

/// Reads the lines of a file one by one. A last line that is cut short is left out; returns a remark on it.
///
/// # Errors
/// A file that cannot be read, and the first line that is wrong or too long.
pub(super) fn read_lines(
    path: &Path,
    most: u64,
    mut each: impl FnMut(Line, Place) -> Result<(), ReplayError>,
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
        each(held, Place { at, length })?;
        at = at.saturating_add(count as u64);
    }
    Ok((file, None))
}
