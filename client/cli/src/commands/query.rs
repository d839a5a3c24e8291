//! `z3950 query`: converts queries in PQF, CCL, CQL or words (Z39.50-2003 §3.7), without connecting.

mod comparisons;
mod indexes;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use z3950_asn1::apdu::{RpnQuery, SortKeySpec};
use z3950_asn1::query::ccl::Bib;
use z3950_asn1::query::cql::{self, Properties};
use z3950_asn1::query::names::Names;
use z3950_asn1::query::{Dialects, Language, QueryError, QueryErrorKind, explain, tree};
use z3950_files::input;

use self::indexes::IndexList;
pub(crate) use self::indexes::index_lines;
use crate::answer::Envelope;
use crate::commands::deferred::Deferred;
use crate::commands::options::choices;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

/// Commands on queries.
#[derive(Debug, Subcommand)]
pub(crate) enum QueryCommand {
    /// Show a query as a tree, with its attributes by name.
    Parse(Deferred<QueryText>),
    /// Translate a query into PQF, the prefix query format.
    ToPqf(Deferred<QueryText>),
    /// Translate a query into CQL, the Contextual Query Language.
    ToCql(Deferred<QueryText>),
    /// Translate a query into CCL, the Common Command Language (ISO 8777).
    ToCcl(Deferred<QueryText>),
    /// Describe a query in a sentence, and show it as a tree.
    Explain(Deferred<QueryText>),
    /// List the index names, with their Bib-1 Use values and an example of each.
    Indexes(Deferred<IndexList>),
}

#[derive(Debug, Args)]
pub(crate) struct QueryText {
    /// The query.
    #[arg(value_name = "TEXT", allow_negative_numbers = true)]
    pub(crate) text: OsString,

    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) language: QueryLanguage,
}

/// The language of a query.
#[derive(Debug, Args)]
pub(crate) struct QueryLanguage {
    /// The query language, guessed by default.
    #[arg(long, alias = "language", value_parser = choices(LANGUAGES))]
    pub(crate) lang: Option<Language>,

    #[command(flatten)]
    pub(crate) tables: Tables,
}

/// The tables for reading CQL and CCL.
#[derive(Debug, Default, Args)]
pub(crate) struct Tables {
    /// The pqf.properties file, as used by YAZ, that maps CQL indexes and relations to attributes.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) properties: Option<PathBuf>,

    /// The bib file, as used by YAZ, that maps CCL qualifiers to attributes.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) bib: Option<PathBuf>,
}

/// The query languages, by name.
const LANGUAGES: &[(&str, Language, &str)] = &[
    (
        "pqf",
        Language::Pqf,
        "The prefix query format: @attr 1=4 war",
    ),
    (
        "ccl",
        Language::Ccl,
        "ISO 8777 in the dialect of YAZ: ti=war",
    ),
    ("cql", Language::Cql, "CQL 1.1 and 1.2: dc.title = war"),
    (
        "names",
        Language::Names,
        "Words, with optional index names: ti:war",
    ),
];

/// The maximum size of a file with properties or qualifiers, in octets.
const MAX_FILE: u64 = 1 << 20;

/// The note for a CQL query with sort keys, which are ignored.
pub(crate) const SORT_LEFT_OUT: &str = "an RPN query has no place for sortby, which is left out";

pub(crate) fn run(command: &QueryCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        QueryCommand::Parse(text) => shown(text, output, |_, query| Ok((None, Some(tree(query))))),
        QueryCommand::ToPqf(text) => {
            shown(text, output, |_, query| Ok((Some(query.to_string()), None)))
        }
        QueryCommand::ToCql(text) => shown(text, output, |dialects, query| {
            let cql = dialects.to_cql(query).map_err(|error| error.to_string())?;
            Ok((Some(cql), None))
        }),
        QueryCommand::ToCcl(text) => shown(text, output, |dialects, query| {
            let ccl = dialects.to_ccl(query).map_err(|error| error.to_string())?;
            Ok((Some(ccl), None))
        }),
        QueryCommand::Explain(text) => shown(text, output, |_, query| {
            Ok((Some(explain(query)), Some(tree(query))))
        }),
        QueryCommand::Indexes(list) => list.print(output),
    }
}

/// The converted query: as text, as a tree, or both.
type Converted = (Option<String>, Option<String>);

