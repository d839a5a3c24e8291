//! The commands of the prompt: one table of names, arguments and help, in the order of yaz-client's; a prefix
//! takes the first command in it that begins so.

use crate::cli::Exit;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Open(String),
    Quit,
    Find(String),
    /// No names: show those in use.
    Base(Vec<String>),
    Show(Option<Span>),
    Close,
    /// The preferred record syntax; `None` shows the one in use.
    Format(Option<String>),
    /// The element set; `None` shows the one in use.
    Elements(Option<String>),
    /// How `find` takes its text; `None` shows it.
    Querytype(Option<String>),
    /// Of one command, or of all.
    Help(Option<&'static Entry>),
}

/// Positions of a result set, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) count: u64,
}

/// A line that is no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("there is no command {0}; help lists them")]
    Unknown(String),
    #[error("usage: {0}")]
    Usage(String),
    #[error("the line is not UTF-8 from octet {0} on")]
    Malformed(usize),
}

impl CommandError {
    pub(super) fn exit(&self) -> Exit {
        Exit::Usage
    }
}

/// A command of the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    arguments: &'static str,
    pub(super) summary: &'static str,
    examples: &'static [&'static str],
    parse: Parse,
}

#[derive(Debug, PartialEq, Eq)]
enum Parse {
    Open,
    Quit,
    Find,
    Base,
    Show,
    Close,
    Format,
    Elements,
    Querytype,
    Help,
}

pub(super) const TABLE: &[Entry] = &[
    Entry {
        name: "open",
        arguments: "URL",
        summary: "open the session of a z39.50s URL, or take up the one already open there",
        examples: &[
            "open z39.50s://lib.example/cat",
            "open z39.50s://lib.example:2100/cat+maps;rs=sutrs",
        ],
        parse: Parse::Open,
    },
    Entry {
        name: "quit",
        arguments: "",
        summary: "close the session and leave",
        examples: &[],
        parse: Parse::Quit,
    },
    Entry {
        name: "exit",
        arguments: "",
        summary: "the same as quit",
        examples: &[],
        parse: Parse::Quit,
    },
    Entry {
        name: "find",
        arguments: "QUERY",
        summary: "search for words, or by a query in PQF, CCL or CQL",
        examples: &[
            "find war peace",
            "find \"war and peace\"",
            "find ti:war au:tolstoy",
            "find @attr 1=4 war",
            "find @and @attr 1=4 war @attr 1=1003 tolstoy",
            "find ccl: ti=war and au=tolstoy",
            "find cql: dc.title=war and dc.creator=tolstoy",
        ],
        parse: Parse::Find,
    },
    Entry {
        name: "base",
        arguments: "[DATABASE...]",
        summary: "name the databases to search, or show them",
        examples: &["base books", "base books serials"],
        parse: Parse::Base,
    },
    Entry {
        name: "show",
        arguments: "[N[+M]]",
        summary: "show the next record, record N, or M records from N on",
        examples: &["show", "show 3", "show 1+10"],
        parse: Parse::Show,
    },
    Entry {
        name: "format",
        arguments: "[SYNTAX|none]",
        summary: "name the record syntax to ask for, or show it",
        examples: &[
            "format usmarc",
            "format sutrs",
            "format 1.2.840.10003.5.109.10",
            "format none",
        ],
        parse: Parse::Format,
    },
    Entry {
        name: "elements",
        arguments: "[NAME|none]",
        summary: "name the element set to ask for, or show it",
        examples: &["elements F", "elements B", "elements none"],
        parse: Parse::Elements,
    },
    Entry {
        name: "querytype",
        arguments: "[TYPE]",
        summary: "name the language of queries: auto, prefix, ccl, ccl2rpn, cql, cql2rpn or names; or show it",
        examples: &["querytype ccl2rpn", "querytype cql", "querytype auto"],
        parse: Parse::Querytype,
    },
    Entry {
        name: "close",
        arguments: "",
        summary: "close the session and stay at the prompt",
        examples: &[],
        parse: Parse::Close,
    },
    Entry {
        name: "help",
        arguments: "[COMMAND]",
        summary: "list the commands, or explain one",
        examples: &["help find"],
        parse: Parse::Help,
    },
];

impl Entry {
    /// `show [N[+M]]`
    pub(super) fn usage(&self) -> String {
        match self.arguments {
            "" => self.name.to_owned(),
            arguments => format!("{} {arguments}", self.name),
        }
    }

    /// Usage, summary and examples, a line each.
    pub(super) fn help(&self) -> String {
        let mut lines = vec![self.usage(), format!("  {}", self.summary)];
        lines.extend(
            self.examples
                .iter()
                .map(|example| format!("  e.g. {example}")),
        );
        lines.join("\n")
    }

