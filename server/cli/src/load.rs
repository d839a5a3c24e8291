//! Loads the databases, with a progress bar on a terminal, and reports errors in their files.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use z3950_server::MemoryBackend;
use z3950_server::backend::Backend;
use z3950_server::memory::{
    self, Checked, DatabaseFiles, DocidField, FileNotes, LoadError, MemoryBackendBuilder,
    PendingReload, Progress,
};

use crate::available;
use crate::config::{Config, ListenAddress};
use crate::failure::{Exit, Failure, chain, complain, is_quiet, note};
use crate::settings::SettingOrigin;
use crate::words::counted;

/// Loads the databases that are named in the settings.
pub(crate) fn databases(config: &Config) -> Result<MemoryBackend, Failure> {
    let shown = Shown::new();
    let files = config.databases.clone();
    let loaded = builder(config).load(files, &|progress| shown.tell(progress));
    shown.end();
    let (backend, notes) = loaded.map_err(|error| unloaded(config, &error))?;
    tell(&notes);
    for database in backend.databases() {
        let records = counted(database.records.unwrap_or_default() as u64, "record");
        let place = origin(config, &database.name);
        let has_loss = !place.contains(SAVED) && may_be_updated(config);
        let loss = if has_loss { ", changes not saved" } else { "" };
        note(&format_args!(
            "database {}: {records}{place}{loss}",
            database.name
        ));
    }
    write_new_files(config, &backend);
    Ok(backend)
}

/// Writes the files of saved databases that do not exist yet, so that the first update of such a database need not wait for this.
/// If writing fails, the databases are served anyway, and each update tries again to write the file.
fn write_new_files(config: &Config, backend: &MemoryBackend) {
    let saved = config.databases.iter().filter_map(|database| {
        let path = database.save.as_ref()?;
        (!path.exists()).then(|| (&database.name, path.display()))
    });
    for (name, path) in saved {
        note(&format_args!(
            "database {name}: writing {path} for the first time"
        ));
    }
    for written in backend.write_new_files() {
        if let Err(error) = written {
            let cause = chain(&error);
            complain(&format_args!(
                "updates are refused until their file can be written: {cause}"
            ));
        }
    }
}

fn builder(config: &Config) -> MemoryBackendBuilder {
    let mut builder = MemoryBackend::builder()
        .docid(config.docid)
        .access_points(config.access_points.clone())
        .profile(config.profile.clone())
        .headroom(available::headroom);
    if let Some(octets) = config.journal_octets {
        builder = builder.journal_octets(octets);
    }
    if config.demo {
        builder.add_demo()
    } else {
        builder
    }
}

/// Returns whether any client may update the databases. This is the case if clients can connect over a loopback address or a Unix
/// socket, or if the settings permit it.
fn may_be_updated(config: &Config) -> bool {
    let access = &config.access;
    let by_leave = access.users.iter().any(|user| user.update == Some(true));
    let local = config
        .listeners
        .iter()
        .any(|listener| match &listener.place {
            ListenAddress::Unix(_) => true,
            ListenAddress::Address(address) => match address.parse::<SocketAddr>() {
                Ok(address) => address.ip().is_loopback() || address.ip().is_unspecified(),
                Err(_) => true,
            },
        });
    access.anyone_may_update || by_leave || local
}

const SAVED: &str = ", saved to ";

/// Describes the sources of a database's records, and the file to which they are saved: ` from a.mrc and 2 more, saved to b.mrc`.
fn origin(config: &Config, name: &str) -> String {
    let mut databases = config.databases.iter();
    let name = name.to_lowercase();
    let Some(database) = databases.find(|known| known.name.to_lowercase() == name) else {
        return String::new();
    };
    let saved = database.save.as_ref();
    let mut words = match (saved.filter(|path| path.exists()), &*database.paths) {
        (Some(path), _) => format!(" from {}", path.display()),
        (None, []) => " (new, empty)".to_owned(),
        (None, [path]) => format!(" from {}", path.display()),
        (None, [path, more @ ..]) => format!(" from {} and {} more", path.display(), more.len()),
    };
    if let Some(path) = saved {
        words.push_str(&format!("{SAVED}{}", path.display()));
    }
    words
}

/// Describes why databases could not be loaded, one line for each database, with advice.
fn unloaded(config: &Config, error: &LoadError) -> Failure {
    let lines = error.each().into_iter().map(|error| advised(config, error));
    Failure::usage(lines.collect::<Vec<_>>().join("\n"))
}

