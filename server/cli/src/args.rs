//! The arguments of `z3950d`.

mod engine;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{ArgAction, ColorChoice, CommandFactory, Parser};
use clap_complete::Shell;
use z3950_server::fault::Rule;
use z3950_server::memory::Profile;

pub(crate) use self::engine::{EngineArguments, EngineCommand, LoadArguments, SetupArguments};
use crate::config::{GivenSettings, LISTENERS, LOGS, ListenAddress, SERVED};

/// Serve MARC records over Z39.50, and over SRU on the same ports
#[derive(Clone, Debug, Parser)]
#[command(
    name = "z3950d",
    version,
    max_term_width = 100,
    help_template = TEMPLATE,
    before_help = EXAMPLES,
    after_help = AFTERWARDS,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<EngineCommand>,

    /// Files of records, or folders of them, to serve as databases: cat.mrc is the database cat. Files of the same name are searched
    /// together
    #[arg(value_name = "FILE", help_heading = SERVED)]
    pub(crate) files: Vec<PathBuf>,

    /// Serve a file, or a folder of files, as a database: ISO 2709, MARCXML, MARC-in-JSON or MARCMaker text. Files given under
    /// the same name are searched together
    #[arg(long = "database", value_name = "NAME=PATH", help_heading = SERVED)]
    pub(crate) databases: Vec<NamedFile>,

    /// Save the changes of clients to this file. They are in FILE.journal first, and in the file at the end. If the file exists
    /// at startup, both are read instead of the others
    #[arg(long, value_name = "NAME=FILE", help_heading = SERVED)]
    pub(crate) save: Vec<NamedFile>,

    /// Listen on an address: 127.0.0.1:2100, `[::1]:2100`, tls:0.0.0.0:2101 or unix:/run/z3950d; port 0 picks a free one. May be
    /// repeated [default: 127.0.0.1:2100]
    #[arg(long, value_name = "ADDR", help_heading = LISTENERS)]
    pub(crate) listen: Vec<Listen>,

    /// The certificate chain of TLS listeners, in PEM
    #[arg(long, value_name = "FILE", requires = "key", help_heading = LISTENERS)]
    pub(crate) certificate: Option<PathBuf>,

    /// The private key of TLS listeners, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = LISTENERS)]
    pub(crate) key: Option<PathBuf>,

    /// Ask TLS clients for a certificate signed by one of these authorities, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate", help_heading = LISTENERS)]
    pub(crate) client_authorities: Option<PathBuf>,

    /// Admit only clients that have a certificate
    #[arg(long, requires = "client_authorities", help_heading = LISTENERS)]
    pub(crate) require_client_certificate: bool,

    /// Answer Z39.50 only, without SRU over HTTP on the same ports
    #[arg(long, help_heading = LISTENERS)]
    pub(crate) no_http: bool,

    /// The options that each set one key of the settings file.
    #[command(flatten)]
    pub(crate) given: GivenSettings,

    /// Accept and refuse attributes as another server does: bib-1, zebra or yaz-ztest
    #[arg(long, value_name = "NAME", value_parser = profile, help_heading = SERVED)]
    pub(crate) profile: Option<Profile>,

    /// Refuse a search of a search engine of which a node does not answer, instead of finding what the other nodes have; `strict`
    /// in the settings file does so for one database
    #[arg(long, help_heading = SERVED)]
    pub(crate) strict: bool,

    /// Misbehave according to a rule; may be repeated. `--fault help` lists the faults
    #[arg(long = "fault", value_name = "RULE", value_parser = rule, help_heading = SERVED)]
    pub(crate) faults: Vec<FaultArgument>,

    /// Read settings from a file; options on the command line take precedence
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,

    /// Print a settings file with every setting in it, explained
    #[arg(long, help_heading = "Settings")]
    pub(crate) print_config: bool,

    /// Check the settings and the files they name, and exit. Records that would be repaired or left out are listed on standard
    /// output
    #[arg(long, help_heading = "Settings")]
    pub(crate) check: bool,

    /// Fold the journal of a saved file (FILE.journal) into the file, and exit. The server does so at its end; this is for a server
    /// that was killed
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(crate) fold: Option<PathBuf>,

    /// Read a password, from the terminal or a line of standard input, and print its hash for `password-hash` in the settings file
    #[arg(long, help_heading = "Settings")]
    pub(crate) hash_password: bool,

    /// Replace the file of --record, --transcript, --report-missing or --judge if it exists
    #[arg(long, help_heading = LOGS)]
    pub(crate) overwrite: bool,

    /// Log sessions to standard error; -vv logs each APDU, -vvv what is in it
    #[arg(short, action = ArgAction::Count, help_heading = LOGS)]
    pub(crate) verbose: u8,

    /// Colour the log
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = LOGS)]
    pub(crate) color: ColorChoice,

    /// Print a completion script
    #[arg(long, value_name = "SHELL")]
    pub(crate) completions: Option<Shell>,

    /// Print the manual page
    #[arg(long)]
    pub(crate) man: bool,
}

