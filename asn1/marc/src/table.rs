//! Writes records as rows of a table, with comma-separated values (RFC 4180) or tab-separated values
//! (text/tab-separated-values with the quotation marks of RFC 4180).

mod row;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

pub(crate) use self::row::TableRow;
use crate::record::{MarcRecord, Tag};

/// The separator between values in a cell, for repeated fields, and for repeated subfields if a column has only one
/// code.
pub const SEPARATOR: &str = " | ";

/// The default columns of a table. They suit MARC 21 and UNIMARC.
pub const DEFAULT_COLUMNS: &str = "001,title,author,year,publisher,isbn,issn";

/// The maximum number of columns in a table.
pub const MAX_COLUMNS: usize = 1000;

/// The columns with data about copies.
pub const COPY_COLUMNS: [&str; 9] = [
    "holdings",
    "library",
    "location",
    "call_number",
    "volume",
    "item_id",
    "available",
    "due",
    "status",
];

/// The text in place of a value that a copy lacks, so that the values in all columns are in the same order.
const NO_VALUE: &str = "-";

/// The columns that are neither fields nor data about copies: parts of a citation, Dublin Core elements, and the origin
/// of the record.
const NAMES: [&str; 20] = [
    "title",
    "author",
    "year",
    "isbn",
    "issn",
    "lccn",
    "oclc",
    "source",
    "input",
    "input_record",
    "contributor",
    "subject",
    "description",
    "publisher",
    "type",
    "format",
    "language",
    "relation",
    "coverage",
    "rights",
];

/// The columns of a table: `001,020a,245ab,008/35-37,title`.
///
/// | column | its values |
/// |---|---|
/// | `001` | a control field, or those subfields of a data field whose codes are letters |
/// | `245ab` | these subfields of each field, in record order |
/// | `020a` | each subfield with this code |
/// | `008/35-37`, `LDR/06` | characters of a control field or of the leader, from 0 |
/// | `title`, `author`, `year`, `isbn`, `issn`, `lccn`, `oclc` | the data of a [`Citation`](crate::crosswalk::Citation) |
/// | `publisher`, `subject`, `language` … | Dublin Core elements |
/// | `source` | the origin of the record |
/// | `holdings`, `location`, `call_number`, `available`, `due` … | data about each copy, in the order of the copies |
/// | `input`, `input_record` | the input by which the record was found; the control number of the input, if the input is a record |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<Column>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    /// The name as the user wrote it, which is shown in the header.
    name: String,
    content: Content,
}

/// The origin of a record: the values of the columns `source`, `input` and `input_record`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowOrigin<'a> {
    /// The target, file or URL from which the record comes.
    pub source: Option<&'a str>,
    /// The input by which the record was found, such as an ISBN.
    pub input: Option<&'a str>,
    /// The control number of the input, if the input is a record.
    pub input_record: Option<&'a str>,
}

impl<'a> From<Option<&'a str>> for RowOrigin<'a> {
    /// Creates an origin that has only a source.
    fn from(source: Option<&'a str>) -> Self {
        Self {
            source,
            ..Self::default()
        }
    }
}

/// The contents of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// One of the names in [`NAMES`].
    Named(&'static str),
    /// One of the names in [`COPY_COLUMNS`].
    OfCopies(&'static str),
    Leader,
    /// A field by its tag. The text has the codes of the subfields to show in a data field; if it is empty, every
    /// subfield whose code is a letter is shown.
    Field(Tag, String),
    /// A range of characters in the leader (`None`) or a control field, described by its first and last positions.
    Positions(Option<Tag>, usize, usize),
}

/// The reason why text is not a list of columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnsError {
    /// The name of a column is unknown and does not have the form of a field.
    #[error(
        "{column:?} is not a column: use fields such as 001, 020a, 245ab, 008/35-37 or LDR/06, or {}, {}",
        NAMES.join(", "),
        COPY_COLUMNS.join(", ")
    )]
    Unknown {
        /// The name as the user wrote it.
        column: String,
    },
    /// The list has more than [`MAX_COLUMNS`] columns.
    #[error("more than {MAX_COLUMNS} columns")]
    TooMany,
}

impl Default for Columns {
    fn default() -> Self {
        DEFAULT_COLUMNS.parse().unwrap_or(Self(Vec::new()))
    }
}

impl FromStr for Columns {
    type Err = ColumnsError;

