//! The options for `z3950 convert`.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use z3950_marc::charset::Charset;
use z3950_marc::edit::Deletion;
use z3950_marc::order::SortKeys;
use z3950_marc::select::Condition;
use z3950_marc::stream::InputForm;
use z3950_marc::table::Columns;
use z3950_marc::{Field, Form};

use super::dedupe::{DuplicateKey, KEYS};
use crate::commands::complete;
use crate::commands::options::{First, charset, choices, record_count, style};
use crate::console::input::STANDARD;
use crate::console::output::Failure;
use crate::render::{Format, Style};

/// The text at the end of `convert --help`.
const EXIT: &str = "\
The exit code is 8 if any data was lost from a record, which a warning or an error names. Wrong
lengths and directories that could be repaired are only noted.";

#[derive(Debug, Args)]
#[command(after_help = EXIT, group(ArgGroup::new("reports").args(["check", "stats"])))]
pub(crate) struct Convert {
    /// Record files; - is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(super) files: Vec<PathBuf>,

    /// The input format: marc, marcxml, marcxchange, json, mrk, line or csv. By default, it is detected from the content, then
    /// from the file name; .csv and .tsv files are tables.
    #[arg(long, value_name = "FORM", value_parser = input_form, add = complete::input_form())]
    pub(super) from: Option<InputKind>,

    /// Where a column of a table goes: its heading or number, and a place such as 245$a or title, or nothing to leave it out; may be
    /// repeated.
    #[arg(long, value_name = "HEADING=PLACE", value_parser = mapping, hide_short_help = true)]
    pub(super) map: Vec<(String, String)>,

    /// What separates several values in a cell of a table that is read [default: " | "].
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(super) separator: Option<String>,

    /// The output format: marc, marcxml, marcxchange, json, csv, tsv, spreadsheet, mrk, line, dc or brief. By default, the
    /// extension of --output (.mrc, .xml, .json, .jsonl, .csv, .tsv, .mrk or .txt) selects it; on standard output it is line.
    #[arg(short, long, alias = "to", value_name = "FORMAT", value_parser = output_format, add = complete::format())]
    pub(super) format: Option<Format>,

    /// The columns of a table, separated by commas; fields such as 001, 020a, 245ab, 008/35-37 or LDR/06, or title, author, contributor,
    /// year, publisher, subject, description, type, format, language, relation, coverage, rights, isbn, issn, lccn, oclc or source (the
    /// file), or for copies library, location, call_number, volume, item_id, available, due, status or holdings (all in one cell). Several
    /// values in a cell are separated by " | " [default: 001,title,author,year,publisher,isbn,issn].
    #[arg(long, value_name = "COLUMN,...")]
    fields: Option<Columns>,

    /// Write a table with a row for each copy instead of each record.
    #[arg(long, hide_short_help = true)]
    row_per_copy: bool,

    /// Keep only the first of several records with the same number; the control number (001 together with 003), or an ISBN,
    /// which other editions may have. Records without one are all kept. With -v, each record left out is listed.
    #[arg(long, value_name = "001|isbn", value_parser = choices(&KEYS))]
    pub(super) dedupe: Option<DuplicateKey>,

    /// Take only records that fulfil a condition; may be repeated.
    ///
    /// 852 is for records with this field, !852 for those without it, 9XX for any field from 900. Values: 245$a=emma (* is any text),
    /// 245$a:war (has this text), year>1990, 008/35-37=eng (# is a blank), 650^2=2 (an indicator); or of any column from --fields.
    #[arg(long, value_name = "CONDITION", hide_short_help = true)]
    pub(super) select: Vec<Condition>,

    /// Delete fields and subfields, such as 9XX,852$x.
    #[arg(
        long,
        value_name = "FIELD,...",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub(super) delete: Vec<Deletion>,

    /// Add a field to each record: '852 __ $a Main library'; may be repeated.
    #[arg(long, value_name = "FIELD", hide_short_help = true)]
    pub(super) add: Vec<Field>,

    /// Sort by columns from --fields, such as title,-year; - is for descending order. The records wait in a temporary file.
    #[arg(
        long,
        value_name = "KEY,...",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(super) sort: Option<SortKeys>,

    /// The character set of the records, whatever they declare.
    #[arg(long, value_name = "NAME", value_parser = charset)]
    pub(super) charset: Option<Charset>,

    /// The character set of marc and line output [default: utf-8]; marc-8, iso5426 and others are known.
    #[arg(long, value_name = "NAME", value_parser = charset)]
    pub(super) to_charset: Option<Charset>,

