//! Loads the databases, with progress on a terminal, and reports errors in their files.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use z3950_asn1::file;
use z3950_server::MemoryBackend;
use z3950_server::backend::Backend;
use z3950_server::memory::{
    self, Checked, DatabaseFiles, DocidField, FileNotes, LoadError, MemoryBackendBuilder, Progress,
};

use crate::config::Config;
use crate::failure::{Exit, Failure, chain, complain};
use crate::settings::SettingOrigin;
use crate::words::counted;

/// Loads the databases.
pub(crate) fn databases(config: &Config) -> Result<MemoryBackend, Failure> {
    let shown = Shown::new();
    let files = config.databases.clone();
    let loaded = builder(config).load(files, &|progress| shown.tell(progress));
    shown.end();
    let (backend, notes) = loaded.map_err(|error| unloaded(config, error))?;
    tell(&notes);
    for database in backend.databases() {
        let records = counted(database.records.unwrap_or_default() as u64, "record");
        let place = origin(config, &database.name);
        complain(&format_args!(
            "database {}: {records}{place}",
            database.name
        ));
    }
    Ok(backend)
}

fn builder(config: &Config) -> MemoryBackendBuilder {
    let mut builder = MemoryBackend::builder()
        .docid(config.docid)
        .access_points(config.access_points.clone())
        .profile(config.profile.clone());
    if let Some(octets) = config.journal_octets {
        builder = builder.journal_octets(octets);
    }
    match config.demo {
        true => builder.add_demo(),
        false => builder,
    }
}

/// Where the records of a database come from, and where they are saved: ` from a.mrc and 2 more, saved to b.mrc`.
fn origin(config: &Config, name: &str) -> String {
    let mut databases = config.databases.iter();
    let name = name.to_lowercase();
    let Some(database) = databases.find(|known| known.name.to_lowercase() == name) else {
        return String::new();
    };
    let saved = database.save.as_ref();
    let mut words = match (saved.filter(|path| path.exists()), &*database.paths) {
        (Some(path), _) => format!(" from {}", path.display()),
        (None, []) => String::new(),
        (None, [path]) => format!(" from {}", path.display()),
        (None, [path, more @ ..]) => format!(" from {} and {} more", path.display(), more.len()),
    };
    if let Some(path) = saved {
        words.push_str(&format!(", saved to {}", path.display()));
    }
    words
}

/// The failure of a database, with advice.
fn unloaded(config: &Config, error: LoadError) -> Failure {
    let path = path_of(&error);
    let mut databases = config.databases.iter();
    let of = databases.find(|database| {
        let mut paths = database.paths.iter().chain(&database.save);
        path.is_some_and(|path| paths.any(|known| path.starts_with(known)))
    });
    let what = match of {
        Some(database) => format!("cannot load database {}", database.name),
        None => "cannot load the databases".to_owned(),
    };
    let hint = match &error {
        LoadError::NoRecord { .. } => " (--check lists what is wrong with its records)",
        _ => "",
    };
    Failure::cannot(&format!("{what}{hint}"), error)
}

/// The file or folder that an error is about.
fn path_of(error: &LoadError) -> Option<&Path> {
    match error {
        LoadError::Unreadable { path, .. }
        | LoadError::NoRecord { path, .. }
        | LoadError::NoFile { path } => Some(path),
        _ => None,
    }
}

/// Reloads the databases. They stay as they are if that fails.
pub(crate) fn again(backend: &MemoryBackend, config: &Config) -> Result<(), Failure> {
    let files = config.databases.clone();
    let notes = backend.reload_as(builder(config), files, &|_| {});
    tell(&notes.map_err(Failure::usage)?);
    Ok(())
}

/// Checks the files of the databases. Errors in records are data, and go to standard output.
///
/// # Errors
/// If standard output cannot be written.
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
                    if faulty + left_out > 0 {
                        exit = exit.and(Exit::FaultsFound);
                    }
                    complain(&format_args!(
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
            let (path, changes) = (journal.path.display(), journal.changes);
            let note = journal
                .note
                .map(|note| format!("; {note}"))
                .unwrap_or_default();
            complain(&format_args!(
                "database {name}: {path}: {changes} changes that are not in the file yet{note}"
            ));
        }
        Err(LoadError::Saved(file::Error::Busy { path })) => {
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

/// The most notes reported per file; one more line counts the rest.
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
            complain(&format_args!(
                "{}: {more} more damaged records",
                path.display()
            ));
        }
    }
}

/// A progress bar, if there is a terminal.
struct Shown(ProgressBar);

impl Shown {
    fn new() -> Self {
        if !io::stderr().is_terminal() {
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
