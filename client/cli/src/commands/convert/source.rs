//! An input of records to convert: a record file in any form, or a table.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use z3950_marc::stream::rows::{HeadingError, Headings};
use z3950_marc::stream::{InputForm, InputRecord, MAX_RECORD, RecordReader, refuse_compressed};
use z3950_marc::{MarcRecord, Remarks};

use super::arguments::{Convert, InputKind};
use crate::batch::rows::{Row, RowReader, WORKBOOK, is_workbook, text_of_table};
use crate::console::input::open;
use crate::console::output::Failure;

/// An input file that has been opened, or standard input.
pub(super) struct Source {
    name: Arc<str>,
    contents: Contents,
}

enum Contents {
    Records(Box<RecordReader<Box<dyn Read>>>),
    Rows(Box<RowSource>),
}

/// A record from the input, or the reason why it cannot be read.
pub(super) struct FoundRecord {
    /// The 1-based number of the record in the input.
    pub(super) number: u64,
    /// The number of octets before the record.
    pub(super) offset: u64,
    pub(super) record: Result<MarcRecord, String>,
    pub(super) notes: Vec<String>,
    pub(super) incomplete: bool,
}

/// The rows of a table as records.
struct RowSource {
    rows: RowReader<Box<dyn BufRead>>,
    /// The fields in which the contents of each column are stored; `None` for an empty table.
    headings: Option<Headings>,
    number: u64,
}

impl Source {
    /// Opens a file, and detects its form unless the arguments name it. A table is recognised by its file extension.
    pub(super) fn open(
        path: &Path,
        arguments: &Convert,
        is_watched: bool,
    ) -> Result<Self, Failure> {
        let (name, input) = open(path, is_watched)?;
        let unread = |error: io::Error| Failure::input(&name, &error);
        let extension = path.extension().and_then(|extension| extension.to_str());
        let contents = match arguments.from {
            Some(InputKind::Records(form)) => RecordReader::new(input, form).into(),
            Some(InputKind::Table) => RowSource::open(&name, input, arguments)?.into(),
            None if extension.is_some_and(is_of_table) => {
                RowSource::open(&name, input, arguments)?.into()
            }
            None => {
                let fallback = extension.and_then(InputForm::by_extension);
                let reader = RecordReader::guessing(input, fallback.unwrap_or(InputForm::Marc));
                reader.map_err(unread)?.into()
            }
        };
        if !matches!(contents, Contents::Rows(_)) && !arguments.map.is_empty() {
            let words =
                format!("--map is for tables, and {name} is none; --from csv reads it as one");
            return Err(Failure::Usage(words));
        }
        let name = name.into();
        Ok(Self { name, contents })
    }

    /// Returns the name of the file for messages.
    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Returns the remark to print before the first record: the columns of a table that are left out.
    pub(super) fn remark(&self) -> Option<String> {
        let Contents::Rows(rows) = &self.contents else {
            return None;
        };
        let left_out = rows.headings.as_ref()?.left_out();
        let columns = if left_out.len() == 1 {
            "column"
        } else {
            "columns"
        };
        (!left_out.is_empty())
            .then(|| format!("{}: left out: {columns} {}", self.name, left_out.join(", ")))
    }

    /// Returns the next record; `None` after the last record.
    pub(super) fn next(&mut self) -> Result<Option<FoundRecord>, Failure> {
        let found = match &mut self.contents {
            Contents::Records(reader) => reader
                .next()
                .transpose()
                .map(|found| found.map(FoundRecord::from)),
            Contents::Rows(rows) => rows.next(),
        };
        found.map_err(|error| Failure::input(&self.name, &error))
    }

    /// Returns the number of octets read so far.
    pub(super) fn offset(&self) -> u64 {
        match &self.contents {
            Contents::Records(reader) => reader.offset(),
            Contents::Rows(rows) => rows.rows.offset(),
        }
    }

