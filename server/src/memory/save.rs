//! Saves databases to files. Changes are appended to a journal next to the file. When the journal reaches a certain size, it is
//! folded: the file is replaced atomically by one with all changes, and the journal is emptied. If the process ends between these
//! steps, the journal still contains changes that are already in the file. They are applied again when both are read, which has
//! no effect.

mod draft;
mod failures;
mod saved_file;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use z3950_files::{Draft, Existing, Lock};

pub(super) use self::draft::{DraftedFile, drafted};
pub(super) use self::saved_file::FoldPoint;
use self::saved_file::{FoundFile, SavedFile};
use super::catalogue::{Catalogue, DatabaseFiles, RecordChange};
use super::fields::Fields;
use super::index::Index;
use super::journal::tally::JournalTally;
use super::journal::{self, JournalError};
use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The default size of the changes in a journal, in octets, at which the journal is folded into its file.
pub(super) const JOURNAL_OCTETS: u64 = 16 << 20;

/// The reason why a database cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The database does not exist.
    #[error("no database {0}")]
    NoDatabase(
        /// The name of the database.
        String,
    ),
    /// The file cannot be written; it is unchanged.
    #[error(transparent)]
    File(#[from] z3950_files::Error),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another program has changed the file since it was read.
    #[error(
        "{} was changed by another program; reload the databases (SIGHUP) to read it",
        path.display()
    )]
    Changed {
        /// The path of the file.
        path: PathBuf,
    },
}

/// The files to which databases are saved. Each file is locked while the backend exists, and the state in which it was last read
/// or written is remembered.
#[derive(Debug, Default)]
pub(super) struct SavedFiles(BTreeMap<u16, SavedFile>);

/// The states of the files and their journals, as found by [`SavedFiles::examine`].
#[derive(Debug)]
pub(super) struct FoundFiles(BTreeMap<u16, FoundFile>);

impl SavedFiles {
    /// Locks the files of databases, and removes temporary files left next to them by a killed process. Journals are folded when
    /// they reach `most` octets.
    ///
    /// # Errors
    /// A file is in use by another process or database.
    pub(super) fn lock(databases: &[DatabaseFiles], most: u64) -> Result<Self, z3950_files::Error> {
        let mut files = BTreeMap::new();
        for (number, database) in (0..).zip(databases) {
            let Some(path) = &database.save else { continue };
            let lock = match Lock::take(path) {
                Err(error @ z3950_files::Error::Busy { .. }) => return Err(error),
                // Any other error occurs again when the file is saved, and is reported then.
                lock => lock.ok(),
            };
            if let Some(lock) = &lock {
                // Errors are ignored, because these files may belong to another user.
                let _ = Draft::remove_hidden(lock.target());
                let _ = Draft::remove_hidden(&journal::path_of(lock.target()));
            }
            files.insert(number, SavedFile::new(path, lock, most));
        }
        Ok(Self(files))
    }

