//! Reads one column of a table.

use std::io::{self, BufRead, ErrorKind};
use std::str::FromStr;

use super::rows::{RowReader, without_formula};
use crate::answer::MAX_INPUT;

/// The column of a table that contains the inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InputColumn {
    /// The column with this name in the first row.
    Name(String),
    /// The column with this 1-based number. The first row may also contain an input.
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

/// The maximum number of octets of a cell in the first row that are compared and shown.
const MAX_NAME: usize = 1000;
/// The maximum number of column names that a message shows.
const MAX_NAMES: usize = 20;

/// An iterator over the cells of one column, one for each row after the row of names.
///
/// A blank line counts as a row, unless it is at the end of the table. A row that lacks the column has an empty cell.
/// If a cell is longer than [`MAX_INPUT`], only its beginning is kept.
pub(super) struct ColumnReader<R> {
    rows: RowReader<R>,
    column: InputColumn,
    /// Whether the first row is skipped if its cell contains no digits, because it then contains names. This has no effect on a column that
    /// is selected by its name.
    skips_names: bool,
    /// The index of the column; `None` before the first row has been read.
    index: Option<usize>,
    /// The number of blank lines that have been read but not yet returned.
    blank: u64,
    /// Whether the row that was read last consists only of separators.
    is_empty_row: bool,
    /// The cell after the blank lines; `None` if no cell is held.
    next: Option<ColumnCell>,
}

/// A cell of the column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnCell {
    /// The 1-based number of the line on which the row ends.
    pub(super) line: u64,
    /// The text of the cell on one line; line ends in it are replaced with spaces.
    pub(super) text: Vec<u8>,
}

impl<R: BufRead> ColumnReader<R> {
    pub(super) fn new(input: R, column: InputColumn, skips_names: bool) -> Self {
        Self {
            rows: RowReader::new(input),
            column,
            skips_names,
            index: None,
            blank: 0,
            is_empty_row: false,
            next: None,
        }
    }