fn advised(config: &Config, error: &LoadError) -> String {
    let path = path_of(error);
    let mut databases = config.databases.iter();
    let of = databases.find(|database| {
        let mut paths = database.paths.iter().chain(&database.save);
        path.is_some_and(|path| paths.any(|known| path.starts_with(known)))
    });
    let what = match of {
        Some(database) => format!("cannot load database {}", database.name),
        None => "cannot load the databases".to_owned(),
    };
    let hint = match error {
        LoadError::NoRecord { .. } => " (--check lists what is wrong with its records)",
        _ => "",
    };
    format!("{what}{hint}: {}", chain(error))
}

/// Returns the file or folder that caused an error; `None` if the error does not concern a single file or folder.
fn path_of(error: &LoadError) -> Option<&Path> {
    match error {
        LoadError::Unreadable { path, .. }
        | LoadError::NoRecord { path, .. }
        | LoadError::NoFile { path } => Some(path),
        _ => None,
    }
}

/// Loads the databases again, to replace the databases being served.
pub(crate) fn again<'a>(
    backend: &'a MemoryBackend,
    config: &Config,
) -> Result<PendingReload<'a>, Failure> {
    let files = config.databases.clone();
    let read = backend.reload_as(builder(config), files, &|_| {});
    read.map_err(Failure::usage)
}

/// Checks the files of the databases. Errors in records are the result of the check, so they go to standard output.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn check(config: &Config, origin: &SettingOrigin) -> io::Result<Exit> {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let mut exit = Exit::Stopped;
    for database in &config.databases {
        let files = memory::check_files(database, &mut |path, note| {
            if written.is_ok() {
                written = writeln!(stdout, "{}: {note}", path.display());
            }
        });
        for file in files {
            match file {
                Ok(Checked {
                    path,
                    records,
                    faulty,
                    repaired,
                    incomplete,
                    left_out,
                    ..
                }) => {
                    let say = if faulty + left_out > 0 {
                        exit = exit.and(Exit::FaultsFound);
                        complain
                    } else {
                        note
                    };
                    say(&format_args!(
                        "database {}: {}: {records} records would be served, {faulty} of them with structural faults ({repaired} repaired, {incomplete} incomplete), and {left_out} left out",
                        database.name,
                        path.display()
                    ));
                }
                Err(error) => {
                    exit = Exit::Usage;
                    let cause = chain(&error);
                    let place = origin.of_database(database, path_of(&error));
                    complain(&format_args!("{place}: {cause}"));
                }
            }
        }
        if let Some(file) = &database.save {
            let docid = database.docid.unwrap_or(config.docid);
            exit = exit.and(check_journal(database, file, docid, origin));
        }
    }
    written.and_then(|()| stdout.flush())?;
    Ok(exit)
}

/// Checks the journal of a database.
fn check_journal(
    database: &DatabaseFiles,
    file: &Path,
    docid: DocidField,
    origin: &SettingOrigin,
) -> Exit {
    let name = &database.name;
    match memory::check_journal(file, Some(docid)) {
        Ok(None) => {}
        Ok(Some(journal)) => {
            let path = journal.path.display();
            let changes = counted(journal.changes, "change");
            let remark = journal
                .note
                .map(|note| format!("; {note}"))
                .unwrap_or_default();
            note(&format_args!(
                "database {name}: {path}: {changes} not in the file yet{remark}"
            ));
        }
        Err(LoadError::Saved(z3950_files::Error::Busy { path })) => {
            let path = path.display();
            complain(&format_args!(
                "database {name}: {path} is in use, and its journal is not checked"
            ));
        }
        Err(error) => {
            let place = origin.of_database(database, Some(file));
            complain(&format_args!("{place}: {}", chain(&error)));
            return Exit::Usage;
        }
    }
    Exit::Stopped
}

/// The maximum number of errors printed for a file; a further line gives the number of the other errors.
const MAX_NOTES: usize = 20;

pub(crate) fn tell(notes: &[FileNotes]) {
    for FileNotes {
        path, notes, more, ..
    } in notes
    {
        for note in notes.iter().take(MAX_NOTES) {
            complain(&format_args!("{}: {note}", path.display()));
        }
        let more = more + notes.len().saturating_sub(MAX_NOTES);
        if more > 0 {
            let records = counted(
                u64::try_from(more).unwrap_or(u64::MAX),
                "other damaged record",
            );
            complain(&format_args!("{}: {records}", path.display()));
        }
    }
}

/// A progress bar, shown if standard error is a terminal.
struct Shown(ProgressBar);

impl Shown {
    fn new() -> Self {
        if is_quiet() || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let form = "{bar:30} {percent}% of {total_bytes}  {msg}";
        let style =
            ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::new(0).with_style(style))
    }

    fn tell(&self, progress: &Progress) {
        self.0.set_length(progress.octets);
        self.0.set_position(progress.octets_read);
        self.0.set_message(format!(
            "{} records, {} of {} files",
            progress.records, progress.files_read, progress.files
        ));
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}