    /// Determines the current states of the files and their journals. This must be done before the files are read; `fields` are
    /// the rules with which they will then be indexed.
    ///
    /// # Errors
    /// A journal cannot be read, is damaged, or does not belong to its file.
    pub(super) fn examine(&mut self, fields: &Fields) -> Result<FoundFiles, Vec<JournalError>> {
        let (mut found, mut errors) = (BTreeMap::new(), Vec::new());
        for (number, file) in &mut self.0 {
            let docid = fields.docid(*number).to_string();
            match file.examine(docid) {
                Ok(file) => drop(found.insert(*number, file)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(FoundFiles(found))
        } else {
            Err(errors)
        }
    }

    /// Returns the path of a file that was removed since it was last read or written; `None` if no file was removed.
    pub(super) fn removed(&self) -> Option<&Path> {
        let mut files = self.0.values();
        let removed = files.find(|file| file.stamp.is_some() && !file.path.exists());
        removed.map(|file| file.path.as_path())
    }

    /// Records the states in which the files were read. Returns the changes in their journals, by number of the database.
    pub(super) fn record_states(&mut self, found: FoundFiles) -> Vec<(u16, Vec<RecordChange>)> {
        let mut all = Vec::new();
        for (number, found) in found.0 {
            if let Some(file) = self.0.get_mut(&number) {
                all.push((number, file.record_state(found)));
                file.tally.holds(file.octets);
            }
        }
        all
    }

    /// Makes changes durable if their database is saved. `catalogue` already contains them.
    ///
    /// # Errors
    /// Condition 2 with the reason if the changes cannot be written, for example because the disk is full; condition 1 if another
    /// program has changed the file.
    pub(super) fn commit<'a>(
        &mut self,
        catalogue: &Catalogue,
        number: u16,
        changes: impl Iterator<Item = &'a RecordChange> + Clone,
    ) -> Result<(), Diagnostic> {
        let Some(file) = self.0.get_mut(&number) else {
            return Ok(());
        };
        let committed = file.commit(&catalogue.index, number, changes);
        file.tally.committed(committed.is_ok(), file.octets);
        file.failures.log(&committed, catalogue.name(number));
        committed.map_err(|error| refusal(&error))
    }

    /// Returns whether the journal of a database has reached the size at which it is folded.
    pub(super) fn is_due(&self, number: u16) -> bool {
        let file = self.0.get(&number);
        file.is_some_and(|file| file.octets >= file.due && !file.is_drafting)
    }

    /// Raises the size at which the journal of a database is folded, because folding has failed. It is raised by the configured
    /// limit.
    pub(super) fn postpone(&mut self, number: u16) {
        if let Some(file) = self.0.get_mut(&number) {
            file.due = file.octets + file.most;
        }
    }

    /// Creates the files that have never existed, and returns their paths, by number of the database.
    pub(super) fn write_new(&mut self, index: &Index) -> Vec<(u16, Result<PathBuf, SaveError>)> {
        let mut all = Vec::new();
        for (number, file) in &mut self.0 {
            let written = match file.is_new() {
                Ok(false) => continue,
                Ok(true) => file.write(index, *number),
                Err(error) => Err(error),
            };
            all.push((*number, written.map(|()| file.path.clone())));
        }
        all
    }

    /// Returns the totals of each journal, by number of the database.
    pub(super) fn tallies(&self) -> Vec<(u16, Arc<JournalTally>)> {
        let files = self.0.iter();
        let tallies = files.map(|(number, file)| (*number, Arc::clone(&file.tally)));
        tallies.collect()
    }

    /// Returns the numbers of the databases that are saved.
    pub(super) fn numbers(&self) -> Vec<u16> {
        self.0.keys().copied().collect()
    }

    /// Begins to fold the journal of a database. Returns the path of the file without symbolic links, and the changes to include;
    /// `None` if there are no changes.
    pub(super) fn begin_fold(&mut self, number: u16) -> Option<(PathBuf, FoldPoint)> {
        let file = self.0.get_mut(&number);
        let file = file.filter(|file| file.last > file.folded)?;
        file.is_drafting = true;
        Some((file.target().to_owned(), file.point()))
    }

    /// Finishes a fold that [`SavedFiles::begin_fold`] began. Returns the path of the file.
    ///
    /// # Errors
    /// The draft could not be written, or cannot replace the file.
    pub(super) fn end_fold(
        &mut self,
        number: u16,
        drafted: Result<DraftedFile, SaveError>,
        point: FoldPoint,
    ) -> Result<PathBuf, SaveError> {
        let Some(file) = self.0.get_mut(&number) else {
            return Ok(PathBuf::new());
        };
        file.is_drafting = false;
        let settled = drafted.and_then(|drafted| file.settle(drafted, point));
        file.tally.folded(settled.is_ok(), file.octets);
        settled.map(|()| file.path.clone())
    }

    /// Saves a database to a file, which need not be the database's own file.
    ///
    /// # Errors
    /// The database cannot be written, or another program has changed its file.
    pub(super) fn save_to(
        &mut self,
        index: &Index,
        number: u16,
        path: &Path,
    ) -> Result<(), SaveError> {
        match self.0.get_mut(&number) {
            Some(file) if z3950_files::same(&file.path, path) => {
                let written = file.write(index, number);
                file.tally.folded(written.is_ok(), file.octets);
                written
            }
            _ => {
                let mut lock = Lock::take(path)?;
                let (draft, _) = drafted(index, number, lock.target())?;
                lock.renew(draft.persist(Existing::Replace, true)?);
                Ok(())
            }
        }
    }
}

/// Returns the diagnostic that is sent to clients for an error. It does not contain the path, which clients need not know.
fn refusal(error: &SaveError) -> Diagnostic {
    if let SaveError::Changed { .. } | SaveError::Journal(JournalError::Foreign { .. }) = error {
        let words = "the file of the database was changed by another program";
        return diagnostic(Condition::PERMANENT_SYSTEM_ERROR, words);
    }
    let cause = match (error, error.source()) {
        (_, Some(cause)) => format!(": {cause}"),
        (SaveError::File(z3950_files::Error::NoFolder { .. }), None) => {
            ": the folder of its file does not exist".to_owned()
        }
        (SaveError::File(z3950_files::Error::Busy { .. }), None) => {
            ": another program writes its file".to_owned()
        }
        _ => String::new(),
    };
    let words = format!("the database cannot be saved{cause}");
    diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, words)
}

impl Drop for SavedFiles {
    /// Logs a warning for changes that are lost when the process ends.
    fn drop(&mut self) {
        if let Some(path) = self.removed() {
            let path = path.display();
            tracing::warn!(%path, "a saved file was removed while it was in use: the updates in it are lost");
        }
    }
}