    /// Finds the column and reads its first cell.
    ///
    /// # Errors
    /// Fails if the table cannot be read, does not have the column, or has several columns with that name.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.index.is_some() {
            return Ok(());
        }
        self.rows.skip_blank_lines()?;
        let index = match self.column.clone() {
            InputColumn::Number(number) => number - 1,
            InputColumn::Name(name) => self.named(&name)?,
        };
        let is_numbered = matches!(self.column, InputColumn::Number(_));
        self.index = Some(index);
        let Some((cells, first)) = self.read_cell()? else {
            return Ok(());
        };
        if is_numbered && cells <= index {
            let words = format!(
                "there is no column {}: the first row has {cells}",
                index + 1
            );
            return Err(io::Error::new(ErrorKind::InvalidData, words));
        }
        let is_name = |text: &[u8]| !text.is_empty() && !text.iter().any(u8::is_ascii_digit);
        if is_numbered && self.skips_names && is_name(first.text.trim_ascii()) {
            tracing::info!(
                name = %String::from_utf8_lossy(&first.text),
                "the first row has the names of the columns"
            );
            return Ok(());
        }
        self.next = Some(first);
        Ok(())
    }

    /// Returns the next cell; `None` after the last cell.
    pub(super) fn next(&mut self) -> io::Result<Option<ColumnCell>> {
        self.begin()?;
        if self.next.is_none() {
            self.next = self.next_row()?;
        }
        match &self.next {
            Some(next) if self.blank > 0 => {
                let line = next.line.saturating_sub(self.blank);
                self.blank -= 1;
                let text = Vec::new();
                Ok(Some(ColumnCell { line, text }))
            }
            _ => Ok(self.next.take()),
        }
    }

    /// Reads the next row that is not blank, and counts the blank rows before it. A row that consists only of
    /// separators is blank.
    fn next_row(&mut self) -> io::Result<Option<ColumnCell>> {
        loop {
            self.blank += self.rows.skip_blank_lines()?;
            let row = self.read_cell()?;
            if row.is_some() && self.is_empty_row {
                self.blank += 1;
                continue;
            }
            return Ok(row.map(|(_, cell)| cell));
        }
    }

    /// Reads a row. Returns its number of cells, and the cell of the column.
    fn read_cell(&mut self) -> io::Result<Option<(usize, ColumnCell)>> {
        let Some(index) = self.index else {
            return Ok(None);
        };
        let mut text = Vec::new();
        let mut is_empty = true;
        let cells = self.rows.row(|at, octets| {
            is_empty &= octets.trim_ascii().is_empty();
            if at == index {
                push(&mut text, octets, MAX_INPUT + 2);
            }
        })?;
        self.is_empty_row = is_empty;
        for octet in &mut text {
            if matches!(octet, b'\r' | b'\n') {
                *octet = b' ';
            }
        }
        let text = without_formula(text);
        let line = self.rows.lines();
        Ok(cells.map(|cells| (cells, ColumnCell { line, text })))
    }

    /// Finds the column with this name in the first row, ignoring case, and returns its index.
    fn named(&mut self, name: &str) -> io::Result<usize> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut found: Option<usize> = None;
        let mut again: Option<usize> = None;
        let wanted = name.to_lowercase();
        let mut current = (0, Vec::new());
        let mut end = |(at, cell): (usize, Vec<u8>)| {
            let cell = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
            if cell.to_lowercase() == wanted {
                match found {
                    None => found = Some(at),
                    Some(_) => again = again.or(Some(at)),
                }
            }
            if at < MAX_NAMES {
                names.push(cell.into_bytes());
            }
        };
        let cells = self.rows.row(|at, octets| {
            if at != current.0 {
                end(std::mem::replace(&mut current, (at, Vec::new())));
            }
            push(&mut current.1, octets, MAX_NAME);
        })?;
        end(current);
        match (found, again, cells) {
            (Some(found), None, Some(_)) => return Ok(found),
            (Some(found), Some(again), Some(_)) => {
                let words = format!(
                    "columns {} and {} are both named {name:?}: give the number of one",
                    found + 1,
                    again + 1
                );
                return Err(io::Error::new(ErrorKind::InvalidData, words));
            }
            _ => {}
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
}

