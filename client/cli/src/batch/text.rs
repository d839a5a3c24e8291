//! Text as spreadsheet programs save it: in UTF-16, as "Unicode text", or, if the program is old, with lines that end with CR alone.

use std::io::{self, BufRead, BufReader, Read};

use encoding_rs::{Decoder, UTF_16LE};

/// Returns whether text begins with a UTF-16 byte order mark.
pub(super) fn is_utf16(begin: &[u8]) -> bool {
    begin.starts_with(b"\xFF\xFE") || begin.starts_with(b"\xFE\xFF")
}

/// Returns the text in UTF-8, without its byte order mark. Both byte orders are accepted.
pub(super) fn from_utf16(input: impl BufRead + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(utf16_reader(input))
}

/// Returns a reader that converts the text to UTF-8.
pub(super) fn utf16_reader<R: BufRead>(input: R) -> impl BufRead {
    BufReader::new(Utf16Reader {
        input,
        // A byte order mark overrides this byte order.
        decoder: UTF_16LE.new_decoder(),
        is_over: false,
        text: String::new(),
        read: 0,
    })
}

/// Returns the text in UTF-8, decoded from UTF-16 if a byte order mark says so. Nothing is read before the first
/// octet is needed.
pub(super) fn from_marked_utf16(input: impl BufRead + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::new(MarkedReader {
        input: Some(Box::new(input)),
        text: Box::new(io::empty()),
    }))
}

/// A reader of text that may be in UTF-16.
struct MarkedReader {
    /// The input; `None` after its byte order mark has been examined.
    input: Option<Box<dyn BufRead + Send>>,
    text: Box<dyn BufRead + Send>,
}

impl Read for MarkedReader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Some(mut input) = self.input.take() {
            let is_marked = match input.fill_buf() {
                Ok(begin) => is_utf16(begin),
                Err(error) => {
                    self.input = Some(input);
                    return Err(error);
                }
            };
            self.text = if is_marked { from_utf16(input) } else { input };
        }
        self.text.read(to)
    }
}

struct Utf16Reader<R> {
    input: R,
    decoder: Decoder,
    is_over: bool,
    /// The decoded text, and the part of it that has been read.
    text: String,
    read: usize,
}

/// The maximum number of octets to decode at once.
const CHUNK: usize = 8192;

impl<R: BufRead> Read for Utf16Reader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.read == self.text.len() && !self.is_over {
            let chunk = self.input.fill_buf()?;
            let chunk = chunk.get(..CHUNK).unwrap_or(chunk);
            self.text.clear();
            self.read = 0;
            self.is_over = chunk.is_empty();
            // A unit of two octets becomes at most three octets, and one unit may be left from the previous call.
            self.text.reserve(2 * chunk.len() + 16);
            let (_, used, _) = self
                .decoder
                .decode_to_string(chunk, &mut self.text, self.is_over);
            self.input.consume(used);
        }
        let rest = self.text.as_bytes().get(self.read..).unwrap_or_default();
        let count = rest.len().min(to.len());
        for (place, octet) in to.iter_mut().zip(rest) {
            *place = *octet;
        }
        self.read += count;
        Ok(count)
    }
}

/// Returns whether the beginning of the text contains a CR without LF.
pub(super) fn has_lone_return(begin: &[u8]) -> bool {
    let mut pairs = begin.windows(2);
    pairs.any(|pair| matches!(pair, [b'\r', next] if *next != b'\n'))
}

/// Returns the text with LF at the end of each line, in place of CR or CR LF.
pub(super) fn with_line_feeds(input: impl BufRead + Send + 'static) -> Box<dyn BufRead + Send> {
    let ended_with_return = false;
    Box::new(BufReader::new(LineEnds {
        input,
        ended_with_return,
    }))
}

struct LineEnds<R> {
    input: R,
    /// Whether the last octet was CR. If LF follows, the two are one line end.
    ended_with_return: bool,
}

impl<R: BufRead> Read for LineEnds<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        // If the only octet is an LF after a CR, nothing is written. Returning 0 would signal the end of the input, so read on.
        while written == 0 && !to.is_empty() {
            let held = self.input.fill_buf()?;
            let Some(first) = held.first() else {
                return Ok(0);
            };
            let skipped = usize::from(self.ended_with_return && *first == b'\n');
            self.ended_with_return = false;
            let rest = held.get(skipped..).unwrap_or_default();
            let mut used = skipped;
            for (from, slot) in rest.iter().zip(to.iter_mut()) {
                used += 1;
                written += 1;
                *slot = if *from == b'\r' { b'\n' } else { *from };
                if *from == b'\r' {
                    self.ended_with_return = true;
                    break;
                }
            }
            self.input.consume(used);
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_are_decoded() {
        let text = "ISBN\tTitel\r\n1\té𝄞\r\n";
        for is_little in [true, false] {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            let octets: Vec<u8> = units
                .flat_map(|unit| {
                    if is_little {
                        unit.to_le_bytes()
                    } else {
                        unit.to_be_bytes()
                    }
                })
                .collect();
            assert!(is_utf16(&octets));
            for capacity in [1, 3, 8192] {
                let octets = io::Cursor::new(octets.clone());
                let mut found = String::new();
                let mut input = from_utf16(BufReader::with_capacity(capacity, octets));
                input.read_to_string(&mut found).expect("in memory");
                assert_eq!(found, text);
            }
            for (octets, expected) in [(octets, text), (text.into(), text), (Vec::new(), "")] {
                let mut found = String::new();
                let mut input = from_marked_utf16(io::Cursor::new(octets));
                input.read_to_string(&mut found).expect("in memory");
                assert_eq!(found, expected);
            }
        }
        assert!(!is_utf16(b"ISBN"));
    }
}
