//! The arguments of `z3950d`.

mod engine;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, ColorChoice, CommandFactory, Parser, Subcommand};

use z3950_front::engine::catalogue::CatalogueMap;
use z3950_help::{
    ArgValueCandidates, CompletionArguments, CompletionCandidate, ManualArguments, Shell,
};

pub(crate) use self::engine::{
    CreateArguments, EngineArguments, EngineCommand, LoadArguments, LookArguments,
};
use crate::config::{GivenSettings, LOGS};
use crate::files::{NamedFile, name_files};

/// Serve MARC records over Z39.50, and over SRU on the same ports.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "z3950d",
    version,
    max_term_width = 100,
    after_help = AFTERWARDS,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<DaemonCommand>,

    /// Files or folders of records, each served as a database of the same name; books.mrc is the database books
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The databases on the command line, either with a name or as files.
    #[arg(skip)]
    pub(crate) databases: Vec<NamedFile>,

    /// The options that correspond to settings in the settings file.
    #[command(flatten)]
    pub(crate) given: GivenSettings,

    /// Read settings from a file; options on the command line take precedence
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,

    /// Print a settings file that contains and explains every setting
    #[arg(long, help_heading = "Settings")]
    pub(crate) print_config: bool,

    /// Print the map of an index that belongs to another program (koha, vufind, blacklight). A changed copy of the map can be named
    /// by `catalogue` in the settings file
    #[arg(long, value_name = "NAME", help_heading = "Settings", hide_short_help = true, add = maps())]
    pub(crate) print_map: Option<String>,

    /// Check the settings and the files they name, and exit. Records that would be repaired or left out are listed on standard
    /// output
    #[arg(long, help_heading = "Settings")]
    pub(crate) check: bool,

    /// Fold the journal of a saved file (FILE.journal) into the file, and exit. The server does this when it stops; the option is for
    /// a server that was killed
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Settings",
        hide_short_help = true
    )]
    pub(crate) fold: Option<PathBuf>,

    /// Replace existing files that --record, --transcript, --report-missing and --judge write to
    #[arg(long, alias = "force", help_heading = LOGS, hide_short_help = true)]
    pub(crate) overwrite: bool,

    #[command(flatten)]
    pub(crate) messages: Messages,

    /// Print a completion script, as `z3950d completions SHELL` does
    #[arg(long, value_name = "SHELL", hide = true)]
    pub(crate) completions: Option<Shell>,

    /// Print the manual page, as `z3950d man` does
    #[arg(long, hide = true)]
    pub(crate) man: bool,
}

/// The options for messages on standard error, which every command accepts.
#[derive(Clone, Debug, Args)]
pub(crate) struct Messages {
    /// Log sessions to standard error; -vv logs each APDU, -vvv what is in it
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = LOGS)]
    pub(crate) verbose: u8,

    /// Print errors and warnings, but no notes and no progress
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = LOGS)]
    pub(crate) quiet: bool,

    /// Colour the log
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = LOGS)]
    pub(crate) color: ColorChoice,
}

/// A command that the program runs instead of serving.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    #[command(flatten)]
    Engine(EngineCommand),
    /// Examine an index of Koha, VuFind or Blacklight, and print which searches could be answered from it.
    ///
    /// Nothing is changed. The exit code is 0 if a map fits the index, 1 if none does, and 2 if the index cannot be examined.
    TryCatalogue(LookArguments),
    /// Hash a password for `password-hash` in the settings file.
    ///
    /// On a terminal, the program asks for the password twice without showing it. Otherwise, the password is the first line of
    /// standard input. The hash is printed on standard output: Argon2id with a random salt, 19 MiB of memory and two passes.
    HashPassword,
    /// Print a shell completion script.
    Completions(CompletionArguments),
    /// Print the manual page of the program, of a command or of a topic.
    Man(ManualArguments),
}