    fn from_str(text: &str) -> Result<Self, ColumnsError> {
        let columns = text.split(',').take(MAX_COLUMNS + 1).map(|column| {
            let name = column.trim();
            let content = content(name).ok_or_else(|| ColumnsError::Unknown {
                column: name.to_owned(),
            })?;
            let name = name.to_owned();
            Ok(Column { name, content })
        });
        let columns: Vec<Column> = columns.collect::<Result<_, _>>()?;
        if columns.len() > MAX_COLUMNS {
            Err(ColumnsError::TooMany)
        } else {
            Ok(Self(columns))
        }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|column| &*column.name).collect();
        f.write_str(&names.join(","))
    }
}

/// Returns the content of the column with this name; `None` if there is no such column.
pub(crate) fn content(name: &str) -> Option<Content> {
    let is_it = |known: &&str| known.eq_ignore_ascii_case(name);
    if let Some(known) = NAMES.into_iter().find(is_it) {
        return Some(Content::Named(known));
    }
    if let Some(known) = COPY_COLUMNS.into_iter().find(is_it) {
        return Some(Content::OfCopies(known));
    }
    let (tag, rest) = name.split_at_checked(3)?;
    let is_letter = |octet: u8| octet.is_ascii_digit() || octet.is_ascii_uppercase();
    let octets: [u8; 3] = tag.as_bytes().try_into().ok()?;
    if !octets.iter().copied().all(is_letter) {
        return None;
    }
    let tag = (tag != "LDR").then_some(Tag(octets));
    if let Some(positions) = rest.strip_prefix('/') {
        let (first, last) = positions.split_once('-').unwrap_or((positions, positions));
        let number = |text: &str| text.parse().ok().filter(|number: &usize| *number <= 9999);
        let (first, last) = (number(first)?, number(last)?);
        return (first <= last).then_some(Content::Positions(tag, first, last));
    }
    // `245$a$b` is another way to write `245ab`.
    let codes: String = rest.split('$').collect();
    match tag {
        None => codes.is_empty().then_some(Content::Leader),
        Some(tag) => {
            // After a `$`, a code may be any character.
            let is_marked = rest.starts_with('$');
            let is_code = |code: u8| {
                if is_marked {
                    code.is_ascii_graphic()
                } else {
                    code.is_ascii_lowercase() || code.is_ascii_digit()
                }
            };
            codes
                .bytes()
                .all(is_code)
                .then_some(Content::Field(tag, codes))
        }
    }
}

/// The file format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Values separated by commas, and lines that end in CR LF (RFC 4180).
    Csv,
    /// Values separated by tabs, and lines that end in LF.
    Tsv,
    /// CSV for spreadsheet programs. The file begins with a byte order mark, by which these programs recognise UTF-8. A
    /// cell that they would take for a formula begins with an apostrophe. A cell that they would show as a different
    /// number or as a date becomes the text of a formula (`="0141439513"`).
    Spreadsheet,
}

/// Data about one copy: names from [`COPY_COLUMNS`], each with its value.
pub type CopyCells = Vec<(&'static str, String)>;

/// A table of records: its columns and its file format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    form: TableForm,
    columns: Vec<Column>,
    header: String,
    has_row_per_copy: bool,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new(form: TableForm, columns: &Columns) -> Self {
        let columns = columns.0.clone();
        let mut header = match form {
            TableForm::Spreadsheet => "\u{FEFF}".to_owned(),
            TableForm::Csv | TableForm::Tsv => String::new(),
        };
        let names = columns.iter().map(|column| column.name.clone());
        // The header is written as plain CSV even for spreadsheets, so that names such as 001 stay unchanged.
        let of_header = match form {
            TableForm::Spreadsheet => TableForm::Csv,
            form => form,
        };
        of_header.put_row(names, &mut header);
        Self {
            form,
            columns,
            header,
            has_row_per_copy: false,
        }
    }

    /// Sets whether each copy has a row of its own. A record without known copies still has one row.
    #[must_use]
    pub fn with_row_per_copy(self, has_row_per_copy: bool) -> Self {
        Self {
            has_row_per_copy,
            ..self
        }
    }

    /// Returns whether the rows depend on copies: a column has data about copies, or each copy has its own row.
    pub fn has_copies(&self) -> bool {
        let mut contents = self.columns.iter().map(|column| &column.content);
        self.has_row_per_copy || contents.any(|content| matches!(content, Content::OfCopies(_)))
    }

    /// Returns the header line, with the columns as the user wrote them.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Appends the row or rows of a record, which must be in UTF-8, and returns a message for each loss of data.
    ///
    /// A cell is one line: white space around a subfield is removed, control characters become blanks, and the marks around non-filing
    /// words are removed. Letters and their marks are composed (NFC), as spreadsheet programs search for them. U+FFFD replaces octets that
    /// are not UTF-8.
    pub fn write(
        &self,
        record: &MarcRecord,
        origin: RowOrigin<'_>,
        copies: &[CopyCells],
        out: &mut Vec<u8>,
    ) -> Vec<String> {
        let mut row = TableRow::new(record, origin);
        let size = if self.has_row_per_copy {
            1
        } else {
            copies.len().max(1)
        };
        let mut rows: Vec<&[_]> = copies.chunks(size).collect();
        if rows.is_empty() {
            rows.push(&[]);
        }
        let mut line = String::new();
        for copies in rows {
            row.copies = copies;
            let cells = self.columns.iter().map(|column| row.cell(&column.content));
            self.form.put_row(cells, &mut line);
        }
        out.extend_from_slice(line.as_bytes());
        row.notes.dedup();
        row.notes
    }
}

