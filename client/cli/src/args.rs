//! The command line: every option of the program, and nothing that acts on it.

mod connection;
pub(crate) mod examples;
mod help;
mod leading;
mod services;
mod url;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use z3950::plan::{Hints, Strategy};
use z3950::profile::Profiles;
use z3950::target::{Target, redacted};
use z3950::url::{GopherUrl, Kind, classify};
use z3950_marc::charset::Charset;

pub(crate) use self::connection::{Connection, Identity, Known, Network};
pub(crate) use self::services::{
    Add, Asked, Check, Decode, Language, Lookup, Matches, Probe, Search, Shell, Show, TARGET,
    Targets, Wanted, syntax,
};
pub(crate) use self::url::{Build, Canon, Reading, Showing, Texts, Url};
use crate::commands::convert::Convert;
use crate::commands::scan::Scan;
use crate::console::exit;
use crate::render::Format;

/// Search Z39.50 servers and retrieve records from them, by name or by the URLs of RFC 2056.
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

/// What is said on the way: options of every command.
#[derive(Debug, Args)]
pub(crate) struct Messages {
    /// Log what is being done; -vv names every APDU sent and received, -vvv lists their contents.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When to colour messages; overrides the NO_COLOR environment variable.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

/// How records are written.
#[derive(Debug, Args)]
pub(crate) struct Records {
    /// The output format of records.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// The character set of the records, whatever they declare.
    #[arg(long, value_name = "NAME", value_parser = charset, hide_short_help = true)]
    pub(crate) charset: Option<Charset>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Retrieve the records that z39.50r URLs name.
    Get(Box<Get>),
    /// Open a session and read commands from the terminal or a pipe.
    ///
    /// At the prompt, `help` lists the commands. Lines entered at a terminal are kept in ~/.z3950_history; set the
    /// environment variable Z3950_HISTORY to another file, or to nothing to keep no history.
    Open(Box<Open>),
    /// Search one or more targets and show the records found.
    Search(Box<Search>),
    /// List the terms of an index around a given term.
    Scan(Box<Scan>),
    /// Find records by ISBN, ISSN, LCCN, OCLC number, control number or docid.
    Lookup(Box<Lookup>),
    /// Insert, replace or delete records in a database.
    Update(Box<crate::commands::update::Update>),
    /// Order a document found by a search or described in a request file.
    Order(Box<crate::commands::order::Order>),
    /// Test what a server supports, one feature at a time.
    Probe(Box<Probe>),
    /// Manage target profiles: list, show, add and check them.
    #[command(subcommand)]
    Targets(Targets),
    /// Show what a URL would send to the server, without connecting.
    Plan(Box<Plan>),
    /// Decode captured APDUs and list their contents.
    Decode(Decode),
    /// Convert files of records to other formats, or check them.
    Convert(Convert),
    /// Parse, build, compare and check URLs.
    #[command(subcommand)]
    Url(Url),
    /// Parse and explain queries, or translate them into another query language.
    #[command(subcommand)]
    Query(Query),
    /// Make this program the desktop's handler for z39.50s and z39.50r links.
    Register(crate::commands::register::Arguments),
    /// Undo what `register` did.
    Unregister,
    /// Print a shell completion script.
    Completions(Shell),
    /// Print the manual page, which covers all commands.
    Man,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Retrieval URLs: z39.50r://host[:port]/database?docid[;esn=element-set][;rs=record-syntax], or gopher URLs
    #[arg(required_unless_present = "inputs", value_name = "URL")]
    pub(crate) urls: Vec<OsString>,

    #[command(flatten)]
    pub(crate) records: Records,

    #[command(flatten)]
    pub(crate) execution: Execution,

    /// Print one JSON object per line, with the record inside.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) batch: crate::batch::Batch,

    #[command(flatten)]
    pub(crate) gopher: crate::commands::gopher::Arguments,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// A session URL, z39.50s://host[:port][/database[?docid]][;esn=element-set][;rs=record-syntax]; a retrieval URL,
    /// whose record becomes the first result; host[:port][/database]; or the name of a target. If omitted, use `open`
    /// at the prompt
    #[arg(value_name = "TARGET")]
    pub(crate) url: Option<OsString>,

    #[command(flatten)]
    pub(crate) records: Records,

    #[command(flatten)]
    pub(crate) execution: Execution,

    /// Stop at the first command that fails and exit with its exit code; a command that finds no record does not count. By default,
    /// a script runs to its end, and the program exits with the most serious exit code of its commands.
    #[arg(long)]
    pub(crate) stop_on_error: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// How a URL is carried out.
#[derive(Debug, Args)]
pub(crate) struct Execution {
    /// Accept only what RFC 2056 and RFC 1738 strictly allow.
    #[arg(long)]
    pub(crate) strict: bool,

