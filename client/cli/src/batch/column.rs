//! One column of a table as lines: comma-separated values (RFC 4180), or the same with semicolons or tabs.

use std::io::{self, BufRead, ErrorKind, Read};
use std::str::FromStr;

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

use super::inputs::BYTE_ORDER_MARK;
use crate::answer::MAX_INPUT;

/// A column of a table of inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputColumn {
    /// The name in the first row.
    Name(String),
    /// From 1; the first row holds an input too.
    Number(usize),
}

impl FromStr for InputColumn {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text.trim(), text.trim().parse()) {
            ("", _) => Err("a column has a name or a number"),
            (_, Ok(0)) => Err("columns are counted from 1"),
            (_, Ok(number)) => Ok(Self::Number(number)),
            (name, Err(_)) => Ok(Self::Name(name.to_owned())),
        }
    }
}

/// What may separate cells: the character that is most frequent in the first line does.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// How much of a cell of the first row is compared and shown.
const MAX_NAME: usize = 1000;
/// How many names of columns a message shows.
const MAX_NAMES: usize = 20;
/// Line ends in place of those within rows.
const LINE_ENDS: [u8; 1024] = [b'\n'; 1024];

/// Reads a table as lines, each with the cell of one column; line ends in it become blanks.
///
/// A row stands on the line on which it ends, so that messages have the right line; the lines before it are blank, as is the
/// line of a row without the column. Of a cell, just enough is kept to see that it is longer than [`MAX_INPUT`].
pub(super) struct ColumnReader<R> {
    input: R,
    column: InputColumn,
    /// The parser of cells, and the index of the column; `None` before the first row.
    begun: Option<(Reader, usize)>,
    /// Line ends to come before the line.
    line_ends: u64,
    line: Vec<u8>,
    /// Octets of the line that have been read.
    read: usize,
    /// Line ends that the input had, and that have been passed on.
    consumed: u64,
    passed: u64,
}

impl<R: BufRead> ColumnReader<R> {
    pub(super) fn new(input: R, column: InputColumn) -> Self {
        Self {
            input,
            column,
            begun: None,
            line_ends: 0,
            line: Vec::new(),
            read: 0,
            consumed: 0,
            passed: 0,
        }
    }

