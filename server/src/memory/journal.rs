//! The journal of a saved file: changes that are durable but not in the file yet. It is a redb database next to the file,
//! `FILE.journal`, with a row for each change and the facts that say which file it belongs to.
//!
//! Commits are in two phases, each synced: what redb takes for the last commit is whole, or the journal is damaged. redb may panic
//! on damaged files, so they are read from a copy in memory, and panics become errors.

pub(super) mod tally;

use std::error::Error;
use std::fs;
use std::hash::Hasher;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use redb::backends::{FileBackend, InMemoryBackend};
use redb::{
    Builder, Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    WriteTransaction,
};
use twox_hash::XxHash3_64;
use z3950_asn1::file::{self, Draft, Existing};
use z3950_asn1::input;
use z3950_marc::iso2709;

use super::catalogue::RecordChange;

/// For each change, by number: the docid, and the record unless it was deleted.
const CHANGES: TableDefinition<'_, u64, (&[u8], Option<&[u8]>)> = TableDefinition::new("changes");
/// The facts below.
const FACTS: TableDefinition<'_, &str, &str> = TableDefinition::new("facts");
/// The version of these tables: [`VERSION`].
const FORMAT: &str = "format";
/// The docid field of the database.
const DOCID: &str = "docid";
/// The fingerprint of the file that the changes apply to.
const BASE: &str = "base";
/// The fingerprint of a file that has some of the changes already, and may have replaced the base.
const FOLDED: &str = "folded";

const VERSION: &str = "1";

/// The memory for pages of an open journal, in octets.
const CACHE: usize = 1 << 20;

/// The largest journal that is read, in octets.
const MAX_JOURNAL: u64 = 4 << 30;

/// What is said of a journal with a commit that is not complete.
pub(super) const UNFINISHED: &str = "the last commit of the journal is not complete and is left out; \
    unless the journal is damaged, no client was told that it was done";

/// Why a journal cannot be used. The database is not loaded then, or the change is not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file system refuses to read it.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Changes cannot be written to it.
    #[error("cannot write {}", path.display())]
    Unwritable {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Its contents are not as they were written.
    #[error(
        "{} is damaged ({reason}): restore it from a copy, or move it away to serve its file without the changes in it",
        path.display()
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later version of the program wrote it.
    #[error(
        "{} was written by a newer version of this program (format {format}; this version reads {VERSION}): use that version",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// The version of its format.
        format: String,
    },
    /// The file is not the one that the journal belongs to.
    #[error(
        "{} was changed by another program, but {} holds {changes} changes of the file as it was: put that file back, or move the journal away to do without them",
        path.display(), journal.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its journal.
        journal: PathBuf,
        /// The changes in the journal.
        changes: u64,
    },
    /// The file that the journal belongs to does not exist.
    #[error(
        "there is no file {}, but {} holds {changes} changes of it: put the file back, or move the journal away to do without them",
        path.display(), journal.display()
    )]
    NoFile {
        /// The file.
        path: PathBuf,
        /// Its journal.
        journal: PathBuf,
        /// The changes in the journal.
        changes: u64,
    },
    /// The docid field has been changed since the journal began.
    #[error(
        "the docids in {} are from field {docid}, not {configured}: fold it into its file first (z3950d --fold FILE)",
        journal.display()
    )]
    OtherDocid {
        /// The journal.
        journal: PathBuf,
        /// The field of its docids.
        docid: String,
        /// The configured field.
        configured: String,
    },
}

/// The path of a file's journal. `file` is a path without links.
pub fn path_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    file.with_file_name(name)
}

/// Identifies the contents of a file: its length and a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let mut file = match input::open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut hashed = Hashed::new(io::sink());
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = file.read(&mut buffer)?;
            let Some(read @ [_, ..]) = buffer.get(..length) else {
                return Ok(Some(hashed.fingerprint()));
            };
            hashed.write_all(read)?;
        }
    }
}

/// Passes octets on and computes their fingerprint.
pub(super) struct Hashed<W> {
    output: W,
    length: u64,
    hash: XxHash3_64,
}

impl<W> Hashed<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            output,
            length: 0,
            hash: XxHash3_64::new(),
        }
    }

    /// The fingerprint of what was written.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint(format!("{} {:016x}", self.length, self.hash.finish()))
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let length = self.output.write(octets)?;
        self.hash.write(octets.get(..length).unwrap_or_default());
        self.length += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// What a journal holds.