    /// Skip records that need repair, instead of repairing them.
    #[arg(long)]
    pub(super) strict: bool,

    #[command(flatten)]
    pub(super) first: First,

    /// How many records to read, or all, which is the default.
    #[arg(short = 'n', long, alias = "limit", value_name = "NUMBER|all", value_parser = record_count, hide_short_help = true)]
    pub(super) count: Option<u64>,

    /// Write to a file; - is standard output, the default.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite an existing output file.
    #[arg(long, alias = "force", requires = "output")]
    pub(super) overwrite: bool,

    /// Start a new file after this many records; {} in the output name stands for the number of the file.
    #[arg(long, value_name = "NUMBER", requires = "output")]
    pub(super) split: Option<NonZeroU64>,

    /// Only list the structural faults of records; the exit code is 8 if there are any. Lengths, directory, indicators, subfield
    /// codes, control characters and character sets are checked, contents are not.
    #[arg(long, conflicts_with_all = ["format", "to_charset", "strict", "output", "split", "fields", "row_per_copy", "dedupe", "delete", "add", "sort"])]
    pub(super) check: bool,

    /// Only count the fields and subfields, and the records that have them.
    #[arg(
        long,
        hide_short_help = true,
        conflicts_with_all = ["format", "to_charset", "output", "split", "fields", "row_per_copy", "delete", "add", "sort"]
    )]
    pub(super) stats: bool,

    /// Print the results of --check or --stats as JSON, one object per faulty record, or per field.
    #[arg(long, requires = "reports", hide_short_help = true)]
    pub(super) json: bool,
}

impl Convert {
    /// Returns the file to write; `None` for standard output.
    pub(super) fn file(&self) -> Option<&Path> {
        let output = self.output.as_deref();
        output.filter(|path| *path != Path::new(STANDARD))
    }

    /// Returns whether the command writes records.
    pub(super) fn converts(&self) -> bool {
        !self.check && !self.stats
    }

    /// Returns the format and options of the output: the format from `--format`, or the format for the file's extension.
    ///
    /// # Errors
    /// Fails if the file is a folder or has no known extension, or if columns are given for a format that is not a
    /// table.
    pub(super) fn style(&self) -> Result<Style, Failure> {
        if let Some(path) = self.file()
            && (path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/"))
        {
            let words = format!("{} is a folder, not a file", path.display());
            return Err(Failure::Usage(words));
        }
        let format = match (self.file(), self.format) {
            (_, Some(format)) => Ok(format),
            (None, None) => Ok(Format::Text),
            (Some(path), None) => Format::for_file(path, Format::default()),
        };
        let format = format
            .map_err(|words| Failure::Usage(format!("--output {words}, or give --format")))?;
        style(format, self.fields.as_ref(), self.row_per_copy)
    }
}

/// The contents of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputKind {
    Records(InputForm),
    Table,
}

/// Splits a heading from its place at the last equals sign, because a heading may contain an equals sign, but a place
/// does not.
fn mapping(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((heading, place)) if !heading.is_empty() => Ok((heading.to_owned(), place.to_owned())),
        _ => Err("must be HEADING=PLACE, such as Titel=245$a".to_owned()),
    }
}

fn input_form(text: &str) -> Result<InputKind, String> {
    if ["csv", "tsv"]
        .iter()
        .any(|known| text.eq_ignore_ascii_case(known))
    {
        return Ok(InputKind::Table);
    }
    // MarcXchange has the elements of MARCXML in another namespace, and the reader ignores namespaces.
    if text.eq_ignore_ascii_case(Form::MarcXchange.name()) {
        return Ok(InputKind::Records(InputForm::MarcXml));
    }
    let mut known = InputForm::ALL.into_iter();
    known
        .find(|form| form.name().eq_ignore_ascii_case(text))
        .map(InputKind::Records)
        .ok_or_else(|| "must be marc, marcxml, marcxchange, json, mrk, line or csv".to_owned())
}

fn output_format(text: &str) -> Result<Format, String> {
    let format = Format::by_name(text);
    let is_of_servers =
        |format: &Format| *format == Format::Raw || text.eq_ignore_ascii_case(Format::Text.name());
    format.filter(|format| !is_of_servers(format)).ok_or_else(|| {
        "must be marc, marcxml, marcxchange, json, csv, tsv, spreadsheet, mrk, line, dc or brief"
            .to_owned()
    })
}
