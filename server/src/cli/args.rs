//! The arguments of `z3950d`, all of them.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgAction, ColorChoice, CommandFactory, Parser};
use z3950_server::config::Place;
use z3950_server::fault::Rule;
use z3950_server::imitate::Imitated;
use z3950_server::memory::{DocidField, Profile};

/// Serve MARC records over Z39.50
#[derive(Debug, Parser)]
#[command(name = "z3950d", version, max_term_width = 100, after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Read settings from a file; arguments go before them
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,

    /// Check the settings and the files they name, tell everything that is wrong, and end
    #[arg(long)]
    pub(super) check: bool,

    /// Serve the built-in catalogue: databases books and serials
    #[arg(long)]
    pub(super) demo: bool,

    /// Serve a file, or a folder of files, as a database: ISO 2709, MARCXML, MARC-in-JSON or MARCMaker text. Files of one name
    /// are searched together
    #[arg(long = "database", value_name = "NAME=PATH")]
    pub(super) databases: Vec<Named>,

    /// Write a database to this file whenever a client has changed it; the file is read at the start if it is there
    #[arg(long, value_name = "NAME=FILE")]
    pub(super) save: Vec<Named>,

    /// The field that holds the docid of a record: 001, 035$a …; 001 unless told otherwise
    #[arg(long, value_name = "TAG[$c]")]
    pub(super) docid: Option<DocidField>,

    /// Take and refuse attributes as another server does: bib-1, zebra or yaz-ztest
    #[arg(long, value_name = "NAME", value_parser = profile)]
    pub(super) profile: Option<Profile>,

    /// An address to listen on
    #[arg(long, value_name = "ADDR", help = LISTEN)]
    pub(super) listen: Vec<Listen>,

    /// The certificates of the listeners with TLS, in PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(super) certificate: Option<PathBuf>,

    /// The private key of the listeners with TLS, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(super) key: Option<PathBuf>,

    /// Ask clients with TLS for certificates of these authorities, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(super) client_authorities: Option<PathBuf>,

    /// Let only clients with a certificate in
    #[arg(long, requires = "client_authorities")]
    pub(super) require_client_certificate: bool,

    /// End a session after so long without a request; 0 never does. 15 minutes unless told otherwise
    #[arg(long, value_name = "SECONDS")]
    pub(super) idle_timeout: Option<Seconds>,

    /// Serve so many sessions at once; a further client takes the place of one that has not opened its session, or waits. 1000
    /// unless told otherwise
    #[arg(long, value_name = "N")]
    pub(super) max_sessions: Option<usize>,

    /// Serve so many sessions with one address at once; further ones are closed
    #[arg(long, value_name = "N")]
    pub(super) max_sessions_per_address: Option<usize>,

    /// When told to stop, wait so long for answers in progress; 0.5 unless told otherwise
    #[arg(long, value_name = "SECONDS")]
    pub(super) drain: Option<Seconds>,

    /// Misbehave by a rule; may be repeated. `--fault help` lists what there is
    #[arg(long = "fault", value_name = "RULE", value_parser = rule)]
    pub(super) faults: Vec<FaultArgument>,

    /// Behave as another server: yaz-ztest
    #[arg(long, value_name = "SERVER")]
    pub(super) imitate: Option<Imitated>,

    /// Write everything said to a file, a JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(super) transcript: Option<PathBuf>,

    /// Answer as in a conversation that --transcript has written
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,

    /// List every APDU in a file
    #[arg(long, value_name = "FILE")]
    pub(super) apdu_log: Option<PathBuf>,

    /// Tell of sessions on standard error; -vv of each APDU, -vvv of what is in it
    #[arg(short, action = ArgAction::Count)]
    pub(super) verbose: u8,

    /// Colour what is told
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}

const LISTEN: &str = "Listen on an address, such as 127.0.0.1:2100, [::1]:2100, tls:0.0.0.0:2101 or unix:/run/z3950d; \
                      port 0 picks a free one. 127.0.0.1:2100 unless told otherwise";

const EXAMPLES: &str = "\
Examples:
  z3950d --demo
  z3950d --database cat=records.mrc --listen 0.0.0.0:210
  z3950d --database books=a.mrc --database books=b.mrc --database maps=maps.mrk --docid '035$a'
  z3950d --config z3950d.toml --check
  z3950d --demo --fault 'on search db=books nth=2: delay 500ms' --fault 'on present: surrogate 14'
  z3950d --imitate yaz-ztest --listen 127.0.0.1:0 --transcript said.jsonl

The first line on standard output for each address is `listening on ADDR`.
The first SIGINT or SIGTERM stops the server in good order, a second one at once. SIGHUP reads the databases again.

