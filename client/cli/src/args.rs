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
    Add, Asked, Check, Decode, Language, Lookup, Probe, Scan, Search, Shell, Show, TARGET, Targets,
    syntax,
};
pub(crate) use self::url::{Build, Canon, Reading, Showing, Texts, Url};
use crate::commands::convert::Convert;
use crate::console::exit;
use crate::render::Format;

/// Searches Z39.50 servers, retrieves records from them and holds sessions with them, by name or by the URLs of RFC 2056.
///
/// A URL may stand in the place of a command: z39.50r: retrieves one record, as `get` does, gopher: one item, and
/// z39.50s: opens a session, as `open` does.
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
    /// Say what is done; twice, name every APDU sent and received; thrice, list their contents.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When to colour messages. NO_COLOR in the environment means never, unless this says otherwise.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

/// How records are written.
#[derive(Debug, Args)]
pub(crate) struct Records {
    /// How to write records.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// The character set that records are in, whatever they say themselves.
    #[arg(long, value_name = "NAME", value_parser = charset, hide_short_help = true)]
    pub(crate) charset: Option<Charset>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Retrieve the record that each z39.50r URL names.
    Get(Box<Get>),
    /// Open the session that a z39.50s URL names and read commands from the terminal or a pipe.
    Open(Box<Open>),
    /// Search one or several targets, each whatever becomes of the others, and show the records.
    Search(Box<Search>),
    /// Show the terms of an index around a given one.
    Scan(Box<Scan>),
    /// Find records by ISBN, ISSN, LCCN, OCLC number, control number or docid, however it is written.
    Lookup(Box<Lookup>),
    /// Insert, replace or delete records of a database.
    Update(Box<crate::commands::update::Update>),
    /// Order a document that a search finds, or by a request of one's own.
    Order(Box<crate::commands::order::Order>),
    /// Try out what a server is and does, one thing at a time.
    Probe(Box<Probe>),
    /// Know servers by name: list, show, add and check their profiles.
    #[command(subcommand)]
    Targets(Targets),
    /// Show what a URL would send to the server, without connecting.
    Plan(Box<Plan>),
    /// List captured APDUs and their contents.
    Decode(Decode),
    /// Convert files of records, or check them; without a file, standard input.
    Convert(Convert),
    /// Take URLs apart, put them together, compare and check them.
    #[command(subcommand)]
    Url(Url),
    /// Read queries, say them in words and in other languages.
    #[command(subcommand)]
    Query(Query),
    /// Make the desktop open z39.50s and z39.50r links with this program.
    Register(crate::commands::register::Arguments),
    /// Take back what `register` did.
    Unregister,
    /// Print what makes a shell complete the commands and options of this program.
    Completions(Shell),
    /// Print the manual page, all commands on it.
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

    /// Answer with a JSON object a line, an envelope around each record.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) batch: crate::commands::batch::Batch,

    #[command(flatten)]
    pub(crate) gopher: crate::commands::gopher::Arguments,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// Session URL, z39.50s://host[:port][/database[?docid]][;esn=element-set][;rs=record-syntax]; a retrieval URL, whose
    /// record is then the first result; host[:port][/database]; or the name of a target. Without one, `open` at the prompt
    /// opens a session
    #[arg(value_name = "TARGET")]
    pub(crate) url: Option<OsString>,

    #[command(flatten)]
    pub(crate) records: Records,

    #[command(flatten)]
    pub(crate) execution: Execution,

    /// End at the first command that fails, with its exit code. Otherwise a script is carried out to its end, and the gravest
    /// exit code of its commands is that of the program.
    #[arg(long)]
    pub(crate) stop_on_error: bool,

    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// How a URL is carried out.
#[derive(Debug, Args)]
pub(crate) struct Execution {
    /// Accept only what RFC 2056 and RFC 1738 allow to the letter.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Ask for the record with the search, or always by a Present.
    #[arg(long, default_value = "piggyback", hide_short_help = true, value_parser = choices(&[
        ("piggyback", Strategy::Piggyback, "With the search, for exactly one hit; by Present if it did not come"),
        ("present-only", Strategy::PresentOnly, "By Present alone"),
    ]))]
    pub(crate) strategy: Strategy,

    /// What to do with the element set and record syntaxes that a URL names.
    #[arg(long, default_value = "prefer", hide_short_help = true, value_parser = choices(&[
        ("prefer", Hints::Prefer, "Followed where this client can"),
        ("require", Hints::Require, "Followed, or the URL is refused"),
        ("ignore", Hints::Ignore, "As if they were not there"),
    ]))]
    pub(crate) hints: Hints,

    /// Leave the record of a session URL with one hit where it is, until `show`.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_auto_present: bool,

    /// Keep sessions open until the end, so that URLs of one host and port share one; `open` always does.
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_open: bool,

    /// Connect to ports below 1024 other than 210.
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_reserved_port: bool,

    /// Send the user and password of a URL to the server.
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

    /// List the octets of each APDU too.
    #[arg(long, conflicts_with = "json")]
    pub(crate) octets: bool,

    /// Answer with a JSON object.
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
        "no known character set; utf-8, marc-8, iso-8859-1 and iso-5426 are some".to_owned()
    })
}

/// Commands on queries as texts; none of them connects.
#[derive(Debug, Subcommand)]
pub(crate) enum Query {
    /// Show a query as a tree, with its attributes by name.
    Parse(QueryText),
    /// Print a query in PQF, the prefix query format.
    ToPqf(QueryText),
    /// Print a query in CQL, the Contextual Query Language.
    ToCql(QueryText),
    /// Print a query in CCL, the Common Command Language of ISO 8777.
    ToCcl(QueryText),
    /// Say a query as a sentence, and show it as a tree.
    Explain(QueryText),
}

#[derive(Debug, Args)]
pub(crate) struct QueryText {
    /// The query.
    #[arg(value_name = "TEXT", allow_negative_numbers = true)]
    pub(crate) text: OsString,

    /// Answer with a JSON object.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) language: Language,
}

/// The tables by which CQL and CCL are read.
#[derive(Debug, Args)]
pub(crate) struct Tables {
    /// What the indexes and relations of CQL mean: a pqf.properties file, as YAZ reads them.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) properties: Option<PathBuf>,

    /// What the qualifiers of CCL mean: a bib file, as YAZ reads them.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) bib: Option<PathBuf>,
}

/// A language of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Lang {
    /// The prefix query format: @attr 1=4 war
    #[default]
    Pqf,
    /// ISO 8777 as YAZ speaks it: ti=war
    Ccl,
    /// CQL 1.1 and 1.2: dc.title = war
    Cql,
    /// Words, with index names in front if need be: ti:war
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
            "{name} is a target and no command: `z3950 search {name} QUERY` searches it, `z3950 open {name}` opens a session \
             with it, and `z3950 get URL` retrieves a record"
        ),
        // What clap says would show a password.
        false if name != *word => format!("{name} is no command"),
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
