//! The settings file `z3950d.toml`. All errors in it are reported at once, each with its line and column.
//!
//! Each setting is described once, here or in the file of its table; see [`settings!`]. `z3950d --print-config` prints
//! [`template`].

mod access;
mod catalogue;
mod databases;
mod engine;
mod faults;
mod gateway;
mod given;
mod limits;
mod listeners;
mod profile;
mod remote;
mod section;
mod setting;
mod unit;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use toml::de::DeTable;
use z3950_files::input;
use z3950_front::GatewayOptions;
use z3950_front::remote::RemoteOptions;
use z3950_front::z3950::profile::{ProfileError, Profiles};
use z3950_help::Section as ManualSection;
use z3950_server::access::Access;
use z3950_server::extended::TaskLimits;
use z3950_server::fault::Faults;
use z3950_server::imitate::Imitated;
use z3950_server::memory::{AccessPoints, DatabaseFiles, DocidField, Profile};
use z3950_server::{Limits, Offer};

pub(crate) use self::catalogue::CatalogueSettings;
use self::databases::GivenDatabases;
pub(crate) use self::databases::table::{ClusterSettings, MapSource};
pub(crate) use self::given::GivenSettings;
pub(crate) use self::listeners::{GivenListeners, ListenAddress, ListenerConfig, TlsFiles};
use self::section::{Notes, Section};
use self::setting::{Printed, parse, settings};
use crate::files::NamedFile;

/// The headings under which the help lists the options.
pub(crate) const SERVED: &str = "What to serve";
pub(crate) const LISTENERS: &str = "Where to listen";
pub(crate) const LOGS: &str = "Logs";

