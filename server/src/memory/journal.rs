//! The journal of a saved file: changes that are durable but not in the file yet. It is a redb database next to the file,
//! `FILE.journal`, with a row for each change and facts that identify the file to which the journal belongs.
//!
//! Commits have two phases, each of which is synced. Therefore, the last commit found by redb is complete, unless the journal is
//! damaged. redb may panic on a damaged file, so the file is read from a copy in memory, and panics are converted to errors.

mod contents;
mod error;
mod fingerprint;
pub(super) mod tally;

use std::error::Error;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{Builder, Database, TableDefinition, WriteTransaction};
use z3950_files::{Draft, Existing};

pub(super) use self::contents::JournalContents;
pub use self::error::JournalError;
pub(super) use self::fingerprint::{Fingerprint, Hashed};
use super::catalogue::RecordChange;

/// The table of changes, by number. A row has the docid and the new record, or `None` if the change deletes the record.
const CHANGES: TableDefinition<'_, u64, (&[u8], Option<&[u8]>)> = TableDefinition::new("changes");
/// The table of facts about the journal, by name; the constants below are the names.
const FACTS: TableDefinition<'_, &str, &str> = TableDefinition::new("facts");
/// The name of the fact that holds the version of these tables, [`VERSION`].
const FORMAT: &str = "format";
/// The name of the fact that holds the docid field of the database.
const DOCID: &str = "docid";
/// The name of the fact that holds the fingerprint of the file to which the changes apply.
const BASE: &str = "base";
/// The name of the fact that holds the fingerprint of a file that already contains some of the changes, and may have replaced the
/// base.
const FOLDED: &str = "folded";

const VERSION: &str = "1";

/// The size of the page cache of an open journal, in octets.
const CACHE: usize = 1 << 20;

/// Returns the path of a file's journal. `file` must be a path without symbolic links.
pub fn path_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    file.with_file_name(name)
}

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    database: Database,
}

impl Journal {
    /// Creates the journal of a file with this fingerprint, replacing an earlier journal. The journal gets the permissions of the
    /// file.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(super) fn create(
        file: &Path,
        base: &Fingerprint,
        docid: &str,
    ) -> Result<Self, JournalError> {
        let path = path_of(file);
        let unwritable = unwritable(&path);
        let of_draft = |error| match error {
            z3950_files::Error::Unwritable { source, .. } => unwritable(source.into()),
            other => unwritable(Box::new(other)),
        };
        let mut draft = Draft::hidden(&path).map_err(of_draft)?;
        let permitted = fs::metadata(file).and_then(|data| {
            draft.file().set_permissions(data.permissions())?;
            draft.file().try_clone()
        });
        let file = permitted.map_err(|error| unwritable(error.into()))?;
        let database = guarded(|| {
            let backend = FileBackend::new(file)?;
            Ok(Builder::new()
                .set_cache_size(CACHE)
                .create_with_backend(backend)?)
        });
        let database = database.map_err(|error| unwritable(cause(error)))?;
        let journal = Self {
            path: path.clone(),
            database,
        };
        journal.begin(base, docid)?;
        // The database keeps its file open while the draft is renamed.
        draft.persist(Existing::Replace, true).map_err(of_draft)?;
        Ok(journal)
    }

    /// Opens a journal whose contents have been read and checked.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(super) fn open(file: &Path) -> Result<Self, JournalError> {
        let path = path_of(file);
        let opened = guarded(|| Ok(Builder::new().set_cache_size(CACHE).open(&path)?));
        match opened {
            Ok(database) => Ok(Self { path, database }),
            Err(error) => Err(unwritable(&path)(cause(error))),
        }
    }

    /// Closes the journal. A journal that was not closed is repaired when it is next read. Errors are ignored, because the
    /// changes are already durable.
    pub(super) fn close(self) {
        let _ = guarded(|| {
            drop(self.database);
            Ok(())
        });
    }

    fn begin(&self, base: &Fingerprint, docid: &str) -> Result<(), JournalError> {
        self.commit(|writing| {
            writing.open_table(CHANGES)?;
            let mut facts = writing.open_table(FACTS)?;
            for (name, value) in [(FORMAT, VERSION), (DOCID, docid), (BASE, &base.0)] {
                facts.insert(name, value)?;
            }
            Ok(())
        })
    }

    /// Appends changes after the change with the number `last`, durably and atomically. Returns the number of the last change.
    ///
    /// # Errors
    /// The changes cannot be written. The journal may nevertheless contain them until the next call.
    pub(super) fn append<'a>(
        &self,
        last: u64,
        changes: impl Iterator<Item = &'a RecordChange>,
    ) -> Result<u64, JournalError> {
        self.commit(|writing| {
            let mut rows = writing.open_table(CHANGES)?;
            // Remove changes that were left behind by a failed call.
            rows.retain_in(last + 1.., |_, _| false)?;
            let mut number = last;
            for change in changes {
                number += 1;
                rows.insert(number, (&*change.id, change.record.as_deref()))?;
            }
            Ok(number)
        })
    }

    /// Records that the current file has the fingerprint `base`, and that it is about to be replaced by a file that already
    /// contains some of the changes.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(super) fn announce(
        &self,
        base: &Fingerprint,
        folded: &Fingerprint,
    ) -> Result<(), JournalError> {
        self.commit(|writing| {
            let mut facts = writing.open_table(FACTS)?;
            facts.insert(BASE, &*base.0)?;
            facts.insert(FOLDED, &*folded.0)?;
            Ok(())
        })
    }

    /// Removes the changes up to a number, because they are in the file with this fingerprint.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(super) fn rebase(&self, base: &Fingerprint, through: u64) -> Result<(), JournalError> {
        self.commit(|writing| {
            let mut facts = writing.open_table(FACTS)?;
            facts.insert(BASE, &*base.0)?;
            facts.remove(FOLDED)?;
            let mut rows = writing.open_table(CHANGES)?;
            rows.retain_in(..=through, |_, _| false)?;
            Ok(())
        })
    }

    fn commit<T>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, JournalError> {
        let committed = guarded(|| {
            let mut writing = self.database.begin_write()?;
            writing.set_two_phase_commit(true);
            let value = work(&writing)?;
            writing.commit()?;
            Ok(value)
        });
        committed.map_err(|error| unwritable(&self.path)(cause(error)))
    }
}

type Cause = Box<dyn Error + Send + Sync>;

/// Returns a function that creates a [`JournalError::Unwritable`], for `map_err`.
fn unwritable(path: &Path) -> impl Fn(Cause) -> JournalError + use<> {
    let path = path.to_owned();
    move |source| JournalError::Unwritable {
        path: path.clone(),
        source,
    }
}

/// Returns the cause of a redb error: the operating system error if there is one, otherwise the redb error itself.
fn cause(error: redb::Error) -> Cause {
    match error {
        redb::Error::Io(error) => error.into(),
        error => error.into(),
    }
}

/// Calls a function that uses redb, and converts a panic to an error.
fn guarded<T>(call: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let words = panic.downcast::<String>().map(|words| *words);
        let words = words.unwrap_or_else(|_| "an assertion of the store fails".to_owned());
        Err(redb::Error::Corrupted(words))
    })
}

#[cfg(test)]
mod tests;
