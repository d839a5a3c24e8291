//! Reloads a running server: its settings, certificates, log files and databases. If any of them is invalid, nothing is changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::runtime::Handle;
use z3950_front::engine::catalogue::CatalogueDatabase;
use z3950_front::engine::opensearch::ClusterDatabase;
use z3950_front::remote::RemoteDatabase;
use z3950_server::backend::{Backend, DatabaseInfo};
use z3950_server::extended::Tasks;
use z3950_server::fault::Faults;
use z3950_server::tls::Tls;
use z3950_server::{MemoryBackend, ServerHandle, Target};

use crate::args::Arguments;
use crate::config::{Config, TlsFiles};
use crate::failure::{Failure, complain, note};
use crate::logs::Logs;
use crate::status::page::Status;
use crate::web::{Listening, web};
use crate::words::{counted, date};
use crate::{available, catalogue, engine, load, remotes, settings};

/// A running server, with everything that a reload can replace.
pub(crate) struct Service {
    pub(crate) arguments: Arguments,
    pub(crate) config: Config,
    /// The backend; `None` for a server that imitates another one or replays a transcript.
    pub(crate) backend: Option<MemoryBackend>,
    pub(crate) remotes: Vec<Arc<RemoteDatabase>>,
    pub(crate) clusters: Vec<Arc<ClusterDatabase>>,
    pub(crate) catalogues: Vec<Arc<CatalogueDatabase>>,
    pub(crate) handle: ServerHandle,
    /// The addresses of the listeners.
    pub(crate) listening: Listening,
    /// The TLS configuration of each listener.
    pub(crate) tls: Vec<Option<Tls>>,
    pub(crate) logs: Logs,
    pub(crate) status: Arc<Status>,
}

impl Service {
    /// Returns work that builds the indexes that would otherwise be built by the first search and delay it.
    pub(crate) fn preparation(&self) -> Option<impl FnOnce() + Send + use<>> {
        self.backend.as_ref().map(MemoryBackend::preparation)
    }

    /// Reloads everything, and prints the changes, or the reasons why nothing has changed.
    ///
    /// Log files are reopened in both cases, because programs that rotate log files rely on this.
    pub(crate) fn reload(&mut self) {
        let reloaded = self.reloaded();
        let followed = self.logs.follow(&self.config);
        self.status.reloaded(reloaded.is_ok());
        match reloaded {
            Ok(changes) => changes
                .iter()
                .for_each(|change| note(&format_args!("reloaded: {change}"))),
            Err(reasons) => {
                for reason in reasons.iter().flat_map(|reason| reason.lines()) {
                    complain(&format_args!("not reloaded: {reason}"));
                }
                complain(&format_args!(
                    "nothing has changed: still serving {}",
                    self.summary()
                ));
            }
        }
        for outcome in followed {
            match outcome {
                Ok(path) => note(&format_args!("log file opened again: {}", path.display())),
                Err(failure) => complain(&format_args!(
                    "log file not opened again: {}",
                    failure.words
                )),
            }
        }
    }

    /// Returns a short summary of the databases that are served.
    pub(crate) fn summary(&self) -> String {
        let databases = self.databases();
        let records: usize = databases
            .iter()
            .filter_map(|database| database.records)
            .sum();
        let own = match databases.len() {
            0 => None,
            number => Some(format!(
                "{} of {}",
                counted(records as u64, "record"),
                counted(number as u64, "database"),
            )),
        };
        let config = &self.config;
        let remote = config.remotes.len() + config.clusters.len() + config.catalogues.len();
        let remote = match remote {
            0 => None,
            number => Some(counted(number as u64, "remote database")),
        };
        match (own, remote) {
            (None, None) => "no databases".to_owned(),
            (Some(one), None) | (None, Some(one)) => one,
            (Some(own), Some(remote)) => format!("{own}, {remote}"),
        }
    }

    fn databases(&self) -> Vec<DatabaseInfo> {
        let backend = self.backend.as_ref();
        backend.map_or_else(Vec::new, MemoryBackend::databases)
    }

