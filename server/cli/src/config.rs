//! The settings file `z3950d.toml`: listeners, limits, databases, the gateway, access, attributes, faults, logs. All errors are reported at
//! once, each with its line.
//!
//! `z3950d --print-config` prints [`TEMPLATE`], which explains every setting.

mod access;
mod engine;
mod gateway;
mod listeners;
mod profile;
mod remote;
mod section;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use toml::de::DeTable;
use z3950_asn1::input;
use z3950_front::GatewayOptions;
use z3950_front::remote::RemoteOptions;
use z3950_front::z3950::profile::Profiles;
use z3950_server::access::Access;
use z3950_server::extended::TaskLimits;
use z3950_server::fault::{Fault, Faults, Rule, When};
use z3950_server::memory::{AccessPoints, DatabaseFiles, DocidField, Profile};
use z3950_server::{Limits, Offer};

pub(crate) use self::engine::EngineSettings;
pub(crate) use self::listeners::{ListenAddress, ListenerConfig, TlsFiles};
use self::section::{Notes, Section, duration, number, octets, string, word};

/// The settings of a file, or of the command line, with defaults for the rest.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The addresses to listen on.
    pub(crate) listeners: Vec<ListenerConfig>,
    /// Whether the demo catalogue is served as well.
    pub(crate) demo: bool,
    /// Whether there is no page for people.
    pub(crate) no_page: bool,
    /// The default docid field of databases.
    pub(crate) docid: DocidField,
    /// The databases.
    pub(crate) databases: Vec<DatabaseFiles>,
    /// The databases at other servers.
    pub(crate) remotes: Vec<RemoteOptions>,
    /// The databases in a search engine.
    pub(crate) engines: Vec<EngineSettings>,
    /// The file with profiles of their targets.
    pub(crate) target_profiles: Option<PathBuf>,
    /// The gateway; `None` for none.
    pub(crate) gateway: Option<GatewayOptions>,
    /// The profiles of its targets.
    pub(crate) gateway_profiles: Arc<Profiles>,
    /// Limits.
    pub(crate) limits: Limits,
    /// Limits of the tasks of extended services.
    pub(crate) tasks: TaskLimits,
    /// The size at which journals are folded, in octets.
    pub(crate) journal_octets: Option<u64>,
    /// What Init offers.
    pub(crate) offer: Offer,
    /// Who has access.
    pub(crate) access: Access,
    /// The supported attributes.
    pub(crate) profile: Profile,
    /// The indexes.
    pub(crate) access_points: AccessPoints,
    /// The scripted faults.
    pub(crate) faults: Faults,
    /// The server to imitate, by its name.
    pub(crate) imitate: Option<z3950_server::imitate::Imitated>,
    /// Where the status is shown over HTTP.
    pub(crate) status: Option<ListenAddress>,
    /// The file for the log of sessions; `-` for standard error.
    pub(crate) access_log: Option<PathBuf>,
    /// The form of its lines.
    pub(crate) access_log_format: LogFormat,
    /// The file for the log of APDUs.
    pub(crate) apdu_log: Option<PathBuf>,
    /// The file for the transcript.
    pub(crate) transcript: Option<PathBuf>,
    /// The file in which sessions with another server are recorded.
    pub(crate) record: Option<PathBuf>,
    /// The address of that server.
    pub(crate) upstream: Option<String>,
    /// Certificates that it is trusted with, beyond those of the system.
    pub(crate) upstream_ca: Option<PathBuf>,
    /// The files for reports on clients.
    pub(crate) judge: Vec<PathBuf>,
    /// Whether a transcript may replace an existing one.
    pub(crate) overwrite: bool,
    /// The recording to replay.
    pub(crate) replay: Option<PathBuf>,
    /// The file that lists the requests which are not in the recording.
    pub(crate) report_missing: Option<PathBuf>,
    /// Whether a request that is not in the recording gets the next answer to a request of its kind.
    pub(crate) replay_in_order: bool,
}

/// How lines of a log are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    #[default]
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

/// A settings file with every setting explained; optional settings are commented out.
pub(crate) const TEMPLATE: &str = include_str!("config/z3950d.toml");

/// The size limit of a settings file, in octets.
const MAX_SIZE: u64 = 1 << 20;