/// Parses a query and writes the result of `show`. If the query is invalid, reports the reason.
fn shown(
    arguments: &QueryText,
    output: &mut Output,
    show: impl Fn(&Dialects, &RpnQuery) -> Result<Converted, String>,
) -> Result<Exit, Failure> {
    let reader = QueryReader::new(&Dialects::default(), &arguments.language)?;
    let text = arguments.text.as_encoded_bytes();
    let read = reader.read(text);
    let query = read.as_ref().ok().map(|(query, _)| query.to_string());
    let made = read.and_then(|(query, remark)| {
        remark.inspect(|words| output.note(words));
        show(&reader.dialects, &query)
    });
    let exit = match made {
        Ok(_) => Exit::Delivered,
        Err(_) => Exit::Usage,
    };
    if arguments.json {
        let (made, message) = match made {
            Ok(made) => (made, None),
            Err(words) => (Converted::default(), Some(words)),
        };
        let (result, tree) = made;
        let text = crate::render::shown(text);
        let lang = arguments
            .language
            .lang
            .unwrap_or_else(|| Language::of_typed(&text).0);
        let answer = json!({
            "lang": lang.name(),
            "text": text,
            "query": query,
            "result": result,
            "tree": tree,
            "message": message,
        });
        Envelope::from(answer).write(output)?;
        return Ok(exit);
    }
    match made {
        Ok((result, tree)) => {
            let parts: Vec<String> = result.into_iter().chain(tree).collect();
            output.line(&parts.join("\n\n"))?;
        }
        Err(reason) => output.error(&reason),
    }
    Ok(exit)
}

/// Parses the query in an argument.
pub(crate) fn asked(
    text: &OsStr,
    arguments: &QueryLanguage,
    dialects: &Dialects,
    output: &Output,
) -> Result<RpnQuery, Failure> {
    let read = QueryReader::new(dialects, arguments)?.read(text.as_encoded_bytes());
    let (query, remark) = read.map_err(Failure::Usage)?;
    remark.inspect(|words| output.note(words));
    Ok(query)
}

/// Checks the queries of a command before its target is known.
///
/// # Errors
/// Fails if a table cannot be read or a query is invalid.
pub(crate) fn check<'a>(
    arguments: &QueryLanguage,
    queries: impl IntoIterator<Item = &'a OsString>,
) -> Result<(), Failure> {
    let reader = QueryReader::new(&Dialects::default(), arguments)?;
    for query in queries {
        // Only the syntax is checked, because an SRU server may have indexes of its own.
        reader
            .read_sorted(query.as_encoded_bytes())
            .map_err(Failure::Usage)?;
    }
    Ok(())
}

/// Returns the query in an argument as typed; `None` if it is not in CQL.
pub(crate) fn as_cql(
    text: &OsStr,
    arguments: &QueryLanguage,
    dialects: &Dialects,
) -> Result<Option<String>, Failure> {
    let read = QueryReader::new(dialects, arguments)?.read_sorted(text.as_encoded_bytes());
    Ok(read.map_err(Failure::Usage)?.cql)
}

/// A query in the form that is sent to a server.
#[derive(Clone)]
pub(crate) enum AskedQuery {
    /// A type-1 query.
    Rpn(RpnQuery),
    /// A query in CQL, as typed.
    Cql(String),
}

impl AskedQuery {
    /// Returns the query if it is of type 1.
    pub(crate) fn as_rpn(&self) -> Option<&RpnQuery> {
        match self {
            Self::Rpn(query) => Some(query),
            Self::Cql(_) => None,
        }
    }
}

impl fmt::Display for AskedQuery {
    /// Writes the query in PQF or in CQL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpn(query) => query.fmt(f),
            Self::Cql(text) => f.write_str(text),
        }
    }
}

/// A query, and the keys for sorting its result.
pub(crate) struct SortedQuery {
    /// The query. If it is CQL with indexes that only its server knows, the error is the reason why it is not a type-1
    /// query.
    pub(crate) query: Result<RpnQuery, String>,
    /// The query as typed, for SRU servers; `None` if it is not in CQL.
    pub(crate) cql: Option<String>,
    /// The sort keys, most important first.
    pub(crate) keys: Vec<SortKeySpec>,
    /// A note on the interpretation of the query.
    pub(crate) remark: Option<String>,
}

