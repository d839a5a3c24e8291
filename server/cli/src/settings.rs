//! Combines the settings from the settings file and the command line, which takes precedence, and checks everything that they name.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use z3950_files::{Draft, Existing, Growing, Lock};
use z3950_front::{CataloguePage, Gateway};
use z3950_server::memory::{DatabaseFiles, journal_path};
use z3950_server::tls::{ClientCertificates, Tls, TlsError, read};
use z3950_server::transcript::Replay;

use crate::access_log::{AccessLog, STDERR};
use crate::args::{Arguments, NOTHING};
use crate::config::{Config, GivenSettings, ListenAddress, TlsFiles, read_profiles};
use crate::failure::{Failure, chain, complain};

/// The origin of settings: the settings file or the command line.
pub(super) struct SettingOrigin {
    file: Option<PathBuf>,
    /// The names of the databases on the command line, in lower case.
    databases: BTreeSet<String>,
    given: GivenSettings,
}

impl SettingOrigin {
    pub(super) fn of(arguments: &Arguments) -> Self {
        let databases = arguments.databases.iter();
        Self {
            file: arguments.config.clone(),
            databases: databases.map(|named| named.name.to_lowercase()).collect(),
            given: arguments.given.clone(),
        }
    }

    /// Returns the settings file; `None` without `--config`.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the beginning of a message about a database in the settings file: `z3950d.toml: database cat: files`, where
    /// `files` is the key that contains the path.
    pub(super) fn of_database(&self, database: &DatabaseFiles, path: Option<&Path>) -> String {
        let name = format!("database {}", database.name);
        let is_own = self.databases.contains(&database.name.to_lowercase());
        let Some(file) = self.file.as_ref().filter(|_| !is_own) else {
            return name;
        };
        let key = match path {
            Some(path) if database.save.as_deref() == Some(path) => ": save",
            Some(_) => ": files",
            None => "",
        };
        format!("{}: {name}{key}", file.display())
    }

    /// Returns the name of the settings file and the key, as the beginning of a message.
    fn key(&self, key: &str) -> String {
        let is_replaced = match key {
            "listener" => self.given.has("listen"),
            option => self.given.has(option),
        };
        match self.file.as_ref().filter(|_| !is_replaced) {
            Some(file) => format!("{}: {key}: ", file.display()),
            None => String::new(),
        }
    }
}

/// Returns the settings from the command line and the settings file, except settings that cannot be read, and a line for each
/// error.
pub(crate) fn settings(arguments: Arguments) -> (Option<Config>, Vec<String>) {
    let read = arguments.config.as_deref().map(Config::read);
    let (config, mut wrong) = read.unwrap_or_else(|| (Some(Config::default()), Vec::new()));
    let Some(mut config) = config else {
        return (None, wrong);
    };
    arguments.given.apply(&mut config);
    config.replace_databases(arguments.databases);
    if let Some(gateway) = &mut config.gateway
        && !gateway.targets.is_closed()
    {
        match read_profiles(config.target_profiles.as_deref()) {
            Ok(profiles) => {
                gateway.targets.resolve(&profiles);
                config.gateway_profiles = Arc::new(profiles);
            }
            Err(error) => wrong.push(chain(&error)),
        }
    }
    let own = config.databases.iter().map(|database| &database.name);
    let remote = config.remotes.iter().map(|remote| &remote.name);
    let engines = in_engines(&config);
    wrong.extend(
        own.chain(remote)
            .chain(engines)
            .filter_map(|name| reserved(name, &config)),
    );
    wrong.extend(twofold(&config));
    config.overwrite = arguments.overwrite;
    if config.report_missing.is_some() && config.replay.is_none() {
        let words = "--report-missing (report-missing in the file) needs --replay FILE (replay)";
        wrong.push(words.to_owned());
    }
    if config.replay_in_order && config.replay.is_none() {
        let words = "--replay-in-order (replay-in-order in the file) needs --replay FILE (replay)";
        wrong.push(words.to_owned());
    }
    wrong.extend(of_recording(&config).map(str::to_owned));
    wrong.extend(shared_outputs(&config));
    let own = has_databases(&config);
    let without = config.imitate.is_some() || config.replay.is_some() || config.record.is_some();
    if !own && !without && wrong.is_empty() {
        wrong.push(NOTHING.to_owned());
    }
    (Some(config), wrong)
}

