//! Reloads databases in two steps: first everything is read, and then the new databases replace the ones being served.

use std::sync::{Arc, MutexGuard};

use super::catalogue::{Catalogue, DatabaseFiles};
use super::fields::Fields;
use super::load::{self, DamagedFiles, FileNotes, LoadError, Loaded, Progress, Served};
#[cfg(not(feature = "save"))]
use super::unsaved::FoundFiles;
use super::{MemoryBackend, MemoryBackendBuilder, SavedFiles, update};
#[cfg(feature = "save")]
use super::{catalogue, save::FoundFiles};
use crate::lock::lock;

/// Databases that have been read but are not served yet. While the value exists, updates of saved databases wait.
#[must_use = "nothing is served before `finish`"]
pub struct PendingReload<'a> {
    backend: &'a MemoryBackend,
    _folding: MutexGuard<'a, ()>,
    files: MutexGuard<'a, SavedFiles>,
    found: FoundFiles,
    catalogue: Catalogue,
    notes: Vec<FileNotes>,
    damaged: DamagedFiles,
}

impl PendingReload<'_> {
    /// Replaces the databases being served. Returns the notes on the files.
    pub fn finish(mut self) -> Vec<FileNotes> {
        let changes = self.files.record_states(self.found);
        *lock(&self.backend.0.damaged) = self.damaged;
        let catalogue = update::repeated(self.catalogue, changes);
        self.backend.overtake(catalogue);
        self.notes
    }
}

impl MemoryBackend {
    /// Returns the names of the databases with changes that exist only in memory, each with the number of these changes. A reload
    /// or the end of the process discards the changes.
    pub fn unsaved_changes(&self) -> Vec<(String, u64)> {
        let current = self.current();
        let databases = current.databases.iter().zip(&current.changes);
        let unsaved = databases.filter(|(database, changes)| !database.is_saved() && **changes > 0);
        unsaved
            .map(|(database, changes)| (database.name.clone(), *changes))
            .collect()
    }

    /// Reloads the databases from their files; `progress` is called from time to time. Updates that were not saved are lost;
    /// updates in journals are first folded into their files. Blocks until done, while searches continue.
    ///
    /// # Errors
    /// Those of [`MemoryBackendBuilder::load`]; [`LoadError::Damaged`] for a file in which records are lost or incomplete, or no
    /// record is intact, unless the records being served have the same damage; [`LoadError::NoRecord`] for a file without
    /// records, unless its database is empty and saved to this file; [`LoadError::Removed`] if the file to which a database is
    /// saved has been removed. On errors, nothing changes.
    pub fn reload(&self, progress: &dyn Fn(&Progress)) -> Result<Vec<FileNotes>, LoadError> {
        let current = self.current();
        let (fields, databases) = (&current.fields, &current.databases);
        let read = self.read_again(Arc::clone(fields), Arc::clone(databases), progress);
        read.map(PendingReload::finish)
    }

    /// Reads the databases that the builder defines and those in files. They replace the current databases when
    /// [`PendingReload::finish`] is called. In other respects, this method is like [`MemoryBackend::reload`]. A saved database
    /// must keep its position among the databases and its file; other databases may be added, changed and removed.
    ///
    /// # Errors
    /// Those of [`MemoryBackend::reload`], and `LoadError::OtherSaves` (feature `save`).
    pub fn reload_as(
        &self,
        builder: MemoryBackendBuilder,
        databases: impl IntoIterator<Item = DatabaseFiles>,
        progress: &dyn Fn(&Progress),
    ) -> Result<PendingReload<'_>, LoadError> {
        let (fields, databases) = builder.with_files(databases).finished();
        self.read_again(fields, databases, progress)
    }

    fn read_again(
        &self,
        fields: Arc<Fields>,
        databases: Arc<[DatabaseFiles]>,
        progress: &dyn Fn(&Progress),
    ) -> Result<PendingReload<'_>, LoadError> {
        let folding = lock(&self.0.folding);
        let mut errors = Vec::new();
        errors.extend(
            lock(&self.0.files)
                .removed()
                .map(|path| LoadError::Removed {
                    path: path.to_owned(),
                }),
        );
        #[cfg(feature = "save")]
        if !catalogue::have_same_saves(&self.current().databases, &databases) {
            errors.push(LoadError::OtherSaves);
        }
        if errors.is_empty() {
            // Fold all changes into the saved files, so that a file that is edited by hand afterwards holds everything.
            self.fold_all(&folding);
        }
        let mut files = lock(&self.0.files);
        let found = if errors.is_empty() {
            files.examine(&fields)
        } else {
            Err(Vec::new())
        };
        let current = self.current();
        let records = databases.iter().map(|database| {
            let number = current.number(&database.name);
            number.map_or(0, |number| current.count(number))
        });
        let served = Served {
            records: &records.collect::<Vec<_>>(),
            damaged: &lock(&self.0.damaged).clone(),
        };
        let loaded = load::load(
            &fields,
            &databases,
            Some(&served),
            self.headroom(),
            progress,
        );
        let (found, loaded) = load::both(errors, found, loaded)?;
        let Loaded {
            index,
            notes,
            damaged,
        } = loaded;
        Ok(PendingReload {
            backend: self,
            _folding: folding,
            files,
            found,
            catalogue: Catalogue::new(fields, databases, index),
            notes,
            damaged,
        })
    }
}