/// A parser for queries. If no language is set, [`Language::of_typed`] determines the language of each query.
pub(crate) struct QueryReader {
    dialects: Dialects,
    lang: Option<Language>,
}

impl QueryReader {
    /// Creates a parser. Tables that the arguments name are read and replace the tables of `dialects`.
    pub(crate) fn new(dialects: &Dialects, arguments: &QueryLanguage) -> Result<Self, Failure> {
        Ok(Self {
            dialects: read_tables(dialects.clone(), &arguments.tables)?,
            lang: arguments.lang,
        })
    }

    /// Parses the query of a search, and returns it with its sort keys and a note on its interpretation.
    pub(crate) fn read_sorted(&self, text: &[u8]) -> Result<SortedQuery, String> {
        read_sorted(&self.dialects, self.lang, text_of_query(text)?)
    }

    /// Parses a query, and returns it with a note on its interpretation.
    pub(crate) fn read(&self, text: &[u8]) -> Result<(RpnQuery, Option<String>), String> {
        read(&self.dialects, self.lang, text_of_query(text)?)
    }
}

fn text_of_query(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|error| {
        format!(
            "octet {} of the query is not UTF-8",
            error.valid_up_to() + 1
        )
    })
}

/// Parses a query like [`read`], and also returns the sort keys of a query in CQL.
pub(crate) fn read_sorted(
    dialects: &Dialects,
    lang: Option<Language>,
    text: &str,
) -> Result<SortedQuery, String> {
    let guess = guessed(lang, text);
    let (language, text) = lang.map_or_else(|| Language::of_typed(text), |lang| (lang, text));
    let is_cql = language == Language::Cql && cql::parse(text).is_ok();
    let query = read(dialects, Some(language), text).and_then(|(query, remark)| {
        let keys = dialects
            .sort_keys(language, text)
            .map_err(|error| pointed_out(&error, text))?;
        Ok((query, keys, remark))
    });
    let (query, keys, remark) = match query {
        Ok((query, keys, remark)) => (Ok(query), keys, remark),
        Err(words) if is_cql => (Err(words), Vec::new(), None),
        Err(words) => return Err(words),
    };
    Ok(SortedQuery {
        query,
        cql: is_cql.then(|| text.to_owned()),
        keys,
        remark: remark.filter(|words| words != SORT_LEFT_OUT).or(guess),
    })
}

/// Parses a query in the given language or, if none is given, in the language that [`Language::of_typed`] determines.
/// Also returns a note on its interpretation.
pub(crate) fn read(
    dialects: &Dialects,
    lang: Option<Language>,
    text: &str,
) -> Result<(RpnQuery, Option<String>), String> {
    let guess = guessed(lang, text);
    let (language, text) = match lang {
        Some(lang) => (lang, text),
        None => Language::of_typed(text),
    };
    let query = dialects.read(language, text);
    let query = query.map_err(|error| refused(&error, language, text))?;
    let remark = remark(dialects, language, text);
    Ok((query, remark.or(guess)))
}

/// Returns a note if the text is interpreted as CQL although it is not marked as CQL.
fn guessed(lang: Option<Language>, text: &str) -> Option<String> {
    let is_guess = lang.is_none() && Language::prefixed(text).is_none();
    (is_guess && Language::of_typed(text).0 == Language::Cql).then(|| {
        "interpreted as a CQL query; the prefix names: makes it words with index names".to_owned()
    })
}

/// Returns the message for an invalid query, which shows the place of the error.
pub(crate) fn pointed_out(error: &QueryError, text: &str) -> String {
    if text.trim().is_empty() {
        "the query is empty".to_owned()
    } else {
        let hint = match error.kind {
            QueryErrorKind::Index { nearest: None, .. } => LISTED,
            _ => "",
        };
        format!(
            "{}{hint}\n{}",
            error.described(text),
            error.pointed_out(text).trim_end()
        )
    }
}

/// Returns the message for an invalid query. If the query contains a comparison, the message shows how to write it in
/// this language.
fn refused(error: &QueryError, language: Language, text: &str) -> String {
    let words = pointed_out(error, text);
    match comparisons::form(language, text).filter(|form| !text.contains(form)) {
        Some(form) => format!("{words}\na comparison is written {form}"),
        None => words,
    }
}

