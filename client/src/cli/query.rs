//! `z3950 query`: queries as texts, in PQF, CCL, CQL or words (Z39.50-2003 §3.7); nothing here connects.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::query::ccl::Bib;
use z3950_asn1::query::cql::Properties;
use z3950_asn1::query::{Dialects, Language, explain, tree};

use super::args::{self, Lang, Query, QueryText, Tables};
use super::exit::Exit;
use super::output::{Failure, Output};

/// The longest file of properties or qualifiers read, in octets.
const MAX_FILE: u64 = 1 << 20;

/// What is said of a CQL query with sort keys.
pub(crate) const SORT_LEFT_OUT: &str = "an RPN query has no place for sortby, which is left out";

pub(super) fn run(command: &Query, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Query::Parse(text) => shown(text, output, |_, query| Ok(tree(query))),
        Query::ToPqf(text) => shown(text, output, |_, query| Ok(query.to_string())),
        Query::ToCql(text) => shown(text, output, |dialects, query| {
            dialects.to_cql(query).map_err(|error| error.to_string())
        }),
        Query::ToCcl(text) => shown(text, output, |dialects, query| {
            dialects.to_ccl(query).map_err(|error| error.to_string())
        }),
        Query::Explain(text) => shown(text, output, |_, query| {
            Ok(format!("{}\n\n{}", explain(query), tree(query)))
        }),
    }
}

/// Reads the query and writes what `show` makes of it, or why it makes nothing.
fn shown(
    arguments: &QueryText,
    output: &mut Output,
    show: impl Fn(&Dialects, &RpnQuery) -> Result<String, String>,
) -> Result<Exit, Failure> {
    let dialects = dialects(&arguments.tables)?;
    let text = arguments.text.as_encoded_bytes();
    let read = read(&dialects, language(arguments.lang), text);
    let Some(query) = said(read, output) else {
        return Ok(Exit::Usage);
    };
    match show(&dialects, &query) {
        Ok(line) => {
            output.line(&line)?;
            Ok(Exit::Delivered)
        }
        Err(reason) => {
            output.error(&reason);
            Ok(Exit::Usage)
        }
    }
}

/// The query that a text of the command line asks for.
pub(super) fn asked(
    text: &OsStr,
    arguments: &args::Language,
    output: &Output,
) -> Result<Option<RpnQuery>, Failure> {
    let read = Reader::new(arguments)?.read(text.as_encoded_bytes());
    Ok(said(read, output))
}

/// Reads queries, by default PQF behind `@` and else words.
pub(super) struct Reader {
    dialects: Dialects,
    lang: Option<Lang>,
}

impl Reader {
    /// Reads the tables.
    pub(super) fn new(arguments: &args::Language) -> Result<Self, Failure> {
        Ok(Self {
            dialects: dialects(&arguments.tables)?,
            lang: arguments.lang,
        })
    }

    /// The query that a text asks for, and what is left out of it; or what is wrong with it.
    pub(super) fn read(&self, text: &[u8]) -> Result<(RpnQuery, Option<&'static str>), String> {
        let guessed = match text.trim_ascii_start().first() {
            Some(b'@') => Lang::Pqf,
            _ => Lang::Names,
        };
        let language = language(self.lang.unwrap_or(guessed));
        read(&self.dialects, language, text)
    }
}

/// Reads a query; gives what is left out of it too, or what is wrong with it.
fn read(
    dialects: &Dialects,
    language: Language,
    text: &[u8],
) -> Result<(RpnQuery, Option<&'static str>), String> {
    let text = std::str::from_utf8(text)
        .map_err(|error| format!("octet {} of the query is not UTF-8", error.valid_up_to()))?;
    let query = dialects
        .read(language, text)
        .map_err(|error| format!("{error}\n{}", error.pointed_out(text).trim_end()))?;
    let left_out = dialects.sorts(language, text).then_some(SORT_LEFT_OUT);
    Ok((query, left_out))
}

/// A query that was read; says what is left out of it, or what is wrong with it.
fn said(
    read: Result<(RpnQuery, Option<&'static str>), String>,
    output: &Output,
) -> Option<RpnQuery> {
    match read {
        Ok((query, left_out)) => {
            left_out.inspect(|words| output.note(words));
            Some(query)
        }
        Err(words) => {
            output.error(&words);
            None
        }
    }
}

fn language(lang: Lang) -> Language {
    match lang {
        Lang::Pqf => Language::Pqf,
        Lang::Ccl => Language::Ccl,
        Lang::Cql => Language::Cql,
        Lang::Names => Language::Names,
    }
}

/// The built-in tables, or those of the files given.
fn dialects(arguments: &Tables) -> Result<Dialects, Failure> {
    let mut dialects = Dialects::default();
    if let Some(path) = &arguments.properties {
        dialects.properties =
            Properties::parse(&file(path)?).map_err(|error| unusable(path, &error))?;
    }
    if let Some(path) = &arguments.bib {
        dialects.bib = Bib::parse(&file(path)?).map_err(|error| unusable(path, &error))?;
    }
    Ok(dialects)
}

fn file(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text))
        .map_err(|error| unusable(path, &error))?;
    match u64::try_from(text.len()) {
        Ok(length) if length <= MAX_FILE => Ok(text),
        _ => Err(unusable(path, &format!("more than {MAX_FILE} octets"))),
    }
}

fn unusable(path: &Path, error: &impl ToString) -> Failure {
    Failure::Input {
        path: path.display().to_string(),
        error: error.to_string(),
    }
}