settings! {
    /// The settings from the file or the command line, with defaults for the settings that are in neither.
    #[derive(Debug)]
    struct Config {
        /// The databases whose records are at other servers.
        remotes: Vec<RemoteOptions>,
        /// The databases whose records are in search engines.
        clusters: Vec<ClusterSettings>,
        /// The databases whose records are in indexes that belong to other programs.
        catalogues: Vec<CatalogueSettings>,
        /// The target profiles that the gateway may use.
        gateway_profiles: Arc<Profiles>,
        /// The limits on extended services tasks.
        tasks: TaskLimits,
        /// The size at which a journal is folded into its database's file, in octets.
        journal_octets: Option<u64>,
        /// The options for databases on the command line.
        given_databases: GivenDatabases,
        /// The options for listeners on the command line.
        given_listeners: GivenListeners,
        /// Whether an existing transcript may be replaced.
        overwrite: bool,
    }

    /// z3950d.toml: the settings of z3950d.
    ///
    ///   z3950d --print-config > z3950d.toml      writes this file
    ///   z3950d --config z3950d.toml --check      reports every mistake with its line
    ///   z3950d --config z3950d.toml              serves; options on the command line take precedence
    ///
    /// As it stands, the file serves the built-in catalogue on the loopback interface. A setting that is commented out shows its
    /// default, or an example if it has no default. Relative paths start from the folder that holds the file; the systemd service of the
    /// Debian package can write to /var/lib/z3950d and /var/log/z3950d only, so give full paths there. Times are written as 500ms, 30s,
    /// 15m or 1h; sizes are written as numbers of octets, or as 64KiB, 2MiB or 1GiB.
    TOP "" {
        /// Addresses to listen on: HOST:PORT, [IPV6]:PORT or unix:PATH. Port 0 picks a free one.
        ///listen = ["127.0.0.1:2100"]
        listeners: Vec<ListenerConfig> = Vec::new(),
        "listen": Other(|config, value| listeners::addresses(value, &mut config.listeners)),
            option("listen", "ADDR", LISTENERS, is_usual = true, own = Some(Each(|config, text| parse(text).map(|at| config.given_listeners.listen.push(at)))),
                help = "Listen on an address: HOST:PORT, tls:HOST:PORT or unix:PATH. Port 0 picks a free one. May be repeated \
                        [default: 127.0.0.1:2100]");

        "listener": Tables(&[&listeners::LISTENER], |config, value| config.listeners.extend(value.tables(listeners::listener).into_iter().flatten())),
            option("certificate", "FILE", LISTENERS, aliases = &["cert"], requires = Some("key"),
                own = Some(Path(|config| &mut config.given_listeners.certificate)), help = "The certificate chain of TLS listeners, in PEM"),
            option("key", "FILE", LISTENERS, requires = Some("certificate"),
                own = Some(Path(|config| &mut config.given_listeners.key)), help = "The private key of TLS listeners, in PEM"),
            option("client-authorities", "FILE", LISTENERS, requires = Some("certificate"),
                own = Some(Path(|config| &mut config.given_listeners.authorities)),
                help = "Ask TLS clients for a certificate signed by one of these authorities, in PEM"),
            option("require-client-certificate", "", LISTENERS, requires = Some("client-authorities"),
                own = Some(Flag(|config| &mut config.given_listeners.is_certificate_required)),
                help = "Admit only clients that have a certificate"),
            option("no-http", "", LISTENERS, own = Some(Flag(|config| &mut config.given_listeners.is_z3950_only)),
                help = "Answer Z39.50 only, without SRU over HTTP on the same ports");

        databases: Vec<DatabaseFiles> = Vec::new(),
        // Databases are read after the indexes, because the settings of engines refer to indexes by name.
        "database": Tables(&[&databases::DATABASE, &remote::REMOTE, &engine::ENGINE, &catalogue::CATALOGUE], |_, _| ()),
            option("database", "NAME=PATH", SERVED, is_usual = true,
                own = Some(Each(|_, text| parse(text).map(|_: NamedFile| ()))),
                help = "Serve a file or a folder of files as a database. The records are ISO 2709, MARCXML, MARC-in-JSON or MARCMaker text; \
                        files given under the same name are searched together"),
            option("save", "NAME=FILE", SERVED, is_usual = true,
                own = Some(Each(|config, text| parse(text).map(|named| config.given_databases.saves.push(named)))),
                help = "Save the changes of clients to this file. They are in FILE.journal first, and in the file at the end. If the file \
                        exists at startup, both are read instead of the others"),
            option("strict", "", SERVED, own = Some(Flag(|config| &mut config.given_databases.is_strict)),
                help = "Refuse a search of a search engine of which a node does not answer, instead of finding what the other nodes have; \
                        `strict` in the settings file does so for one database");

        /// Answer HTTP requests for /metrics (in the text format of Prometheus) and /healthz on an address, such as 127.0.0.1:9210 or
        /// unix:/run/z3950d.status.
        ///status = "127.0.0.1:9210"
        status: Option<ListenAddress> = None,
        "status": Parsed(|config, text| parse(text).map(|place| config.status = Some(place))), option("status", "ADDR", LISTENERS);

        /// Serve the built-in catalogue: the databases books and serials.
        ///demo = true
        demo: bool = false,
        "demo": Flag(|config| &mut config.demo), option("demo", "", SERVED, is_usual = true);

        /// Serve a web page for searching and reading records on the listeners that answer SRU.
        page: bool = true,
        "page": Flag(|config| &mut config.page), option("no-page", "", LISTENERS);

        /// The field that holds the docid of a record (Use attribute 1032), such as 001 or 035$a, for databases that do not name their
        /// own field [default: 001].
        ///docid = "001"
        docid: DocidField = DocidField::default(),
        "docid": Parsed(|config, text| parse(text).map(|docid| config.docid = docid)), option("docid", "TAG[$c]", SERVED);

        /// A file with further target profiles, in the format of z3950's targets.toml.
        ///target-profiles = "targets.toml"
        target_profiles: Option<PathBuf> = None,
        "target-profiles": Path(|config| &mut config.target_profiles);

        /// Behave like another server instead of serving databases: yaz-ztest.
        ///imitate = "yaz-ztest"
        imitate: Option<Imitated> = None,
        "imitate": Parsed(|config, text| parse(text).map(|server| config.imitate = Some(server))), option("imitate", "SERVER", SERVED, is_usual = true);

        /// Relay between clients and the server of --upstream instead of serving databases. All messages are passed on unchanged, unless
        /// there are faults, and are written to a transcript, which --replay reads.
        ///record = "said.jsonl"
        record: Option<PathBuf> = None,
        "record": Path(|config| &mut config.record), option("record", "FILE", SERVED);

        /// The server to record: HOST:PORT, ssl:HOST:PORT or unix:PATH.
        ///upstream = "z3950.example.org:210"
        upstream: Option<String> = None,
        "upstream": Text(|config| &mut config.upstream), option("upstream", "ADDR", SERVED);

        /// Trust these certificates for --upstream ssl:HOST:PORT in addition to the system's, in PEM.
        ///upstream-ca = "ca.pem"
        upstream_ca: Option<PathBuf> = None,
        "upstream-ca": Path(|config| &mut config.upstream_ca), option("upstream-ca", "FILE", SERVED);

        /// Answer from a transcript instead of from databases. Each request gets the answer that was recorded for the same request; a
        /// Present gets the records that were recorded for the same search. A request that was never recorded gets diagnostic 100.
        ///replay = "said.jsonl"
        replay: Option<PathBuf> = None,
        "replay": Path(|config| &mut config.replay), option("replay", "FILE", SERVED);

        /// With --replay, answer a request that was never recorded with the next recorded answer to a request of the same kind.
        replay_in_order: bool = false,
        "replay-in-order": Flag(|config| &mut config.replay_in_order), option("replay-in-order", "", SERVED);

        /// With --replay, list requests that were never recorded in a file, as lines of JSON.
        ///report-missing = "missing.jsonl"
        report_missing: Option<PathBuf> = None,
        "report-missing": Path(|config| &mut config.report_missing), option("report-missing", "FILE", SERVED);

        gateway: Option<GatewayOptions> = Some(GatewayOptions::default()),
        "gateway": Tables(&[&gateway::GATEWAY], |config, value| config.gateway = gateway::read(value));

        limits: Limits = Limits::default(),
        "limits": Tables(&[&limits::LIMITS], limits::read);

        offer: Offer = access::offer(),
        "offer": Tables(&[&access::OFFER], |config, value| value.fill(&access::OFFER, &mut config.offer));

        access: Access = Access::default(),
        "access": Tables(&[&access::ACCESS], |config, value| value.fill(&access::ACCESS, config));

        profile: Profile = Profile::default(),
        "profile": Tables(&[&profile::PROFILE], |config, value| value.fill(&profile::PROFILE, &mut config.profile)),
            option("profile", "NAME", SERVED, values = Profile::NAMES, own = Some(Parsed(profile::choose)),
                help = "Accept and refuse attributes as another server does: bib-1, zebra or yaz-ztest");

        /// Misbehave: one rule per line, as with --fault. `z3950d --fault help` lists the faults.
        ///faults = ["on search: surrogate 14", "on search nth-of-all=3: close"]
        faults: Faults = Faults::new(),
        "faults": Each(faults::add), option("fault", "RULE", SERVED, is_usual = true, own = Some(Each(faults::add_or_help)),
                help = "Misbehave according to a rule; may be repeated. `--fault help` lists the faults");

        access_points: AccessPoints = AccessPoints::default(),
        "index": Tables(&[&profile::INDEX], |config, value| profile::indexes(value, &mut config.access_points));

        "fault": Tables(&[&faults::FAULT], |config, value| faults::read(value, &mut config.faults));

        "log": Tables(&[&LOG], |config, value| value.fill(&LOG, config));
    }

    LOG "[log]" {
        /// Write a line for each session to a file, or to standard error for `-`. It says who the client was, how long the session
        /// lasted, how many operations it had, and how it ended.
        ///access-log = "access.log"
        access_log: Option<PathBuf> = None,
        "access-log" ("access"): Path(|config| &mut config.access_log), option("access-log", "FILE", LOGS, is_usual = true);

        /// The format of the access log: text or json [default: text].
        ///access-log-format = "text"
        access_log_format: LogFormat = LogFormat::Text,
        "access-log-format" ("access-format"): Parsed(|config, text| parse(text).map(|format| config.access_log_format = format)),
            option("access-log-format", "FORMAT", LOGS);

        /// Write every APDU to a file as readable text.
        ///apdu-log = "apdus.log"
        apdu_log: Option<PathBuf> = None,
        "apdu-log" ("apdus"): Path(|config| &mut config.apdu_log), option("apdu-log", "FILE", LOGS);

        /// Write every APDU to a file as a line of JSON, which --replay reads.
        ///transcript = "transcript.jsonl"
        transcript: Option<PathBuf> = None,
        "transcript": Path(|config| &mut config.transcript), option("transcript", "FILE", LOGS);

        /// Judge by Z39.50-2003 what clients send and how they react to the faults that --fault causes. The report is written at the end:
        /// as JSON if the name of the file ends in .json, as JUnit XML if it ends in .xml, and as text otherwise. Several files may be
        /// named.
        ///judge = ["report.json", "report.xml"]
        judge: Vec<PathBuf> = Vec::new(),
        "judge": Paths(|config| &mut config.judge), option("judge", "FILE", LOGS);
    }
}

