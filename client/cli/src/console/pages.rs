//! Writes data one screen at a time, and asks the user after each screen whether to continue.

use std::sync::Arc;

use z3950::transport::BoxFuture;

use crate::console::output::{Failure, Output};
use crate::render::{Format, columns_of};

/// The minimum height of a terminal, in rows, for output in pages.
const FEWEST_ROWS: usize = 4;

/// The user's choice after a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoOn {
    Page,
    All,
    Stop,
}

impl GoOn {
    /// Returns the choice that the pressed keys stand for, or `None` for other keys, such as the beginning of a
    /// command. A complete word (`all` or `quit`) is also accepted.
    pub(crate) fn by_keys(keys: &[u8]) -> Option<Self> {
        match keys {
            b" " | b"\r" | b"\n" | b"\r\n" => return Some(Self::Page),
            // Ctrl-C, Ctrl-D and Esc stop the output.
            [0x03 | 0x04 | 0x1B] => return Some(Self::Stop),
            // Escape sequences come from arrow keys and similar keys, which show the next page.
            [0x1B, ..] => return Some(Self::Page),
            _ => {}
        }
        match keys.trim_ascii_end() {
            b"a" | b"all" => Some(Self::All),
            b"q" | b"quit" => Some(Self::Stop),
            _ => None,
        }
    }
}

/// A user who reads output in pages.
pub(crate) trait PageReader: Send + Sync {
    /// Asks whether to continue after a page. `last` describes the end of the page, such as `3 of 17`.
    fn goes_on<'a>(&'a self, last: &'a str) -> BoxFuture<'a, GoOn>;
}

/// The pages in which a command writes its data. Without a screen, all data is written at once.
pub(crate) struct Pages(Option<Screen>);

struct Screen {
    reader: Arc<dyn PageReader>,
    columns: usize,
    /// The number of rows for data. One more row of the terminal is reserved for the question.
    rows: usize,
    used: usize,
    /// The description of the end of the last page, for the question.
    last: String,
}

impl Pages {
    /// Creates pages for a user, if data is written to a terminal.
    pub(crate) fn new(reader: Option<Arc<dyn PageReader>>, output: &Output) -> Self {
        let screen = output.screen().filter(|(_, rows)| *rows >= FEWEST_ROWS);
        Self(reader.zip(screen).map(|(reader, (columns, rows))| Screen {
            reader,
            columns,
            rows: rows - 1,
            used: 0,
            last: String::new(),
        }))
    }

    /// Writes the octets of a record. Returns false if the user stopped the output. `what` describes the record in the
    /// question, such as `3 of 17`.
    pub(crate) async fn write(
        &mut self,
        octets: &[u8],
        format: Format,
        what: &str,
        output: &mut Output,
    ) -> Result<bool, Failure> {
        let mut rest = octets;
        while let Some(screen) = &mut self.0 {
            let (page, after) = rest.split_at(screen.fitting(rest));
            if !page.is_empty() {
                output.of_record(page, format)?;
                what.clone_into(&mut screen.last);
            }
            if after.is_empty() {
                return Ok(true);
            }
            rest = after;
            match screen.reader.goes_on(&screen.last).await {
                GoOn::Page => screen.used = 0,
                GoOn::All => self.0 = None,
                GoOn::Stop => return Ok(false),
            }
        }
        output.of_record(rest, format)?;
        Ok(true)
    }

    /// Writes lines of text like [`write`](Self::write). If all records are gathered in one document, the lines are
    /// printed as notes.
    pub(crate) async fn lines(
        &mut self,
        lines: &str,
        what: &str,
        output: &mut Output,
    ) -> Result<bool, Failure> {
        if output.is_gathered() {
            output.line(lines)?;
            return Ok(true);
        }
        self.write(lines.as_bytes(), Format::Text, what, output)
            .await
    }
}

impl Screen {
    /// Returns the number of octets in the lines that fit on the remaining part of the screen. A line that needs more
    /// rows than the screen has is written to a screen of its own.
    fn fitting(&mut self, octets: &[u8]) -> usize {
        fitting(octets, self.columns, self.rows, &mut self.used)
    }
}

fn fitting(octets: &[u8], columns: usize, rows: usize, used: &mut usize) -> usize {
    let mut length = 0;
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        let text = String::from_utf8_lossy(line);
        let height = columns_of(text.trim_end()).div_ceil(columns).max(1);
        if *used > 0 && used.saturating_add(height) > rows {
            break;
        }
        *used += height;
        length += line.len();
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_turn_pages() {
        for (keys, expected) in [
            (&b"q"[..], Some(GoOn::Stop)),
            (b"q\r", Some(GoOn::Stop)),
            (b"quit\n", Some(GoOn::Stop)),
            (b"\x03", Some(GoOn::Stop)),
            (b"\x1b", Some(GoOn::Stop)),
            (b" ", Some(GoOn::Page)),
            (b"\r", Some(GoOn::Page)),
            (b"\x1b[B", Some(GoOn::Page)),
            (b"a", Some(GoOn::All)),
            (b"all\r", Some(GoOn::All)),
            (b"s", None),
            (b"show 3\r", None),
            (b"qs", None),
            (b"", None),
        ] {
            assert_eq!(GoOn::by_keys(keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn a_page_is_as_many_lines_as_fit() {
        for (text, before, fits, after) in [
            ("", 0, "", 0),
            ("a\nb\n", 0, "a\nb\n", 2),
            ("a\nb\nc\nd\n", 0, "a\nb\nc\n", 3),
            ("a\nb\n", 2, "a\n", 3),
            ("a\n", 3, "", 3),
            // Lines longer than 10 columns wrap; an empty line takes a row too.
            ("12345678901\nb\nc\n", 0, "12345678901\nb\n", 3),
            ("\n\n\n\n", 0, "\n\n\n", 3),
            // A Chinese or Japanese character takes up two columns.
            ("戦争と平和を\nb\nc\n", 0, "戦争と平和を\nb\n", 3),
            // A line that needs more rows than the screen has is written to a screen of its own.
            (&"x".repeat(45), 0, &"x".repeat(45), 5),
            (&"x".repeat(45), 1, "", 1),
        ] {
            let mut used = before;
            let length = fitting(text.as_bytes(), 10, 3, &mut used);
            assert_eq!((&text[..length], used), (fits, after), "{text:?}");
        }
    }
}