/// Returns whether the settings contain databases.
fn has_databases(config: &Config) -> bool {
    config.demo
        || !config.databases.is_empty()
        || !config.remotes.is_empty()
        || !config.clusters.is_empty()
        || !config.catalogues.is_empty()
}

/// Returns the names of the databases in search engines.
fn in_engines(config: &Config) -> impl Iterator<Item = &String> {
    let clusters = config.clusters.iter().map(|cluster| &cluster.options.name);
    let catalogues = config.catalogues.iter();
    clusters.chain(catalogues.map(|catalogue| &catalogue.options.name))
}

/// Returns an error message if the settings for recording contradict each other; otherwise, `None`.
fn of_recording(config: &Config) -> Option<&'static str> {
    let own = has_databases(config);
    let others = own || config.imitate.is_some() || config.replay.is_some();
    match (&config.record, &config.upstream) {
        (Some(_), None) => {
            Some("--record (record in the file) needs the server to record: --upstream HOST:PORT")
        }
        (None, Some(_)) => {
            Some("--upstream (upstream in the file) needs a file to record in: --record FILE")
        }
        (Some(_), Some(_)) if others => Some(
            "--record (record in the file) passes on what another server answers: leave out databases, \
             imitate and replay",
        ),
        (Some(_), Some(_)) if config.transcript.is_some() => {
            Some("--record writes the transcript: leave out --transcript")
        }
        _ => None,
    }
}

/// Returns an error message for each output that is the same file as another output or as the recording to be replayed. A device
/// may be used for several outputs.
fn shared_outputs(config: &Config) -> Vec<String> {
    let outputs = [
        ("record", &config.record),
        ("transcript", &config.transcript),
        ("report-missing", &config.report_missing),
        ("apdu-log", &config.apdu_log),
        ("access-log", &config.access_log),
    ];
    let outputs = outputs
        .into_iter()
        .filter_map(|(key, path)| Some((key, path.as_deref()?)));
    let reports = config.judge.iter().map(|path| ("judge", path.as_path()));
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|file| !file.is_file());
    let mut wrong = Vec::new();
    let mut before: Vec<(&str, &Path)> = Vec::new();
    for (key, path) in outputs.chain(reports) {
        let shown = path.display();
        let replay = config.replay.as_deref();
        if replay.is_some_and(|replay| z3950_files::same(path, replay)) {
            wrong.push(format!(
                "--{key} {shown} is the recording to be replayed: name another file"
            ));
        }
        let mut known = before.iter().filter(|_| !is_device(path));
        if let Some((other, _)) = known.find(|(_, other)| z3950_files::same(path, other)) {
            wrong.push(format!(
                "--{key} {shown} is the file of --{other}: name another"
            ));
        }
        before.push((key, path));
    }
    wrong
}

/// Returns an error message if the name of a database is also a path of the page or the gateway.
fn reserved(name: &str, config: &Config) -> Option<String> {
    let (of, off) = if config.gateway.is_some() && Gateway::reserves(name) {
        ("gateway", "enabled = false in [gateway]")
    } else if config.page && CataloguePage::reserves(name) {
        ("page", "--no-page, or page = false,")
    } else {
        return None;
    };
    Some(format!(
        "no database may be named {name}, which is a path of the {of} ({off} turns that off)"
    ))
}

