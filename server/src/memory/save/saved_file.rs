//! A saved file and its journal: keeps track of the changes that each of them contains.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use z3950_files::{Existing, Lock, Stamp};

use super::failures::SaveFailures;
use super::{DraftedFile, SaveError, drafted};
use crate::memory::catalogue::RecordChange;
use crate::memory::index::Index;
use crate::memory::journal::tally::JournalTally;
use crate::memory::journal::{self, Fingerprint, Journal, JournalContents, JournalError};

/// The number of octets that a change in a journal is assumed to take in addition to its docid and record.
const ROW: u64 = 32;

/// A saved file, which is locked, and its journal.
#[derive(Debug)]
pub(super) struct SavedFile {
    pub(super) path: PathBuf,
    /// The docid field of the database.
    docid: String,
    /// The lock on the file; `None` if its folder does not exist yet.
    lock: Option<Lock>,
    /// The state of the file when it was last read or written; `None` if it did not exist.
    pub(super) stamp: Option<Stamp>,
    held: Option<Fingerprint>,
    /// The journal; `None` until the first change opens it.
    journal: Option<Journal>,
    /// The number of the last change that is durable; [`Self::folded`] is the number of the last change in the file.
    pub(super) last: u64,
    pub(super) folded: u64,
    /// The size of the changes in the journal, in octets. At [`Self::due`] octets, the journal is folded.
    pub(super) octets: u64,
    pub(super) due: u64,
    /// The number of octets by which `due` is raised after folding has failed.
    pub(super) most: u64,
    /// Whether another thread is rewriting the file.
    pub(super) is_drafting: bool,
    pub(super) tally: Arc<JournalTally>,
    pub(super) failures: SaveFailures,
}

/// The state of a file and its journal, as found by [`SavedFile::examine`].
#[derive(Debug)]
pub(super) struct FoundFile {
    docid: String,
    pub(super) stamp: Option<Stamp>,
    held: Option<Fingerprint>,
    journal: Option<JournalContents>,
}

/// The last change that is included when a file is rewritten.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) struct FoldPoint {
    pub(super) last: u64,
    octets: u64,
    /// The number of changes in the journal.
    pub(in crate::memory) changes: u64,
}

impl SavedFile {
    /// Creates the state of a file that has not been read yet. Its journal will be folded when it reaches `most` octets.
    pub(super) fn new(path: &Path, lock: Option<Lock>, most: u64) -> Self {
        Self {
            path: path.to_owned(),
            docid: String::new(),
            lock,
            stamp: None,
            held: None,
            journal: None,
            last: 0,
            folded: 0,
            octets: 0,
            due: most,
            most,
            is_drafting: false,
            tally: Arc::new(JournalTally::new(most)),
            failures: SaveFailures::default(),
        }
    }

    /// Returns the path of the file without symbolic links.
    pub(super) fn target(&self) -> &Path {
        self.lock.as_ref().map_or(&*self.path, Lock::target)
    }

    fn locked(&mut self) -> Result<&mut Lock, z3950_files::Error> {
        match &mut self.lock {
            Some(lock) => Ok(lock),
            none => Ok(none.insert(Lock::take(&self.path)?)),
        }
    }

    pub(super) fn examine(&mut self, docid: String) -> Result<FoundFile, JournalError> {
        self.close_journal();
        // A file that cannot be examined counts as changed.
        let stamp = Stamp::of(&self.path).unwrap_or_default();
        let path = journal::path_of(self.target());
        let contents = JournalContents::read(&path)?;
        // If there is no journal, errors in the file are reported when it is loaded.
        let held = Fingerprint::of(&self.path).unwrap_or_default();
        if let Some(contents) = &contents {
            contents.belongs_to(held.as_ref(), &self.path, &path, Some(&docid))?;
        }
        Ok(FoundFile {
            docid,
            stamp,
            held,
            journal: contents,
        })
    }

    /// Records the state in which the file was read. Returns the changes in its journal.
    pub(super) fn record_state(&mut self, found: FoundFile) -> Vec<RecordChange> {
        self.docid = found.docid;
        self.stamp = found.stamp;
        self.held = found.held;
        (self.last, self.folded, self.octets) = (0, 0, 0);
        let Some(contents) = found.journal else {
            return Vec::new();
        };
        let changes = contents.changes;
        let path = journal::path_of(self.target());
        let path = path.display();
        match contents.end.note(changes.len()) {
            Some(note) => tracing::warn!(%path, "{note}"),
            None if changes.is_empty() => {}
            None => {
                let changes = changes.len();
                tracing::info!(%path, changes, "the changes of the journal are read");
            }
        }
        self.last = contents.last;
        self.folded = contents.last - changes.len() as u64;
        self.octets = octets_of(changes.iter());
        changes
    }

