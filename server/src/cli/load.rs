//! The databases of the settings, loaded with progress on a terminal, and what was wrong with their files.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};
use z3950_server::MemoryBackend;
use z3950_server::config::Config;
use z3950_server::memory::{FileNotes, Progress};

use super::failure::{Failure, complain};

/// Loads the databases.
pub(super) fn databases(config: &Config) -> Result<MemoryBackend, Failure> {
    let mut builder = MemoryBackend::builder()
        .docid(config.docid)
        .access_points(config.access_points.clone())
        .profile(config.profile.clone());
    if config.demo {
        builder = builder.add_demo();
    }
    let shown = Shown::new();
    let loaded = builder.load(config.databases.clone(), &|progress| shown.tell(progress));
    shown.end();
    let (backend, notes) = loaded.map_err(Failure::usage)?;
    tell(&notes);
    Ok(backend)
}

/// Loads them again; those that are there stay if that fails.
pub(super) fn again(backend: &MemoryBackend) {
    match backend.reload(&|_| {}) {
        Ok(notes) => {
            tell(&notes);
            tracing::info!("the databases are read again");
        }
        Err(error) => complain(&Failure::usage(error)),
    }
}

/// Most notes told of one file; a file full of damage is told of in one more line.
const MAX_NOTES: usize = 20;

fn tell(notes: &[FileNotes]) {
    for FileNotes { path, notes, more } in notes {
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

/// A bar on the terminal, if there is one.
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
