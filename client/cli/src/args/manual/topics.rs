//! The manual pages on topics: record formats, and queries. They contain the text that the help for several options
//! would otherwise repeat.

use clap::{Arg, CommandFactory, ValueEnum};
use z3950_asn1::bib1::attributes::use_name;
use z3950_asn1::query::names::TABLE;
use z3950_help::{Block, Section};

use crate::args::Cli;
use crate::render::Format;

/// Returns the sections of z3950-formats(7).
pub(super) fn formats() -> Vec<Section> {
    let formats = Format::value_variants().iter();
    let formats = formats.filter_map(|format| {
        let value = format.to_possible_value()?;
        Some(Block::row(value.get_name(), help(value.get_help())))
    });
    vec![
        Section::new("Description", vec![Block::paragraph(FORMATS)]),
        Section::new("Formats", formats.collect()),
        Section::new(
            "Files",
            FILES
                .map(|(name, format)| Block::row(name, file(format)))
                .into(),
        ),
        Section::new(
            "Tables",
            vec![
                Block::paragraph(option("search", "fields")),
                Block::paragraph(option("search", "row_per_copy")),
            ],
        ),
        Section::new(
            "Character sets",
            vec![
                Block::paragraph(CHARACTER_SETS),
                Block::row("--charset", option("convert", "charset")),
                Block::row("--to-charset", option("convert", "to_charset")),
            ],
        ),
    ]
}

const FORMATS: &str = "\
The option --format (-f) of the commands that write records chooses their format. Whatever a library sends is written in UTF-8. \
z3950 convert has no raw format, since raw octets are what a server sends.";

const FILES: [(&str, &str); 8] = [
    (".mrc, .marc", "marc"),
    (".xml", "marcxml"),
    (".json, .jsonl", "json"),
    (".csv", "csv"),
    (".tsv", "tsv"),
    (".mrk", "mrk"),
    (".txt", "text"),
    ("others", ""),
];

/// Returns a sentence about how a format is written to a file.
fn file(format: &str) -> String {
    match format {
        "" => "Refused, unless --format is given. Without --output, standard output has text."
            .to_owned(),
        format => format!("Written as {format}."),
    }
}

const CHARACTER_SETS: &str = "\
The character set of a record is the one that it declares, unless the record is valid UTF-8. Names of character sets are utf-8, \
marc-8, iso-8859-1, iso-5426 and others.";

/// Returns the sections of z3950-queries(7).
pub(super) fn queries() -> Vec<Section> {
    let languages = argument("search", "lang").get_possible_values();
    let languages = languages.iter();
    let languages = languages.map(|value| Block::row(value.get_name(), help(value.get_help())));
    let languages = std::iter::once(Block::paragraph(LANGUAGES)).chain(languages);
    let indexes = TABLE.iter().map(|index| {
        let names = std::iter::once(&index.name).chain(index.aliases);
        let names: Vec<&str> = names.copied().collect();
        let meaning = use_name(index.use_value).unwrap_or_default();
        let text = format!(
            "{meaning} (Use {}), as in {}",
            index.use_value, index.example
        );
        Block::row(names.join(", "), text)
    });
    let indexes = std::iter::once(Block::paragraph(INDEXES)).chain(indexes);
    vec![
        Section::new("Description", vec![Block::paragraph(QUERIES)]),
        Section::new("Languages", languages.collect()),
        Section::new("Words", WORDS.map(Block::paragraph).into()),
        Section::new("Index names", indexes.collect()),
        Section::new("Sorting", vec![Block::paragraph(option("search", "sort"))]),
    ]
}

const QUERIES: &str = "\
A query of z3950 search, lookup and other commands is made of words, which may have index names (ti:war au:tolstoy), joined by AND, OR or \
NOT in capitals and cut off with an asterisk (libr*). A query that begins with @ is PQF. In a shell, quote what has blanks, \
parentheses or asterisks.";

const LANGUAGES: &str = "\
The option --lang, or a prefix such as cql: before the query, names the language:";

const WORDS: [&str; 3] = [
    "ti:war finds war in titles, ti:\"war and peace\" a phrase, and ti:(war OR peace) either word. Words are joined by AND, OR or NOT in \
     capitals, and cut off with an asterisk (libr*).",
    "year:1850-1860, year:1850- and year:-1860 are ranges of years, and year:18?? is a century. year:>1900, year:>=1900, year:<1900 and \
     year:<=1900 compare.",
    "A text with an index and an equals sign, as in dc.title=war, is CQL if it can be read as such; the prefix names: makes it words.",
];

const INDEXES: &str = "\
These names are known in words (ti:war), in CCL and in CQL (ti=war). Words without an index name are searched in any. A server need not have \
every index; z3950 explain TARGET lists its own.";

fn help(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// Returns the definition of a command's argument.
fn argument(command: &str, id: &str) -> Arg {
    let mut program = Cli::command();
    program.build();
    let command = program.find_subcommand(command);
    let mut arguments = command.into_iter().flat_map(clap::Command::get_arguments);
    let known = arguments.find(|argument| argument.get_id() == id);
    known.cloned().unwrap_or_else(|| Arg::new("none"))
}

/// Returns the help for a command's argument.
fn option(command: &str, id: &str) -> String {
    let argument = argument(command, id);
    help(argument.get_long_help().or(argument.get_help()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_on_topics_have_texts_everywhere() {
        for section in formats().into_iter().chain(queries()) {
            assert!(!section.blocks.is_empty(), "{section:?}");
            for block in section.blocks {
                let text = match &block {
                    Block::Paragraph(text) | Block::Row { text, .. } => text.as_str(),
                    Block::Lines(_) => "lines",
                };
                assert!(!text.is_empty(), "{block:?}");
            }
        }
    }

    #[test]
    fn the_extensions_are_those_of_files() {
        for (extensions, name) in FILES.iter().take(FILES.len() - 1) {
            for extension in extensions.split(", ") {
                let path = format!("records{extension}");
                let format = Format::for_file(path.as_ref(), Format::default());
                assert_eq!(
                    format,
                    Ok(Format::by_name(name).expect(name)),
                    "{extension}"
                );
            }
        }
    }
}