    /// Returns whether the file exists.
    ///
    /// # Errors
    /// Another program has changed the file since it was last read or written.
    fn is_there(&self) -> Result<bool, SaveError> {
        let found = Stamp::of(&self.path).map_err(z3950_files::Error::unwritable(&self.path))?;
        if found.is_none() || found == self.stamp {
            return Ok(found.is_some());
        }
        let path = self.path.clone();
        Err(match self.last - self.folded {
            0 => SaveError::Changed { path },
            changes => SaveError::Journal(JournalError::Foreign {
                path,
                journal: journal::path_of(self.target()),
                changes,
            }),
        })
    }

    /// Returns whether the file has never existed.
    ///
    /// # Errors
    /// The same as for [`SavedFile::is_there`].
    pub(super) fn is_new(&self) -> Result<bool, SaveError> {
        Ok(!self.is_there()? && self.stamp.is_none())
    }

    pub(super) fn commit<'a>(
        &mut self,
        index: &Index,
        number: u16,
        changes: impl Iterator<Item = &'a RecordChange> + Clone,
    ) -> Result<(), SaveError> {
        self.locked()?;
        // A file that does not exist is written in full, so that every journal belongs to an existing file.
        if !self.is_there()? && !self.is_drafting {
            return self.write(index, number);
        }
        let last = self.last;
        let appended = self
            .opened()
            .and_then(|journal| journal.append(last, changes.clone()));
        match appended {
            Ok(last) => {
                self.last = last;
                self.octets += octets_of(changes);
                Ok(())
            }
            Err(error) => {
                // After an error, the journal does not accept changes until it is opened again.
                self.close_journal();
                Err(error.into())
            }
        }
    }

    /// Opens the journal if necessary, and returns it. A journal without changes is replaced by a new one.
    fn opened(&mut self) -> Result<&mut Journal, JournalError> {
        let target = self.lock.as_ref().map_or(&*self.path, Lock::target);
        match (&mut self.journal, &self.held) {
            (Some(journal), _) => Ok(journal),
            (none, Some(held)) if self.last == self.folded => {
                Ok(none.insert(Journal::create(target, held, &self.docid)?))
            }
            (none, _) => Ok(none.insert(Journal::open(target)?)),
        }
    }

    fn close_journal(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.close();
        }
    }

    /// Rewrites the file with the records of an index that contains all changes.
    pub(super) fn write(&mut self, index: &Index, number: u16) -> Result<(), SaveError> {
        let drafted = drafted(index, number, self.locked()?.target())?;
        self.settle(drafted, self.point())
    }

    pub(super) fn point(&self) -> FoldPoint {
        FoldPoint {
            last: self.last,
            octets: self.octets,
            changes: self.last - self.folded,
        }
    }

    /// Replaces the file with a draft that contains the changes up to a point, and removes these changes from the journal.
    ///
    /// # Errors
    /// The file cannot be written, or another program has changed it. A removed file is not an error; the file is written again.
    pub(super) fn settle(
        &mut self,
        drafted: DraftedFile,
        point: FoldPoint,
    ) -> Result<(), SaveError> {
        let (draft, held) = drafted;
        if !self.is_there()? && self.stamp.is_some() {
            // The removed file can be replaced because memory has all its records.
            tracing::warn!(path = %self.path.display(), "a saved file was removed and is written again");
        }
        if self.last > self.folded {
            let base = self.held.clone().unwrap_or_else(|| held.clone());
            let announced = self
                .opened()
                .and_then(|journal| journal.announce(&base, &held));
            if let Err(error) = announced {
                self.close_journal();
                return Err(error.into());
            }
        }
        let file = draft.persist(Existing::Replace, true)?;
        self.locked()?.renew(file);
        self.stamp = Stamp::of(&self.path).map_err(z3950_files::Error::unwritable(&self.path))?;
        self.held = Some(held.clone());
        if point.last < self.last {
            let rebased = self
                .opened()
                .and_then(|journal| journal.rebase(&held, point.last));
            if let Err(error) = rebased {
                self.close_journal();
                return Err(error.into());
            }
            self.octets = self.octets.saturating_sub(point.octets);
        } else {
            self.close_journal();
            let path = journal::path_of(self.target());
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "a journal that is folded cannot be removed");
                }
                _ => {}
            }
            self.octets = 0;
        }
        self.folded = point.last;
        self.due = self.most;
        Ok(())
    }
}

fn octets_of<'a>(changes: impl Iterator<Item = &'a RecordChange>) -> u64 {
    let octets = changes.map(|change| {
        let record = change.record.as_ref().map_or(0, |record| record.len());
        ROW + change.id.len() as u64 + record as u64
    });
    octets.sum()
}
