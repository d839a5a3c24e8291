//! Reads the rows of a table with comma-separated values (RFC 4180), or with semicolons or tabs instead of commas.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

use super::text;

/// The UTF-8 byte order mark, which may precede the contents of a file.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The possible separators between cells. The one that occurs most often in the first line is used.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// The beginning of the line in which a table for spreadsheet programs may state its separator, such as `sep=;`.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// A reader of rows. It passes cells on in pieces, so their length is not limited.
pub(crate) struct RowReader<R> {
    input: R,
    /// The parser of cells; `None` before the separator has been detected.
    parser: Option<Reader>,
    /// The number of lines read so far.
    lines: u64,
    /// The number of octets read so far.
    offset: u64,
    has_mark: bool,
}

/// A row, as the contents of its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Vec<u8>>,
    /// Whether the row is longer than the maximum, so that some of its octets were dropped.
    pub(crate) is_cut: bool,
}

impl<R: BufRead> RowReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            parser: None,
            lines: 0,
            offset: 0,
            has_mark: false,
        }
    }

    /// Returns whether the table began with a byte order mark, as tables for spreadsheet programs do.
    pub(crate) fn has_byte_order_mark(&self) -> bool {
        self.has_mark
    }

    /// Returns the number of lines read so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the number of octets read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the blank lines before the next row, and returns their number.
    pub(crate) fn skip_blank_lines(&mut self) -> io::Result<u64> {
        self.begin()?;
        let before = self.lines;
        loop {
            match self.input.fill_buf()?.first() {
                Some(b'\n') => self.consume(1),
                Some(b'\r') => {
                    self.consume(1);
                    if self.input.fill_buf()?.starts_with(b"\n") {
                        self.consume(1);
                    }
                }
                _ => return Ok(self.lines - before),
            }
            self.lines += 1;
        }
    }

    /// Reads the next row and keeps at most `most` octets of it; `None` after the last row.
    pub(crate) fn next(&mut self, most: usize) -> io::Result<Option<Row>> {
        self.skip_blank_lines()?;
        let mut row = Row {
            cells: Vec::new(),
            is_cut: false,
        };
        let mut room = most;
        let cells = self.row(|at, octets| {
            if room > 0 && row.cells.len() <= at {
                row.cells.resize_with(at + 1, Vec::new);
            }
            let kept = octets.get(..room).unwrap_or(octets);
            row.is_cut |= kept.len() < octets.len() || room == 0;
            room = room.saturating_sub(kept.len() + 1);
            if let Some(cell) = row.cells.get_mut(at) {
                cell.extend_from_slice(kept);
            }
        })?;
        Ok(cells.map(|_| row))
    }

    /// Reads a row, and calls `take` with pieces of its cells and the index of the cell. Returns the number of cells;
    /// `None` after the last row.
    pub(crate) fn row(&mut self, mut take: impl FnMut(usize, &[u8])) -> io::Result<Option<usize>> {
        self.begin()?;
        let Some(mut parser) = self.parser.take() else {
            return Ok(None);
        };
        let cells = self.parse(&mut parser, &mut take);
        self.parser = Some(parser);
        cells
    }

    fn parse(
        &mut self,
        parser: &mut Reader,
        take: &mut impl FnMut(usize, &[u8]),
    ) -> io::Result<Option<usize>> {
        let mut cells = 0;
        let mut octets = [0; 4096];
        let first_line = self.lines + 1;
        let mut has_begun = false;
        loop {
            let input = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                input => input?,
            };
            let is_end = input.is_empty() && has_begun;
            // At the end of the input, a line end is passed to the parser to end the last row. If the parser takes it as text, a
            // quotation mark has not been closed.
            let (result, used, written) =
                parser.read_field(if is_end { b"\n" } else { input }, &mut octets);
            if is_end && matches!(result, ReadFieldResult::InputEmpty) {
                let words = format!("line {first_line}: a quotation mark is never closed");
                return Err(io::Error::new(ErrorKind::InvalidData, words));
            }
            has_begun = true;
            let used = input.get(..used).unwrap_or(input);
            let line_ends = used.iter().filter(|octet| **octet == b'\n').count();
            let last = used.last().copied();
            let used = used.len();
            self.lines += u64::try_from(line_ends).unwrap_or(0);
            self.consume(used);
            take(cells, octets.get(..written).unwrap_or_default());
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => {
                    cells += 1;
                    if !record_end {
                        continue;
                    }
                    if last != Some(b'\n') {
                        self.lines += 1;
                    }
                    // The parser would leave the LF of CR LF to the next row, so the LF is skipped here.
                    if last == Some(b'\r') && self.input.fill_buf()?.starts_with(b"\n") {
                        self.consume(1);
                    }
                    return Ok(Some(cells));
                }
                ReadFieldResult::End => return Ok(None),
            }
        }
    }

    fn consume(&mut self, octets: usize) {
        self.input.consume(octets);
        self.offset += u64::try_from(octets).unwrap_or(0);
    }

    /// Detects the separator in the first line, if this has not been done yet.
    fn begin(&mut self) -> io::Result<()> {
        if self.parser.is_none() {
            let separator = self.separator()?;
            self.parser = Some(ReaderBuilder::new().delimiter(separator).build());
        }
        Ok(())
    }

    fn separator(&mut self) -> io::Result<u8> {
        if self.input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            self.consume(BYTE_ORDER_MARK.len());
            self.has_mark = true;
        }
        let held = self.input.fill_buf()?;
        if let Some((begin, [separator, b'\r' | b'\n', ..])) =
            held.split_at_checked(SEPARATOR_LINE.len())
            && begin.eq_ignore_ascii_case(SEPARATOR_LINE)
        {
            let separator = *separator;
            self.consume(SEPARATOR_LINE.len() + 1);
            return Ok(separator);
        }
        let mut counts = SEPARATORS.map(|separator| (0_usize, separator));
        let mut is_quoted = false;
        for octet in held {
            match octet {
                b'"' => is_quoted = !is_quoted,
                b'\n' | b'\r' if !is_quoted => break,
                octet if !is_quoted => {
                    for (count, separator) in &mut counts {
                        *count += usize::from(separator == octet);
                    }
                }
                _ => {}
            }
        }
        // If several separators are equally frequent, the first of them in the list is used.
        let most = counts.into_iter().rev().max_by_key(|(count, _)| *count);
        Ok(most.map_or(b',', |(_, separator)| separator))
    }
}

