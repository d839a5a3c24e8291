//! The style of the records in a document: the format and, for tables, the columns.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};
use z3950_asn1::oid::{OPAC, Oid};
use z3950_asn1::record::holdings::{self, Holding};
use z3950_asn1::record::opac::OpacRecord;
use z3950_marc::charset::{Charset, Options, to_utf8};
use z3950_marc::crosswalk::Citation;
use z3950_marc::edit::LocalTags;
use z3950_marc::table::{Columns, RowOrigin, Table, TableForm};
use z3950_marc::{Field, Form, MarcRecord, Remarks, Tag, WriteError};

use super::Format;
use super::terminal::shown;

/// Information about a MARC record that its fields do not contain.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordContext<'a> {
    /// The origin of the record, such as its target.
    pub(crate) origin: RowOrigin<'a>,
    /// The character set in which to decode the record, in place of the one that it declares.
    pub(crate) charset: Option<Charset>,
    /// The OPAC record that contains the MARC record, if there is one.
    pub(crate) opac: Option<&'a OpacRecord>,
}

impl RecordContext<'_> {
    /// Returns the copies of a record. They are taken from the OPAC record if there is one, because it contains more
    /// details.
    pub(super) fn holdings(&self, record: &MarcRecord) -> Vec<Holding> {
        match self.opac {
            Some(opac) => holdings::of_opac(opac, self.charset),
            None => holdings::of_marc(record),
        }
    }
}

/// A format, with its columns if it is a table, and the local fields to insert into records.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    format: Format,
    table: Option<Arc<Table>>,
    /// The local fields, which replace the corresponding fields of every record.
    local: Option<Arc<LocalFields>>,
}

/// Fields from a local record. They replace the corresponding fields of records from a server.
#[derive(Debug)]
pub(crate) struct LocalFields {
    tags: LocalTags,
    fields: Vec<Field>,
}

impl LocalFields {
    /// Copies the fields with these tags from a record.
    pub(crate) fn of(record: &MarcRecord, tags: &LocalTags) -> Self {
        let mut options = Options::default();
        options.character_references = true;
        let record = to_utf8(record, &options).record;
        Self {
            tags: tags.clone(),
            fields: tags.fields_of(&record).cloned().collect(),
        }
    }

