//! How the records of a document are written: in a format and, in tables, with chosen columns.

use std::sync::Arc;

use serde_json::{Map, Value};
use z3950_asn1::record::holdings::{self, Holding};
use z3950_marc::crosswalk::Citation;
use z3950_marc::table::{Columns, Table, TableForm};
use z3950_marc::{Form, MarcRecord, WriteError, marcjson};

use super::Format;

/// A format, with the columns of a table.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    format: Format,
    table: Option<Arc<Table>>,
}

impl From<Format> for Style {
    /// The format; a table has the usual columns.
    fn from(format: Format) -> Self {
        Self::new(format, None)
    }
}

impl Style {
    /// The format; a table has these columns, or the usual ones.
    pub(crate) fn new(format: Format, columns: Option<&Columns>) -> Self {
        let table = format.table().map(|form| match columns {
            Some(columns) => Table::new(form, columns),
            None => Table::new(form, &Columns::default()),
        });
        Self {
            format,
            table: table.map(Arc::new),
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Whether a record says where it comes from.
    pub(crate) fn has_source(&self) -> bool {
        self.format == Format::Json || self.table.is_some()
    }

    /// What precedes a record in a document; nothing for raw octets.
    pub(crate) fn before(&self, is_first: bool) -> &str {
        match (&self.table, self.format.form(), is_first) {
            (Some(table), _, true) => table.header(),
            (_, Some(form), true) => form.begin(),
            (_, Some(form), false) => form.between(),
            (..) => "",
        }
    }

    /// What follows the last record.
    pub(crate) fn end(&self) -> &'static str {
        self.format.form().map_or("", Form::end)
    }

    /// The last octet of every record; `None` for raw octets.
    pub(crate) fn last_octet(&self) -> Option<u8> {
        match &self.table {
            Some(_) => Some(b'\n'),
            None => self.format.form().map(Form::last_octet),
        }
    }

    /// Appends a MARC record in UTF-8, and returns a message for each loss.
    pub(crate) fn write(
        &self,
        record: &MarcRecord,
        source: Option<&str>,
        out: &mut Vec<u8>,
    ) -> Result<Vec<String>, WriteError> {
        if let Some(table) = &self.table {
            return Ok(table.write(record, source, out));
        }
        if self.format == Format::Json {
            let holdings = holdings::of_marc(record);
            let mut members = described(&Citation::of(record), source, &holdings);
            if let Value::Object(fields) = marcjson::to_value(record) {
                members.extend(fields);
            }
            out.extend(line(&members.into()));
            return Ok(Vec::new());
        }
        self.format.form().unwrap_or(Form::Line).write(record, out)
    }
}

impl Format {
    /// The form of a table.
    fn table(self) -> Option<TableForm> {
        match self {
            Self::Csv => Some(TableForm::Csv),
            Self::Tsv => Some(TableForm::Tsv),
            Self::Spreadsheet => Some(TableForm::Spreadsheet),
            _ => None,
        }
    }

    /// Whether it is a table, whose columns can be chosen.
    pub(crate) fn is_table(self) -> bool {
        self.table().is_some()
    }
}

/// The members with which every record in JSON begins, whatever its syntax.
pub(super) fn described(
    citation: &Citation,
    source: Option<&str>,
    holdings: &[Holding],
) -> Map<String, Value> {
    let mut members = citation.to_json();
    members.insert("source".to_owned(), source.into());
    let copies = holdings.iter().map(Holding::to_json);
    let copies = (!holdings.is_empty()).then(|| copies.collect::<Value>());
    members.insert("holdings".to_owned(), copies.into());
    members
}

/// JSON on a line.
pub(super) fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