Exit codes:
  0    stopped by a signal, or nothing wrong with the settings
  1    something unexpected went wrong
  2    wrong usage or settings, a file that cannot be read, an address that cannot be listened on
  130  stopped at once by a second signal";

impl Arguments {
    /// Refuses to serve nothing.
    pub(super) fn checked(self) -> Result<Self, clap::Error> {
        let own = self.demo || !self.databases.is_empty() || !self.save.is_empty();
        let others = self.imitate.is_some() || self.replay.is_some() || self.config.is_some();
        if !own && !others && !self.asks_for_faults() {
            return Err(refusal(NOTHING));
        }
        if self.certificate.is_none() && self.listen.iter().any(|listen| listen.tls) {
            return Err(refusal("a listener with TLS needs --certificate and --key"));
        }
        Ok(self)
    }

    /// Whether the list of faults is wanted, and nothing else.
    pub(super) fn asks_for_faults(&self) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| matches!(fault, FaultArgument::Help))
    }
}

/// What is said where there is nothing to serve.
pub(super) const NOTHING: &str = "nothing to serve: give --demo for the built-in catalogue, \
                                  --database NAME=PATH for a file of records, or --config FILE";

fn refusal(words: &str) -> clap::Error {
    Arguments::command().error(ErrorKind::MissingRequiredArgument, words)
}

/// `NAME=PATH`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl FromStr for Named {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok(Self {
                name: name.to_owned(),
                path: path.into(),
            }),
            _ => Err("a database name and a path, NAME=PATH, are expected"),
        }
    }
}

/// A place to listen, with `tls:` before it or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listen {
    pub(super) place: Place,
    pub(super) tls: bool,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, tls) = match text.strip_prefix("tls:") {
            Some(address) => (address, true),
            None => (text, false),
        };
        match text.parse() {
            Ok(Place::Unix(_)) if tls => Err("there is no TLS on a Unix socket".to_owned()),
            Ok(place) => Ok(Self { place, tls }),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A rule, or the wish to know what rules there are.
#[derive(Clone, Debug)]
pub(super) enum FaultArgument {
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
    Profile::by_name(name).ok_or_else(|| format!("there are {}", Profile::NAMES.join(", ")))
}

/// A time in seconds, with decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seconds(pub(super) Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = text.parse().ok();
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.map(Self)
            .ok_or("a number of seconds, such as 0.5, is expected")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn arguments_are_read_or_refused() {
        let check = |arguments: &str, accepted: bool| {
            let words = std::iter::once("z3950d")
                .chain(arguments.split(' ').filter(|word| !word.is_empty()));
            let words = words.map(|word| word.replace('_', " "));
            let parsed = Arguments::try_parse_from(words).and_then(Arguments::checked);
            assert_eq!(parsed.is_ok(), accepted, "{arguments}: {parsed:?}");
            if let Err(error) = parsed {
                assert_eq!(error.exit_code(), 2);
            }
        };
        check("--demo", true);
        check(
            "--demo --listen 127.0.0.1:0 --listen [::1]:0 --drain 0 -vv --color never",
            true,
        );
        check(
            "--database a=b.mrc --database c=d=e.mrk --docid 035$a",
            true,
        );
        check("", false);
        check("--check", false);
        check("--config z3950d.toml --check", true);
        check("--demo --database a=b.mrc", true);
        check("--database a", false);
        check("--database =b", false);
        check("--database a=", false);
        check("--database a=b --docid 035", false);
        check("--database a=b --save a=c.mrc", true);
        check("--demo --drain -1", false);
        check("--demo --drain 1e400", false);
        check("--demo --idle-timeout soon", false);
        check("--demo --listen unix:/tmp/z3950d", true);
        check("--demo --listen tls:127.0.0.1:0", false);
        check(
            "--demo --listen tls:127.0.0.1:0 --certificate c.pem --key k.pem",
            true,
        );
        check(
            "--demo --listen tls:unix:/tmp/z3950d --certificate c.pem --key k.pem",
            false,
        );
        check("--demo --listen 2100", false);
        check("--demo --certificate c.pem", false);
        check("--demo --require-client-certificate", false);
        check("--demo --fault on_search_db=books_nth=2:_delay_500ms", true);
        check("--demo --fault on_search:_dely_500ms", false);
        check("--fault help", true);
        check("--imitate yaz-ztest", true);
        check("--imitate aleph", false);
        check("--demo --profile zebra", true);
        check("--demo --profile aleph", false);
        check("--replay said.jsonl", true);
    }

    #[test]
    fn a_database_name_ends_at_the_first_equals_sign() {
        let expected = Named {
            name: "c".to_owned(),
            path: "d=e.mrk".into(),
        };
        assert_eq!("c=d=e.mrk".parse(), Ok(expected));
    }
}
