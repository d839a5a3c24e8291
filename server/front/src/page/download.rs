//! Downloads of records: MARC (ISO 2709), MARCXML, JSON and CSV (RFC 4180).

use z3950::Record;
use z3950_server::web::http::StatusCode;
use z3950_server::web::http::header::{CONTENT_DISPOSITION, HeaderValue};

use super::answer::PageAnswer;
use crate::layout::with_type;

/// A format of downloads.
pub(super) struct DownloadFormat {
    /// In the parameter `format`.
    pub(super) name: &'static str,
    /// As the page shows it.
    pub(super) title: &'static str,
    kind: &'static str,
    disposition: &'static str,
    write: fn(&[Record]) -> Option<Vec<u8>>,
}

/// All formats.
pub(super) const FORMATS: [DownloadFormat; 4] = [
    DownloadFormat {
        name: "marc",
        title: "MARC",
        kind: "application/marc",
        disposition: "attachment; filename=\"records.mrc\"",
        write: marc,
    },
    DownloadFormat {
        name: "marcxml",
        title: "MARCXML",
        kind: "application/marcxml+xml",
        disposition: "attachment; filename=\"records.xml\"",
        write: marcxml,
    },
    DownloadFormat {
        name: "json",
        title: "JSON",
        kind: "application/json",
        disposition: "attachment; filename=\"records.json\"",
        write: json,
    },
    DownloadFormat {
        name: "csv",
        title: "CSV",
        kind: "text/csv; charset=utf-8",
        disposition: "attachment; filename=\"records.csv\"",
        write: csv,
    },
];

/// Records in the format of this name; `None` if there is none, or if a record has no such form.
pub(super) fn of(name: &str, records: &[Record]) -> Option<PageAnswer> {
    let format = FORMATS.iter().find(|format| format.name == name)?;
    let octets = (format.write)(records)?;
    let mut answer = with_type(StatusCode::OK, format.kind, octets);
    let disposition = HeaderValue::from_static(format.disposition);
    answer
        .headers_mut()
        .insert(CONTENT_DISPOSITION, disposition);
    Some(answer)
}

fn marc(records: &[Record]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for record in records {
        // The octets are only those of ISO 2709 if they can be read as such.
        record.marc()?;
        all.extend_from_slice(&record.octets());
    }
    Some(all)
}

fn marcxml(records: &[Record]) -> Option<Vec<u8>> {
    let mut all = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<collection xmlns=\"http://www.loc.gov/MARC21/slim\">\n".to_owned();
    for record in records {
        let xml = record.marcxml()?;
        let inside = xml.split_once("?>").map_or(&*xml, |(_, inside)| inside);
        all += inside.trim();
        all.push('\n');
    }
    all += "</collection>\n";
    Some(all.into_bytes())
}

fn json(records: &[Record]) -> Option<Vec<u8>> {
    let values = records
        .iter()
        .map(Record::json)
        .collect::<Option<Vec<_>>>()?;
    let all = values.iter().map(ToString::to_string).collect::<Vec<_>>();
    Some(format!("[{}]\n", all.join(",\n")).into_bytes())
}

fn csv(records: &[Record]) -> Option<Vec<u8>> {
    let mut all = "title,author,year,isbn\r\n".to_owned();
    for record in records {
        let citation = record.citation();
        let year = citation.year.map(|year| year.to_string());
        let cells = [
            citation.title.unwrap_or_default(),
            citation.author.unwrap_or_default(),
            year.unwrap_or_default(),
            citation.identifiers.isbn.join(" "),
        ];
        all += &cells.map(|cell| quoted(&cell)).join(",");
        all += "\r\n";
    }
    Some(all.into_bytes())
}

/// A cell that spreadsheets do not take for a formula.
fn quoted(cell: &str) -> String {
    let guard = match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => "'",
        false => "",
    };
    format!("\"{guard}{}\"", cell.replace('"', "\"\""))
}