/// Returns an error message for each database that has files on the command line although its records are elsewhere.
fn twofold(config: &Config) -> Vec<String> {
    let remotes = config
        .remotes
        .iter()
        .map(|remote| (&remote.name, "at other servers (targets)"));
    let engines = in_engines(config).map(|name| (name, "in a search engine (engine)"));
    let own: BTreeSet<_> = config
        .databases
        .iter()
        .map(|known| known.name.to_lowercase())
        .collect();
    let elsewhere = remotes
        .chain(engines)
        .filter(|(name, _)| own.contains(&name.to_lowercase()));
    elsewhere
        .map(|(name, place)| {
            format!(
                "the records of database {name} are {place}: --database and --save need another name"
            )
        })
        .collect()
}

/// Reads the certificate, key and authorities of a listener.
pub(crate) fn tls(files: &TlsFiles) -> Result<Tls, TlsError> {
    let clients = match &files.clients {
        None => ClientCertificates::Unasked,
        Some((authorities, true)) => ClientCertificates::Required(read(authorities)?),
        Some((authorities, false)) => ClientCertificates::Optional(read(authorities)?),
    };
    let tls = Tls::load(&files.certificate, &files.key, &clients);
    tls.map_err(|error| match &files.clients {
        // Errors about the certificate and the key already name their files, so any other error gets the name of the authorities'
        // file.
        Some((authorities, _)) => error.in_file(authorities),
        None => error,
    })
}

/// Reads a recording to be replayed.
pub(crate) fn recording(path: &Path) -> Result<Replay, Failure> {
    let replay = Replay::open(path);
    replay.map_err(|error| {
        let what = format!("cannot replay {} (--replay)", path.display());
        Failure::cannot(&what, error)
    })
}

/// Returns an error message for everything in the settings that cannot be used, apart from the records of databases and a
/// recording.
pub(crate) fn check(config: &Config, origin: &SettingOrigin) -> Vec<String> {
    let mut wrong = Vec::new();
    for listener in &config.listeners {
        if let Some(Err(error)) = listener.tls.as_ref().map(tls) {
            let place = origin.key("listener");
            wrong.push(format!("{place}{}", chain(&error)));
        }
    }
    for (key, log) in [
        ("apdu-log", apdu_log(config)),
        (transcript_key(config), transcript(config)),
        ("report-missing", missing(config)),
    ] {
        match log {
            None | Some(Ok(_) | Err(z3950_files::Error::Busy { .. })) => {}
            Some(Err(error)) => {
                let failure = unwritten(&format!("--{key}"), error);
                wrong.push(format!("{}{}", origin.key(key), failure.words));
            }
        }
    }
    if let Err(failure) = check_access_log(config) {
        wrong.push(format!("{}{}", origin.key("access-log"), failure.words));
    }
    for database in &config.databases {
        let Some(path) = &database.save else { continue };
        match savable(path) {
            Ok(()) | Err(z3950_files::Error::Busy { .. }) => {}
            Err(error) => {
                let place = origin.of_database(database, Some(path));
                wrong.push(format!("{place}: {}", chain(&error)));
            }
        }
    }
    for listener in &config.listeners {
        if let ListenAddress::Unix(path) = &listener.place
            && let Some(folder) = path.parent()
            && !folder.as_os_str().is_empty()
            && !folder.is_dir()
        {
            let place = origin.key("listener");
            let (path, folder) = (path.display(), folder.display());
            wrong.push(format!(
                "{place}cannot listen on unix:{path}: there is no folder {folder}"
            ));
        }
    }
    wrong
}

/// Opens the log of APDUs. New entries are appended to the log of earlier runs. Returns `None` if no log is configured.
pub(crate) fn apdu_log(config: &Config) -> Option<Result<Growing, z3950_files::Error>> {
    let resume = |path| no_pipe(path).and_then(|()| Growing::resume(path));
    config.apdu_log.as_deref().map(resume)
}

/// Opens the access log. New lines are appended to the log of earlier runs. Returns `None` if no log is configured.
pub(crate) fn access_log(config: &Config) -> Option<Result<AccessLog, Failure>> {
    let path = config.access_log.as_deref()?;
    let open = || AccessLog::open(path, config.access_log_format);
    let unwritable = z3950_files::Error::unwritable(path);
    let log = no_pipe(path).and_then(|()| open().map_err(unwritable));
    Some(log.map_err(|error| unwritten("--access-log", error)))
}

