//! The command line: the definition of all commands, and the parser of arguments.

pub(crate) mod examples;
mod leading;
pub(crate) mod manual;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ColorChoice, CommandFactory, Parser, Subcommand};
use z3950::profile::Profiles;
use z3950::target::{Target, redacted};
use z3950::url::{GopherUrl, Kind, classify};
use z3950_help::{CompletionArguments, ManualArguments, width};

use self::manual::PROGRAM;
use crate::commands::convert::Convert;
use crate::commands::decode::Decode;
use crate::commands::deferred::Deferred;
use crate::commands::get::Get;
use crate::commands::lookup::Lookup;
use crate::commands::probe::Probe;
use crate::commands::query::QueryCommand;
use crate::commands::search::Search;
use crate::commands::target::AtTarget;
use crate::commands::targets::Targets;
use crate::commands::url::Url;
use crate::commands::{explain, fallback, order, plan, register, scan, update};
use crate::console::exit;
use crate::prompt::Open;
use crate::tryout::Try;

/// Search Z39.50 and SRU servers and retrieve records from them, by name or by RFC 2056 URLs.
///
/// A URL can be given instead of a command: z39.50r: and gopher: URLs run `get`, z39.50s: URLs run `open`.
#[derive(Debug, Parser)]
#[command(
    name = "z3950",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = exit::HELP, subcommand_value_name = "COMMAND|URL")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) messages: Messages,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options for every command.
#[derive(Debug, Args)]
pub(crate) struct Messages {
    /// Log what is being done; -vv names every APDU sent and received, -vvv lists their contents.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Print errors and warnings, but no notes and no progress.
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        hide_short_help = true
    )]
    pub(crate) quiet: bool,

    /// When to colour messages; overrides the NO_COLOR environment variable.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

/// A command and its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See both kinds of URL at work, with a built-in server, then try commands.
    ///
    /// A retrieval URL and a session URL are carried out at a server that this command starts on a free port, with a small
    /// catalogue of books. Both conversations are shown as they were recorded: side by side if the terminal has 80 columns.
    /// On a terminal, the session stays open and commands are read; whatever they open, the built-in server answers.
    Try(Deferred<Try>),
    /// Retrieve the records that z39.50r URLs name.
    Get(Deferred<Get>),
    /// Open a session and read commands from the terminal or a pipe.
    ///
    /// At the prompt, `help` lists the commands. Lines entered at a terminal are kept in ~/.z3950_history; set the
    /// environment variable Z3950_HISTORY to another file, or to nothing to keep no history.
    Open(Deferred<Open>),
    /// Search one or more targets and show the records found.
    Search(Deferred<Search>),
    /// List the terms of an index around a given term.
    Scan(Deferred<AtTarget<scan::Arguments>>),
    /// Find records by ISBN, ISSN, LCCN, OCLC number, control number or docid.
    Lookup(Deferred<Lookup>),
    /// Insert, replace or delete records in a database.
    Update(Deferred<AtTarget<update::Arguments>>),
    /// Order a document found by a search or described in a request file.
    Order(Deferred<AtTarget<order::Arguments>>),
    /// Show what a server says about its databases, by Explain or SRU.
    Explain(Deferred<AtTarget<explain::Arguments>>),
    /// Test what a server supports, one feature at a time.
    Probe(Deferred<Probe>),
    /// Manage target profiles: list, show, add, remove and check them.
    #[command(subcommand)]
    Targets(Targets),
    /// Show what a URL would send to the server, without connecting.
    Plan(Deferred<plan::Arguments>),
    /// Decode captured APDUs and list their contents.
    Decode(Deferred<Decode>),
    /// Convert record files to other formats, or check them.
    Convert(Deferred<Convert>),
    /// Parse, build, compare and check URLs.
    #[command(subcommand)]
    Url(Url),
    /// Parse and explain queries, or translate them into another query language.
    #[command(subcommand)]
    Query(QueryCommand),
    /// Make this program the desktop's handler for z39.50s and z39.50r links.
    Register(Deferred<register::Arguments>),
    /// Undo what `register` did.
    Unregister,
    /// Print a shell completion script.
    Completions(CompletionArguments),
    /// Print the manual page for the program, a command or a topic.
    Man(ManualArguments),
}