    /// Reloads everything, and returns the changes.
    ///
    /// # Errors
    /// All reasons for which the reload is refused. In this case, nothing is changed.
    fn reloaded(&mut self) -> Result<Vec<String>, Vec<String>> {
        let (config, mut reasons) = settings::settings(self.arguments.clone());
        let Some(mut config) = config else {
            return Err(reasons);
        };
        let kept = keep(&self.config, &mut config);
        let mut note = |failure: Failure| reasons.push(failure.words);
        let tls: Vec<_> = config
            .listeners
            .iter()
            .map(|listener| {
                let tls = listener.tls.as_ref().map(renewed).transpose();
                tls.map_err(&mut note).ok().flatten()
            })
            .collect();
        if let Err(failure) = settings::check_access_log(&config) {
            note(failure);
        }
        let remotes = remotes::open(&config, &self.remotes)
            .map_err(&mut note)
            .unwrap_or_default();
        let clusters = engine::open(&config, &self.clusters)
            .map_err(&mut note)
            .unwrap_or_default();
        let file = self.arguments.config.as_deref();
        let checked = engine::check(file, &config, Some(&self.config));
        match Handle::current().block_on(checked) {
            Ok(unchecked) => engine::watch(unchecked, &clusters),
            Err(failure) => note(failure),
        }
        let catalogues = catalogue::open(&config, &self.catalogues)
            .map_err(&mut note)
            .unwrap_or_default();
        let checked = catalogue::check(file, &config, &catalogues, &self.catalogues);
        if let Err(failure) = Handle::current().block_on(checked) {
            note(failure);
        }
        let backend = self.backend.as_ref();
        let read = backend
            .map(|backend| load::again(backend, &config))
            .transpose();
        let read = read.map_err(&mut note).ok().flatten();
        if !reasons.is_empty() {
            return Err(reasons);
        }
        // Opening the access log is the last step that may fail, so its file is created only if the reload succeeds.
        let access = settings::access_log(&config)
            .transpose()
            .map_err(|failure| vec![failure.words])?;
        let before = self.databases();
        let dropped = backend.map_or_else(Vec::new, MemoryBackend::unsaved_changes);
        if let Some(read) = read {
            load::tell(&read.finish());
        }
        let mut changes = compare(&before, &self.databases(), &dropped);
        let listeners = config.listeners.iter().zip(&self.tls).zip(&tls);
        for ((listener, known), new) in listeners {
            if let (Some(files), Some(known), Some(new)) = (&listener.tls, known, new) {
                known.replace(new);
                changes.push(format!("certificate {}", expiry(files, new)));
            }
        }
        self.logs.replace_access(access);
        let target = target(
            &config,
            self.backend.clone(),
            &remotes,
            &clusters,
            &catalogues,
        );
        self.status.serves(&remotes, &clusters, &catalogues);
        self.remotes = remotes;
        self.clusters = clusters;
        self.catalogues = catalogues;
        let observers = Arc::new(self.logs.observers());
        // If the rules have not changed, they stay in place and continue to count requests.
        let faults = has_other_faults(&self.config, &config).then(|| faults(&config));
        self.handle.replace(target, faults, observers);
        // If the gateway has not changed, it stays in place and continues to count requests.
        let profiles = |config: &Config| config.target_profiles.clone();
        if self.config.gateway != config.gateway || profiles(&self.config) != profiles(&config) {
            let web = web(&config, &self.listening);
            self.handle.replace_web(web);
        }
        let changed = differences(&self.config, &config);
        if !changed.is_empty() {
            changes.push(format!("settings of new sessions: {}", changed.join(", ")));
        }
        if !kept.is_empty() {
            changes.push(format!(
                "unchanged until the server is restarted: {}",
                kept.join(", ")
            ));
        }
        self.config = config;
        Ok(changes)
    }
}

/// Creates the target that all sessions share.
pub(crate) fn target(
    config: &Config,
    backend: Option<MemoryBackend>,
    remotes: &[Arc<RemoteDatabase>],
    clusters: &[Arc<ClusterDatabase>],
    catalogues: &[Arc<CatalogueDatabase>],
) -> Target {
    let mut limits = config.limits.clone();
    limits.server_octets = available::server_octets(limits.server_octets, available::headroom());
    let target = match (config.imitate, backend) {
        (Some(imitated), _) => imitated.target(limits),
        (None, Some(backend)) => Target::new(Arc::new(backend), limits),
        (None, None) => Target::new(Arc::new(MemoryBackend::builder().build()), limits),
    };
    let target = remotes.iter().fold(target, |target, remote| {
        let backend = Arc::clone(remote) as Arc<dyn Backend>;
        target.with_database(&remote.options().name, backend)
    });
    let target = clusters.iter().fold(target, |target, cluster| {
        let backend = Arc::clone(cluster) as Arc<dyn Backend>;
        target.with_database(&cluster.options().name, backend)
    });
    let target = catalogues.iter().fold(target, |target, catalogue| {
        let backend = Arc::clone(catalogue) as Arc<dyn Backend>;
        target.with_database(&catalogue.options().name, backend)
    });
    target
        .with_offer(config.offer.clone())
        .with_access(config.access.clone())
        .with_tasks(Tasks::new(config.tasks))
        .with_headroom(available::headroom)
}

