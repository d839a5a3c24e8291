//! Writes databases to files, either on request or by folding a journal into its file.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;

use super::MemoryBackend;
use super::journal::tally::JournalTotals;
use super::save::{SaveError, drafted};
use crate::lock::lock;

/// The result of folding a journal into its file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoldedFile {
    /// The name of the database.
    pub database: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The number of changes that the journal contained.
    pub changes: u64,
    /// The number of records in the file after folding.
    pub records: usize,
}

impl MemoryBackend {
    /// Writes the records of a database to a file, in the format given by the extension of the file name, or in ISO 2709 if the
    /// name has no extension. The file is replaced atomically. Blocks until done.
    ///
    /// # Errors
    /// See [`SaveError`].
    pub fn save(&self, database: &str, path: &Path) -> Result<(), SaveError> {
        let _folding = lock(&self.0.folding);
        let mut files = lock(&self.0.files);
        let catalogue = self.current();
        let number = catalogue
            .number(database)
            .ok_or_else(|| SaveError::NoDatabase(database.to_owned()))?;
        files.save_to(&catalogue.index, number, path)
    }

    /// Folds the journals of all databases into their files. Should be called when the backend is no longer needed; otherwise,
    /// the journals are read when the databases are loaded again. Blocks until done. Returns a result for each journal that had
    /// changes.
    ///
    /// # Errors
    /// A file cannot be written; its journal keeps the changes.
    pub fn fold(&self) -> Vec<Result<FoldedFile, SaveError>> {
        let folding = lock(&self.0.folding);
        self.fold_each(&folding)
    }

    /// Creates the missing files of saved databases, so that the first update of a database does not have to wait until its
    /// file has been written. Blocks until done; meanwhile, updates of these databases have to wait. Returns a result for each
    /// file.
    ///
    /// # Errors
    /// The file cannot be written.
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

    /// Returns the totals of the journals of all saved databases.
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

    /// Folds the journal of a database if it has reached its limit, unless another journal is being folded.
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

    /// Folds the journal of a database. Changes can be made meanwhile. Returns `None` if the journal is empty.
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
