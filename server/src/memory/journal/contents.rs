//! The contents of a journal, read from a copy in memory and checked.

use std::io;
use std::path::Path;

use bytes::Bytes;
use redb::backends::InMemoryBackend;
use redb::{Builder, ReadableDatabase, ReadableTable, StorageBackend};
use z3950_asn1::input;
use z3950_marc::iso2709;

use super::{
    BASE, CACHE, CHANGES, DOCID, FACTS, FOLDED, FORMAT, Fingerprint, JournalError, VERSION, cause,
    guarded,
};
use crate::memory::catalogue::RecordChange;

/// The largest journal that is read, in octets.
const MAX_JOURNAL: u64 = 4 << 30;

/// What is said of a journal with a commit that is not complete.
pub(in crate::memory) const UNFINISHED: &str = "the last commit of the journal is not complete and is left out; \
    unless the journal is damaged, no client was told that it was done";

/// What a journal holds.
#[derive(Debug)]
pub(in crate::memory) struct JournalContents {
    /// In their order.
    pub(in crate::memory) changes: Vec<RecordChange>,
    /// The number of the last change; 0 if there is none.
    pub(in crate::memory) last: u64,
    /// The docid field.
    pub(in crate::memory) docid: String,
    /// A commit was begun and is not complete, so that it is not among the changes.
    pub(in crate::memory) has_unfinished: bool,
    base: Fingerprint,
    folded: Option<Fingerprint>,
}

impl JournalContents {
    /// Reads a journal, which is not changed; `None` if it does not exist.
    ///
    /// # Errors
    /// It cannot be read, is damaged or of a newer version.
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

    /// The contents of a journal's octets; `path` is for errors.
    pub(super) fn of(octets: &[u8], path: &Path) -> Result<Self, JournalError> {
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