    /// Returns the name of the form, for messages.
    pub(super) fn form(&self) -> &'static str {
        let Contents::Records(reader) = &self.contents else {
            return "sound";
        };
        match reader.form() {
            InputForm::Marc => "ISO 2709",
            InputForm::MarcXml => "MARCXML",
            InputForm::Json => "MARC-in-JSON",
            InputForm::Mrk => "mrk",
            InputForm::Line => "line-form",
            _ => "readable",
        }
    }
}

/// Returns whether files with this extension are tables.
fn is_of_table(extension: &str) -> bool {
    ["csv", "tsv"]
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known))
}

impl RowSource {
    fn open(name: &str, input: Box<dyn Read>, arguments: &Convert) -> Result<Self, Failure> {
        let unread = |error: io::Error| Failure::input(name, &error);
        let mut input = BufReader::new(input);
        let begin = input.fill_buf().map_err(unread)?;
        if is_workbook(begin) {
            return Err(Failure::Usage(format!("{name}: {WORKBOOK}")));
        }
        refuse_compressed(begin).map_err(unread)?;
        let mut rows = RowReader::new(text_of_table(input).map_err(unread)?);
        let first = rows.next(MAX_RECORD).map_err(unread)?;
        let headings = first
            .map(|row| headings(name, &row, arguments))
            .transpose()?;
        let is_spreadsheet = rows.has_byte_order_mark();
        let headings = headings.map(|headings| headings.of_spreadsheet(is_spreadsheet));
        Ok(Self {
            rows,
            headings,
            number: 0,
        })
    }

    /// Returns the record of the next row that is not blank.
    fn next(&mut self) -> io::Result<Option<FoundRecord>> {
        let Some(headings) = &self.headings else {
            return Ok(None);
        };
        loop {
            self.rows.skip_blank_lines()?;
            let offset = self.rows.offset();
            let Some(row) = self.rows.next(MAX_RECORD)? else {
                return Ok(None);
            };
            let mut remarks = Remarks::default();
            let record = if row.is_cut {
                Err(format!(
                    "more than {MAX_RECORD} octets; is a quotation mark never closed?"
                ))
            } else {
                match headings.record(&row.cells, &mut remarks) {
                    Some(record) => Ok(record),
                    None => continue,
                }
            };
            self.number += 1;
            return Ok(Some(FoundRecord {
                number: self.number,
                offset,
                incomplete: remarks.is_loss || record.is_err(),
                record,
                notes: remarks.notes,
            }));
        }
    }
}

/// Parses the headings of a table, and assigns fields to its columns.
fn headings(name: &str, row: &Row, arguments: &Convert) -> Result<Headings, Failure> {
    let names = row
        .cells
        .iter()
        .map(|cell| String::from_utf8_lossy(cell).into_owned());
    let names: Vec<String> = names.collect();
    let read = Headings::read(&names, &arguments.map);
    let headings = read.map_err(|error| {
        let hint = match &error {
            HeadingError::Unknown(unknown) => {
                let first = unknown.first().map(String::as_str).unwrap_or_default();
                format!(
                    "; --map '{first}=500$a' says where one goes, --map '{first}=' leaves it out"
                )
            }
            HeadingError::Twice { second, .. } => {
                format!("; --map '{second}=' leaves out the second one")
            }
            HeadingError::NoColumn(_) => format!("; there are {}", names.join(", ")),
            _ => String::new(),
        };
        Failure::Usage(format!("{name}: {error}{hint}"))
    })?;
    Ok(match &arguments.separator {
        Some(separator) => headings.with_separator(separator),
        None => headings,
    })
}

impl From<InputRecord> for FoundRecord {
    fn from(found: InputRecord) -> Self {
        let InputRecord {
            number,
            offset,
            record,
            notes,
            incomplete,
            ..
        } = found;
        Self {
            number,
            offset,
            record,
            notes,
            incomplete,
        }
    }
}

impl From<RecordReader<Box<dyn Read>>> for Contents {
    fn from(reader: RecordReader<Box<dyn Read>>) -> Self {
        Self::Records(Box::new(reader))
    }
}

impl From<RowSource> for Contents {
    fn from(rows: RowSource) -> Self {
        Self::Rows(Box::new(rows))
    }
}
