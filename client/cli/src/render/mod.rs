//! Records for people and programs: the formats of `--format`, and text made safe for a terminal.

mod document;
mod indent;
mod json;
mod marc;
mod terminal;
mod text;

use std::path::Path;

use z3950_asn1::apdu::External;
use z3950_asn1::record::RetrievedRecord;
use z3950_marc::Form;
use z3950_marc::charset::Charset;

pub(crate) use document::Document;
pub(crate) use json::syntax;
pub(crate) use terminal::{as_message, escape_controls, named, shown, term};

/// How a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// Readable text: MARC as lines, SUTRS and XML as they are; also called line.
    #[default]
    #[value(alias = "line")]
    Text,
    /// MARC in its exchange format (ISO 2709), in UTF-8, with lengths recomputed.
    Marc,
    /// MARC as MARCXML, with all records in one collection.
    Marcxml,
    /// One JSON object per line: MARC as MARC-in-JSON, other syntaxes as {"syntax", "text"|"record"|"base64"}.
    Json,
    /// MARC as MARCMaker text, for editing.
    Mrk,
    /// MARC as Dublin Core in XML.
    Dc,
    /// MARC in a few lines, like a catalogue card.
    Brief,
    /// The octets as the server sent them.
    Raw,
}

impl Format {
    /// The format that a file is written in: the one asked for, unless that is the default one; then the one that the name
    /// of the file ends in.
    ///
    /// # Errors
    /// Words about a name that says none.
    pub(crate) fn for_file(path: &Path, asked: Self) -> Result<Self, String> {
        if asked != Self::default() {
            return Ok(asked);
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        let extension = extension.map(str::to_ascii_lowercase);
        Ok(match extension.as_deref() {
            Some("mrc" | "marc") => Self::Marc,
            Some("xml") => Self::Marcxml,
            Some("json" | "jsonl") => Self::Json,
            Some("mrk") => Self::Mrk,
            Some("txt") => Self::Text,
            _ => {
                return Err(format!(
                    "{}: its name does not say which format to write; end it in .mrc, .xml, .jsonl, .mrk or .txt",
                    path.display()
                ));
            }
        })
    }

    /// The format that a name ends in, else another one.
    pub(crate) fn by_extension(path: &Path, other: Self) -> Result<Self, String> {
        Self::for_file(path, Self::default()).or_else(|words| match other == Self::default() {
            true => Err(words),
            false => Ok(other),
        })
    }

    /// The formats by the names `--format` takes.
    pub(crate) const NAMES: [(&str, Self); 9] = [
        ("text", Self::Text),
        ("line", Self::Text),
        ("marc", Self::Marc),
        ("marcxml", Self::Marcxml),
        ("json", Self::Json),
        ("mrk", Self::Mrk),
        ("dc", Self::Dc),
        ("brief", Self::Brief),
        ("raw", Self::Raw),
    ];

    /// The format of that name, in any case.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        let mut known = Self::NAMES.iter();
        let found = known.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, format)| *format)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, format)| *format == self)
            .map_or("text", |(name, _)| name)
    }

    /// The form in which it writes MARC records; `None` for octets as they came.
    pub(crate) fn form(self) -> Option<Form> {
        Some(match self {
            Self::Text => Form::Line,
            Self::Marc => Form::Marc,
            Self::Marcxml => Form::MarcXml,
            Self::Json => Form::Json,
            Self::Mrk => Form::Mrk,
            Self::Dc => Form::DublinCore,
            Self::Brief => Form::Brief,
            Self::Raw => return None,
        })
    }
}

/// A record in the chosen format, and what a person should be told about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rendered {
    /// What goes to standard output.
    pub(crate) octets: Vec<u8>,
    /// What goes to standard error: repairs made, text that could not be shown.
    pub(crate) notes: Vec<String>,
    /// Why there is nothing for standard output: the format cannot hold the record.
    pub(crate) failure: Option<String>,
    /// Whether something of the record is lost: octets are missing or belong to no field, cannot be decoded, or the format
    /// cannot hold them. What could be repaired, such as a wrong length, is no loss.
    pub(crate) is_loss: bool,
    /// Whether something was repaired; the notes say what.
    pub(crate) is_repaired: bool,
}

/// Renders a record by itself, without what makes several one document; [`Document`] does that.
///
/// Text is in UTF-8, read in the character set given, or in the one that the record names or its octets show. A MARC record that no reading can make sense of is given as its octets in `text` and `json`, with a note. Records of
/// other syntaxes are text in `text` and `brief` and an envelope in `json`; the formats of MARC do not hold them, unless
/// they are XML with a MARCXML record in it. Text and JSON end with a newline; raw octets are unchanged.
pub(crate) fn render(record: &External, format: Format, charset: Option<Charset>) -> Rendered {
    let Some(form) = format.form() else {
        let damage = match RetrievedRecord::of(record) {
            RetrievedRecord::Marc(octets) => marc::render(&octets, Form::Line, charset),
            _ => Rendered::default(),
        };
        let is_loss = damage.is_loss;
        return Rendered {
            octets: RetrievedRecord::octets_of(record).to_vec(),
            notes: if is_loss { damage.notes } else { Vec::new() },
            failure: None,
            is_loss,
            is_repaired: damage.is_repaired,
        };
    };
    let record = RetrievedRecord::of(record);
    if let RetrievedRecord::Marc(octets) = &record {
        return marc::render(octets, form, charset);
    }
    match format {
        Format::Json => json::render(&record),
        Format::Text => text::render(&record, charset),
        _ => marc::within_xml(&record, form).unwrap_or_else(|| match format {
            Format::Brief => text::render(&record, charset),
            _ => Rendered {
                failure: Some(format!(
                    "{} is not MARC, as --format {} requires; try --format text or raw",
                    text::name(&record),
                    format.name()
                )),
                ..Rendered::default()
            },
        }),
    }
}