    fn parse(&self, arguments: &str) -> Result<Command, CommandError> {
        let one = || (!arguments.is_empty()).then(|| arguments.to_owned());
        let command = match self.parse {
            Parse::Open => one().map(Command::Open),
            Parse::Find => one().map(Command::Find),
            Parse::Quit if arguments.is_empty() => Some(Command::Quit),
            Parse::Close if arguments.is_empty() => Some(Command::Close),
            Parse::Base => Some(Command::Base(
                arguments.split_whitespace().map(str::to_owned).collect(),
            )),
            Parse::Show if arguments.is_empty() => Some(Command::Show(None)),
            Parse::Show => span(arguments).map(|span| Command::Show(Some(span))),
            Parse::Format if !arguments.contains(' ') => Some(Command::Format(one())),
            Parse::Elements if !arguments.contains(' ') => Some(Command::Elements(one())),
            Parse::Querytype if !arguments.contains(' ') => Some(Command::Querytype(one())),
            Parse::Help if arguments.is_empty() => Some(Command::Help(None)),
            Parse::Help => Some(Command::Help(Some(entry(arguments)?))),
            _ => None,
        };
        command.ok_or_else(|| CommandError::Usage(self.usage()))
    }
}

/// Reads a line; `Ok(None)` if there is nothing on it but blanks or a comment (`# …`).
pub(super) fn parse(line: &str) -> Result<Option<Command>, CommandError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    entry(name)?.parse(arguments.trim()).map(Some)
}

fn entry(name: &str) -> Result<&'static Entry, CommandError> {
    let lower = name.to_ascii_lowercase();
    TABLE
        .iter()
        .find(|entry| entry.name == lower)
        .or_else(|| TABLE.iter().find(|entry| entry.name.starts_with(&lower)))
        .ok_or_else(|| CommandError::Unknown(name.to_owned()))
}

/// `N` or `N+M`, both from 1.
fn span(text: &str) -> Option<Span> {
    let (start, count) = text.split_once('+').unwrap_or((text, "1"));
    let number = |text: &str| text.trim().parse().ok().filter(|&number: &u64| number > 0);
    Some(Span {
        start: number(start)?,
        count: number(count)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        for (line, command) in [
            ("", None),
            ("  # a remark", None),
            ("quit", Some(Command::Quit)),
            ("EXIT", Some(Command::Quit)),
            (
                "f  @attr 1=4 war ",
                Some(Command::Find("@attr 1=4 war".into())),
            ),
            ("find \"a  b\"", Some(Command::Find("\"a  b\"".into()))),
            ("base", Some(Command::Base(vec![]))),
            (
                "base books serials",
                Some(Command::Base(vec!["books".into(), "serials".into()])),
            ),
            ("s", Some(Command::Show(None))),
            (
                "show 3",
                Some(Command::Show(Some(Span { start: 3, count: 1 }))),
            ),
            (
                "show 3+10",
                Some(Command::Show(Some(Span {
                    start: 3,
                    count: 10,
                }))),
            ),
            ("fo usmarc", Some(Command::Format(Some("usmarc".into())))),
            ("e", Some(Command::Quit)),
            ("el F", Some(Command::Elements(Some("F".into())))),
            ("q", Some(Command::Quit)),
            ("querytype", Some(Command::Querytype(None))),
            (
                "que cql2rpn",
                Some(Command::Querytype(Some("cql2rpn".into()))),
            ),
            ("close", Some(Command::Close)),
            ("help", Some(Command::Help(None))),
        ] {
            assert_eq!(parse(line), Ok(command), "{line:?}");
        }
    }

    #[test]
    fn other_lines_say_what_is_wrong() {
        for (line, message) in [
            ("fund war", "there is no command fund; help lists them"),
            ("find", "usage: find QUERY"),
            ("show 0", "usage: show [N[+M]]"),
            ("show 1+0", "usage: show [N[+M]]"),
            ("show -1", "usage: show [N[+M]]"),
            ("show 99999999999999999999", "usage: show [N[+M]]"),
            ("quit now", "usage: quit"),
            ("format a b", "usage: format [SYNTAX|none]"),
            (
                "help nothing",
                "there is no command nothing; help lists them",
            ),
        ] {
            assert_eq!(parse(line).expect_err(line).to_string(), message);
        }
    }

    #[test]
    fn every_example_is_a_command() {
        for example in TABLE.iter().flat_map(|entry| entry.examples) {
            assert!(matches!(parse(example), Ok(Some(_))), "{example}");
        }
    }
}