/// The template of the help, which puts the examples first.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}{all-args}{after-help}";

/// The examples in the help; a test runs each line.
pub(crate) const EXAMPLES: &str = "\
Examples:
  z3950d --demo
  z3950d records.mrc maps.mrk
  z3950d --database cat=records.mrc --listen 0.0.0.0:2100
  z3950d --database books=a.mrc --database books=b.mrc --database maps=maps.mrk --docid '035$a'
  z3950d --database cat=records.mrc --check
  z3950d --database cat=records.mrc --save cat=saved.mrc
  z3950d --fold saved.mrc
  z3950d --print-config > z3950d.toml
  z3950d --config z3950d.toml --check
  echo secret | z3950d --hash-password
  z3950d --demo --listen tls:127.0.0.1:2101 --certificate cert.pem --key key.pem
  z3950d --database cat=records.mrc --listen 0.0.0.0:2100 --anyone-may-update
  z3950d --demo --fault 'on search db=books nth=2: delay 500ms' --fault 'on search: surrogate 14'
  z3950d --demo --access-log access.log --status 127.0.0.1:9210
  z3950d --imitate yaz-ztest --listen 127.0.0.1:0 --transcript said.jsonl
  z3950d --record said.jsonl --upstream z3950.example.org:210 --overwrite
  z3950d --replay said.jsonl
  z3950d --replay said.jsonl --report-missing missing.jsonl --overwrite
  z3950d --demo --judge report.json --judge report.xml --overwrite
  z3950d --demo --judge report.txt --fault 'on search nth=2: close' --overwrite";

pub(crate) const AFTERWARDS: &str = "\
Output:
  One line per address on standard output: `listening on ADDR`. Everything else goes to standard error:
  a line for each database, and for what a reload changes or why it is refused, and the totals at the end.

Signals:
  SIGINT, SIGTERM  stop after answers in progress; a second signal stops at once
  SIGHUP           reload the settings file, certificates and databases, after folding journals, and
                   open log files again; if a setting is wrong, a certificate has expired, or a file
                   is more damaged than before, or empty or removed where there were records,
                   everything but the log files stays as it is

Exit codes:
  0    stopped by a signal; --check found nothing wrong; --fold is done, or there was nothing to do
  1    unexpected error
  2    invalid usage or settings, an unreadable file, or an address that cannot be listened on
  8    --check found records that would be repaired or skipped, --fold found some in the file, or load
       left records out
  130  stopped at once by a second signal, or load stopped by one";

impl Arguments {
    /// Checks that there is something to serve, and that the TLS options can be used together.
    pub(crate) fn checked(mut self) -> Result<Self, clap::Error> {
        for path in std::mem::take(&mut self.files) {
            let name = database_name(&path).map_err(|words| refusal(&words))?;
            self.databases.push(NamedFile { name, path });
        }
        if self.hash_password {
            return Ok(self);
        }
        let given = |option| self.given.has(option);
        let own = given("demo") || !self.databases.is_empty() || !self.save.is_empty();
        let without = ["imitate", "replay", "record", "upstream"]
            .into_iter()
            .any(given);
        let others = without || self.config.is_some();
        if self.asks_for_text() || self.command.is_some() {
            return Ok(self);
        }
        if self.fold.is_some() {
            return if own || others {
                Err(Self::command().error(ErrorKind::ArgumentConflict, FOLDS_ONLY))
            } else {
                Ok(self)
            };
        }
        if !own && !others {
            return Err(refusal(NOTHING));
        }
        if own && without {
            return Err(Self::command().error(ErrorKind::ArgumentConflict, NO_DATABASES));
        }
        if given("access-log-format") && !given("access-log") && self.config.is_none() {
            return Err(refusal("--access-log-format is for --access-log FILE"));
        }
        let has_tls = self.listen.iter().any(|listen| listen.tls);
        match (has_tls, self.certificate.is_some()) {
            (true, false) => Err(refusal("a listener with TLS needs --certificate and --key")),
            // Without a TLS listener, everything would be served in plain text.
            (false, true) => Err(refusal(
                "--certificate and --key are for a listener with TLS, but there is none: \
                 give --listen tls:ADDR, such as --listen tls:127.0.0.1:2101",
            )),
            _ => Ok(self),
        }
    }