impl Cli {
    /// Parses the arguments of the process. If a URL is given without a command, the command for its scheme is added.
    ///
    /// # Errors
    /// The error from clap, which may also be the help or version to print.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        if let Some(command) = implied_command(arguments.get(1..).unwrap_or_default()) {
            arguments.insert(1, command.into());
        }
        leading::rename(&mut arguments);
        leading::settle(&mut arguments);
        fallback::complete(&mut arguments);
        Self::try_parse_from(&arguments).map_err(|error| {
            let answer = match error.kind() {
                ErrorKind::DisplayHelp => PROGRAM.answer(&arguments, false, width()),
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                    PROGRAM.answer(&arguments, true, width())
                }
                ErrorKind::InvalidSubcommand => no_command(&error, &arguments),
                _ => None,
            };
            answer.unwrap_or(error)
        })
    }
}

/// Returns the error for a word that is in the place of a command, but is a target or a misspelt command.
fn no_command(error: &clap::Error, arguments: &[OsString]) -> Option<clap::Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let name = redacted(word);
    let is_named = || Profiles::built_in().named(word).is_some();
    let is_target = || word.contains(['.', '/', ':', '@']) && word.parse::<Target>().is_ok();
    let mut definition = Cli::command();
    definition.build();
    // If a subcommand is misspelt, the error shows the usage of the outer command.
    let outer = arguments.get(1).and_then(|first| first.to_str());
    let outer = outer.filter(|outer| {
        let command = definition.find_subcommand(outer);
        command.is_some_and(|command| command.has_subcommands() && *outer != "help")
    });
    let message = if outer.is_none() && (is_named() || is_target()) {
        let demo = arguments.iter().any(|argument| argument == "--demo");
        let demo = if demo { "--demo " } else { "" };
        format!(
            "{name} is a target, not a command: `z3950 {demo}search {name} QUERY` searches it, `z3950 {demo}open {name}` opens \
             a session with it, and `z3950 get URL` retrieves a record"
        )
    } else {
        let path = outer.map_or("z3950".to_owned(), |outer| format!("z3950 {outer}"));
        let nearest = match error.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::Strings(names)) => names.first(),
            Some(ContextValue::String(name)) => Some(name),
            _ => None,
        };
        let hint = match nearest {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("`{path} --help` lists the commands"),
        };
        format!("{name} is not a command of {path}; {hint}")
    };
    let definition = match outer {
        Some(outer) => definition.find_subcommand_mut(outer)?,
        None => &mut definition,
    };
    Some(definition.error(ErrorKind::InvalidSubcommand, message))
}

