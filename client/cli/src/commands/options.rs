//! Options that several commands have, and parsers for their values.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Serialize, Serializer};
use z3950::RecordForm;
use z3950_asn1::oid::Oid;
use z3950_marc::charset::Charset;
use z3950_marc::table::Columns;

use crate::answer::Writing;
use crate::commands::complete;
use crate::console::output::Failure;
use crate::render::{Format, Style};

/// How records are written.
#[derive(Debug, Default, Args)]
pub(crate) struct RecordOutput {
    /// Record format; by default text, or brief on a screen.
    #[arg(short, long, value_enum)]
    pub(crate) format: Option<Format>,

    /// The columns of a table, separated by commas; fields such as 001, 020a, 245ab, 008/35-37 or LDR/06, or title, author, contributor, year,
    /// publisher, subject, description, type, format, language, relation, coverage, rights, isbn, issn, lccn, oclc, source
    /// (the target), of lookup input and input_record (its 001), or of copies library, location, call_number, volume,
    /// item_id, available, due, status or holdings (all in one cell). Several values of a cell are separated by " | "
    /// [default: 001,title,author,year,publisher,isbn,issn].
    #[arg(long, value_name = "COLUMN,...", hide_short_help = true)]
    pub(crate) fields: Option<Columns>,

    /// Write a table with a row for each copy instead of each record.
    #[arg(long, hide_short_help = true)]
    pub(crate) row_per_copy: bool,

    /// The character set of the records, whatever they declare.
    #[arg(long, value_name = "NAME", value_parser = charset, hide_short_help = true)]
    pub(crate) charset: Option<Charset>,
}

impl RecordOutput {
    /// Returns the style of records: the format that the options select, and its settings.
    pub(crate) fn style(&self) -> Result<Style, Failure> {
        self.style_in(self.format())
    }

    /// Returns the requested format, or else the default format.
    pub(crate) fn format(&self) -> Format {
        self.format.unwrap_or_default()
    }

    /// Returns the style of records in this format.
    ///
    /// # Errors
    /// Fails if columns are given for a format that is not a table.
    pub(crate) fn style_in(&self, format: Format) -> Result<Style, Failure> {
        style(format, self.fields.as_ref(), self.row_per_copy)
    }
}

/// Returns the style of records in a format. A table has the given columns and, if requested, a row for each copy.
pub(crate) fn style(
    format: Format,
    columns: Option<&Columns>,
    has_row_per_copy: bool,
) -> Result<Style, Failure> {
    let of_tables = match columns {
        _ if format.is_table() => None,
        Some(columns) => Some(format!("--fields {columns}")),
        None => has_row_per_copy.then(|| "--row-per-copy".to_owned()),
    };
    match of_tables {
        Some(option) => Err(Failure::Usage(format!(
            "{option} is for tables: add --format csv, tsv or spreadsheet"
        ))),
        None => Ok(Style::new(format, columns).with_row_per_copy(has_row_per_copy)),
    }
}

/// Which records to request, and how to write them.
#[derive(Debug, Args)]
pub(crate) struct RecordRequest {
    /// The database to search, instead of the target's; may be repeated.
    #[arg(long = "database", value_name = "NAME", hide_short_help = true, add = complete::database())]
    pub(crate) databases: Vec<String>,

    /// The element set to request.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) element_set: Option<String>,

    /// The record syntax to request, by name or object identifier.
    #[arg(long, value_name = "NAME", value_parser = syntax, add = complete::syntax())]
    pub(crate) syntax: Option<Oid>,

    #[command(flatten)]
    pub(crate) records: RecordOutput,

    /// Print one JSON object per line, with the record inside.
    #[arg(long, conflicts_with_all = ["format", "fields", "row_per_copy"])]
    pub(crate) json: bool,
}

impl RecordRequest {
    /// Returns the requested record syntax and element set.
    pub(crate) fn form(&self) -> RecordForm {
        RecordForm::new(self.syntax, self.element_set.clone())
    }

    /// Returns the options for writing records in this style.
    pub(crate) fn writing(&self, style: Style) -> Writing {
        Writing {
            json: self.json,
            style,
            charset: self.records.charset,
        }
    }
}

/// The first record to show or convert.
#[derive(Debug, Args)]
pub(crate) struct First {
    /// The position of the first record; 1 is the first of all.
    #[arg(long, value_name = "POSITION", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    start: u64,

    /// How many records to skip, another way to give --start.
    #[arg(long, value_name = "NUMBER", conflicts_with = "start", hide = true)]
    offset: Option<u64>,
}

impl First {
    /// Returns the 1-based position of the first requested record.
    pub(crate) fn position(&self) -> u64 {
        self.offset
            .map_or(self.start, |skipped| skipped.saturating_add(1))
    }

    /// Returns the number of records before the first requested one.
    pub(crate) fn skipped(&self) -> u64 {
        self.position().saturating_sub(1)
    }
}

/// Parses a number of records, or `all`.
pub(crate) fn record_count(text: &str) -> Result<u64, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(u64::MAX);
    }
    text.parse()
        .map_err(|_| "neither a number of records nor all".to_owned())
}

/// The value of an option for a time limit; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Option<Duration>);

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.map(|wait| wait.as_secs_f64()).serialize(serializer)
    }
}

pub(crate) fn seconds(text: &str) -> Result<Wait, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    let wait = Duration::try_from_secs_f64(number)
        .map_err(|_| "not a number of seconds that can be waited".to_owned())?;
    Ok(Wait((!wait.is_zero()).then_some(wait)))
}

/// Returns a parser for an option whose values belong to a type of the library. `table` contains, for each choice, the
/// word, the value and the help text.
pub(crate) fn choices<T: Copy + Send + Sync>(
    table: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let words = table
        .iter()
        .map(|(word, _, help)| PossibleValue::new(word).help(*help));
    PossibleValuesParser::new(words).try_map(|word| {
        let row = table.iter().find(|(name, ..)| *name == word);
        row.map(|(_, value, _)| *value).ok_or("no such value")
    })
}

/// Parses the name of a character set.
pub(crate) fn charset(text: &str) -> Result<Charset, String> {
    Charset::by_name(text).ok_or_else(|| {
        "unknown character set; known are utf-8, marc-8, iso-8859-1, iso-5426 and others".to_owned()
    })
}

/// Parses the name or object identifier of a record syntax.
pub(crate) fn syntax(text: &str) -> Result<Oid, String> {
    Oid::record_syntax_by_name(text.as_bytes()).ok_or_else(|| {
        "unknown record syntax; known are usmarc, unimarc, xml, sutrs, opac, grs-1 and others"
            .to_owned()
    })
}