#[derive(Debug)]
pub(super) struct JournalContents {
    /// In their order.
    pub(super) changes: Vec<RecordChange>,
    /// The number of the last change; 0 if there is none.
    pub(super) last: u64,
    /// The docid field.
    pub(super) docid: String,
    /// A commit was begun and is not complete, so that it is not among the changes.
    pub(super) has_unfinished: bool,
    base: Fingerprint,
    folded: Option<Fingerprint>,
}

impl JournalContents {
    /// Reads a journal, which is not changed; `None` if it does not exist.
    ///
    /// # Errors
    /// It cannot be read, is damaged or of a newer version.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, JournalError> {
        let octets = match input::read(path, MAX_JOURNAL) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            octets => octets.map_err(|source| JournalError::Unreadable {
                path: path.to_owned(),
                source,
            })?,
        };
        Self::of(&octets, path).map(Some)
    }

    /// The contents of a journal's octets; `path` is for errors.
    fn of(octets: &[u8], path: &Path) -> Result<Self, JournalError> {
        let damaged = |reason: String| JournalError::Damaged {
            path: path.to_owned(),
            reason,
        };
        // redb would begin a new database.
        if octets.is_empty() {
            return Err(damaged("it is empty".to_owned()));
        }
        let tables = guarded(|| tables(octets));
        let tables = tables.map_err(|error| damaged(cause(error).to_string()))?;
        let fact = |name| {
            let mut facts = tables.facts.iter();
            let fact = facts.find(|(known, _)| known == name);
            fact.map(|(_, value)| value.clone())
        };
        let needed =
            |name| fact(name).ok_or_else(|| damaged(format!("the fact {name} is missing")));
        let format = needed(FORMAT)?;
        if format != VERSION {
            return Err(JournalError::Newer {
                path: path.to_owned(),
                format,
            });
        }
        let numbers = tables.changes.iter().map(|(number, _)| *number);
        let last = numbers.clone().last().unwrap_or_default();
        let first = numbers.clone().next().unwrap_or_default();
        if !numbers.eq(first..=last) && !tables.changes.is_empty() {
            return Err(damaged("changes are missing".to_owned()));
        }
        for (number, change) in &tables.changes {
            let record = change.record.as_ref().map(iso2709::parse).transpose();
            record.map_err(|error| damaged(format!("change {number}: {error}")))?;
        }
        Ok(Self {
            last,
            docid: needed(DOCID)?,
            has_unfinished: has_unfinished(octets),
            base: Fingerprint(needed(BASE)?),
            folded: fact(FOLDED).map(Fingerprint),
            changes: tables
                .changes
                .into_iter()
                .map(|(_, change)| change)
                .collect(),
        })
    }

    /// Checks that the changes are of a file with this fingerprint, and their docids from this field, if it is known. A journal without
    /// changes fits any.
    ///
    /// # Errors
    /// The file is another one, or does not exist; the field is another one.
    pub(super) fn belongs_to(
        &self,
        held: Option<&Fingerprint>,
        path: &Path,
        journal: &Path,
        docid: Option<&str>,
    ) -> Result<(), JournalError> {
        let changes = self.changes.len() as u64;
        let (path, journal) = (path.to_owned(), journal.to_owned());
        if changes == 0 {
            return Ok(());
        }
        if let Some(configured) = docid.filter(|docid| *docid != self.docid) {
            return Err(JournalError::OtherDocid {
                journal,
                docid: self.docid.clone(),
                configured: configured.to_owned(),
            });
        }
        match held {
            Some(held) if *held == self.base || Some(held) == self.folded.as_ref() => Ok(()),
            Some(_) => Err(JournalError::Foreign {
                path,
                journal,
                changes,
            }),
            None => Err(JournalError::NoFile {
                path,
                journal,
                changes,
            }),
        }
    }
}

/// The rows of a journal.
struct Tables {
    facts: Vec<(String, String)>,
    changes: Vec<(u64, RecordChange)>,
}

fn tables(octets: &[u8]) -> Result<Tables, redb::Error> {
    let copy = InMemoryBackend::new();
    StorageBackend::set_len(&copy, octets.len() as u64)?;
    StorageBackend::write(&copy, 0, octets)?;
    let mut database = Builder::new()
        .set_cache_size(CACHE)
        .create_with_backend(copy)?;
    // Opening verifies checksums only after a crash.
    if !database.check_integrity()? {
        return Err(redb::Error::Corrupted(
            "its pages do not fit together".to_owned(),
        ));
    }
    let reading = database.begin_read()?;
    let mut tables = Tables {
        facts: Vec::new(),
        changes: Vec::new(),
    };
    for row in reading.open_table(FACTS)?.iter()? {
        let (name, value) = row?;
        let (name, value) = (name.value().to_owned(), value.value().to_owned());
        tables.facts.push((name, value));
    }
    for row in reading.open_table(CHANGES)?.iter()? {
        let (number, change) = row?;
        let (id, record) = change.value();
        let change = RecordChange {
            id: Bytes::copy_from_slice(id),
            record: record.map(Bytes::copy_from_slice),
        };
        tables.changes.push((number.value(), change));
    }
    Ok(tables)
}