/// Characters that spreadsheet programs take for the beginning of a formula, including their full-width forms.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

impl TableForm {
    fn put_row(self, cells: impl Iterator<Item = String>, line: &mut String) {
        let separator = if self == Self::Tsv { '\t' } else { ',' };
        let begin = line.len();
        for (index, cell) in cells.enumerate() {
            if index > 0 {
                line.push(separator);
            }
            let cell = match self {
                Self::Spreadsheet => for_spreadsheets(&cell).into_owned(),
                Self::Csv | Self::Tsv => cell,
            };
            if cell.contains([separator, '"', '\r', '\n']) {
                line.push('"');
                line.push_str(&cell.replace('"', "\"\""));
                line.push('"');
            } else {
                line.push_str(&cell);
            }
        }
        // An empty line would not be read as a row, so a lone empty cell is quoted.
        if line.len() == begin {
            line.push_str("\"\"");
        }
        line.push_str(if self == Self::Tsv { "\n" } else { "\r\n" });
    }
}

/// Returns the cell to write so that spreadsheet programs show the given text. An apostrophe is put before text that they would take for a
/// formula. Text that they would show as a different number or as a date is written as the text of a formula (`="0141439513"`).
pub fn for_spreadsheets(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(FORMULA) && cell != NO_VALUE {
        Cow::Owned(format!("'{cell}"))
    } else if is_changed(cell) {
        Cow::Owned(format!("=\"{cell}\""))
    } else {
        Cow::Borrowed(cell)
    }
}

/// Returns the text of a cell that is written as a formula, `="0141439513"`; any other cell is returned unchanged.
pub fn without_formula(cell: &str) -> &str {
    let formula = cell.trim().strip_prefix("=\"");
    let text = formula.and_then(|rest| rest.strip_suffix('"'));
    text.filter(|text| !text.contains('"')).unwrap_or(cell)
}

/// Returns the text for which [`for_spreadsheets`] writes this cell.
pub fn from_spreadsheet(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if text.starts_with(FORMULA) => text,
        _ => without_formula(cell),
    }
}

/// Returns whether a spreadsheet program would show the cell as a different number or as a date. This is the case if
/// the cell consists of digits and of characters that occur in numbers and dates. Numbers without leading zeros and
/// with at most [`MAX_DIGITS`] digits, such as years, are not changed by these programs.
fn is_changed(cell: &str) -> bool {
    let is_number = cell.bytes().all(|octet| octet.is_ascii_digit());
    let is_mark = |octet: u8| b"-/.:, eE+%".contains(&octet);
    if is_number {
        cell.len() > MAX_DIGITS || (cell.len() > 1 && cell.starts_with('0'))
    } else {
        cell.starts_with(|first: char| first.is_ascii_digit())
            && cell
                .bytes()
                .all(|octet| octet.is_ascii_digit() || is_mark(octet))
    }
}

/// The maximum number of digits that a spreadsheet program shows in full; a longer number is shown as `9.78E+12`.
const MAX_DIGITS: usize = 11;

#[cfg(test)]
mod tests;
