//! Writes records in the formats of `--format`, one at a time or several as a document, and makes text safe to print on
//! a terminal.

mod indent;
mod other;
mod problems;
mod style;
mod terminal;

use std::path::Path;

use bytes::Bytes;
use z3950::Record;
use z3950_asn1::apdu::External;
use z3950_asn1::record::{RetrievedRecord, holdings};
use z3950_marc::charset::{Charset, Options, to_utf8};
use z3950_marc::crosswalk::{Citation, described_in_xml};
use z3950_marc::marcline::HOLDINGS;
use z3950_marc::stream::marcxml_record;
use z3950_marc::table::RowOrigin;
use z3950_marc::{Form, MarcRecord, iso2709};

pub(crate) use self::indent::indent;
pub(crate) use self::problems::{not_encoded, undecoded};
use self::style::described;
pub(crate) use self::style::{LocalFields, RecordContext, Style, syntax};
pub(crate) use self::terminal::{
    as_message, columns_of, counted, cut_to, escape_controls, folded, listed, matching, named,
    numbered, padded, query, shown, term, text_of, with_short_words, wrapped,
};

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
    /// MARC as MarcXchange (ISO 25577), with all records in one collection.
    Marcxchange,
    /// One JSON object per line: title, author, year, identifiers, source and holdings, then MARC as MARC-in-JSON, other syntaxes
    /// as {"syntax", "text"|"record"|"base64"}.
    Json,
    /// MARC as a table, one row per record: comma-separated values in UTF-8; --fields chooses the columns.
    Csv,
    /// The same with tabs instead of commas.
    Tsv,
    /// CSV for spreadsheet programs: with a byte order mark, an apostrophe before what would be a formula, and ISBNs and other
    /// numbers as text.
    Spreadsheet,
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
    /// Returns the format for a file. This is `asked` or, if `asked` is the default format, the format that the file
    /// extension stands for.
    ///
    /// # Errors
    /// Fails with a message if the extension is needed but unknown.
    pub(crate) fn for_file(path: &Path, asked: Self) -> Result<Self, String> {
        if asked != Self::default() {
            return Ok(asked);
        }
        let extension = path
            .extension()
            .and_then(|extension| extension.to_str())
            .map(str::to_ascii_lowercase);
        Ok(match extension.as_deref() {
            Some("mrc" | "marc") => Self::Marc,
            Some("xml") => Self::Marcxml,
            Some("json" | "jsonl") => Self::Json,
            Some("mrk") => Self::Mrk,
            Some("csv") => Self::Csv,
            Some("tsv") => Self::Tsv,
            Some("txt") => Self::Text,
            _ => {
                return Err(format!(
                    "{}: its name does not say which format to write; end it in .mrc, .xml, .json, .jsonl, .csv, .tsv, .mrk or .txt",
                    path.display()
                ));
            }
        })
    }

    /// Returns the format for the extension of a file. If the extension is unknown, returns `other` if that is not the
    /// default format, and otherwise fails.
    pub(crate) fn by_extension(path: &Path, other: Self) -> Result<Self, String> {
        Self::for_file(path, Self::default()).or_else(|words| {
            if other == Self::default() {
                Err(words)
            } else {
                Ok(other)
            }
        })
    }

    /// Returns the format with this name, as accepted by `--format`. Case is ignored.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        clap::ValueEnum::from_str(name, true).ok()
    }

    /// Returns the name of the format, as accepted by `--format`.
    pub(crate) fn name(self) -> &'static str {
        match (self, self.form()) {
            (Self::Text, _) => "text",
            (Self::Csv, _) => "csv",
            (Self::Tsv, _) => "tsv",
            (Self::Spreadsheet, _) => "spreadsheet",
            (_, Some(form)) => form.name(),
            (_, None) => "raw",
        }
    }

    /// Returns whether the format is meant for people to read, rather than for programs.
    pub(crate) fn is_to_read(self) -> bool {
        matches!(self, Self::Text | Self::Brief)
    }

    /// Returns the MARC form of the format; `None` for tables and raw octets.
    pub(crate) fn form(self) -> Option<Form> {
        Some(match self {
            Self::Text => Form::Line,
            Self::Marc => Form::Marc,
            Self::Marcxml => Form::MarcXml,
            Self::Marcxchange => Form::MarcXchange,
            Self::Json => Form::Json,
            Self::Mrk => Form::Mrk,
            Self::Dc => Form::DublinCore,
            Self::Brief => Form::Brief,
            Self::Csv | Self::Tsv | Self::Spreadsheet | Self::Raw => return None,
        })
    }
}

