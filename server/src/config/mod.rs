//! The configuration file `z3950d.toml`: listeners, limits, databases, who may do what, attributes, faults, logs. It is checked
//! as a whole: every error is told with its line.
//!
//! ```toml
//! listen = ["127.0.0.1:2100", "unix:/run/z3950d.sock"]
//!
//! [[listener]]                        # one with TLS
//! address = "0.0.0.0:2101"
//! certificate = "server.pem"
//! key = "server.key"
//! clients = "optional"                # their certificates: unasked, optional or required …
//! authorities = "clients.pem"         # … and of these authorities
//!
//! [[database]]
//! name = "books"
//! title = "Books of the town library"
//! files = ["books.mrc", "more"]       # files, and folders of files
//! docid = "001"
//! save = "books.mrc"                  # updates are written here
//!
//! [limits]                            # by the names of `Limits`
//! sessions = 500
//! apdu-size = "2MiB"
//! idle-time = "10m"                   # for the next request …
//! operation-time = "30s"              # … and for its answer; never for no limit
//!
//! [offer]                             # what Init grants
//! versions = 3
//! options = ["search", "present", "namedResultSets"]
//!
//! [access]
//! anonymous = true
//! [[access.user]]
//! name = "ann"
//! password = "secret"
//! databases = ["books"]
//!
//! [profile]                           # attributes taken and refused
//! base = "bib-1"                      # or zebra, yaz-ztest
//! use = { only = [4, 1003, 1016] }
//! truncation = { all-but = [102], others = "ignore" }
//! structure = { suppose = 1 }
//!
//! [[index]]                           # another index, or one in the place of that name
//! name = "shelf"
//! use = [20, 53]
//! kind = "number"
//! marc21 = "852$hi"
//!
//! [[fault]]
//! on = "search"
//! database = "books"
//! nth = 2
//! do = "delay 500ms"
//!
//! [log]
//! apdus = "apdus.log"
//! transcript = "said.jsonl"
//! ```

mod access;
mod databases;
mod faults;
mod limits;
mod listeners;
mod profile;
mod section;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

pub use self::listeners::{ListenerConfig, Place, PlaceError, TlsFiles};
use self::section::{Notes, Section, boolean, word};
use crate::access::Access;
use crate::extended::TaskLimits;
use crate::fault::Faults;
use crate::limits::Limits;
use crate::memory::{AccessPoints, DatabaseFiles, DocidField, Profile};
use crate::target::Offer;

/// What a configuration file says, or the command line, with the defaults where it says nothing.
#[derive(Debug, Default)]
pub struct Config {
    /// Where to listen.
    pub listeners: Vec<ListenerConfig>,
    /// Whether the demo catalogue is served as well.
    pub demo: bool,
    /// Where docids stand in databases that do not say so themselves.
    pub docid: DocidField,
    /// The databases.
    pub databases: Vec<DatabaseFiles>,
    /// Limits.
    pub limits: Limits,
    /// Limits of the tasks of extended services.
    pub tasks: TaskLimits,
    /// What Init grants.
    pub offer: Offer,
    /// Who may do what.
    pub access: Access,
    /// The attributes taken and refused.
    pub profile: Profile,
    /// The indexes.
    pub access_points: AccessPoints,
    /// What is to go wrong.
    pub faults: Faults,
    /// The server to imitate, by its name.
    pub imitate: Option<crate::imitate::Imitated>,
    /// Where APDUs are listed.
    pub apdu_log: Option<PathBuf>,
    /// Where the transcript goes.
    pub transcript: Option<PathBuf>,
    /// The recording that is answered again.
    pub replay: Option<PathBuf>,
}

/// Everything that is wrong with a configuration file.
#[derive(Debug)]
pub struct ConfigErrors {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, in the order of lines; at least one.
    pub errors: Vec<ConfigError>,
}

/// Something that is wrong with a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The line, from 1; `None` if it is the file that cannot be read.
    pub line: Option<usize>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for ConfigErrors {
    /// A line for each: `z3950d.toml:3: sessions is not a number`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}:", self.path.display())?;
            if let Some(line) = error.line {
                write!(f, "{line}:")?;
            }
            write!(f, " {}", error.reason)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// The most octets of a configuration file.
const MAX_SIZE: u64 = 1 << 20;

impl Config {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(path: &Path) -> Result<Self, ConfigErrors> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let unreadable = |error: io::Error| {
            vec![ConfigError {
                line: None,
                reason: error.to_string(),
            }]
        };
        let read = text_of(path).map_err(unreadable);
        read.and_then(|text| Self::parse(&text, folder))
            .map_err(|errors| ConfigErrors {
                path: path.to_owned(),
                errors,
            })
    }

    /// Reads the text of a file; paths in it are relative to `folder`. Neither are files looked at that it names.
    ///
    /// # Errors
    /// Everything that is wrong with it, at least one.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Vec<ConfigError>> {
        let notes = Notes::default();
        let (table, syntax) = DeTable::parse_recoverable(text);
        for error in &syntax {
            let at = error.span().map_or(0, |span| span.start);
            notes.add(at, error.message());
        }
        let mut config = Self::default();
        // A table that is not all there would be told of twice.
        if syntax.is_empty() {
            let top = Section::new(&notes, "the file", table.get_ref(), 0..0);
            config.fill(&top, folder);
            top.finish();
        }
        let notes = notes.into_sorted();
        match notes.is_empty() {
            true => Ok(config),
            false => Err(errors(text, notes)),
        }
    }

    fn fill(&mut self, top: &Section<'_>, folder: &Path) {
        let path =
            |section: &Section<'_>, key| Some(folder.join(section.read(key, "a path", word)?));
        self.listeners = listeners::read(top, folder);
        self.demo = top.read("demo", "true or false", boolean).unwrap_or(false);
        self.docid = top.parse("docid", str::parse).unwrap_or_default();
        self.databases = databases::read(top, folder);
        top.section("limits", |section| {
            limits::read(section, &mut self.limits, &mut self.tasks);
        });
        top.section("offer", |section| access::offer(section, &mut self.offer));
        top.section("access", |section| access::read(section, &mut self.access));
        if let Some(profile) = top.section("profile", profile::read) {
            self.profile = profile;
        }
        profile::indexes(top, &mut self.access_points);
        self.faults = faults::read(top);
        self.imitate = top.parse("imitate", str::parse);
        top.section("log", |section| {
            self.apdu_log = path(section, "apdus");
            self.transcript = path(section, "transcript");
        });
        self.replay = path(top, "replay");
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.len() > MAX_SIZE {
        let reason = format!("more than {MAX_SIZE} octets");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    std::fs::read_to_string(path)
}

fn errors(text: &str, notes: Vec<(usize, String)>) -> Vec<ConfigError> {
    let line = |at: usize| {
        let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
        before.iter().filter(|octet| **octet == b'\n').count() + 1
    };
    let errors = notes.into_iter().map(|(at, reason)| ConfigError {
        line: Some(line(at)),
        reason,
    });
    errors.collect()
}

#[cfg(test)]
mod tests;