impl Config {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// Everything that is wrong with it, a line for each: `z3950d.toml:3: sessions is not a number`.
    ///
    /// What can be read in spite of that is returned too.
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
        let lines = errors.map(|(line, reason)| format!("{name}:{line}: {reason}"));
        (config, lines.collect())
    }

    /// Reads the text of a file; paths in it are relative to `folder`. The files that it names are not read.
    ///
    /// # Errors
    /// Everything that is wrong with it, with the numbers of lines.
    #[cfg(test)]
    pub(crate) fn parse(text: &str, folder: &Path) -> Result<Self, Vec<(usize, String)>> {
        match Self::parse_in_part(text, folder) {
            (Some(config), errors) if errors.is_empty() => Ok(config),
            (_, errors) => Err(errors),
        }
    }

    /// The settings without those at fault, and the faults with the numbers of their lines. `None` if the text is not TOML.
    fn parse_in_part(text: &str, folder: &Path) -> (Option<Self>, Vec<(usize, String)>) {
        let notes = Notes::default();
        let (table, syntax) = DeTable::parse_recoverable(text);
        for error in &syntax {
            let at = error.span().map_or(0, |span| span.start);
            notes.add(at, error.message());
        }
        let mut config = Self::default();
        // The errors of an incomplete table would be reported twice.
        if syntax.is_empty() {
            let top = Section::top(&notes, table.get_ref());
            config.fill(&top, folder);
            top.finish();
        }
        for engine in &mut config.engines {
            engine.line = line_of(text, engine.line);
            engine.nodes_line = line_of(text, engine.nodes_line);
        }
        let notes = notes.into_sorted();
        (syntax.is_empty().then_some(config), errors(text, notes))
    }

    fn fill(&mut self, top: &Section<'_>, folder: &Path) {
        self.listeners = listeners::read(top, folder);
        self.demo = top.flag("demo").unwrap_or(false);
        self.no_page = !top.flag("page").unwrap_or(true);
        self.docid = top.parse("docid", str::parse).unwrap_or_default();
        profile::indexes(top, &mut self.access_points);
        (self.databases, self.remotes, self.engines) = databases(top, folder, &self.access_points);
        self.target_profiles = top.path("target-profiles", folder);
        self.gateway = gateway::read(top);
        top.section("limits", |section| {
            fill_limits(section, &mut self.limits, &mut self.tasks);
            let size = section.read(
                "journal-octets",
                "a number of octets such as \"64KiB\"",
                octets,
            );
            if size == Some(0) {
                section.note_less("journal-octets", 1);
            }
            self.journal_octets = size.and_then(|size| u64::try_from(size).ok());
        });
        top.section("offer", |section| access::offer(section, &mut self.offer));
        top.section("access", |section| access::read(section, &mut self.access));
        if let Some(profile) = top.section("profile", profile::read) {
            self.profile = profile;
        }
        self.faults = scripted_faults(top);
        self.imitate = top.parse("imitate", str::parse);
        let status = top.parse("status", ListenAddress::from_str);
        self.status = status.map(|place| place.in_folder(folder));
        top.section("log", |section| {
            let access = section.read("access", "a path", word);
            // `-` is standard error.
            self.access_log = access.map(|path| match path {
                "-" => path.into(),
                path => folder.join(path),
            });
            let format = section.parse("access-format", LogFormat::from_str);
            self.access_log_format = format.unwrap_or_default();
            self.apdu_log = section.path("apdus", folder);
            self.transcript = section.path("transcript", folder);
            let files = section.list("judge", "a path", word);
            self.judge = files.into_iter().map(|file| folder.join(file)).collect();
        });
        self.record = top.path("record", folder);
        self.upstream = top.text("upstream");
        self.upstream_ca = top.path("upstream-ca", folder);
        self.replay = top.path("replay", folder);
        self.report_missing = top.path("report-missing", folder);
        self.replay_in_order = top.flag("replay-in-order").unwrap_or(false);
    }
}

/// Errors with the numbers of their lines instead of their positions.
fn errors(text: &str, notes: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let notes = notes.into_iter();
    notes
        .map(|(at, reason)| (line_of(text, at), reason))
        .collect()
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|octet| **octet == b'\n').count() + 1
}