/// A record rendered in a format, with messages about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rendered {
    /// Data for standard output.
    pub(crate) octets: Vec<u8>,
    /// Messages for standard error, about repairs and about text that cannot be shown.
    pub(crate) notes: Vec<String>,
    /// The reason why the format cannot represent the record. If it is set, `octets` are empty.
    pub(crate) failure: Option<String>,
    /// Whether data is lost: octets are missing or belong to no field, cannot be decoded, or cannot be represented in
    /// the format. A wrong length that was corrected is not a loss.
    pub(crate) is_loss: bool,
    /// Whether the record was repaired without loss; `notes` contains the details.
    pub(crate) is_repaired: bool,
    /// The control number of a MARC record, on one line.
    pub(crate) control_number: Option<String>,
}

/// Renders one record; [`Document`] adds the text between records. `origin` is the source of the record.
///
/// Text is written in UTF-8. It is decoded from `charset` or, if that is `None`, from the character set that the record
/// declares or its octets suggest. If there is no readable MARC structure, `text` and `json` contain the octets, with a
/// note. Records in other syntaxes become text in `text` and `brief`, and an object in `json`. The MARC formats,
/// `brief` and tables use the MARC record inside an XML or OPAC record; tables also use the data from a MODS or Dublin
/// Core record. Text and JSON end with a newline; raw octets are unchanged.
pub(crate) fn render(
    external: &External,
    style: &Style,
    charset: Option<Charset>,
    origin: RowOrigin<'_>,
) -> Rendered {
    let format = style.format();
    let context = RecordContext {
        origin,
        charset,
        opac: None,
    };
    if format == Format::Raw {
        let damage = match RetrievedRecord::of(external) {
            RetrievedRecord::Marc(octets) => marc(&octets, &Format::Text.into(), context),
            _ => Rendered::default(),
        };
        return Rendered {
            octets: RetrievedRecord::octets_of(external).to_vec(),
            notes: if damage.is_loss {
                damage.notes
            } else {
                Vec::new()
            },
            failure: None,
            ..damage
        };
    }
    let record = RetrievedRecord::of(external);
    if let RetrievedRecord::Marc(octets) = &record {
        return marc(octets, style, context);
    }
    match format {
        Format::Json => {
            let whole = Record::new(external.clone(), None).with_charset(charset);
            if (matches!(record, RetrievedRecord::Opac(_)) || style.has_local())
                && whole.marc().is_some()
                && let Some(rendered) = within(&record, style, context)
            {
                return rendered;
            }
            let members = described(&whole.citation(), origin.source, &whole.holdings());
            other::json(&record, members)
        }
        // With local fields added, the record is no longer what the server sent, so the MARC record inside it is
        // rendered instead.
        Format::Text if style.has_local() => {
            within(&record, style, context).unwrap_or_else(|| other::text(&record, charset))
        }
        Format::Text => other::text(&record, charset),
        _ => within_or_row(&record, style, context).unwrap_or_else(|| match format {
            Format::Brief => other::text(&record, charset),
            _ => Rendered {
                failure: Some(format!(
                    "{} is not MARC, as --format {} requires; try --format text or raw",
                    other::name(&record),
                    format.name()
                )),
                ..Rendered::default()
            },
        }),
    }
}

/// Renders a MARC record, which is parsed leniently from its ISO 2709 octets.
fn marc(octets: &Bytes, style: &Style, context: RecordContext<'_>) -> Rendered {
    let parsed = match iso2709::parse(octets) {
        Ok(parsed) => parsed,
        Err(error) => {
            let unread = match style.format() {
                Format::Text | Format::Brief => other::unread_text(octets),
                Format::Json => other::unread_json(
                    octets,
                    described(&Citation::default(), context.origin.source, &[]),
                ),
                _ => {
                    return Rendered {
                        failure: Some(format!("the record cannot be read: {error}")),
                        is_loss: true,
                        ..Rendered::default()
                    };
                }
            };
            return Rendered {
                octets: unread,
                notes: vec![format!("the record is shown as received: {error}")],
                is_loss: true,
                ..Rendered::default()
            };
        }
    };
    let repairs = parsed.repairs.iter();
    let is_cut = repairs.clone().any(|repair| repair.kind.is_loss());
    let mut notes: Vec<String> = repairs
        .map(|repair| {
            if repair.kind.is_loss() {
                format!("record incomplete: {repair}")
            } else {
                format!("record repaired: {repair}")
            }
        })
        .collect();
    let mut options = Options::default();
    options.charset = context.charset;
    let converted = to_utf8(&parsed.record, &options);
    notes.extend(undecoded(&converted.problems));
    let is_loss = is_cut || converted.is_loss();
    let record = style.localised(&converted.record);
    let mut rendered = written(&record, style, context, notes, is_loss);
    if style.format() == Format::Text {
        let table = holdings::table(&context.holdings(&record));
        if !table.is_empty() {
            let table = format!("{HOLDINGS}\n{table}");
            rendered.octets.extend_from_slice(table.as_bytes());
        }
    }
    Rendered {
        is_repaired: !is_cut && !parsed.repairs.is_empty(),
        ..rendered
    }
}