/// Whether the commit slot that is not the current one is of a later transaction with other data: the process ended, or the file was
/// damaged, before that became the current one. The header is described in redb's design document.
fn has_unfinished(octets: &[u8]) -> bool {
    const FLAGS: usize = 9;
    const CURRENT: u8 = 1;
    const SLOTS: [usize; 2] = [64, 192];
    const ROOT: std::ops::Range<usize> = 8..40;
    const TRANSACTION: std::ops::Range<usize> = 104..112;
    let slot = |number: usize| octets.get(*SLOTS.get(number)?..);
    let current = octets.get(FLAGS).map(|flags| usize::from(flags & CURRENT));
    let slots = current.and_then(|current| Some((slot(current)?, slot(1 - current)?)));
    let Some((current, other)) = slots else {
        return false;
    };
    let transaction = |slot: &[u8]| {
        let octets = slot.get(TRANSACTION)?.try_into().ok()?;
        Some(u64::from_le_bytes(octets))
    };
    transaction(other) > transaction(current) && other.get(ROOT) != current.get(ROOT)
}

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    database: Database,
}

impl Journal {
    /// Begins the journal of a file with this fingerprint, in place of an earlier one. It gets the permissions of the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn create(
        file: &Path,
        base: &Fingerprint,
        docid: &str,
    ) -> Result<Self, JournalError> {
        let path = path_of(file);
        let unwritable = unwritable(&path);
        let of_draft = |error| match error {
            file::Error::Unwritable { source, .. } => unwritable(source.into()),
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
        // The database keeps its open file.
        draft.persist(Existing::Replace, true).map_err(of_draft)?;
        Ok(journal)
    }

    /// Opens a journal that was read before.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn open(file: &Path) -> Result<Self, JournalError> {
        let path = path_of(file);
        let opened = guarded(|| Ok(Builder::new().set_cache_size(CACHE).open(&path)?));
        match opened {
            Ok(database) => Ok(Self { path, database }),
            Err(error) => Err(unwritable(&path)(cause(error))),
        }
    }

    /// Closes the journal; without this, the next reader repairs it. Errors change none of its rows.
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

    /// Adds changes after the one with the number `last`, durably and all together. Returns the number of the last one.
    ///
    /// # Errors
    /// They cannot be written. Some may be in the journal nevertheless, until the next call.
    pub(super) fn append<'a>(
        &self,
        last: u64,
        changes: impl Iterator<Item = &'a RecordChange>,
    ) -> Result<u64, JournalError> {
        self.commit(|writing| {
            let mut rows = writing.open_table(CHANGES)?;
            // Those of a failed call.
            rows.retain_in(last + 1.., |_, _| false)?;
            let mut number = last;
            for change in changes {
                number += 1;
                rows.insert(number, (&*change.id, change.record.as_deref()))?;
            }
            Ok(number)
        })
    }

    /// Notes that the file is as in `base`, and that one which has some of the changes already is about to replace it.
    ///
    /// # Errors
    /// It cannot be written.
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

    /// Removes the changes up to a number, which are in the file with this fingerprint.
    ///
    /// # Errors
    /// It cannot be written.
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

/// [`JournalError::Unwritable`], for `map_err`.
fn unwritable(path: &Path) -> impl Fn(Cause) -> JournalError + use<> {
    let path = path.to_owned();
    move |source| JournalError::Unwritable {
        path: path.clone(),
        source,
    }
}

/// An error of redb; those of the system without redb's words.
fn cause(error: redb::Error) -> Cause {
    match error {
        redb::Error::Io(error) => error.into(),
        error => error.into(),
    }
}

/// Calls redb; a panic becomes an error.
fn guarded<T>(call: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let words = panic.downcast::<String>().map(|words| *words);
        let words = words.unwrap_or_else(|_| "an assertion of the store fails".to_owned());
        Err(redb::Error::Corrupted(words))
    })
}

#[cfg(test)]
mod tests;
