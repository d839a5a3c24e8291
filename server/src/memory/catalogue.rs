//! A snapshot of the databases, as a search and its result sets see them.

use std::path::PathBuf;
use std::sync::Arc;

use z3950_asn1::apdu::DatabaseName;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{Oid, USMARC};

use super::docid::DocidField;
use super::forms;
use super::index::Index;
use crate::backend::RecordId;
use crate::diagnostic::{Diagnostic, diagnostic};

/// Databases and their records. Changes make a new catalogue.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    /// The databases by their numbers.
    pub(super) databases: Arc<[Database]>,
    /// The records of all databases.
    pub(super) index: Index,
    /// The syntaxes in which records are stored.
    syntaxes: Vec<Oid>,
    /// The number of records of each database.
    counts: Vec<usize>,
}

/// A database.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Database {
    /// The name to search it by.
    pub(super) name: String,
    /// The title.
    pub(super) title: Option<String>,
    /// The description.
    pub(super) description: Option<String>,
    /// The docid field of its records.
    pub(super) docid: DocidField,
    /// The file that changes are saved to.
    pub(super) save: Option<PathBuf>,
}

/// The name for all databases, unless a database has it.
const ALL: &str = "Default";

impl Catalogue {
    /// The catalogue of these databases and records.
    pub(super) fn new(databases: Arc<[Database]>, index: Index) -> Self {
        let mut syntaxes: Vec<Oid> = Vec::new();
        let mut counts = vec![0; databases.len()];
        for (_, segment, deleted) in index.segments() {
            let new = segment
                .syntaxes()
                .iter()
                .filter(|syntax| !syntaxes.contains(syntax));
            let new: Vec<_> = new.copied().collect();
            syntaxes.extend(new);
            for (database, records) in segment.databases() {
                if let Some(count) = counts.get_mut(usize::from(*database)) {
                    let gone = deleted
                        .iter()
                        .filter(|number| records.contains(&usize::from(*number)));
                    *count += records.len() - gone.count();
                }
            }
        }
        Self {
            databases,
            index,
            syntaxes,
            counts,
        }
    }

    /// The numbers of the named databases; `None` for all.
    ///
    /// # Errors
    /// Condition 235 with the first unknown name.
    pub(super) fn selected(&self, names: &[DatabaseName]) -> Result<Option<Vec<u16>>, Diagnostic> {
        let mut numbers = Vec::new();
        let mut all = false;
        for name in names {
            let text = name.0.to_str().unwrap_or_default();
            match self.number(text) {
                Some(number) => numbers.push(number),
                None if same_name(text, ALL) => all = true,
                None => {
                    let name = name.0.as_bytes();
                    return Err(diagnostic(Condition::DATABASE_DOES_NOT_EXIST, name));
                }
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok((!all && numbers.len() < self.databases.len()).then_some(numbers))
    }

    /// The number of the database with this name.
    pub(super) fn number(&self, name: &str) -> Option<u16> {
        let place = self
            .databases
            .iter()
            .position(|database| same_name(&database.name, name));
        u16::try_from(place?).ok()
    }

    /// A database by its number.
    pub(super) fn database(&self, number: u16) -> Option<&Database> {
        self.databases.get(usize::from(number))
    }

    /// The name of the database of a record.
    pub(super) fn database_of(&self, record: RecordId) -> &str {
        let database = self
            .index
            .segment(record)
            .and_then(|(segment, number)| self.database(segment.database(number)?));
        database.map_or("", |database| &database.name)
    }

    /// The number of records of a database.
    pub(super) fn count(&self, database: usize) -> usize {
        self.counts.get(database).copied().unwrap_or_default()
    }

    /// Whether any record is available in the syntax: its own, or one that all can be converted to. A server without records
    /// has USMARC.
    pub(super) fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::SYNTAXES.contains(syntax)
            || self.syntaxes.contains(syntax)
            || (self.index.records() == 0 && *syntax == USMARC)
    }

    /// The syntaxes of [`Catalogue::has_syntax`].
    pub(super) fn syntaxes(&self) -> Vec<Oid> {
        let mut syntaxes = self.syntaxes.clone();
        if syntaxes.is_empty() {
            syntaxes.push(USMARC);
        }
        syntaxes.extend(forms::SYNTAXES);
        syntaxes
    }
}

/// Compares database names without case (Z39.50-2003 §3.1.2).
pub(super) fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}