    /// Reads the next row and makes its line; `false` after the last.
    fn advance(&mut self) -> io::Result<bool> {
        let (mut reader, index) = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let mut reader = self.begin()?;
                let index = match self.column.clone() {
                    InputColumn::Number(number) => number - 1,
                    InputColumn::Name(name) => self.named(&mut reader, &name)?,
                };
                (reader, index)
            }
        };
        let is_first = self.passed == 0 && matches!(self.column, InputColumn::Number(_));
        let mut cell = Vec::new();
        let cells = self.row(&mut reader, |at, octets| {
            if at == index {
                push(&mut cell, octets, MAX_INPUT + 2);
            }
        })?;
        self.begun = Some((reader, index));
        let Some(cells) = cells else {
            return Ok(false);
        };
        if is_first && cells <= index {
            let words = format!(
                "there is no column {}: the first row has {cells}",
                index + 1
            );
            return Err(io::Error::new(ErrorKind::InvalidData, words));
        }
        for octet in &mut cell {
            if matches!(octet, b'\r' | b'\n') {
                *octet = b' ';
            }
        }
        cell.push(b'\n');
        (self.line, self.read) = (cell, 0);
        self.line_ends = self.consumed.saturating_sub(self.passed + 1);
        self.passed += self.line_ends + 1;
        Ok(true)
    }

    /// A parser for the separator of the first line.
    fn begin(&mut self) -> io::Result<Reader> {
        if self.input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            self.input.consume(BYTE_ORDER_MARK.len());
        }
        let held = self.input.fill_buf()?;
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
        // Among equals, the first of the list.
        let most = counts.into_iter().rev().max_by_key(|(count, _)| *count);
        let separator = most.map_or(b',', |(_, separator)| separator);
        Ok(ReaderBuilder::new().delimiter(separator).build())
    }

    /// The index of the column with a name, in any case, in the first row.
    fn named(&mut self, reader: &mut Reader, name: &str) -> io::Result<usize> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut found = None;
        let wanted = name.to_lowercase();
        let mut current = (0, Vec::new());
        let mut end = |(at, cell): (usize, Vec<u8>)| {
            let cell = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
            if found.is_none() && cell.to_lowercase() == wanted {
                found = Some(at);
            }
            if at < MAX_NAMES {
                names.push(cell.into_bytes());
            }
        };
        let cells = self.row(reader, |at, octets| {
            if at != current.0 {
                end(std::mem::replace(&mut current, (at, Vec::new())));
            }
            push(&mut current.1, octets, MAX_NAME);
        })?;
        end(current);
        self.passed = 0;
        if let (Some(found), Some(_)) = (found, cells) {
            return Ok(found);
        }
        let names = names.iter().map(|name| String::from_utf8_lossy(name));
        let mut shown = names.collect::<Vec<_>>().join(", ");
        if cells.is_some_and(|cells| cells > MAX_NAMES) {
            shown.push_str(" …");
        }
        let words = match cells {
            None => format!("there is no column {name:?}: it is empty"),
            Some(_) => format!("there is no column {name:?} in its first row: {shown}"),
        };
        Err(io::Error::new(ErrorKind::InvalidData, words))
    }

    /// Reads a row, passing on the octets of its cells by their index. Returns how many cells it has; `None` after the last.
    fn row(
        &mut self,
        reader: &mut Reader,
        mut take: impl FnMut(usize, &[u8]),
    ) -> io::Result<Option<usize>> {
        let mut cells = 0;
        let mut octets = [0; 4096];
        loop {
            let input = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                input => input?,
            };
            let (result, used, written) = reader.read_field(input, &mut octets);
            let used = input.get(..used).unwrap_or(input);
            let line_ends = used.iter().filter(|octet| **octet == b'\n').count();
            let last = used.last().copied();
            let used = used.len();
            self.consumed += u64::try_from(line_ends).unwrap_or(0);
            self.input.consume(used);
            take(cells, octets.get(..written).unwrap_or_default());
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => {
                    cells += 1;
                    if !record_end {
                        continue;
                    }
                    // The parser leaves the rest of CR LF to the next row.
                    if last == Some(b'\r') && self.input.fill_buf()?.starts_with(b"\n") {
                        self.input.consume(1);
                        self.consumed += 1;
                    }
                    return Ok(Some(cells));
                }
                ReadFieldResult::End => return Ok(None),
            }
        }
    }
}

/// Appends octets up to a length.
fn push(cell: &mut Vec<u8>, octets: &[u8], most: usize) {
    let room = most.saturating_sub(cell.len()).min(octets.len());
    cell.extend_from_slice(octets.get(..room).unwrap_or_default());
}

impl<R: BufRead> BufRead for ColumnReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.line_ends == 0 && self.read >= self.line.len() {
            self.line.clear();
            self.read = 0;
            self.advance()?;
        }
        if self.line_ends > 0 {
            let most = usize::try_from(self.line_ends).unwrap_or(usize::MAX);
            return Ok(LINE_ENDS.get(..most).unwrap_or(&LINE_ENDS));
        }
        Ok(self.line.get(self.read..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        match self.line_ends {
            0 => self.read += amount,
            _ => {
                let amount = u64::try_from(amount).unwrap_or(u64::MAX);
                self.line_ends = self.line_ends.saturating_sub(amount);
            }
        }
    }
}