/// Returns the command `get` or `open`, if a URL comes before any name of a command.
fn implied_command(arguments: &[OsString]) -> Option<&'static str> {
    for argument in arguments {
        if leading::is_command(argument) {
            return None;
        }
        match classify(argument.as_encoded_bytes()) {
            Some(Kind::Retrieval) => return Some("get"),
            Some(Kind::Session) => return Some("open"),
            None if GopherUrl::has_scheme(argument.as_encoded_bytes()) => return Some("get"),
            None => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::CommandFactory;
    use z3950_help::{BRIEF_LINES, WIDTH};

    use super::*;
    use crate::commands::options::Wait;

    fn arguments(line: &str) -> impl Iterator<Item = OsString> {
        let words = std::iter::once("z3950").chain(line.split_whitespace());
        words.map(OsString::from)
    }

    fn read(line: &str) -> Result<Cli, clap::Error> {
        Cli::read(arguments(line))
    }

    /// Returns a page of help for a terminal of this width.
    fn page(line: &str, width: usize) -> String {
        let arguments: Vec<OsString> = arguments(line).collect();
        let page = PROGRAM.answer(&arguments, false, width).expect(line);
        assert_eq!(page.kind(), ErrorKind::DisplayHelp, "{line}");
        page.to_string()
    }

    #[test]
    fn help_fits_into_terminals_of_any_width() {
        for (columns, expected) in [(0, 52), (20, 52), (60, 60), (80, 80), (100, 100)] {
            let page = page("search --help", columns);
            // Descriptions are wrapped in a separate column, except words that are longer than the column is wide.
            let described = page
                .lines()
                .filter(|line| line.starts_with(&" ".repeat(30)) && line.trim().contains(' '));
            let widest = described.map(|line| line.chars().count()).max();
            assert!(widest > Some(expected - 10), "{columns}: {page}");
            assert!(widest <= Some(expected), "{columns}: {page}");
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_url_alone_is_a_command() {
        for (line, get) in [
            ("z39.50r://h/d?x", true),
            ("Z39.50R://h/d?x --format raw", true),
            ("Gopher://h/0x", true),
            ("--demo --timeout 5 --format raw z39.50r://h/d?x", true),
            ("get z39.50s://h/d", true),
            ("z39.50s://h/d --stop-on-error", false),
            ("URL:z39.50s://%%% -vv", false),
            ("open z39.50r://h/d?x", false),
        ] {
            let cli = read(line).expect(line);
            assert_eq!(matches!(cli.command, Command::Get(_)), get, "{line}");
        }
        assert!(read("http://h/").is_err());
        assert!(read("get").is_err());
    }

    #[test]
    fn times_are_seconds_with_decimals_and_0_means_no_limit() {
        let cli = read("--timeout 0.25 --connect-timeout 0 get z39.50r://h/d?x").expect("valid");
        let Command::Get(get) = cli.command else {
            panic!("{cli:?}");
        };
        let network = &get.connection.network;
        assert_eq!(network.timeout, Wait(Some(Duration::from_millis(250))));
        assert_eq!(network.connect_timeout, Wait(None));
        assert_eq!(network.deadline, Wait(None));
        for bad in ["-1", "x", "1e30", "NaN"] {
            assert!(
                read(&format!("--timeout={bad} get z39.50r://h/d?x")).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn audit_d13_commands_take_only_the_options_they_use() {
        for (options, lines) in [
            (
                "--insecure --proxy none --timeout 3 --demo",
                [
                    "get z39.50r://h/d?x",
                    "open h/d",
                    "search h/d war",
                    "scan h/d war",
                    "lookup h/d 1",
                    "update h/d insert f",
                    "order h/d war",
                    "probe h/d",
                    "targets check h/d",
                    "url check z39.50r://h/d?x",
                ]
                .as_slice(),
            ),
            (
                "--targets f",
                &[
                    "targets list",
                    "targets show x",
                    "targets path",
                    "plan z39.50r://h/d?x",
                ],
            ),
            ("--user me", &["targets add x h/d", "plan z39.50r://h/d?x"]),
            ("-v --color never", &["man", "convert", "query explain war"]),
        ] {
            for line in lines {
                read(&format!("{line} {options}")).expect(line);
                read(&format!("{options} {line}")).expect(line);
            }
        }
        for line in [
            "convert",
            "man",
            "unregister",
            "register",
            "completions bash",
            "decode f",
            "plan z39.50r://h/d?x",
            "query explain war",
            "url parse x:y",
            "url canon x:y",
            "url compare x:y x:z",
            "url wrap x:y",
            "url resolve x:y z",
            "url extract",
            "targets list",
            "targets show x",
            "targets path",
        ] {
            for option in ["--demo", "--insecure", "--proxy=none", "--timeout=3"] {
                for line in [format!("{line} {option}"), format!("{option} {line}")] {
                    let error = read(&line).expect_err(&line);
                    assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{line}");
                }
            }
        }
    }

    #[test]
    fn audit_d13_help_is_short_and_begins_with_examples() {
        for (line, longest) in [
            ("search -h", BRIEF_LINES),
            ("search --help", 210),
            ("help search", 210),
            ("convert --help", 110),
            ("man --help", 25),
        ] {
            let page = page(line, WIDTH);
            assert!(
                page.lines().count() <= longest,
                "{line} has {} lines",
                page.lines().count()
            );
            let at = |words: &str| {
                page.find(words)
                    .unwrap_or_else(|| panic!("{words} in {page}"))
            };
            assert!(at("\nUsage: z3950 ") < at("\nExamples:\n"), "{page}");
            assert!(at("\nExamples:\n") < at("\nOptions:\n"), "{page}");
            assert!(
                page.lines()
                    .all(|line| line.trim_start().starts_with("z3950 ")
                        || line.chars().count() <= 100),
                "{page}"
            );
        }
        let brief = page("search -h", WIDTH);
        assert!(!brief.contains("--password-env") && brief.contains("z3950 search --help"));
    }
}
