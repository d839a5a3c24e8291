//! File formats for records, which both the page and the gateway offer, and the text before, between and after the records in a
//! file.

use z3950::Record;
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::table::{Columns, DEFAULT_COLUMNS, RowOrigin, Table, TableForm};
use z3950_marc::{Form, iso2709};

/// A file format.
pub(crate) struct FileFormat {
    /// The name in the parameter `format`.
    pub(crate) name: &'static str,
    /// The title on pages.
    pub(crate) title: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) extension: &'static str,
    writer: FileWriter,
}

#[derive(Clone, Copy)]
enum FileWriter {
    /// MARC records, in one of their forms.
    Marc(Form),
    /// JSON: one object, or an array of objects.
    Json,
    /// JSON: an object on each line.
    JsonLines,
    /// A table with a header.
    Table(TableForm),
}

/// All file formats.
pub(crate) static FORMATS: [FileFormat; 8] = [
    FileFormat {
        name: "marc",
        title: "MARC",
        media_type: "application/marc",
        extension: "mrc",
        writer: FileWriter::Marc(Form::Marc),
    },
    FileFormat {
        name: "marcxml",
        title: "MARCXML",
        media_type: "application/marcxml+xml",
        extension: "xml",
        writer: FileWriter::Marc(Form::MarcXml),
    },
    FileFormat {
        name: "json",
        title: "JSON array",
        media_type: "application/json",
        extension: "json",
        writer: FileWriter::Json,
    },
    FileFormat {
        name: "json-lines",
        title: "JSON lines",
        media_type: "application/x-ndjson",
        extension: "jsonl",
        writer: FileWriter::JsonLines,
    },
    FileFormat {
        name: "csv",
        title: "CSV",
        media_type: "text/csv; charset=utf-8",
        extension: "csv",
        writer: FileWriter::Table(TableForm::Csv),
    },
    FileFormat {
        name: "spreadsheet",
        title: "Spreadsheet",
        media_type: "text/csv; charset=utf-8",
        extension: "csv",
        writer: FileWriter::Table(TableForm::Spreadsheet),
    },
    FileFormat {
        name: "mrk",
        title: "MARCMaker",
        media_type: "text/plain; charset=utf-8",
        extension: "mrk",
        writer: FileWriter::Marc(Form::Mrk),
    },
    FileFormat {
        name: "dc",
        title: "Dublin Core",
        media_type: "application/xml",
        extension: "xml",
        writer: FileWriter::Marc(Form::DublinCore),
    },
];

const NO_MARC: &str = "it is not MARC";

impl FileFormat {
    /// Returns the format with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Returns the formats for a file with one record, each with its title for a single record. In such a file, JSON is one
    /// object and not an array.
    pub(crate) fn of_one_record() -> impl Iterator<Item = (&'static Self, &'static str)> {
        FORMATS.iter().filter_map(|format| match format.writer {
            FileWriter::JsonLines => None,
            FileWriter::Json => Some((format, "JSON")),
            _ => Some((format, format.title)),
        })
    }

    /// Writes a record with its source as part of a file.
    ///
    /// # Errors
    /// Fails if the record cannot be written in this format; the message says why.
    pub(crate) fn written(&self, record: &Record, source: &str) -> Result<Vec<u8>, String> {
        let marc = || record.marc().ok_or(NO_MARC);
        let mut octets = Vec::new();
        match self.writer {
            FileWriter::Marc(Form::Marc) => {
                let marc = marc()?;
                return match record.retrieved() {
                    RetrievedRecord::Marc(octets) => Ok(octets.to_vec()),
                    _ => iso2709::encode(&marc).map_err(|error| error.to_string()),
                };
            }
            // Whatever this file format cannot contain is lost. The loss is unavoidable, so it is not reported.
            FileWriter::Marc(form) => {
                let lost = form.write(&marc()?, &mut octets);
                lost.map_err(|error| error.to_string())?;
            }
            FileWriter::Json | FileWriter::JsonLines => {
                let value = record.json().ok_or("it has no form in JSON")?;
                octets = value.to_string().into_bytes();
            }
            FileWriter::Table(form) => {
                let source = Some(source).filter(|source| !source.is_empty());
                let table = table(form);
                drop(table.write(&marc()?, RowOrigin::from(source), &[], &mut octets));
            }
        }
        Ok(octets)
    }

    /// Writes a file with a single record and its source. MARCXML and JSON are written without the collection element or array.
    ///
    /// # Errors
    /// Fails if the record cannot be written in this format; the message says why.
    pub(crate) fn alone(&self, record: &Record, source: &str) -> Result<Vec<u8>, String> {
        match self.writer {
            FileWriter::Marc(Form::MarcXml) => Ok(record.marcxml().ok_or(NO_MARC)?.into_bytes()),
            FileWriter::Json => {
                let mut octets = self.written(record, source)?;
                octets.push(b'\n');
                Ok(octets)
            }
            _ => Ok(self.file(&[self.written(record, source)?])),
        }
    }

    /// Joins records written by [`written`](Self::written) into a file, in the order of `records`.
    pub(crate) fn file(&self, records: &[Vec<u8>]) -> Vec<u8> {
        let (begin, between, end) = match self.writer {
            FileWriter::Marc(form) => (form.begin().to_owned(), form.between(), form.end()),
            FileWriter::Json => ("[".to_owned(), ",\n", "]\n"),
            FileWriter::JsonLines => (String::new(), "\n", "\n"),
            FileWriter::Table(form) => (table(form).header().to_owned(), "", ""),
        };
        let mut all = begin.into_bytes();
        all.extend(records.join(between.as_bytes()));
        all.extend_from_slice(end.as_bytes());
        all
    }
}

/// Returns a table with the default columns and a column for the source.
fn table(form: TableForm) -> Table {
    let columns = format!("{DEFAULT_COLUMNS},source").parse();
    Table::new(form, &columns.unwrap_or_else(|_| Columns::default()))
}

/// Returns the name of a file for a docid. The name consists of letters, digits, dots, hyphens and underscores, so that no
/// program interprets it as anything else.
pub(crate) fn file_name(docid: &[u8], extension: &str) -> String {
    let plain = |octet: &u8| match octet {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' => char::from(*octet),
        _ => '_',
    };
    let name: String = docid.iter().take(64).map(plain).collect();
    let name = name.trim_matches(['.', '-', '_']);
    match name {
        "" => format!("record.{extension}"),
        name => format!("{name}.{extension}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        for (docid, expected) in [
            (&b"id7"[..], "id7.mrc"),
            (b"../../etc/passwd", "etc_passwd.mrc"),
            (b"a\"; filename=\"b.exe", "a___filename__b.exe.mrc"),
            (b"\xff\r\nSet-Cookie: a=b", "Set-Cookie__a_b.mrc"),
            (b"-rf", "rf.mrc"),
            (b"...", "record.mrc"),
            (&[b'x'; 200], &format!("{}.mrc", "x".repeat(64))),
        ] {
            assert_eq!(file_name(docid, "mrc"), expected);
        }
    }
}
