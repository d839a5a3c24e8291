//! The part of an input that is held in memory. It grows at its end until a record is complete, and records are taken
//! from its front.

use std::io::{self, Read};

use bytes::{Buf, Bytes, BytesMut};
use encoding_rs::{Decoder, Encoding};

/// The maximum number of octets that are held for one record; a longer record is reported and skipped.
pub const MAX_RECORD: usize = 16 * 1024 * 1024;

/// The number of octets that are inspected to detect the form and the encoding of an input.
pub const GUESS_OCTETS: usize = 1024;

/// The number of octets to read at once.
const CHUNK: usize = 64 * 1024;

/// The octets of an input that are in memory, and their offset in the input.
pub(super) struct Window<R> {
    input: R,
    held: BytesMut,
    offset: u64,
    ended: bool,
    decoder: Option<Decoder>,
    /// Whether each CR that is not followed by LF becomes LF.
    replaces_carriage_returns: bool,
}

impl<R> std::fmt::Debug for Window<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("offset", &self.offset)
            .field("held", &self.held.len())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl<R: Read> Window<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            held: BytesMut::new(),
            offset: 0,
            ended: false,
            decoder: None,
            replaces_carriage_returns: false,
        }
    }

    /// Returns the octets in memory.
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }

    /// Returns the octets in memory, starting at an index.
    pub(super) fn from(&self, index: usize) -> &[u8] {
        self.held.get(index..).unwrap_or_default()
    }

    /// Returns the offset in the input of the first octet in memory.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads until `wanted` octets are in memory or the input ends.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<()> {
        while self.held.len() < wanted && self.more()? {}
        Ok(())
    }

    /// Reads more octets; returns `false` at the end of the input.
    pub(super) fn more(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let before = self.held.len();
        self.held.resize(before + CHUNK, 0);
        let read = match self.held.get_mut(before..) {
            Some(room) => retried(&mut self.input, room),
            None => Ok(0),
        };
        self.held
            .truncate(before + read.as_ref().copied().unwrap_or(0));
        self.ended = read? == 0;
        self.decode(before);
        self.end_lines(before);
        Ok(!self.ended)
    }

    /// Takes `count` octets from the front as a record.
    pub(super) fn record(&mut self, count: usize, damage: Option<String>) -> RawRecord {
        let count = count.min(self.held.len());
        let offset = self.offset;
        self.offset += u64::try_from(count).unwrap_or(u64::MAX);
        RawRecord {
            offset,
            octets: self.held.split_to(count).freeze(),
            damage,
            ..RawRecord::default()
        }
    }

    /// Drops octets from the front.
    pub(super) fn pass(&mut self, count: usize) {
        let count = count.min(self.held.len());
        self.offset += u64::try_from(count).unwrap_or(u64::MAX);
        self.held.advance(count);
    }

    /// Decodes the rest of the input from an encoding other than UTF-8, including the octets that are already in
    /// memory.
    pub(super) fn decode_from(&mut self, encoding: &'static Encoding) {
        self.decoder = Some(encoding.new_decoder_with_bom_removal());
        self.decode(0);
    }

    /// Converts each CR that is not followed by LF to LF, both in memory and in the rest of the input.
    pub(super) fn replace_carriage_returns(&mut self) {
        self.replaces_carriage_returns = true;
        self.end_lines(0);
    }

    /// Returns the index of the first `needle` at or after `from`, and reads more octets if necessary. The search ends
    /// when `limit` octets are in memory.
    pub(super) fn find(
        &mut self,
        from: usize,
        needle: &[u8],
        limit: usize,
    ) -> io::Result<Option<usize>> {
        let mut from = from;
        loop {
            if let Some(place) = find(self.from(from), needle) {
                return Ok(Some(from + place));
            }
            from = from.max((self.held.len() + 1).saturating_sub(needle.len()));
            if self.held.len() >= limit || !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Returns the index after the line that begins at `from`, including its line end; `None` at the end of the input.
    ///
    /// A line longer than the limit ends at the limit.
    pub(super) fn line(&mut self, from: usize, limit: usize) -> io::Result<Option<usize>> {
        let end = self
            .find(from, b"\n", limit)?
            .map(|place| place + 1)
            .unwrap_or(self.held.len());
        Ok((end > from).then_some(end))
    }

    /// Replaces the CRs in memory, starting at an index, if this is enabled.
    fn end_lines(&mut self, from: usize) {
        if !self.replaces_carriage_returns {
            return;
        }
        let mut octets = self
            .held
            .get_mut(from..)
            .unwrap_or_default()
            .iter_mut()
            .peekable();
        while let Some(octet) = octets.next() {
            if *octet == b'\r' && octets.peek().is_none_or(|next| **next != b'\n') {
                *octet = b'\n';
            }
        }
    }

    /// Decodes the octets in memory, starting at an index, if the input is not in UTF-8.
    fn decode(&mut self, from: usize) {
        if let Some(decoder) = &mut self.decoder {
            let octets = self.held.split_off(from.min(self.held.len()));
            let room = decoder.max_utf8_buffer_length(octets.len());
            let mut text = String::with_capacity(room.unwrap_or(octets.len() * 3 + 3));
            let _ = decoder.decode_to_string(&octets, &mut text, self.ended);
            if self.ended {
                self.decoder = None;
            }
            self.held.extend_from_slice(text.as_bytes());
        }
    }
}

/// The octets of one record, taken from the window.
#[derive(Debug, Default)]
pub(super) struct RawRecord {
    /// The offset in the input of the first octet.
    pub(super) offset: u64,
    /// The number of the record's first line, counted from 1, in forms that consist of lines.
    pub(super) line: usize,
    /// The octets of the record.
    pub(super) octets: Bytes,
    /// The reason why these octets are not a record, if the splitter has found one.
    pub(super) damage: Option<String>,
    /// Whether the next record begins before this record ends, in forms in which this record can still be read.
    pub(super) cut_off: bool,
}

impl RawRecord {
    /// Creates a report for an offset at which records may be missing.
    pub(super) fn damage(offset: u64, damage: impl Into<String>) -> Self {
        Self {
            offset,
            damage: Some(damage.into()),
            ..Self::default()
        }
    }
}

fn retried(input: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Returns the index of the first occurrence of `needle`.
pub(super) fn find(octets: &[u8], needle: &[u8]) -> Option<usize> {
    let (first, tail) = needle.split_first()?;
    let mut passed = 0;
    loop {
        let rest = octets.get(passed..)?;
        let place = passed + rest.iter().position(|octet| octet == first)?;
        if octets.get(place + 1..)?.starts_with(tail) {
            return Some(place);
        }
        passed = place + 1;
    }
}