    /// Lists the tags of the fields, such as `001, 852 (2)`; the number in parentheses says how many fields have the
    /// tag. The list is empty if there are no fields.
    pub(crate) fn in_words(&self) -> String {
        let mut counts: Vec<(Tag, usize)> = Vec::new();
        for field in &self.fields {
            match counts.iter_mut().find(|(tag, _)| *tag == field.tag) {
                Some((_, count)) => *count += 1,
                None => counts.push((field.tag, 1)),
            }
        }
        let words = counts.into_iter().map(|(tag, count)| match count {
            1 => shown(&tag.0),
            count => format!("{} ({count})", shown(&tag.0)),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

impl From<Format> for Style {
    /// Creates a style from a format. A table has the default columns.
    fn from(format: Format) -> Self {
        Self::new(format, None)
    }
}

impl Style {
    /// Creates a style from a format. A table has these columns, or the default columns if `columns` is `None`.
    pub(crate) fn new(format: Format, columns: Option<&Columns>) -> Self {
        let table = format.table().map(|form| match columns {
            Some(columns) => Table::new(form, columns),
            None => Table::new(form, &Columns::default()),
        });
        Self {
            format,
            table: table.map(Arc::new),
            local: None,
        }
    }

    /// Returns this style with local fields, which replace the corresponding fields of every MARC record.
    pub(crate) fn with_local(self, local: Arc<LocalFields>) -> Self {
        Self {
            local: Some(local),
            ..self
        }
    }

    /// Returns this style with JSON as the format.
    pub(crate) fn as_json(&self) -> Self {
        Self {
            local: self.local.clone(),
            ..Format::Json.into()
        }
    }

    /// Returns whether fields of the records are replaced.
    pub(super) fn has_local(&self) -> bool {
        self.local.is_some()
    }

    /// Returns the record, with the corresponding fields replaced by the local fields.
    pub(super) fn localised<'a>(&self, record: &'a MarcRecord) -> Cow<'a, MarcRecord> {
        match &self.local {
            None => Cow::Borrowed(record),
            Some(local) => {
                let mut record = record.clone();
                local.tags.put(&local.fields, &mut record);
                Cow::Owned(record)
            }
        }
    }

    /// Returns this style, with a table row for each copy if `has_row_per_copy` is true, and otherwise one for each
    /// record.
    pub(crate) fn with_row_per_copy(self, has_row_per_copy: bool) -> Self {
        let table = self.table.map(Arc::unwrap_or_clone);
        let table = table.map(|table| table.with_row_per_copy(has_row_per_copy));
        Self {
            table: table.map(Arc::new),
            ..self
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Returns whether the source of each record is written with the record.
    pub(crate) fn has_source(&self) -> bool {
        self.format == Format::Json || self.table.is_some()
    }

    /// Returns the text that precedes a record in a document. It is empty for raw octets.
    pub(crate) fn before(&self, is_first: bool) -> &str {
        match (&self.table, self.format.form(), is_first) {
            (Some(table), _, true) => table.header(),
            (_, Some(form), true) => form.begin(),
            (_, Some(form), false) => form.between(),
            (..) => "",
        }
    }

    /// Returns the text that follows the last record.
    pub(crate) fn end(&self) -> &'static str {
        self.format.form().map_or("", Form::end)
    }

    /// Returns the last octet of every record; `None` for raw octets.
    pub(crate) fn last_octet(&self) -> Option<u8> {
        match &self.table {
            Some(_) => Some(b'\n'),
            None => self.format.form().map(Form::last_octet),
        }
    }

    /// Appends a MARC record in UTF-8, and returns remarks on data that the format cannot represent.
    pub(crate) fn write(
        &self,
        record: &MarcRecord,
        context: RecordContext<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Remarks, WriteError> {
        if let Some(table) = &self.table {
            let copies: Vec<_> = if table.has_copies() {
                context
                    .holdings(record)
                    .iter()
                    .map(Holding::cells)
                    .collect()
            } else {
                Vec::new()
            };
            let mut remarks = Remarks::default();
            remarks.notes = table.write(record, context.origin, &copies, out);
            remarks.is_loss = !remarks.notes.is_empty();
            return Ok(remarks);
        }
        if self.format == Format::Json {
            let holdings = context.holdings(record);
            let line = JsonLine {
                described: described(&Citation::of(record), context.origin.source, &holdings),
                record,
                syntax: context.opac.map(|_| syntax(Some(OPAC))),
                rest: context.opac.map(without_record),
            };
            // Writing to memory cannot fail, and neither can the project's own serializers.
            drop(serde_json::to_writer(&mut *out, &line));
            out.push(b'\n');
            return Ok(Remarks::default());
        }
        self.format.form().unwrap_or(Form::Line).write(record, out)
    }
}

/// A MARC record as a JSON object, preceded by the members that describe it.
#[derive(Serialize)]
struct JsonLine<'a> {
    #[serde(flatten)]
    described: Map<String, Value>,
    #[serde(flatten)]
    record: &'a MarcRecord,
    /// The record syntax of the record that contains this one; `None` if there is no such record.
    #[serde(skip_serializing_if = "Option::is_none")]
    syntax: Option<Value>,
    /// The other contents of the record that contains this one; `None` if there is no such record.
    #[serde(rename = "record", skip_serializing_if = "Option::is_none")]
    rest: Option<Value>,
}

/// Returns the elements of an OPAC record, except its bibliographic record.
fn without_record(opac: &OpacRecord) -> Value {
    let holdings_data = opac.holdings_data.clone();
    let rest = OpacRecord {
        bibliographic_record: None,
        holdings_data,
    };
    rest.to_json()
}

impl Format {
    /// Returns the file format of the table; `None` if the format is not a table.
    fn table(self) -> Option<TableForm> {
        match self {
            Self::Csv => Some(TableForm::Csv),
            Self::Tsv => Some(TableForm::Tsv),
            Self::Spreadsheet => Some(TableForm::Spreadsheet),
            _ => None,
        }
    }

    /// Returns whether the format is a table, whose columns can be chosen.
    pub(crate) fn is_table(self) -> bool {
        self.table().is_some()
    }
}

/// Returns the members with which every record in JSON begins, whatever its record syntax.
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

/// Returns the JSON value for a record syntax: an object with its name and object identifier, or null if there is none.
pub(crate) fn syntax(oid: Option<Oid>) -> Value {
    oid.map_or(
        Value::Null,
        |oid| json!({ "name": oid.name(), "oid": oid.to_string() }),
    )
}

/// Returns JSON on one line.
pub(super) fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