/// The first octets of a zip file, and therefore of a spreadsheet program's workbook.
const ZIP: &[u8] = b"PK\x03\x04";

/// Returns whether a file that begins with these octets is a workbook.
pub(crate) fn is_workbook(begin: &[u8]) -> bool {
    begin.starts_with(ZIP)
}

/// The error message for a workbook.
pub(crate) const WORKBOOK: &str = "it is a workbook (.xlsx, .ods) or another zip file; save the sheet as CSV in a spreadsheet program";

/// Returns the text of a table in UTF-8. The table may be in UTF-8 or UTF-16.
pub(crate) fn text_of_table(mut input: BufReader<Box<dyn Read>>) -> io::Result<Box<dyn BufRead>> {
    Ok(if text::is_utf16(input.fill_buf()?) {
        Box::new(text::utf16_reader(input))
    } else {
        Box::new(input)
    })
}

/// Returns the text of a cell. If the cell contains the text as a formula, `="0306406152"`, which prevents spreadsheet
/// programs from changing it, the formula is removed.
pub(crate) fn without_formula(cell: Vec<u8>) -> Vec<u8> {
    let formula = cell.trim_ascii().strip_prefix(b"=\"");
    match formula.and_then(|rest| rest.strip_suffix(b"\"")) {
        Some(text) if !text.contains(&b'"') => text.to_vec(),
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_f15_rows_are_read_whole_and_bounded() {
        let table = b"\xEF\xBB\xBFa;\"b\nc\"\r\n\r\n;\n\"x\"\"y\";2;3";
        let mut reader = RowReader::new(&table[..]);
        let mut found = Vec::new();
        while let Some(row) = reader.next(100).expect("in memory") {
            let cells = row
                .cells
                .iter()
                .map(|cell| String::from_utf8_lossy(cell).into_owned());
            found.push((cells.collect::<Vec<_>>().join("|"), row.is_cut));
        }
        assert_eq!(
            found,
            [
                ("a|b\nc".to_owned(), false),
                ("|".to_owned(), false),
                ("x\"y|2|3".to_owned(), false)
            ]
        );
        assert_eq!((reader.lines(), reader.offset()), (5, 26));
        let long = format!("{},{}\n1,2\n", "x".repeat(9_999), "y,".repeat(9_999));
        let mut reader = RowReader::new(long.as_bytes());
        let row = reader.next(10_005).expect("in memory").expect("a row");
        assert!(
            row.is_cut && row.cells.concat().len() <= 10_005,
            "{}",
            row.cells.len()
        );
        let row = reader.next(10_005).expect("in memory").expect("a row");
        assert_eq!((row.cells.len(), row.is_cut), (2, false));
    }

    #[test]
    fn audit_r_f_an_unclosed_quotation_mark_is_reported() {
        let last = |table: &'static str| {
            let mut reader = RowReader::new(table.as_bytes());
            loop {
                match reader.next(100) {
                    Ok(Some(_)) => {}
                    Ok(None) => return None,
                    Err(error) => return Some(error.to_string()),
                }
            }
        };
        for sound in [
            "",
            "a",
            "a\n",
            "\"a\"",
            "\"a\"\n",
            "\"a\nb\"",
            "5\" disk\n",
            "a,\"\"",
            "\"a\"\"b\"\r\n",
        ] {
            assert_eq!(last(sound), None, "{sound:?}");
        }
        for (table, line) in [("\"", 1), ("a\n\"b,c\nd\n", 2), ("a\n\nb,\"c\"\"\n", 3)] {
            let words = format!("line {line}: a quotation mark is never closed");
            assert_eq!(last(table), Some(words), "{table:?}");
        }
    }
}