    /// When to request the record: with the search, or always in a separate Present.
    #[arg(long, default_value = "piggyback", hide_short_help = true, value_parser = choices(&[
        ("piggyback", Strategy::Piggyback, "With the search, for exactly one hit; by Present if it did not come"),
        ("present-only", Strategy::PresentOnly, "By Present alone"),
    ]))]
    pub(crate) strategy: Strategy,

    /// How to treat the element set and record syntaxes given in a URL.
    #[arg(long, default_value = "prefer", hide_short_help = true, value_parser = choices(&[
        ("prefer", Hints::Prefer, "Followed where this client can"),
        ("require", Hints::Require, "Followed, or the URL is refused"),
        ("ignore", Hints::Ignore, "As if they were not there"),
    ]))]
    pub(crate) hints: Hints,

    /// If a session URL has exactly one hit, do not retrieve its record until `show`.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_auto_present: bool,

    /// Keep sessions open to the end, so that URLs with the same host and port share one; `open` always does.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_open: bool,

    /// Allow connections to ports below 1024 other than 210.
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_reserved_port: bool,

    /// Send the user and password given in a URL to the server.
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_url_credentials: bool,

    #[command(flatten)]
    pub(crate) fallbacks: crate::commands::fallback::Fallbacks,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// A session or retrieval URL.
    #[arg(value_name = "URL")]
    pub(crate) url: OsString,

    #[command(flatten)]
    pub(crate) execution: Execution,

    /// Also list the octets of each APDU.
    #[arg(long, conflicts_with = "json")]
    pub(crate) octets: bool,

    /// Print a JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) known: Known,

    #[command(flatten)]
    pub(crate) identity: Identity,
}

/// The words that an option takes for the values of a type of the library: word, value, help.
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

/// A character set by any of its names.
pub(crate) fn charset(text: &str) -> Result<Charset, String> {
    Charset::by_name(text).ok_or_else(|| {
        "unknown character set; known are utf-8, marc-8, iso-8859-1, iso-5426 and others".to_owned()
    })
}

/// Commands on queries as texts; none of them connects.
#[derive(Debug, Subcommand)]
pub(crate) enum Query {
    /// Show a query as a tree, with its attributes by name.
    Parse(QueryText),
    /// Translate a query into PQF, the prefix query format.
    ToPqf(QueryText),
    /// Translate a query into CQL, the Contextual Query Language.
    ToCql(QueryText),
    /// Translate a query into CCL, the Common Command Language of ISO 8777.
    ToCcl(QueryText),
    /// Describe a query in a sentence, and show it as a tree.
    Explain(QueryText),
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
    pub(crate) language: Language,
}

/// The tables by which CQL and CCL are read.
#[derive(Debug, Args)]
pub(crate) struct Tables {
    /// The pqf.properties file, as used by YAZ, that maps CQL indexes and relations to attributes.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) properties: Option<PathBuf>,

    /// The bib file, as used by YAZ, that maps CCL qualifiers to attributes.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) bib: Option<PathBuf>,
}

/// A language of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Lang {
    /// The prefix query format: @attr 1=4 war
    #[default]
    Pqf,
    /// ISO 8777 in the dialect of YAZ: ti=war
    Ccl,
    /// CQL 1.1 and 1.2: dc.title = war
    Cql,
    /// Words, with optional index names: ti:war
    Names,
}

/// A time to wait; `None` is without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Option<Duration>);

fn seconds(text: &str) -> Result<Wait, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    let wait = Duration::try_from_secs_f64(number).map_err(|error| error.to_string())?;
    Ok(Wait((!wait.is_zero()).then_some(wait)))
}