/// Returns the faults. The faults of an imitated server come first.
pub(crate) fn faults(config: &Config) -> Faults {
    let faults = config.faults.clone();
    match config.imitate {
        Some(imitated) => imitated.faults().and(faults),
        None => faults,
    }
}

/// Describes a certificate and its expiry as text.
pub(crate) fn expiry(files: &TlsFiles, tls: &Tls) -> String {
    let path = files.certificate.display();
    match tls.expires() {
        Some(expires) if expires < SystemTime::now() => {
            format!(
                "{path}: it expired on {}, and clients will refuse it",
                date(expires)
            )
        }
        _ if tls
            .begins()
            .is_some_and(|begins| begins > SystemTime::now()) =>
        {
            let begins = tls.begins().map(date).unwrap_or_default();
            format!("{path}: it is not valid before {begins}, and clients will refuse it")
        }
        Some(expires) => format!("{path}: valid until {}", date(expires)),
        None => path.to_string(),
    }
}

/// Loads a certificate that will replace the one in use.
///
/// # Errors
/// Fails like [`settings::tls`], and also if the certificate has expired or is not valid yet.
fn renewed(files: &TlsFiles) -> Result<Tls, Failure> {
    let tls = settings::tls(files).map_err(Failure::usage)?;
    let (path, now) = (files.certificate.display(), SystemTime::now());
    let expired = tls.expires().filter(|expires| *expires < now);
    let early = tls.begins().filter(|begins| *begins > now);
    let words = match (expired, early) {
        (Some(expired), _) => format!("expired on {}", date(expired)),
        (None, Some(begins)) => format!("is not valid before {}", date(begins)),
        (None, None) => return Ok(tls),
    };
    Err(Failure::usage(format!("the certificate in {path} {words}")))
}

/// Restores the settings that a running server cannot change, and returns the keys of the settings that would have changed.
fn keep(running: &Config, new: &mut Config) -> Vec<&'static str> {
    let mut kept = Vec::new();
    let places = |config: &Config| -> Vec<_> {
        let listeners = config.listeners.iter();
        listeners
            .map(|listener| {
                (
                    listener.place.clone(),
                    listener.tls.is_some(),
                    listener.http,
                )
            })
            .collect()
    };
    if places(running) != places(new) {
        new.listeners = running.listeners.clone();
        kept.push("listen");
    }
    macro_rules! keep {
        ($($key:literal: $($field:ident).+,)+) => {$(
            if running.$($field).+ != new.$($field).+ {
                new.$($field).+ = running.$($field).+.clone();
                kept.push($key);
            }
        )+};
    }
    keep! {
        "page": page,
        "imitate": imitate,
        "record": record,
        "upstream": upstream,
        "upstream-ca": upstream_ca,
        "replay": replay,
        "replay-in-order": replay_in_order,
        "report-missing": report_missing,
        "status": status,
        "[log] apdu-log": apdu_log,
        "[log] transcript": transcript,
        "[log] judge": judge,
        "[limits] tasks": tasks.tasks,
        "[limits] task-octets": tasks.octets,
        "[limits] task-hits": tasks.hits,
        "[limits] journal-octets": journal_octets,
        "[limits] server-octets": limits.server_octets,
        "[limits] sessions": limits.sessions,
        "[limits] sessions-per-address": limits.sessions_per_address,
        "[limits] waiting": limits.waiting,
        "[limits] init-patience": limits.init_patience,
        "[limits] idle-patience": limits.idle_patience,
        "[limits] drain-time": limits.drain_time,
    }
    kept
}

/// Returns whether the rules of the faults differ. The numbers of requests that the faults have affected are not compared.
fn has_other_faults(before: &Config, after: &Config) -> bool {
    format!("{:?}", before.faults) != format!("{:?}", after.faults)
}

/// Returns the names of the settings tables that differ.
fn differences(before: &Config, after: &Config) -> Vec<&'static str> {
    let tables = [
        ("limits", before.limits != after.limits),
        ("offer", before.offer != after.offer),
        ("access", before.access != after.access),
        ("profile", before.profile != after.profile),
        (
            "database",
            (&before.remotes, &before.clusters, &before.catalogues)
                != (&after.remotes, &after.clusters, &after.catalogues)
                || before.target_profiles != after.target_profiles,
        ),
        ("gateway", before.gateway != after.gateway),
        ("index", before.access_points != after.access_points),
        ("docid", before.docid != after.docid),
        ("faults", has_other_faults(before, after)),
        (
            "log",
            (&before.access_log, before.access_log_format)
                != (&after.access_log, after.access_log_format),
        ),
    ];
    let changed = tables.into_iter().filter(|(_, is_changed)| *is_changed);
    changed.map(|(name, _)| name).collect()
}