/// The databases: `[[database]]`, those with files, those at other servers, and those in a search engine.
fn databases(
    top: &Section<'_>,
    folder: &Path,
    points: &AccessPoints,
) -> (Vec<DatabaseFiles>, Vec<RemoteOptions>, Vec<EngineSettings>) {
    let mut names = BTreeSet::new();
    let mut remotes = Vec::new();
    let mut engines = Vec::new();
    let databases = top.sections("database", |section| {
        let name = section.need("name", "a text", word).map(str::to_owned);
        let mut database = DatabaseFiles::default();
        database.name = name.unwrap_or_default();
        database.title = section.text("title");
        database.description = section.text("description");
        database.paths = section.list("files", "a path", |value| {
            word(value).map(|text| folder.join(text))
        });
        database.docid = section.parse("docid", DocidField::from_str);
        database.save = section.path("save", folder);
        if !names.insert(database.name.to_lowercase()) {
            section.note_whole("a database of this name already exists");
        }
        if let Some(mut engine) = engine::read(section, &database.name, points) {
            engine.options.title = database.title;
            engine.options.description = database.description;
            engine.docid = database.docid;
            engines.push(engine);
            return None;
        }
        if let Some(mut remote) = remote::read(section, &database.name) {
            remote.title = database.title;
            remote.description = database.description;
            remotes.push(remote);
            return None;
        }
        if database.paths.is_empty() && database.save.is_none() {
            section.note_whole("without files, save, targets and engine, it has no records");
        }
        Some(database)
    });
    (databases.into_iter().flatten().collect(), remotes, engines)
}

/// Faults: rules as text in `faults`, and `[[fault]]` tables.
fn scripted_faults(top: &Section<'_>) -> Faults {
    let mut faults = Faults::new();
    for value in top.values("faults") {
        match string(value.get_ref()).map(Rule::from_str) {
            Some(Ok(rule)) => faults = faults.with(rule),
            Some(Err(error)) => top.note(value, format!("faults: {error}")),
            None => top.note(value, "faults holds a value that is not a text"),
        }
    }
    let rules = top.sections("fault", fault);
    rules.into_iter().flatten().fold(faults, Faults::with)
}

fn fault(section: &Section<'_>) -> Option<Rule> {
    let when = section.parse("on", When::on);
    let fault = section.need("do", "a text", string);
    let fault = fault.and_then(|_| section.parse("do", Fault::from_str));
    let mut when = when.unwrap_or_default();
    for key in ["session", "nth", "nth-of-all"] {
        if let Some(number) = section.read(key, "a number from 1", number::<u32>) {
            when = condition(section, when, key, &number.to_string());
        }
    }
    for key in ["database", "docid", "syntax"] {
        if let Some(text) = section.read(key, "a text", string) {
            when = condition(section, when, key, text);
        }
    }
    Some(Rule::new(when, fault?))
}

fn condition(section: &Section<'_>, when: When, key: &str, value: &str) -> When {
    let unchanged = when.clone();
    when.with(key, value).unwrap_or_else(|reason| {
        section.note_whole(format!("{key}: {reason}"));
        unchanged
    })
}

