//! A snapshot of the databases, as seen by a search and its result sets.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::oid::{Oid, USMARC};

use super::docid::DocidField;
use super::fields::Fields;
use super::forms;
use super::index::Index;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::memory::hits::RecordNumber;

/// Databases and their records. A change creates a new catalogue.
#[derive(Debug)]
pub(super) struct Catalogue {
    /// The fields and access points of records.
    pub(super) fields: Arc<Fields>,
    /// The databases by their numbers.
    pub(super) databases: Arc<[DatabaseFiles]>,
    /// The records in all databases.
    pub(super) index: Index,
    /// The record syntaxes in which the records are stored.
    syntaxes: Vec<Oid>,
    /// The number of records in each database, by database number.
    pub(super) counts: Vec<usize>,
    /// The number of changes to each database since it was loaded.
    pub(super) changes: Vec<u64>,
}

/// The name, description and files of a database.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseFiles {
    /// The name used in searches.
    pub name: String,
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Record files, and folders of such files: ISO 2709, MARCXML, MARC-in-JSON, MARCMaker text or the line format of YAZ,
    /// recognized by extension or by contents. In folders, only files with a known extension are loaded.
    pub paths: Vec<PathBuf>,
    /// The docid field; `None` to use the backend's docid field.
    pub docid: Option<DocidField>,
    /// The file to which changes are saved. They are first written to its journal, `FILE.journal`, and later to the file by
    /// [`MemoryBackend::fold`](super::MemoryBackend::fold). If the file exists, it is loaded instead of `paths`.
    #[cfg(feature = "save")]
    pub save: Option<PathBuf>,
    /// Records that were added from memory, in ISO 2709.
    pub(crate) records: Vec<Bytes>,
}

/// A change to one record: the new record replaces all records with this docid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordChange {
    /// The docid of the record.
    pub(super) id: Bytes,
    /// The new record in ISO 2709; `None` to delete the record.
    pub(super) record: Option<Bytes>,
}

impl DatabaseFiles {
    /// Returns the file to which the database is saved, if the file exists.
    pub(super) fn saved(&self) -> Option<&PathBuf> {
        #[cfg(feature = "save")]
        return self.save.as_ref().filter(|path| path.exists());
        #[cfg(not(feature = "save"))]
        None
    }

    /// Returns whether changes to the database are saved to a file.
    pub(super) fn is_saved(&self) -> bool {
        #[cfg(feature = "save")]
        return self.save.is_some();
        #[cfg(not(feature = "save"))]
        false
    }
}

/// The name that selects all databases, unless a database has this name.
const ALL: &str = "Default";

impl Catalogue {
    /// Creates a catalogue with these databases and records.
    pub(super) fn new(fields: Arc<Fields>, databases: Arc<[DatabaseFiles]>, index: Index) -> Self {
        let mut counts = vec![0; databases.len()];
        for (_, segment, deleted) in index.segments() {
            for (database, records) in &segment.databases {
                if let Some(count) = counts.get_mut(usize::from(*database)) {
                    let gone = deleted
                        .iter()
                        .filter(|number| records.contains(&usize::from(*number)));
                    *count += records.len() - gone.count();
                }
            }
        }
        Self {
            fields,
            databases,
            syntaxes: syntaxes_of(&index),
            index,
            changes: vec![0; counts.len()],
            counts,
        }
    }

    /// Returns the catalogue after changes to one database. The tuple contains the numbers of changes, of records added, and of
    /// records removed. The cost does not depend on the size of the database.
    pub(super) fn changed(
        &self,
        index: Index,
        database: u16,
        (changes, more, fewer): (usize, usize, usize),
    ) -> Self {
        let mut counts = self.counts.clone();
        if let Some(count) = counts.get_mut(usize::from(database)) {
            *count = (*count + more).saturating_sub(fewer);
        }
        let mut all = self.changes.clone();
        if let Some(all) = all.get_mut(usize::from(database)) {
            *all += changes as u64;
        }
        Self {
            fields: Arc::clone(&self.fields),
            databases: Arc::clone(&self.databases),
            syntaxes: syntaxes_of(&index),
            index,
            counts,
            changes: all,
        }
    }