    /// Returns whether the arguments ask to print something, such as the manual page, instead of starting a server.
    pub(crate) fn asks_for_text(&self) -> bool {
        self.asks_for_faults() || self.print_config || self.man || self.completions.is_some()
    }

    /// Returns whether the arguments ask for the list of faults.
    pub(crate) fn asks_for_faults(&self) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| matches!(fault, FaultArgument::Help))
    }
}

pub(crate) const NOTHING: &str = "nothing to serve: give --demo for the built-in catalogue, a file of records, \
                                  --database NAME=PATH for one under another name, or --config FILE";

const NO_DATABASES: &str = "--imitate, --replay and --record answer without databases: leave out --demo, \
                            files, --database and --save";

const FOLDS_ONLY: &str = "--fold works on its file alone: leave out --demo, other files, --database, --save, \
                          --config, --imitate, --replay and --record";

/// Returns the name of the database for a file: its name without the extension.
fn database_name(path: &Path) -> Result<String, String> {
    if path == Path::new("-") {
        return Err("databases are read from files, not from standard input".to_owned());
    }
    let stem = if path.is_dir() {
        path.canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_owned()))
    } else {
        path.file_stem().map(ToOwned::to_owned)
    };
    // In targets and URLs, these characters separate names.
    let is_plain =
        |name: &&str| !name.is_empty() && !name.contains(['+', '/', '@', '?', ';', '=', '#']);
    let name = stem
        .as_ref()
        .and_then(|stem| stem.to_str())
        .filter(is_plain);
    name.map(str::to_owned).ok_or_else(|| {
        format!(
            "{}: its name cannot be that of a database; give --database NAME=PATH",
            path.display()
        )
    })
}

fn refusal(words: &str) -> clap::Error {
    Arguments::command().error(ErrorKind::MissingRequiredArgument, words)
}

/// A name and a path, written `NAME=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl FromStr for NamedFile {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok(Self {
                name: name.to_owned(),
                path: path.into(),
            }),
            _ => Err("expected a database name and a path, NAME=PATH"),
        }
    }
}

/// An address to listen on, with or without TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    pub(crate) place: ListenAddress,
    pub(crate) tls: bool,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, tls) = match text.strip_prefix("tls:") {
            Some(address) => (address, true),
            None => (text, false),
        };
        match text.parse() {
            Ok(ListenAddress::Unix(_)) if tls => Err("there is no TLS on a Unix socket".to_owned()),
            Ok(place) => Ok(Self { place, tls }),
            Err(_) => Err(
                "expected an address such as 127.0.0.1:2100, tls:0.0.0.0:2101 or unix:/run/z3950d"
                    .to_owned(),
            ),
        }
    }
}

/// A rule, or `help` for the list of rules.
#[derive(Clone, Debug)]
pub(crate) enum FaultArgument {
    Rule(Box<Rule>),
    Help,
}

fn rule(text: &str) -> Result<FaultArgument, z3950_server::fault::RuleError> {
    match text {
        "help" => Ok(FaultArgument::Help),
        text => text.parse().map(|rule| FaultArgument::Rule(Box::new(rule))),
    }
}

fn profile(name: &str) -> Result<Profile, String> {
    Profile::by_name(name).ok_or_else(|| format!("known profiles: {}", Profile::NAMES.join(", ")))
}

#[cfg(test)]
mod tests;