/// The limits: `[limits]`, a key for each field of [`Limits`] and [`TaskLimits`].
fn fill_limits(section: &Section<'_>, limits: &mut Limits, tasks: &mut TaskLimits) {
    let size = |key, field: &mut usize| {
        section.set(key, "a number of octets such as \"64KiB\"", octets, field);
    };
    let count = |key, field: &mut usize| section.set(key, "a number", number, field);
    let time = |key, field: &mut Duration| {
        section.set(key, "a time such as \"30s\"", duration, field);
    };
    size("apdu-size-before-init", &mut limits.apdu_size_before_init);
    size("apdu-size", &mut limits.apdu_size);
    size("preferred-message-size", &mut limits.preferred_message_size);
    size(
        "exceptional-record-size",
        &mut limits.exceptional_record_size,
    );
    size("read-ahead", &mut limits.read_ahead);
    size("query-text", &mut limits.query_text);
    size("session-octets", &mut limits.session_octets);
    size("result-set-name", &mut limits.result_set_name);
    let all = section.read(
        "server-octets",
        "a number of octets such as \"64KiB\"",
        octets,
    );
    limits.server_octets = all.or(limits.server_octets);
    count("records-per-response", &mut limits.records_per_response);
    count("large-answers", &mut limits.large_answers);
    count("sru-records", &mut limits.sru_records);
    count("sru-sets", &mut limits.sru_sets);
    count("segments", &mut limits.segments);
    count("databases-per-search", &mut limits.databases_per_search);
    count("result-sets", &mut limits.result_sets);
    count("hits", &mut limits.hits);
    count("scan-terms", &mut limits.scan_terms);
    count("sort-keys", &mut limits.sort_keys);
    count("sorted-records", &mut limits.sorted_records);
    count("term-counts", &mut limits.term_counts);
    count("facets", &mut limits.facets);
    count("facet-terms", &mut limits.facet_terms);
    count("sessions", &mut limits.sessions);
    count("waiting", &mut limits.waiting);
    count("sessions-per-request", &mut limits.sessions_per_request);
    count("concurrent-operations", &mut limits.concurrent_operations);
    count("refusals", &mut limits.refusals);
    count("refused-addresses", &mut limits.refused_addresses);
    count("tasks", &mut tasks.tasks);
    size("task-octets", &mut tasks.octets);
    count("task-hits", &mut tasks.hits);
    time("init-time", &mut limits.init_time);
    time("init-patience", &mut limits.init_patience);
    time("idle-patience", &mut limits.idle_patience);
    time("write-time", &mut limits.write_time);
    time("drain-time", &mut limits.drain_time);
    time("sru-set-time", &mut limits.sru_set_time);
    time("linger-time", &mut limits.linger_time);
    time("refusal-delay", &mut limits.refusal_delay);
    let most = section.read("sessions-per-address", "a number", number);
    limits.sessions_per_address = most.or(limits.sessions_per_address);
    let never = |value| match string(value) {
        Some("never") => Some(None),
        _ => duration(value).map(Some),
    };
    let time_or_never = |key, field: &mut Option<Duration>| {
        section.set(key, "a time such as \"15m\", or never", never, field);
    };
    time_or_never("idle-time", &mut limits.idle_time);
    time_or_never("operation-time", &mut limits.operation_time);
    let most = limits.session_octets;
    for (key, takes, times) in [
        ("apdu-size", limits.apdu_size, 16),
        ("exceptional-record-size", limits.exceptional_record_size, 2),
        ("preferred-message-size", limits.preferred_message_size, 2),
    ] {
        if takes.saturating_mul(times) > most {
            section.note_whole(format!(
                "{key} is {takes}, which takes up to {times} times as many octets, but session-octets is {most}: \
                 raise session-octets, or lower {key}"
            ));
        }
    }
    refuse_too_small(section, limits);
}

/// Refuses values with which nobody could be served.
fn refuse_too_small(section: &Section<'_>, limits: &Limits) {
    let per_address = limits.sessions_per_address.unwrap_or(1);
    let of_server = limits.server_octets.unwrap_or(MIB);
    for (key, value, least) in [
        ("apdu-size-before-init", limits.apdu_size_before_init, KIB),
        ("apdu-size", limits.apdu_size, KIB),
        ("preferred-message-size", limits.preferred_message_size, KIB),
        (
            "exceptional-record-size",
            limits.exceptional_record_size,
            KIB,
        ),
        ("server-octets", of_server, MIB),
        // That of the result set `default`.
        ("result-set-name", limits.result_set_name, 7),
        ("sessions", limits.sessions, 1),
        ("sessions-per-address", per_address, 1),
        ("records-per-response", limits.records_per_response, 1),
        ("segments", limits.segments, 1),
        ("databases-per-search", limits.databases_per_search, 1),
        ("result-sets", limits.result_sets, 1),
        ("hits", limits.hits, 1),
        ("scan-terms", limits.scan_terms, 1),
        ("sort-keys", limits.sort_keys, 1),
        ("sorted-records", limits.sorted_records, 1),
        ("concurrent-operations", limits.concurrent_operations, 1),
        ("large-answers", limits.large_answers, 1),
        ("sessions-per-request", limits.sessions_per_request, 1),
        ("refusals", limits.refusals, 1),
        ("refused-addresses", limits.refused_addresses, 1),
    ] {
        if value < least {
            section.note_less(key, least);
        }
    }
    for (key, time) in [
        ("init-time", Some(limits.init_time)),
        ("operation-time", limits.operation_time),
        ("idle-time", limits.idle_time),
        ("write-time", Some(limits.write_time)),
    ] {
        if time.is_some_and(|time| time < LEAST_TIME) {
            section.note_less(key, "1ms");
        }
    }
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const LEAST_TIME: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests;