/// The hint for an index name that is not similar to any known name.
const LISTED: &str = "; z3950 query indexes lists the names";

/// Returns a note on the interpretation of a query.
fn remark(dialects: &Dialects, language: Language, text: &str) -> Option<String> {
    match language {
        Language::Names => comparisons::remark(language, text).or_else(|| misread(text)),
        _ if dialects.sorts(language, text) => Some(SORT_LEFT_OUT.to_owned()),
        _ => comparisons::remark(language, text),
    }
}

/// Returns a note about the first word that seems to belong to another query language, such as `ti=war` or `@attr`.
fn misread(text: &str) -> Option<String> {
    let is_index = |name: &str| Names::default().attributes(name).is_ok();
    // Skip text in quotation marks, which is meant literally.
    for part in text.split('"').step_by(2) {
        let words =
            part.split(|character: char| character.is_whitespace() || "()".contains(character));
        let mut before = "";
        for word in words.filter(|word| !word.is_empty()) {
            if ["@attr", "@and", "@or", "@not"].contains(&word) {
                return Some(format!(
                    "{word} is searched for as a word: a PQF query begins with @, or with the prefix pqf:"
                ));
            }
            let end = word.find(['=', '<', '>']);
            if let Some((name, rest)) = end.and_then(|end| word.split_at_checked(end)) {
                // In this query language, index names have no dot. A name without a dot can be compared, as in year>1900.
                let is_compared = !rest.starts_with('=') && !name.contains('.') && !name.is_empty();
                if is_compared && is_index(name) || name.ends_with(':') {
                    continue;
                }
                let name = if name.is_empty() { before } else { name };
                let index = name.rsplit('.').next().unwrap_or_default();
                if is_index(index) {
                    let meant = comparisons::form(Language::Names, word).unwrap_or_else(|| {
                        format!("{index}:{}", rest.trim_start_matches(['=', '<', '>']))
                    });
                    return Some(format!(
                        "{word} is searched for as a word: {meant} searches the index {index}, and the prefix ccl: reads a CCL query"
                    ));
                }
            }
            before = word;
        }
    }
    None
}

/// Replaces tables with those in the given files.
pub(crate) fn read_tables(mut dialects: Dialects, arguments: &Tables) -> Result<Dialects, Failure> {
    if let Some(path) = &arguments.properties {
        let properties = Properties::parse(&file(path)?);
        dialects.properties = Some(properties.map_err(|error| unusable(path, &error))?);
    }
    if let Some(path) = &arguments.bib {
        let bib = Bib::parse(&file(path)?);
        dialects.bib = Some(bib.map_err(|error| unusable(path, &error))?);
    }
    Ok(dialects)
}

fn file(path: &Path) -> Result<String, Failure> {
    input::read_text(path, MAX_FILE).map_err(|error| unusable(path, &error))
}

fn unusable(path: &Path, error: &impl ToString) -> Failure {
    Failure::Input {
        path: path.display().to_string(),
        error: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_d16_words_of_another_language_are_remarked() {
        for (text, words) in [
            (
                "ti=war",
                "ti=war is searched for as a word: ti:war searches",
            ),
            (
                "dog title=war",
                "title=war is searched for as a word: title:war",
            ),
            (
                "ti=\"war and peace\"",
                "ti= is searched for as a word: ti: searches",
            ),
            ("(ti = war)", "= is searched for as a word: ti: searches"),
            (
                "dc.title=war",
                "dc.title=war is searched for as a word: title:war",
            ),
            (
                "dc.date>1900",
                "dc.date>1900 is searched for as a word: date:>1900",
            ),
            ("date>1900", ""),
            ("date:>1900", ""),
            ("war @attr 1=4 x", "@attr is searched for as a word"),
            ("ti:war au:tolstoy", ""),
            ("e=mc2", ""),
            ("\"ti=war\"", ""),
            ("a = b", ""),
            ("war and peace", ""),
        ] {
            let remark = remark(&Dialects::default(), Language::Names, text);
            match words {
                "" => assert_eq!(remark, None, "{text}"),
                words => assert!(
                    remark
                        .as_deref()
                        .is_some_and(|remark| remark.starts_with(words)),
                    "{text}: {remark:?}"
                ),
            }
        }
    }
}
