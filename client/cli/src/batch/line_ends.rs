//! Converts lines that end with CR alone, as old spreadsheet programs save them, to lines that end with LF.

use std::io::{self, BufRead, BufReader, Read};

/// Returns whether text that begins like this has a CR without LF.
pub(super) fn has_lone_return(begin: &[u8]) -> bool {
    let mut pairs = begin.windows(2);
    pairs.any(|pair| matches!(pair, [b'\r', next] if *next != b'\n'))
}

/// Returns the text with LF at the end of each line, whatever the line ends were.
pub(super) fn normalised(input: impl BufRead + Send + 'static) -> Box<dyn BufRead + Send> {
    let ended_with_return = false;
    Box::new(BufReader::new(LineEnds {
        input,
        ended_with_return,
    }))
}

struct LineEnds<R> {
    input: R,
    /// Whether the last octet was CR, so that an LF may follow.
    ended_with_return: bool,
}

impl<R: BufRead> Read for LineEnds<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        // A lone LF after CR produces no octets, which must not look like the end of the input.
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
