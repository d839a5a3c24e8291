//! `z3950 query`: queries as texts, in PQF, CCL, CQL or words (Z39.50-2003 §3.7); nothing here connects.

use std::ffi::OsStr;
use std::path::Path;

use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::input;
use z3950_asn1::query::ccl::Bib;
use z3950_asn1::query::cql::Properties;
use z3950_asn1::query::names::Names;
use z3950_asn1::query::{Dialects, Language, QueryError, explain, tree};

use crate::args::{self, Lang, Query, QueryText, Tables};
use crate::console::envelope::answer;
use crate::console::exit::Exit;
use crate::console::output::{Failure, Output};

/// The longest file of properties or qualifiers read, in octets.
const MAX_FILE: u64 = 1 << 20;

/// What is said of a CQL query with sort keys.
pub(crate) const SORT_LEFT_OUT: &str = "an RPN query has no place for sortby, which is left out";

pub(crate) fn run(command: &Query, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Query::Parse(text) => shown(text, output, |_, query| Ok((None, Some(tree(query))))),
        Query::ToPqf(text) => shown(text, output, |_, query| Ok((Some(query.to_string()), None))),
        Query::ToCql(text) => shown(text, output, |dialects, query| {
            let cql = dialects.to_cql(query).map_err(|error| error.to_string())?;
            Ok((Some(cql), None))
        }),
        Query::ToCcl(text) => shown(text, output, |dialects, query| {
            let ccl = dialects.to_ccl(query).map_err(|error| error.to_string())?;
            Ok((Some(ccl), None))
        }),
        Query::Explain(text) => shown(text, output, |_, query| {
            Ok((Some(explain(query)), Some(tree(query))))
        }),
    }
}

/// What a command makes of a query: a text, a tree, or both.
type Made = (Option<String>, Option<String>);

/// Reads the query and writes what `show` makes of it, or why it makes nothing.
fn shown(
    arguments: &QueryText,
    output: &mut Output,
    show: impl Fn(&Dialects, &RpnQuery) -> Result<Made, String>,
) -> Result<Exit, Failure> {
    let reader = Reader::new(&arguments.language)?;
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
            Err(words) => (Made::default(), Some(words)),
        };
        let (result, tree) = made;
        let text = crate::render::shown(text);
        let lang = match arguments.language.lang {
            Some(lang) => language(lang),
            None => guessed(&text).0,
        };
        let answer = answer(&[
            ("lang", lang.name().into()),
            ("text", text.into()),
            ("query", query.into()),
            ("result", result.into()),
            ("tree", tree.into()),
            ("message", message.into()),
        ]);
        output.line(&answer.to_string())?;
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

/// The query that a text of the command line asks for.
pub(crate) fn asked(
    text: &OsStr,
    arguments: &args::Language,
    dialects: &Dialects,
    output: &Output,
) -> Result<Option<RpnQuery>, Failure> {
    let read = Reader::over(dialects, arguments)?.read(text.as_encoded_bytes());
    Ok(said(read, output))
}

/// Reads queries, by default PQF behind `@` and else words.
pub(crate) struct Reader {
    dialects: Dialects,
    lang: Option<Lang>,
}

impl Reader {
    /// Reads the tables that the arguments name; those built in take the place of others.
    pub(crate) fn new(arguments: &args::Language) -> Result<Self, Failure> {
        Self::over(&Dialects::default(), arguments)
    }

    /// The same, with the tables of `dialects` in the place of others.
    pub(crate) fn over(dialects: &Dialects, arguments: &args::Language) -> Result<Self, Failure> {
        Ok(Self {
            dialects: read_tables(dialects.clone(), &arguments.tables)?,
            lang: arguments.lang,
        })
    }

