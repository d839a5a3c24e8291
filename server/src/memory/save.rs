//! Saves whole databases to files, which are replaced atomically.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use z3950_asn1::file::{self, Draft, Existing, Lock, Stamp};
use z3950_marc::stream::InputForm;
use z3950_marc::{Form, charset, iso2709};

use super::catalogue::{Catalogue, DatabaseFiles};
use super::index::Index;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// Why a database cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// There is no database of this name.
    #[error("no database {0}")]
    NoDatabase(
        /// The name.
        String,
    ),
    /// The file cannot be written, and is unchanged.
    #[error(transparent)]
    File(#[from] file::Error),
    /// Another program has changed the file since it was read.
    #[error(
        "{} was changed by another program; reload the databases (SIGHUP) to read it",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// The files that databases are saved to. Each is locked as long as the backend exists, and remembered as it was when last read
/// or written.
#[derive(Debug, Default)]
pub(super) struct SavedFiles(BTreeMap<u16, SavedFile>);

#[derive(Debug)]
struct SavedFile {
    path: PathBuf,
    /// `None` if its folder does not exist yet.
    lock: Option<Lock>,
    stamp: Option<Stamp>,
}

/// The states of the files at one time.
#[derive(Debug)]
pub(super) struct Stamps(BTreeMap<u16, Option<Stamp>>);

impl SavedFiles {
    /// Locks the files of databases, and removes temporary files that a killed process left next to them.
    ///
    /// # Errors
    /// A file is in use by another process or database.
    pub(super) fn lock(databases: &[DatabaseFiles]) -> Result<Self, file::Error> {
        let mut files = BTreeMap::new();
        for (number, database) in (0..).zip(databases) {
            let Some(path) = &database.save else { continue };
            let lock = match Lock::take(path) {
                Err(error @ file::Error::Busy { .. }) => return Err(error),
                // The error is reported when the file is saved.
                lock => lock.ok(),
            };
            if let Some(lock) = &lock {
                // The file may belong to another user.
                let _ = Draft::remove_hidden(lock.target());
            }
            let file = SavedFile {
                path: path.clone(),
                lock,
                stamp: None,
            };
            files.insert(number, file);
        }
        Ok(Self(files))
    }

    /// The current states of the files, before they are read.
    pub(super) fn stamps(&self) -> Stamps {
        let files = self.0.iter();
        // A file that cannot be examined counts as changed.
        let stamp = |file: &SavedFile| Stamp::of(&file.path).unwrap_or_default();
        Stamps(files.map(|(number, file)| (*number, stamp(file))).collect())
    }

    /// A file that was removed since it was last read or written.
    pub(super) fn removed(&self) -> Option<&Path> {
        let mut files = self.0.values();
        let removed = files.find(|file| file.stamp.is_some() && !file.path.exists());
        removed.map(|file| file.path.as_path())
    }

    /// Remembers the states in which the files were read.
    pub(super) fn read(&mut self, stamps: Stamps) {
        for (number, stamp) in stamps.0 {
            if let Some(file) = self.0.get_mut(&number) {
                file.stamp = stamp;
            }
        }
    }

    /// Saves a database to its file, if it has one.
    ///
    /// # Errors
    /// If the file cannot be written, or another program has changed it. A removed file is written again.
    fn save(&mut self, index: &Index, number: u16) -> Result<(), SaveError> {
        let Some(file) = self.0.get_mut(&number) else {
            return Ok(());
        };
        let lock = match &mut file.lock {
            Some(lock) => lock,
            none => none.insert(Lock::take(&file.path)?),
        };
        let found = Stamp::of(&file.path).map_err(file::Error::unwritable(&file.path))?;
        match found {
            // The file was removed, and memory has all its records.
            None if file.stamp.is_some() => {
                tracing::warn!(path = %file.path.display(), "a saved file was removed and is written again");
            }
            found if found != file.stamp => {
                return Err(SaveError::Changed {
                    path: file.path.clone(),
                });
            }
            _ => {}
        }
        written(index, number, lock)?;
        file.stamp = Stamp::of(&file.path).map_err(file::Error::unwritable(&file.path))?;
        Ok(())
    }

    /// Saves a changed database to its file, if it has one.
    ///
    /// # Errors
    /// 1 if it cannot be saved.
    pub(super) fn keep(&mut self, catalogue: &Catalogue, number: u16) -> Result<(), Diagnostic> {
        self.save(&catalogue.index, number).map_err(|error| {
            // Without the path, which clients need not know.
            let cause = error.source();
            let shown = cause.map(tracing::field::display);
            let database = catalogue.name(number);
            tracing::error!(%error, cause = shown, database, "the database cannot be saved");
            let words = match (&error, cause) {
                (SaveError::Changed { .. }, _) => {
                    "the file of the database was changed by another program".to_owned()
                }
                (_, Some(cause)) => format!("the database cannot be saved: {cause}"),
                (_, None) => "the database cannot be saved".to_owned(),
            };
            diagnostic(Condition::PERMANENT_SYSTEM_ERROR, words)
        })
    }

    /// Saves a database to any file.
    ///
    /// # Errors
    /// As for [`SavedFiles::save`].
    pub(super) fn save_to(
        &mut self,
        index: &Index,
        number: u16,
        path: &Path,
    ) -> Result<(), SaveError> {
        match self.0.get(&number) {
            Some(file) if file::same(&file.path, path) => self.save(index, number),
            _ => written(index, number, &mut Lock::take(path)?),
        }
    }
}

impl Drop for SavedFiles {
    /// Warns of changes that are lost when the process ends.
    fn drop(&mut self) {
        if let Some(path) = self.removed() {
            let path = path.display();
            tracing::warn!(%path, "a saved file was removed while it was in use: the updates in it are lost");
        }
    }
}

fn written(index: &Index, database: u16, lock: &mut Lock) -> Result<(), SaveError> {
    let target = lock.target();
    let mut draft = Draft::hidden(target)?;
    let mut output = BufWriter::with_capacity(1 << 20, draft.file());
    let written = write_records(index, database, form_of(target), &mut output);
    let written = written.and_then(|()| output.flush());
    written.map_err(file::Error::unwritable(target))?;
    drop(output);
    let file = draft.persist(Existing::Replace, true)?;
    lock.renew(file);
    Ok(())
}

fn form_of(path: &Path) -> Form {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.and_then(InputForm::by_extension) {
        Some(InputForm::MarcXml) => Form::MarcXml,
        Some(InputForm::Json) => Form::Json,
        Some(InputForm::Mrk) => Form::Mrk,
        Some(InputForm::Line) => Form::Line,
        _ => Form::Marc,
    }
}

fn write_records(
    index: &Index,
    database: u16,
    form: Form,
    output: &mut impl Write,
) -> io::Result<()> {
    output.write_all(form.begin().as_bytes())?;
    let mut buffer = Vec::new();
    let mut between = "";
    for record in index.visible(index.all(), Some(&[database])).iter() {
        let found = index.segment(record);
        let Some((record, _)) = found.and_then(|(segment, number)| segment.record(number)) else {
            continue;
        };
        output.write_all(between.as_bytes())?;
        between = form.between();
        if form == Form::Marc {
            output.write_all(record)?;
            continue;
        }
        let parsed = iso2709::parse(record).map_err(io::Error::other)?.record;
        // The other formats are text.
        let readable = charset::to_utf8(&parsed, &charset::Options::default()).record;
        buffer.clear();
        form.write(&readable, &mut buffer)
            .map_err(io::Error::other)?;
        output.write_all(&buffer)?;
    }
    output.write_all(form.end().as_bytes())
}