/// Appends octets to a cell, up to a total length of `most` octets.
fn push(cell: &mut Vec<u8>, octets: &[u8], most: usize) {
    let room = most.saturating_sub(cell.len()).min(octets.len());
    cell.extend_from_slice(octets.get(..room).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Returns the cells of a column, each with its line. The table is read in pieces of different sizes, which must
    /// all give the same result.
    fn cells(table: &[u8], column: &str) -> Result<String, String> {
        let column: InputColumn = column.parse()?;
        let mut found = Vec::new();
        for capacity in [1, 3, 8192] {
            // The separator and a byte order mark are only looked for in the first piece, so that piece must be large enough.
            let marks = |octet: &u8| matches!(octet, b';' | b'\t' | 0xEF);
            if capacity < 8192 && table.iter().any(marks) {
                continue;
            }
            let input = BufReader::with_capacity(capacity, table);
            let mut reader = ColumnReader::new(input, column.clone(), true);
            let mut cells = Vec::new();
            while let Some(cell) = reader.next().map_err(|error| error.to_string())? {
                let text = String::from_utf8_lossy(&cell.text).into_owned();
                cells.push(format!("{}:{text}", cell.line));
            }
            found.push(cells.join(" "));
        }
        found.dedup();
        assert_eq!(found.len(), 1, "{found:?}");
        Ok(found.remove(0))
    }

    #[test]
    fn cells_of_a_column() {
        for (table, column, expected) in [
            ("a,b\n1,2\n3,4\n", "b", "2:2 3:4"),
            // If the first row has no digits, it contains the column names.
            ("a,b\n1,2\n3,4", "1", "2:1 3:3"),
            ("1a,b\n1,2\n3,4", "1", "1:1a 2:1 3:3"),
            (",b\n1,2\n", "1", "1: 2:1"),
            ("\u{FEFF}Isbn , Title\r\n1,2\r\n3,4\r\n", "ISBN", "2:1 3:3"),
            // Blank lines are rows, except at the end of the table and before the column names.
            ("\n\na\n1\n\n\n2\n\n\n", "a", "4:1 5: 6: 7:2"),
            ("a\r\n1\r\n\r\n2", "a", "2:1 3: 4:2"),
            ("a;b\n\"1;1\";2,2\n", "b", "2:2,2"),
            ("a\tb\n1,1\t2\n", "a", "2:1,1"),
            ("sep=;\r\na,c;b\r\n1;2\r\n", "b", "3:2"),
            ("SEP=,\na;c,b\n1,2\n", "b", "3:2"),
            ("sep,b\n1,2\n", "b", "2:2"),
            // The row begins on one line and ends on another; its number is that of the last line.
            ("a,b\n\"x\r\ny\",1\nz,2\n", "b", "3:1 4:2"),
            ("a,b\n\"x\r\ny\",1\n", "a", "3:x  y"),
            ("a,b\n\"say \"\"x\"\"\",1\n", "a", "2:say \"x\""),
            // Some rows are short, some cells are empty, and some rows have a single cell.
            ("a,b\nx\ny,\nz,1,2\n", "b", "2: 3: 4:1"),
            (
                "9780141439518\n0306406152\n",
                "1",
                "1:9780141439518 2:0306406152",
            ),
            ("a\n#1\n", "a", "2:#1"),
            // Spreadsheet programs write such formulas to keep digits as text, with or without quotes.
            (
                "a;b\nx;=\"0306\"\ny;\"=\"\"0007\"\"\"\nz; =\"1\" \n",
                "b",
                "2:0306 3:0007 4:1",
            ),
            ("a\tb\n=\"1\"\t2\n", "a", "2:1"),
            (
                "a\n=1\n=\"\n=\"\"\n=\"1\"&\"2\"\n",
                "a",
                "2:=1 3:=\" 4: 5:=\"1\"&\"2\"",
            ),
            ("a\n", "a", ""),
            // Rows of separators alone are blank.
            ("a;b\n1;2\n;\n3;4\n;\n;;;\n", "b", "2:2 3: 4:4"),
        ] {
            assert_eq!(
                cells(table.as_bytes(), column).as_deref(),
                Ok(expected),
                "{table:?}"
            );
        }
    }

    #[test]
    fn columns_that_do_not_exist() {
        let wide = (1..=21)
            .map(|number| format!("c{number}"))
            .collect::<Vec<_>>()
            .join(",");
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
            (
                "a,b,A,a\n1,2,3,4\n",
                "a",
                "columns 1 and 3 are both named \"a\": give the number of one",
            ),
            ("", "a", "there is no column \"a\": it is empty"),
            (
                "a\n\"never closed\n1,2\n",
                "a",
                "line 2: a quotation mark is never closed",
            ),
            ("a,b\n", "0", "columns are counted from 1"),
            ("a,b\n", " ", "a column has a name or a number"),
            (&wide, "x", &of_wide),
        ] {
            assert_eq!(
                cells(table.as_bytes(), column),
                Err(words.to_owned()),
                "{table:?}"
            );
        }
        assert_eq!(cells(b"", "1"), Ok(String::new()));
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
            let cell = cells(table.as_bytes(), "b").expect("a column");
            assert_eq!(cell.len(), kept + 2, "{length}");
        }
        let table = format!("a,b\n\"{}\",1\n2,2\n", "\n".repeat(100_000));
        let found = cells(table.as_bytes(), "b").expect("a column");
        assert_eq!(found, "100002:1 100003:2");
    }
}