    /// The query that a text asks for, and what people should know of how it was read; or what is wrong with it.
    pub(crate) fn read(&self, text: &[u8]) -> Result<(RpnQuery, Option<String>), String> {
        let text = std::str::from_utf8(text)
            .map_err(|error| format!("octet {} of the query is not UTF-8", error.valid_up_to()))?;
        let (language, text) = match self.lang {
            Some(lang) => (language(lang), text),
            None => guessed(text),
        };
        let query = self
            .dialects
            .read(language, text)
            .map_err(|error| pointed_out(&error, text))?;
        Ok((query, remark(&self.dialects, language, text)))
    }
}

/// What is wrong with a query, and where in it.
pub(crate) fn pointed_out(error: &QueryError, text: &str) -> String {
    match text.trim().is_empty() {
        true => "the query is empty".to_owned(),
        false => format!("{error}\n{}", error.pointed_out(text).trim_end()),
    }
}

/// The language of a text, and the text without the prefix that may name it; else it is PQF behind `@`, and words.
pub(crate) fn guessed(text: &str) -> (Language, &str) {
    prefixed(text).unwrap_or_else(|| match text.trim_ascii_start().starts_with('@') {
        true => (Language::Pqf, text),
        false => (Language::Names, text),
    })
}

/// The language that a prefix such as `ccl:` names, and the text behind it.
pub(crate) fn prefixed(text: &str) -> Option<(Language, &str)> {
    let (name, rest) = text.split_once(':')?;
    let language = Language::ALL
        .into_iter()
        .find(|language| language.name().eq_ignore_ascii_case(name.trim_start()))?;
    Some((language, rest.trim_start()))
}

/// What people should know of how a query was read.
pub(crate) fn remark(dialects: &Dialects, language: Language, text: &str) -> Option<String> {
    match language {
        Language::Names => misread(text),
        _ => dialects
            .sorts(language, text)
            .then(|| SORT_LEFT_OUT.to_owned()),
    }
}

/// The first word that looks as if it was meant in another language than that of words: `ti=war`, `@attr`.
fn misread(text: &str) -> Option<String> {
    let is_index = |name: &str| Names::default().attributes(name).is_ok();
    // What stands within quotes is meant as it is.
    for part in text.split('"').step_by(2) {
        let words =
            part.split(|character: char| character.is_whitespace() || "()".contains(character));
        let mut before = "";
        for word in words.filter(|word| !word.is_empty()) {
            if ["@attr", "@and", "@or", "@not"].contains(&word) {
                return Some(format!(
                    "{word} is searched for as a word: a query in PQF begins with @, or with the prefix pqf:"
                ));
            }
            let end = word.find(['=', '<', '>']);
            if let Some((name, rest)) = end.and_then(|end| word.split_at_checked(end)) {
                let name = if name.is_empty() { before } else { name };
                let index = name.rsplit('.').next().unwrap_or_default();
                if is_index(index) {
                    let term = rest.trim_start_matches(['=', '<', '>']);
                    return Some(format!(
                        "{word} is searched for as a word: {index}:{term} searches the index {index}, and the prefix ccl: \
                         reads a query in CCL"
                    ));
                }
            }
            before = word;
        }
    }
    None
}

/// A query that was read; says how, or what is wrong with it.
fn said(read: Result<(RpnQuery, Option<String>), String>, output: &Output) -> Option<RpnQuery> {
    match read {
        Ok((query, remark)) => {
            remark.inspect(|words| output.note(words));
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

/// These tables, with those of the files given in their place.
fn read_tables(mut dialects: Dialects, arguments: &Tables) -> Result<Dialects, Failure> {
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
                "date>1900",
                "date>1900 is searched for as a word: date:1900",
            ),
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

    #[test]
    fn a_prefix_names_the_language() {
        for (text, language) in [
            ("@attr 1=4 war", Language::Pqf),
            (" @attr 1=4 war", Language::Pqf),
            ("ti:war", Language::Names),
            ("CCL: ti=war", Language::Ccl),
            ("cql:title=war", Language::Cql),
        ] {
            assert_eq!(guessed(text).0, language, "{text}");
        }
    }
}