/// Returns a settings file with every setting explained; optional settings are commented out.
pub(crate) fn template() -> String {
    let mut template = String::new();
    TOP.print(&mut template);
    // Uncomment the lines that make the file serve the built-in catalogue.
    let template = template.replace("\n#listen = ", "\nlisten = ");
    template.replace("\n#demo = ", "\ndemo = ")
}

/// Returns the descriptions of all settings, with a section for each table.
pub(crate) fn described() -> Vec<ManualSection> {
    let mut sections = Vec::new();
    TOP.describe(&mut sections);
    sections
}

/// The format of the lines in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("expected text or json"),
        }
    }
}

/// The size limit for a settings file, in octets.
const MAX_SIZE: u64 = 1 << 20;

impl Config {
    /// Reads a settings file. Relative paths in it start from its folder.
    ///
    /// # Errors
    /// Returns one message for each error in the file, with the error's line and column, as in `z3950d.toml:3:12: sessions is not a
    /// number`.
    ///
    /// The settings that could be read in spite of the errors are returned too.
    pub(crate) fn read(path: &Path) -> (Option<Self>, Vec<String>) {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.display();
        let text = match input::read_text(path, MAX_SIZE) {
            Ok(text) => text,
            Err(error) => {
                let hint = match error.kind() {
                    io::ErrorKind::NotFound => "; z3950d --print-config prints a template",
                    _ => "",
                };
                return (None, vec![format!("{name}: {error}{hint}")]);
            }
        };
        let (config, errors) = Self::parse_in_part(&text, folder);
        let errors = errors.iter();
        let lines = errors.map(|(place, reason)| format!("{name}:{place}: {reason}"));
        (config, lines.collect())
    }

