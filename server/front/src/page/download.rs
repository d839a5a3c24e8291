//! Downloads of records: MARC (ISO 2709), MARCXML, JSON and CSV (RFC 4180).

use z3950::Record;
use z3950::asn1::record::RetrievedRecord;
use z3950::marc::iso2709;
use z3950_server::web::http::StatusCode;
use z3950_server::web::http::header::{CONTENT_DISPOSITION, HeaderValue};

use super::answer::PageAnswer;
use crate::layout::with_type;

/// A format of downloads: what a file has before, between and after its records.
pub(super) struct DownloadFormat {
    /// In the parameter `format`.
    pub(super) name: &'static str,
    /// As the page shows it.
    pub(super) title: &'static str,
    kind: &'static str,
    extension: &'static str,
    begin: &'static str,
    between: &'static str,
    end: &'static str,
    write: fn(&Record) -> Result<Vec<u8>, String>,
}

/// All formats.
pub(super) static FORMATS: [DownloadFormat; 4] = [
    DownloadFormat {
        name: "marc",
        title: "MARC",
        kind: "application/marc",
        extension: "mrc",
        begin: "",
        between: "",
        end: "",
        write: marc,
    },
    DownloadFormat {
        name: "marcxml",
        title: "MARCXML",
        kind: "application/marcxml+xml",
        extension: "xml",
        begin: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<collection xmlns=\"http://www.loc.gov/MARC21/slim\">\n",
        between: "\n",
        end: "\n</collection>\n",
        write: marcxml,
    },
    DownloadFormat {
        name: "json",
        title: "JSON",
        kind: "application/json",
        extension: "json",
        begin: "[",
        between: ",\n",
        end: "]\n",
        write: json,
    },
    DownloadFormat {
        name: "csv",
        title: "CSV",
        kind: "text/csv; charset=utf-8",
        extension: "csv",
        begin: "title,author,year,isbn\r\n",
        between: "\r\n",
        end: "\r\n",
        write: csv,
    },
];

impl DownloadFormat {
    /// The format of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// A record in this format, as a part of a file.
    ///
    /// # Errors
    /// Why it has no such form, in words.
    pub(super) fn written(&self, record: &Record) -> Result<Vec<u8>, String> {
        (self.write)(record)
    }

    /// A file of these records. The name of one that is not complete says so.
    pub(super) fn file(&self, records: &[Vec<u8>], is_complete: bool) -> PageAnswer {
        let mut all = self.begin.as_bytes().to_vec();
        all.extend(records.join(self.between.as_bytes()));
        all.extend_from_slice(self.end.as_bytes());
        let mut answer = with_type(StatusCode::OK, self.kind, all);
        let part = if is_complete { "" } else { "-incomplete" };
        let name = format!("attachment; filename=\"records{part}.{}\"", self.extension);
        if let Ok(name) = HeaderValue::try_from(name) {
            answer.headers_mut().insert(CONTENT_DISPOSITION, name);
        }
        answer
    }
}

const NO_MARC: &str = "it is not MARC";

fn marc(record: &Record) -> Result<Vec<u8>, String> {
    let marc = record.marc().ok_or(NO_MARC)?;
    match record.retrieved() {
        RetrievedRecord::Marc(octets) => Ok(octets.to_vec()),
        _ => iso2709::encode(&marc).map_err(|error| error.to_string()),
    }
}

fn marcxml(record: &Record) -> Result<Vec<u8>, String> {
    let xml = record.marcxml().ok_or(NO_MARC)?;
    let inside = xml.split_once("?>").map_or(&*xml, |(_, inside)| inside);
    Ok(inside.trim().as_bytes().to_vec())
}

fn json(record: &Record) -> Result<Vec<u8>, String> {
    let value = record.json().ok_or("it has no form in JSON")?;
    Ok(value.to_string().into_bytes())
}

fn csv(record: &Record) -> Result<Vec<u8>, String> {
    let citation = record.citation();
    let year = citation.year.map(|year| year.to_string());
    let cells = [
        citation.title.unwrap_or_default(),
        citation.author.unwrap_or_default(),
        year.unwrap_or_default(),
        citation.identifiers.isbn.join(" "),
    ];
    Ok(cells.map(|cell| quoted(&cell)).join(",").into_bytes())
}

/// A cell that spreadsheets do not take for a formula.
fn quoted(cell: &str) -> String {
    let guard = match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => "'",
        false => "",
    };
    format!("\"{guard}{}\"", cell.replace('"', "\"\""))
}