impl<R: BufRead> Read for ColumnReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let held = self.fill_buf()?;
        let count = held.len().min(out.len());
        for (place, octet) in out.iter_mut().zip(held) {
            *place = *octet;
        }
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// The lines of a column, read in pieces of different sizes.
    fn lines(table: &[u8], column: &str) -> Result<String, String> {
        let column: InputColumn = column.parse()?;
        let mut found = Vec::new();
        for capacity in [1, 3, 8192] {
            let input = BufReader::with_capacity(capacity, table);
            let input = match capacity {
                // The separator and a byte order mark are found in the first piece.
                1 | 3
                    if table
                        .iter()
                        .any(|octet| matches!(octet, b';' | b'\t' | 0xEF)) =>
                {
                    continue;
                }
                _ => input,
            };
            let mut read = Vec::new();
            let mut reader = ColumnReader::new(input, column.clone());
            reader
                .read_to_end(&mut read)
                .map_err(|error| error.to_string())?;
            found.push(String::from_utf8_lossy(&read).into_owned());
        }
        found.dedup();
        assert_eq!(found.len(), 1, "{found:?}");
        Ok(found.remove(0))
    }

    #[test]
    fn cells_of_a_column() {
        for (table, column, expected) in [
            ("a,b\n1,2\n3,4\n", "b", "\n2\n4\n"),
            ("a,b\n1,2\n3,4", "1", "a\n1\n3\n"),
            (
                "\u{FEFF}Isbn , Title\r\n1,2\r\n\r\n3,4\r\n",
                "ISBN",
                "\n1\n\n3\n",
            ),
            ("a;b\n\"1;1\";2,2\n", "b", "\n2,2\n"),
            ("a\tb\n1,1\t2\n", "a", "\n1,1\n"),
            // A row that ends on a later line.
            ("a,b\n\"x\r\ny\",1\nz,2\n", "b", "\n\n1\n2\n"),
            ("a,b\n\"x\r\ny\",1\n", "a", "\n\nx  y\n"),
            ("a,b\n\"say \"\"x\"\"\",1\n", "a", "\nsay \"x\"\n"),
            // Short rows, empty cells, and a row of one line only.
            ("a,b\nx\ny,\nz,1,2\n", "b", "\n\n\n1\n"),
            (
                "9780141439518\n0306406152\n",
                "1",
                "9780141439518\n0306406152\n",
            ),
            ("a\n\"never closed\n1,2\n", "a", "\n\nnever closed 1,2 \n"),
            ("a\n", "a", ""),
        ] {
            assert_eq!(
                lines(table.as_bytes(), column).as_deref(),
                Ok(expected),
                "{table:?}"
            );
        }
    }

    #[test]
    fn columns_that_do_not_exist() {
        let wide = (1..=21).map(|number| format!("c{number}"));
        let wide = wide.collect::<Vec<_>>().join(",");
        let (shown, _) = wide.rsplit_once(',').expect("columns");
        let of_wide = format!(
            "there is no column \"x\" in its first row: {} …",
            shown.replace(',', ", ")
        );
        for (table, column, words) in [
            (
                "a,b\n1,2\n",
                "c",
                "there is no column \"c\" in its first row: a, b",
            ),
            (
                "a,b\n1,2\n",
                "3",
                "there is no column 3: the first row has 2",
            ),
            ("", "a", "there is no column \"a\": it is empty"),
            ("a,b\n", "0", "columns are counted from 1"),
            ("a,b\n", " ", "a column has a name or a number"),
            (&wide, "x", &of_wide),
        ] {
            assert_eq!(
                lines(table.as_bytes(), column),
                Err(words.to_owned()),
                "{table:?}"
            );
        }
        assert_eq!(lines(b"", "1"), Ok(String::new()));
    }

    #[test]
    fn long_cells_and_rows_are_bounded() {
        for (length, kept) in [
            (MAX_INPUT, MAX_INPUT),
            (MAX_INPUT + 1, MAX_INPUT + 1),
            (3 * MAX_INPUT, MAX_INPUT + 2),
        ] {
            let long = "x".repeat(length);
            let table = format!("a,b\n{long},{long}\n");
            let line = lines(table.as_bytes(), "b").expect("a column");
            assert_eq!(line.len(), kept + 2, "{length}");
        }
        let table = format!("a,b\n\"{}\",1\n2,2\n", "\n".repeat(100_000));
        let found = lines(table.as_bytes(), "b").expect("a column");
        assert_eq!(found, format!("{}1\n2\n", "\n".repeat(100_001)));
    }
}