    /// Parses the text of a settings file; relative paths in it start from `folder`. The files named in the settings are not
    /// read.
    ///
    /// # Errors
    /// Returns all errors in the text, with their line numbers.
    #[cfg(test)]
    pub(crate) fn parse(text: &str, folder: &Path) -> Result<Self, Vec<(usize, String)>> {
        match Self::parse_in_part(text, folder) {
            (Some(config), errors) if errors.is_empty() => Ok(config),
            (_, errors) => {
                let errors = errors.into_iter();
                Err(errors.map(|(place, reason)| (place.line, reason)).collect())
            }
        }
    }

    /// Reads all valid settings, and returns an error with its place for each invalid one. Returns `None` if the text is not TOML.
    fn parse_in_part(text: &str, folder: &Path) -> (Option<Self>, Vec<(TextPlace, String)>) {
        let notes = Notes::default();
        let (table, syntax) = DeTable::parse_recoverable(text);
        for error in &syntax {
            let at = error.span().map_or(0, |span| span.start);
            notes.add(at, error.message());
        }
        let mut config = Self::default();
        // After a syntax error, tables may be incomplete, and reading them would report the same error twice.
        if syntax.is_empty() {
            let top = Section::top(&notes, folder, table.get_ref());
            top.fill(&[&TOP], &mut config);
            databases::read(&top, &mut config);
            config.status = config.status.map(|place| place.in_folder(folder));
            // The setting `-` means standard error, so it must not become a path in the folder.
            if config.access_log.as_deref() == Some(&folder.join("-")) {
                config.access_log = Some("-".into());
            }
        }
        for cluster in &mut config.clusters {
            cluster.line = TextPlace::of(text, cluster.line).line;
        }
        for catalogue in &mut config.catalogues {
            catalogue.line = TextPlace::of(text, catalogue.line).line;
        }
        let notes = notes.into_sorted();
        (syntax.is_empty().then_some(config), errors(text, notes))
    }
}

/// Returns the built-in target profiles and those in the file named by `target-profiles`.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read_profiles(file: Option<&Path>) -> Result<Profiles, ProfileError> {
    let built_in = Profiles::built_in();
    match file {
        Some(path) => built_in.with_file(path),
        None => Ok(built_in),
    }
}

/// Converts errors with positions into errors with lines and columns.
fn errors(text: &str, notes: Vec<(usize, String)>) -> Vec<(TextPlace, String)> {
    let notes = notes.into_iter();
    notes
        .map(|(at, reason)| (TextPlace::of(text, at), reason))
        .collect()
}

/// A place in the file, written as in `3:12`. The line and the column are counted from 1, and columns are counted in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextPlace {
    line: usize,
    column: usize,
}

impl TextPlace {
    /// Returns the place of the octet at this 0-based index.
    fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests;