impl Cli {
    /// Reads the arguments of the process; a URL without a command gets the one its scheme stands for.
    ///
    /// # Errors
    /// What clap has to say: a fault to print, or the help or version asked for.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        if let Some(command) = implied_command(arguments.get(1..).unwrap_or_default()) {
            arguments.insert(1, command.into());
        }
        leading::settle(&mut arguments);
        crate::commands::fallback::complete(&mut arguments);
        match Self::read_alone(&arguments) {
            Some(cli) => Ok(cli),
            None => Self::read_whole(&arguments),
        }
    }

    /// By the definition of all commands.
    fn read_whole(arguments: &[OsString]) -> Result<Self, clap::Error> {
        Self::try_parse_from(arguments).map_err(|error| {
            let answer = match error.kind() {
                ErrorKind::DisplayHelp => help::answer(arguments, false),
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                    help::answer(arguments, true)
                }
                ErrorKind::InvalidSubcommand => target_alone(&error),
                _ => None,
            };
            answer.unwrap_or(error)
        })
    }

    /// The same by the definition of one command alone: that of all of them takes longer than a lookup. `None` for other
    /// commands, where options come before the command, and wherever something is wrong or help is asked for, which needs
    /// the whole.
    fn read_alone(arguments: &[OsString]) -> Option<Self> {
        let [_, name, arguments @ ..] = arguments else {
            return None;
        };
        let (_, augment, command) = ALONE.iter().find(|(known, ..)| name == known)?;
        let mut matches = Messages::augment_args(augment(clap::Command::new("z3950")))
            .no_binary_name(true)
            .disable_help_flag(true)
            .try_get_matches_from(arguments)
            .ok()?;
        Some(Self {
            messages: Messages::from_arg_matches_mut(&mut matches).ok()?,
            command: command(&mut matches).ok()?,
        })
    }
}

/// Adds the options of a command to its definition.
type Options = fn(clap::Command) -> clap::Command;

/// Takes a command from what was given.
type Taken = fn(&mut ArgMatches) -> Result<Command, clap::Error>;

/// The commands that scripts call by the thousand.
const ALONE: [(&str, Options, Taken); 4] = [
    ("get", Get::augment_args, |given| {
        Get::from_arg_matches_mut(given).map(|get| Command::Get(Box::new(get)))
    }),
    ("lookup", Lookup::augment_args, |given| {
        Lookup::from_arg_matches_mut(given).map(|lookup| Command::Lookup(Box::new(lookup)))
    }),
    ("search", Search::augment_args, |given| {
        Search::from_arg_matches_mut(given).map(|search| Command::Search(Box::new(search)))
    }),
    ("scan", Scan::augment_args, |given| {
        Scan::from_arg_matches_mut(given).map(|scan| Command::Scan(Box::new(scan)))
    }),
];

/// What to say where a target stands in the place of a command.
fn target_alone(error: &clap::Error) -> Option<clap::Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let name = redacted(word);
    let is_named = || Profiles::built_in().named(word).is_some();
    let is_place = || word.contains(['.', '/', ':', '@']) && word.parse::<Target>().is_ok();
    let message = match is_named() || is_place() {
        true => format!(
            "{name} is a target, not a command: `z3950 search {name} QUERY` searches it, `z3950 open {name}` opens a session \
             with it, and `z3950 get URL` retrieves a record"
        ),
        // What clap says would show a password.
        false if name != *word => format!("{name} is not a command"),
        false => return None,
    };
    Some(Cli::command().error(ErrorKind::InvalidSubcommand, message))
}

/// `get` or `open`, if a URL comes before any name of a command.
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
    use clap::CommandFactory;

    use super::*;

    fn read(line: &str) -> Result<Cli, clap::Error> {
        Cli::read(
            std::iter::once("z3950")
                .chain(line.split_whitespace())
                .map(OsString::from),
        )
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
    fn a_command_alone_is_read_as_among_all() {
        for line in [
            "z39.50r://h/d?x",
            "--demo get --timeout 5 z39.50r://h/d?x --format raw -vv",
            "lookup lib.example isbn:0141439513 --targets t.toml",
            "search lib.example get --count 3 --sort title:desc",
            "scan lib.example war --lang ccl",
            "--user get search lib.example war",
        ] {
            let cli = read(line).expect(line);
            let mut arguments = vec!["z3950"];
            if !line.contains(' ') {
                arguments.push("get");
            }
            arguments.extend(line.split_whitespace());
            let mut arguments = arguments.into_iter().map(OsString::from).collect();
            leading::settle(&mut arguments);
            let whole = Cli::try_parse_from(arguments).expect(line);
            assert_eq!(format!("{cli:?}"), format!("{whole:?}"), "{line}");
        }
        for (name, augment, _) in ALONE {
            let alone = augment(clap::Command::new(name));
            let whole = Cli::command();
            let whole = whole.find_subcommand(name).expect(name);
            assert!(alone.get_arguments().eq(whole.get_arguments()), "{name}");
        }
    }

    #[test]
    fn times_are_seconds_with_decimals_and_0_is_no_limit() {
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
            ("search -h", 65),
            ("search --help", 130),
            ("help search", 130),
            ("convert --help", 45),
            ("man --help", 15),
        ] {
            let page = read(line).expect_err(line).to_string();
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
        let brief = read("search -h").expect_err("help").to_string();
        assert!(!brief.contains("--password-env") && brief.contains("z3950 search --help"));
    }
}
