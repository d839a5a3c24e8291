//! Writes databases to their files: whole databases, or folded journals.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use super::MemoryBackend;
use super::journal::tally::JournalTotals;
use super::save::{SaveError, drafted};
use crate::lock::lock;

/// What was folded into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoldedFile {
    /// The database.
    pub database: String,
    /// The file.
    pub path: PathBuf,
    /// The number of changes that were in its journal.
    pub changes: u64,
    /// The number of records that are now in the file.
    pub records: usize,
}

impl MemoryBackend {
    /// Writes the records of a database to a file, in the format of its extension, or in ISO 2709 if the file has no extension.
    /// The file is replaced atomically. Blocks until done.
    ///
    /// # Errors
    /// See [`SaveError`].
    pub fn save(&self, database: &str, path: &Path) -> Result<(), SaveError> {
        let _folding = lock(&self.0.folding);
        let mut files = lock(&self.0.files);
        let catalogue = self.current();
        let number = catalogue.number(database);
        let number = number.ok_or_else(|| SaveError::NoDatabase(database.to_owned()))?;
        files.save_to(&catalogue.index, number, path)
    }

    /// Folds the journals of all databases into their files. Call this when the backend is no longer needed; otherwise, the next
    /// backend reads the journals. Blocks until done. Returns what was done with each journal that had changes.
    ///
    /// # Errors
    /// For each file that cannot be written, the reason. Its journal keeps the changes.
    pub fn fold(&self) -> Vec<Result<FoldedFile, SaveError>> {
        let folding = lock(&self.0.folding);
        self.fold_each(&folding)
    }

    /// Writes the files of saved databases that do not exist yet, such as after the first start with these databases; otherwise,
    /// the first update of each database writes its file before the update is answered. Blocks until done; updates of these
    /// databases wait.
    ///
    /// # Errors
    /// For each file that cannot be written, the reason.
    pub fn write_new_files(&self) -> Vec<Result<FoldedFile, SaveError>> {
        let _folding = lock(&self.0.folding);
        let mut files = lock(&self.0.files);
        let catalogue = self.current();
        let written = files.write_new(&catalogue.index).into_iter();
        let described = written.map(|(number, written)| {
            written.map(|path| FoldedFile {
                database: catalogue.name(number).to_owned(),
                path,
                changes: 0,
                records: catalogue.count(number),
            })
        });
        described.collect()
    }

    /// Returns the journals of the saved databases.
    pub fn journals(&self) -> Vec<JournalTotals> {
        let catalogue = self.current();
        let journals = self.0.journals.iter();
        let totals = journals.map(|(number, tally)| tally.totals(catalogue.name(*number)));
        totals.collect()
    }

    fn fold_each(&self, folding: &MutexGuard<'_, ()>) -> Vec<Result<FoldedFile, SaveError>> {
        let numbers = lock(&self.0.files).numbers().into_iter();
        let folded = numbers.map(|number| self.fold_one(number, folding).transpose());
        folded.flatten().collect()
    }

    /// Folds all journals; errors are logged.
    pub(super) fn fold_all(&self, folding: &MutexGuard<'_, ()>) {
        self.fold_each(folding).into_iter().for_each(log);
    }

    /// Folds the journal of a database if it is due, unless another journal is being folded.
    pub(super) fn fold_when_due(&self, number: u16) {
        let Ok(folding) = self.0.folding.try_lock() else {
            return;
        };
        if !lock(&self.0.files).is_due(number) {
            return;
        }
        if let Some(folded) = self.fold_one(number, &folding).transpose() {
            if folded.is_err() {
                lock(&self.0.files).postpone(number);
            }
            log(folded);
        }
    }

    /// Folds the journal of a database, while changes go on; returns `None` if there are no changes.
    fn fold_one(
        &self,
        number: u16,
        _: &MutexGuard<'_, ()>,
    ) -> Result<Option<FoldedFile>, SaveError> {
        let (begun, catalogue) = {
            let mut files = lock(&self.0.files);
            (files.begin_fold(number), self.current())
        };
        let Some((target, point)) = begun else {
            return Ok(None);
        };
        let drafted = drafted(&catalogue.index, number, &target);
        let path = lock(&self.0.files).end_fold(number, drafted, point)?;
        // The new journal is complete, so the file no longer counts as damaged.
        lock(&self.0.damaged).remove(&path);
        Ok(Some(FoldedFile {
            database: catalogue.name(number).to_owned(),
            path,
            changes: point.changes,
            records: catalogue.count(number),
        }))
    }
}

fn log(folded: Result<FoldedFile, SaveError>) {
    match folded {
        Ok(FoldedFile { path, changes, .. }) => {
            tracing::info!(path = %path.display(), changes, "a journal is folded into its file");
        }
        Err(error) => {
            let cause = error.source().map(tracing::field::display);
            tracing::error!(%error, cause, "a journal cannot be folded into its file, and keeps its changes");
        }
    }
}