/// Renders the first MARCXML record within an XML record, or the MARC record within an OPAC record. Returns `None` if
/// there is no such record.
fn within(record: &RetrievedRecord, style: &Style, context: RecordContext<'_>) -> Option<Rendered> {
    match record {
        RetrievedRecord::Xml(octets) => {
            let found = marcxml_record(octets)?;
            let record = found
                .record
                .ok()
                .filter(|record| !record.fields.is_empty())?;
            let mut options = Options::default();
            options.charset = context.charset.filter(|_| !is_utf8(&record));
            let converted = to_utf8(&record, &options);
            let mut notes = found.notes;
            notes.extend(converted.problems.iter().map(ToString::to_string));
            let is_loss = found.incomplete || converted.is_loss();
            let record = style.localised(&converted.record);
            Some(written(&record, style, context, notes, is_loss))
        }
        RetrievedRecord::Opac(opac) => {
            let context = RecordContext {
                opac: Some(opac),
                ..context
            };
            match RetrievedRecord::of(opac.bibliographic_record.as_ref()?) {
                RetrievedRecord::Marc(octets) => Some(marc(&octets, style, context)),
                inside @ RetrievedRecord::Xml(_) => within(&inside, style, context),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether all text of the record is valid UTF-8, as required in XML.
fn is_utf8(record: &MarcRecord) -> bool {
    let mut fields = record.fields.iter();
    fields.all(|field| std::str::from_utf8(&field.body).is_ok())
}

/// Renders the MARC record inside a record, like [`within`], or the table row for a MODS or Dublin Core record.
fn within_or_row(
    record: &RetrievedRecord,
    style: &Style,
    context: RecordContext<'_>,
) -> Option<Rendered> {
    within(record, style, context).or_else(|| match (record, style.format()) {
        (RetrievedRecord::Xml(octets), Format::Csv | Format::Tsv | Format::Spreadsheet) => {
            let record = described_in_xml(octets)?;
            Some(written(&record, style, context, Vec::new(), false))
        }
        _ => None,
    })
}

fn written(
    record: &MarcRecord,
    style: &Style,
    context: RecordContext<'_>,
    mut notes: Vec<String>,
    mut is_loss: bool,
) -> Rendered {
    let mut octets = Vec::new();
    let failure = match style.write(record, context, &mut octets) {
        Ok(written) => {
            // A person can read all of the text, even parts that a program would take for structure, so nothing is lost.
            if !style.format().is_to_read() {
                is_loss |= written.is_loss;
                notes.extend(written.notes);
            }
            None
        }
        Err(error) => Some(error.to_string()),
    };
    let control_number = record.control_number().filter(|number| !number.is_empty());
    Rendered {
        octets,
        notes,
        failure,
        is_loss,
        is_repaired: false,
        control_number: control_number.map(shown),
    }
}

/// A document that contains any number of records: an XML collection, text records separated by blank lines, or one
/// JSON object or table row per line.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    style: Style,
    records: u64,
}

impl Document {
    /// Creates a document without records.
    pub(crate) fn new(style: Style) -> Self {
        Self { style, records: 0 }
    }

    /// Returns the number of records.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Sets the number of records that the document already contains, unless records have been added to it.
    pub(crate) fn go_on(&mut self, records: u64) {
        if self.records == 0 {
            self.records = records;
        }
    }

    /// Returns whether this document and `other` begin with the same text, such as the header of a table.
    pub(crate) fn begins_like(&self, other: &Self) -> bool {
        self.style.before(true) == other.style.before(true)
    }

    pub(crate) fn format(&self) -> Format {
        self.style.format()
    }

    /// Begins the next record, and returns the text that the document needs before it.
    pub(crate) fn next(&mut self) -> String {
        self.records += 1;
        self.style.before(self.records == 1).to_owned()
    }

    /// Returns the text that the document needs after the last record. It is empty if there was no record.
    pub(crate) fn end(&mut self) -> &'static str {
        match std::mem::take(&mut self.records) {
            0 => "",
            _ => self.style.end(),
        }
    }
}