/// Checks that the access log can be written, without creating the file.
pub(crate) fn check_access_log(config: &Config) -> Result<(), Failure> {
    let path = config.access_log.as_deref();
    match path.filter(|path| *path != Path::new(STDERR)) {
        None => Ok(()),
        Some(path) => no_pipe(path)
            .and_then(|()| Growing::resume(path).map(drop))
            .map_err(|error| unwritten("--access-log", error)),
    }
}

/// Returns the errors and the doubtful lines in the recording to be replayed.
pub(crate) fn check_recording(config: &Config, origin: &SettingOrigin) -> Vec<String> {
    let Some(path) = config.replay.as_deref() else {
        return Vec::new();
    };
    let place = origin.key("replay");
    match recording(path) {
        Ok(replay) => {
            tell_remarks(path, replay.remarks());
            let doubts = replay.doubts().iter();
            doubts
                .map(|doubt| format!("{place}{}: {doubt}", path.display()))
                .collect()
        }
        Err(failure) => vec![format!("{place}{}", failure.words)],
    }
}

/// Reports the lines in a recording that were left out or are doubtful.
pub(crate) fn tell_remarks(path: &Path, remarks: &[String]) {
    for remark in remarks {
        complain(&format_args!("{}: {remark}", path.display()));
    }
}

/// Opens the transcript; `None` if none is configured. Each run numbers its sessions from 1, so an existing transcript is not
/// appended to.
pub(crate) fn transcript(config: &Config) -> Option<Result<Growing, z3950_files::Error>> {
    let path = config.record.as_deref().or(config.transcript.as_deref());
    path.map(|path| created(path, config))
}

/// Opens the report on requests that are missing from the recording; `None` if none is configured.
pub(crate) fn missing(config: &Config) -> Option<Result<Growing, z3950_files::Error>> {
    let path = config.report_missing.as_deref();
    path.map(|path| created(path, config))
}

/// Refuses a named pipe as an output, because opening or writing to it would wait until a program reads from the pipe.
pub(crate) fn no_pipe(path: &Path) -> Result<(), z3950_files::Error> {
    if !z3950_files::is_named_pipe(path) {
        return Ok(());
    }
    let words = "it is a named pipe (FIFO), which may never get a reader: name a file";
    let error = io::Error::new(io::ErrorKind::InvalidInput, words);
    Err(z3950_files::Error::unwritable(path)(error))
}

fn created(path: &Path, config: &Config) -> Result<Growing, z3950_files::Error> {
    no_pipe(path)?;
    Growing::create(path, Existing::forced(config.overwrite))
}

/// Returns the key of the setting for the transcript.
pub(crate) fn transcript_key(config: &Config) -> &'static str {
    match config.record {
        Some(_) => "record",
        None => "transcript",
    }
}

/// Checks that a database can be saved to a file: the file is not locked, a file can be created next to it, and its journal, if
/// it exists, can be written.
fn savable(path: &Path) -> Result<(), z3950_files::Error> {
    let lock = Lock::take(path)?;
    Draft::hidden(lock.target())?;
    let journal = journal_path(lock.target());
    if journal.is_file() {
        File::options()
            .write(true)
            .open(&journal)
            .map(drop)
            .map_err(z3950_files::Error::unwritable(&journal))
    } else {
        Ok(())
    }
}

/// Returns the failure for a log that cannot be written, with advice.
pub(crate) fn unwritten(option: &str, error: z3950_files::Error) -> Failure {
    match error {
        z3950_files::Error::Unwritable { path, source } => {
            let what = format!("cannot write {} ({option})", path.display());
            Failure::cannot(&what, source)
        }
        z3950_files::Error::Exists { path } => Failure::usage(format!(
            "{} exists and is not empty: move it away, give {option} another file, or replace it with --overwrite",
            path.display()
        )),
        error => Failure::cannot(&format!("cannot write the file of {option}"), error),
    }
}