/// Returns a line for each database whose number of records has changed or whose changes are discarded, and a single line for the
/// unchanged databases.
fn compare(
    before: &[DatabaseInfo],
    after: &[DatabaseInfo],
    dropped: &[(String, u64)],
) -> Vec<String> {
    let loss = |name: &str| {
        let mut dropped = dropped.iter();
        let found = dropped.find(|(database, _)| database == name);
        found.map_or_else(String::new, |(_, changes)| {
            let changes = counted(*changes, "change");
            format!("; {changes} by clients dropped, because the database is not saved")
        })
    };
    let records = |database: &DatabaseInfo| database.records.unwrap_or_default() as u64;
    let mut lines = Vec::new();
    let mut as_before = Vec::new();
    for now in after {
        let name = &now.name;
        let loss = loss(name);
        let was = match before.iter().find(|known| known.name == *name) {
            Some(before) if loss.is_empty() && records(before) == records(now) => {
                as_before.push(records(now));
                continue;
            }
            Some(before) => format!("{} before", records(before)),
            None => "a new database".to_owned(),
        };
        let count = counted(records(now), "record");
        lines.push(format!("database {name}: {count}, {was}{loss}"));
    }
    let names: BTreeSet<_> = after.iter().map(|database| &database.name).collect();
    for gone in before.iter().filter(|gone| !names.contains(&gone.name)) {
        let was = records(gone);
        let loss = loss(&gone.name);
        lines.push(format!(
            "database {}: removed, {was} before{loss}",
            gone.name
        ));
    }
    if !as_before.is_empty() {
        let databases = counted(as_before.len() as u64, "database");
        let count = counted(as_before.iter().sum(), "record");
        lines.push(format!(
            "{databases} read again: {count}, as many as before"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::template;

    /// Returns a value that differs from a default in the template, such as `31s` for `30s`.
    fn other(value: &str) -> String {
        let digits = value.trim_matches('"');
        let end = digits.find(|octet: char| !octet.is_ascii_digit());
        let (digits, unit) = digits.split_at(end.unwrap_or(digits.len()));
        let number: u64 = digits.parse().expect("a number");
        let quote = if unit.is_empty() { "" } else { "\"" };
        format!("{quote}{}{unit}{quote}", number + 1)
    }

    #[test]
    fn dropped_changes_are_reported() {
        let backend = |names: &[&str]| {
            let builder = MemoryBackend::builder();
            let described = names.iter();
            let builder = described.fold(builder, |builder, name| builder.describe(name, "", ""));
            builder.build().databases()
        };
        let dropped = [("a".to_owned(), 2), ("b".to_owned(), 1)];
        assert_eq!(
            compare(&backend(&["a", "b", "c"]), &backend(&["a", "c"]), &dropped),
            [
                "database a: 0 records, 0 before; 2 changes by clients dropped, because the database is not saved",
                "database b: removed, 0 before; 1 change by clients dropped, because the database is not saved",
                "1 database read again: 0 records, as many as before",
            ]
        );
    }

    #[test]
    fn each_limit_takes_effect_or_is_named() {
        let mut needs_restart = vec![
            "tasks",
            "task-octets",
            "task-hits",
            "journal-octets",
            "server-octets",
            "sessions",
            "sessions-per-address",
            "waiting",
            "init-patience",
            "idle-patience",
            "drain-time",
        ];
        let template = template();
        let (_, limits) = template.split_once("#[limits]\n").expect("limits");
        let (limits, _) = limits.split_once("\n\n").expect("an end");
        let settings = limits
            .lines()
            .filter_map(|line| line.strip_prefix('#')?.split_once(" = "))
            .filter(|(key, _)| !key.starts_with(' '));
        let mut others = 0;
        for (key, value) in settings {
            let text = format!("[limits]\n{key} = {}", other(value));
            let mut new = Config::parse(&text, Path::new("")).expect(&text);
            let running = Config::parse("", Path::new("")).expect("defaults");
            let kept = keep(&running, &mut new);
            let changed = differences(&running, &new);
            let before = needs_restart.len();
            needs_restart.retain(|known| *known != key);
            if needs_restart.len() < before {
                let expected = format!("[limits] {key}");
                assert_eq!((kept, changed), (vec![&*expected], Vec::new()), "{text}");
            } else {
                assert_eq!((kept, changed), (Vec::new(), vec!["limits"]), "{text}");
                others += 1;
            }
        }
        assert!(needs_restart.is_empty(), "{needs_restart:?}");
        assert!(others > 20, "{others}");
    }
}