    /// Returns the catalogue with its records in a different index, whose segments have been merged.
    pub(super) fn merged(&self, index: Index) -> Self {
        self.changed(index, 0, (0, 0, 0))
    }

    /// Returns the numbers of the named databases; `None` if all databases are selected.
    ///
    /// # Errors
    /// Fails with condition 235 and the first unknown name.
    pub(super) fn selected(&self, names: &[DatabaseName]) -> Result<Option<Vec<u16>>, Diagnostic> {
        let mut numbers = Vec::new();
        let mut all = false;
        for name in names {
            match self.known(name) {
                Ok(number) => numbers.push(number),
                Err(_) if same_name(name.0.to_str().unwrap_or_default(), ALL) => all = true,
                Err(unknown) => return Err(unknown),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok((!all && numbers.len() < self.databases.len()).then_some(numbers))
    }

    /// Returns the number of the database with this name; `None` if there is none.
    pub(super) fn number(&self, name: &str) -> Option<u16> {
        let mut databases = self.databases.iter();
        let place = databases.position(|database| same_name(&database.name, name));
        u16::try_from(place?).ok()
    }

    /// Returns the number of a database named by a client.
    ///
    /// # Errors
    /// Fails with condition 235 if the database does not exist.
    pub(super) fn known(&self, name: &DatabaseName) -> Result<u16, Diagnostic> {
        let unknown = || diagnostic(Condition::DATABASE_DOES_NOT_EXIST, name.0.as_bytes());
        let number = self.number(name.0.to_str().unwrap_or_default());
        number.ok_or_else(unknown)
    }

    /// Returns the name of the database that contains a record.
    pub(super) fn database_of(&self, record: RecordNumber) -> &str {
        let segment = self.index.segment(record);
        let number = segment.and_then(|(segment, number)| segment.database(number));
        number.map_or("", |number| self.name(number))
    }

    /// Returns the number of records in a database.
    pub(super) fn count(&self, number: u16) -> usize {
        let count = self.counts.get(usize::from(number));
        count.copied().unwrap_or_default()
    }

    /// Returns the name of a database.
    pub(super) fn name(&self, number: u16) -> &str {
        let database = self.databases.get(usize::from(number));
        database.map_or("", |database| &database.name)
    }

    /// Returns whether any record is available in the syntax, because a record is stored in it or all records can be converted to
    /// it. A catalogue without records counts as having USMARC records.
    pub(super) fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::SYNTAXES.contains(syntax)
            || self.syntaxes.contains(syntax)
            || (self.index.records() == 0 && *syntax == USMARC)
    }

    /// Returns the syntaxes for which [`Catalogue::has_syntax`] is true.
    pub(super) fn syntaxes(&self) -> Vec<Oid> {
        let mut syntaxes = self.syntaxes.clone();
        if syntaxes.is_empty() {
            syntaxes.push(USMARC);
        }
        syntaxes.extend(forms::SYNTAXES);
        syntaxes
    }
}

/// Returns whether the databases in both lists are saved to the same files, database by database.
#[cfg(feature = "save")]
pub(super) fn have_same_saves(before: &[DatabaseFiles], after: &[DatabaseFiles]) -> bool {
    let saves = |databases: &[DatabaseFiles]| -> Vec<_> {
        let databases = databases.iter().enumerate();
        let saved = databases.filter(|(_, database)| database.save.is_some());
        saved
            .map(|(number, database)| (number, database.name.to_lowercase(), database.save.clone()))
            .collect()
    };
    saves(before) == saves(after)
}

/// Returns the syntaxes in which the records in an index are stored.
fn syntaxes_of(index: &Index) -> Vec<Oid> {
    let mut syntaxes: Vec<Oid> = Vec::new();
    for (_, segment, _) in index.segments() {
        for syntax in &segment.syntaxes {
            if !syntaxes.contains(syntax) {
                syntaxes.push(*syntax);
            }
        }
    }
    syntaxes
}

/// Returns whether two database names are equal, ignoring case (Z39.50-2003 §3.1.2).
pub(super) fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}