pub(crate) const AFTERWARDS: &str = "\
Output:
  One line per address on standard output: `listening on ADDR`. Everything else goes to standard
  error: a line for each database, and for what a reload changes or why it is refused, and the
  totals at the end.

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
    /// Gives a name to each database that is passed as a file, and checks that there is something to serve and that the TLS options
    /// can be used together.
    pub(crate) fn checked(mut self) -> Result<Self, clap::Error> {
        self.databases = self.given.databases();
        name_files(&self.files, &mut self.databases).map_err(|words| refusal(&words))?;
        let given = |option| self.given.has(option);
        let own = given("demo") || !self.databases.is_empty() || given("save");
        let without = ["imitate", "replay", "record", "upstream"]
            .into_iter()
            .any(given);
        let others = without || self.config.is_some();
        let is_command = self.engine().is_some() || self.catalogue().is_some();
        if self.asks_for_text() || is_command || self.hashes_password() {
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
        let has_tls = self.given.texts("listen").any(|at| at.starts_with("tls:"));
        match (has_tls, given("certificate")) {
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
        let asks = self.asks_for_faults() || self.print_config || self.print_map.is_some();
        asks || self.manual().is_some() || self.completions().is_some()
    }

    /// Returns the arguments of a request for a manual page; `None` if the arguments do not request one.
    pub(crate) fn manual(&self) -> Option<ManualArguments> {
        match &self.command {
            Some(DaemonCommand::Man(asked)) => Some(asked.clone()),
            _ => self.man.then(ManualArguments::default),
        }
    }

    /// Returns the shell whose completion script the arguments ask for; `None` if they do not ask for one.
    pub(crate) fn completions(&self) -> Option<Shell> {
        match &self.command {
            Some(DaemonCommand::Completions(of)) => Some(of.shell),
            _ => self.completions,
        }
    }

    /// Returns the database of the first file that is passed without a name; `None` if there is no such file.
    pub(crate) fn first_file(&self) -> Option<&NamedFile> {
        let first = self.files.first()?;
        self.databases.iter().rfind(|named| named.path == *first)
    }

    /// Returns whether the arguments ask to hash a password.
    pub(crate) fn hashes_password(&self) -> bool {
        matches!(self.command, Some(DaemonCommand::HashPassword))
    }

    /// Returns the command for a search engine, if the arguments ask for one.
    pub(crate) fn engine(&self) -> Option<&EngineCommand> {
        match &self.command {
            Some(DaemonCommand::Engine(command)) => Some(command),
            _ => None,
        }
    }

    /// Returns the arguments of the command that examines an index; `None` for any other command.
    pub(crate) fn catalogue(&self) -> Option<&LookArguments> {
        match &self.command {
            Some(DaemonCommand::TryCatalogue(arguments)) => Some(arguments),
            _ => None,
        }
    }

    /// Returns whether the arguments ask for the list of faults.
    pub(crate) fn asks_for_faults(&self) -> bool {
        self.given.texts("fault").any(|rule| rule == "help")
    }
}

/// Moves options for messages from before the name of a command to after it, as in `z3950d -q load`.
pub(crate) fn settle(arguments: &mut [OsString]) {
    let is_leading = |argument: &&OsString| {
        let text = argument.to_str().unwrap_or_default();
        ["-q", "--quiet", "--verbose", "-v", "-vv", "-vvv"].contains(&text)
            || text.starts_with("--color=")
    };
    let leading = arguments.iter().skip(1).take_while(is_leading).count();
    let is_command = |argument: &OsString| {
        let text = argument.to_str();
        text.is_some_and(DaemonCommand::has_subcommand)
    };
    if arguments.get(leading + 1).is_some_and(is_command)
        && let Some(begin) = arguments.get_mut(1..=leading + 1)
    {
        begin.rotate_right(1);
    }
}

pub(crate) const NOTHING: &str = "nothing to serve: give a file of records, --database NAME=PATH to name its database, \
                                  --demo for the built-in catalogue, or --config FILE";

const NO_DATABASES: &str = "--imitate, --replay and --record answer without databases: leave out files, --demo, \
                            --database and --save";

const FOLDS_ONLY: &str = "--fold works on its file alone: leave out other files, --demo, --database, --save, \
                          --config, --imitate, --replay and --record";

fn refusal(words: &str) -> clap::Error {
    Arguments::command().error(ErrorKind::MissingRequiredArgument, words)
}

fn maps() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        CatalogueMap::names()
            .map(CompletionCandidate::new)
            .collect()
    })
}

#[cfg(test)]
mod tests;
