//! Records for people and programs: the formats of `--format`, and text made safe for a terminal.

mod json;
mod terminal;

pub use terminal::{escape_controls, shown};

use z3950_asn1::apdu::External;
use z3950_asn1::codec::dump;
use z3950_asn1::record::{RetrievedRecord, iso2709, marcline};

/// How a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Format {
    /// For people: MARC as lines, SUTRS and XML as they are.
    #[default]
    Text,
    /// The octets as the server sent them.
    Raw,
    /// One JSON object a line: MARC as MARC-in-JSON, other syntaxes as {"syntax", "text"|"base64"}.
    Json,
}

impl Format {
    /// The formats by the names `--format` takes.
    pub const NAMES: [(&str, Self); 3] = [
        ("text", Self::Text),
        ("raw", Self::Raw),
        ("json", Self::Json),
    ];

    /// The format of that name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        let known = Self::NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, format)| *format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, format)| *format == self)
            .map_or("text", |(name, _)| name)
    }
}

/// A record in the chosen format, and what a person should be told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// What goes to standard output.
    pub octets: Vec<u8>,
    /// What goes to standard error: repairs made, text that could not be shown.
    pub notes: Vec<String>,
}

/// Renders a record. A MARC record that no reading can make sense of is given as its octets, with a note.
///
/// Text and JSON end with a newline; raw octets are unchanged.
pub fn render(record: &External, format: Format) -> Rendered {
    let record = RetrievedRecord::of(record);
    match format {
        Format::Raw => Rendered {
            octets: record.octets().to_vec(),
            notes: Vec::new(),
        },
        Format::Json => json::render(&record),
        Format::Text => text(&record),
    }
}

fn text(record: &RetrievedRecord) -> Rendered {
    let mut notes = Vec::new();
    let mut octets = match record {
        RetrievedRecord::Marc(octets) => match iso2709::parse(octets) {
            Ok(parsed) => {
                notes.extend(
                    parsed
                        .repairs
                        .iter()
                        .map(|repair| format!("record repaired: {repair}")),
                );
                marcline::to_lines(&parsed.record)
            }
            Err(error) => {
                notes.push(format!("the record is shown as it came: {error}"));
                octets.to_vec()
            }
        },
        RetrievedRecord::Sutrs(_) | RetrievedRecord::Xml(_) => record.octets().to_vec(),
        RetrievedRecord::Other(external) => {
            let syntax = external
                .direct_reference
                .map_or("without a name".into(), |oid| format!("{oid:?}"));
            notes.push(format!(
                "record syntax {syntax} is shown as a listing of its BER values"
            ));
            dump::dump(&record.octets()).into_bytes()
        }
    };
    if octets.last() != Some(&b'\n') {
        octets.push(b'\n');
    }
    Rendered { octets, notes }
}
