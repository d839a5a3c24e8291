//! The contents of a journal, read from a copy in memory and checked.

use std::io;
use std::path::Path;

use bytes::Bytes;
use redb::backends::InMemoryBackend;
use redb::{Builder, ReadableDatabase, ReadableTable, StorageBackend};
use z3950_files::input;
use z3950_marc::iso2709;

use super::{
    BASE, CACHE, CHANGES, DOCID, FACTS, FOLDED, FORMAT, Fingerprint, JournalError, VERSION, cause,
    guarded,
};
use crate::memory::catalogue::RecordChange;

/// The maximum size of a journal that is read, in octets.
const MAX_JOURNAL: u64 = 4 << 30;

/// The state in which a journal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::memory) enum JournalEnd {
    /// The journal was closed.
    Closed,
    /// The process ended without closing the journal. A commit in progress at that time is left out.
    Interrupted,
    /// The last commit is incomplete, so its changes are left out.
    Unfinished,
}

impl JournalEnd {
    /// Returns a note for the user about a journal with this number of changes; `None` if the journal was closed properly.
    pub(in crate::memory) fn note(self, changes: usize) -> Option<String> {
        let kept = match changes {
            1 => "1 change is kept".to_owned(),
            changes => format!("{changes} changes are kept"),
        };
        match self {
            Self::Closed => None,
            Self::Interrupted => Some(format!(
                "the journal was not closed: {kept}, and none that was confirmed to a client is missing"
            )),
            Self::Unfinished => Some(format!(
                "the last commit of the journal is not complete and is left out: {kept}, and unless the \
                 journal is damaged, none that was confirmed to a client is missing"
            )),
        }
    }
}

/// The contents of a journal.
#[derive(Debug)]
pub(in crate::memory) struct JournalContents {
    /// The changes, in order.
    pub(in crate::memory) changes: Vec<RecordChange>,
    /// The number of the last change; 0 if there are no changes.
    pub(in crate::memory) last: u64,
    /// The docid field of the database when the journal was created.
    pub(in crate::memory) docid: String,
    /// The state in which the journal ends.
    pub(in crate::memory) end: JournalEnd,
    base: Fingerprint,
    folded: Option<Fingerprint>,
}

impl JournalContents {
    /// Reads a journal without changing it; returns `None` if it does not exist.
    ///
    /// # Errors
    /// The journal cannot be read, is damaged, or was written by a newer version.
    pub(in crate::memory) fn read(path: &Path) -> Result<Option<Self>, JournalError> {
        let octets = match input::read(path, MAX_JOURNAL) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            octets => octets.map_err(|source| JournalError::Unreadable {
                path: path.to_owned(),
                source,
            })?,
        };
        Self::of(&octets, path).map(Some)
    }

    /// Parses the octets of a journal; `path` is used in errors.
    pub(super) fn of(octets: &[u8], path: &Path) -> Result<Self, JournalError> {
        let damaged = |reason: String| JournalError::Damaged {
            path: path.to_owned(),
            reason,
        };
        // redb would begin a new database in an empty file, so an empty file is refused here.
        if octets.is_empty() {
            return Err(damaged("it is empty".to_owned()));
        }
        let newer = |format: String| JournalError::Newer {
            path: path.to_owned(),
            format,
        };
        if let Some(format) = newer_store(octets) {
            return Err(newer(format!(
                "store format {format}; this version reads {STORE_VERSION}"
            )));
        }
        let tables = guarded(|| tables(octets)).map_err(|error| match error {
            // All pages are sound, but the tables have unknown types. They may have been written by a newer version.
            redb::Error::TableTypeMismatch { .. }
            | redb::Error::TypeDefinitionChanged { .. }
            | redb::Error::TableIsMultimap(_) => newer(error.to_string()),
            error => damaged(cause(error).to_string()),
        })?;
        let fact = |name| {
            let mut facts = tables.facts.iter();
            let fact = facts.find(|(known, _)| known == name);
            fact.map(|(_, value)| value.clone())
        };
        let needed =
            |name| fact(name).ok_or_else(|| damaged(format!("the fact {name} is missing")));
        let format = needed(FORMAT)?;
        if format != VERSION {
            return Err(newer(format!(
                "format {format}; this version reads {VERSION}"
            )));
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
            end: match (has_unfinished(octets), was_interrupted(octets)) {
                (true, _) => JournalEnd::Unfinished,
                (false, true) => JournalEnd::Interrupted,
                (false, false) => JournalEnd::Closed,
            },
            base: Fingerprint(needed(BASE)?),
            folded: fact(FOLDED).map(Fingerprint),
            changes: tables
                .changes
                .into_iter()
                .map(|(_, change)| change)
                .collect(),
        })
    }

    /// Checks that the changes belong to a file with this fingerprint, and that their docids are from the given field, if any. A
    /// journal without changes belongs to any file and field.
    ///
    /// # Errors
    /// The journal belongs to another file, the file does not exist, or the docids are from another field.
    pub(in crate::memory) fn belongs_to(
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

/// The changes and facts of a journal, as read from its tables.
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
    // redb verifies checksums on opening only after a crash, so they are verified here.
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
    // Another version may write changes of another type, so they are not read.
    let is_ours = |(name, value): &(String, String)| name == FORMAT && value == VERSION;
    if !tables.facts.iter().any(is_ours) {
        return Ok(tables);
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

/// The version of redb's file format that can be read.
const STORE_VERSION: u8 = 3;

/// Returns the version of the file format if it is newer. Both commit slots must have the newer version, so that a single damaged
/// octet is not mistaken for it.
fn newer_store(octets: &[u8]) -> Option<u8> {
    let [first, second] = SLOTS.map(|slot| octets.get(slot).copied());
    let is_redb = octets.starts_with(b"redb");
    first.filter(|format| is_redb && *format > STORE_VERSION && Some(*format) == second)
}

/// The offsets of the commit slots in the header, which is described in redb's design document.
const SLOTS: [usize; 2] = [64, 192];
/// The offset of the flags in the header.
const FLAGS: usize = 9;

/// Returns whether the journal was not closed, because its process was killed or the power failed.
fn was_interrupted(octets: &[u8]) -> bool {
    const RECOVERY_REQUIRED: u8 = 2;
    octets
        .get(FLAGS)
        .is_some_and(|flags| flags & RECOVERY_REQUIRED != 0)
}

/// Returns whether the commit slot that is not current has a later transaction with other data. This means that the process
/// ended, or the file was damaged, before that slot became current.
fn has_unfinished(octets: &[u8]) -> bool {
    const CURRENT: u8 = 1;
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
