//! Databases of MARC records in memory: the server's own backend, and the reference for others.
//!
//! | file | what it does |
//! |---|---|
//! | `load` | files into records, damage told of |
//! | `docid` | where a record's docid stands |
//! | `fields`, `words`, `isbn`, `index` | what can be searched, and how fast |
//! | `attributes`, `eval`, `hits` | a query into records |
//! | `forms`, `brief` | the record syntaxes and element sets |
//! | `demo` | the catalogue that the program shows itself with |

mod attributes;
mod brief;
mod demo;
mod docid;
mod eval;
mod fields;
mod forms;
mod hits;
mod index;
mod isbn;
mod load;
mod words;

use std::ops::Range;

use bytes::Bytes;
use z3950_asn1::apdu::{DatabaseName, External};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{Oid, USMARC, XML};
use z3950_asn1::record::{MarcRecord, marc_syntax};

pub use self::docid::{DocidField, DocidFieldError};
use self::eval::evaluate;
use self::index::{Index, IndexBuilder};
pub use self::load::{LoadError, Loaded, LoadedRecord, Note, load};
use crate::backend::{Backend, Hits, RecordId, Search};
use crate::diagnostic::{Diagnostic, diagnostic};

/// Databases of MARC records in memory.
///
/// Records are served as USMARC or UNIMARC, whichever they are, octet for octet as they were loaded; and as MARCXML, Dublin
/// Core, SUTRS, OPAC and GRS-1. Element sets are F and B; XML has `marcxml` (as F) and `dc` as well.
#[derive(Debug)]
pub struct MemoryBackend {
    databases: Vec<Database>,
    /// By their numbers.
    records: Vec<Stored>,
    /// The syntaxes that occur among them.
    stored_syntaxes: Vec<Oid>,
    index: Index,
}

/// A database is a range of records.
#[derive(Debug)]
struct Database {
    name: String,
    records: Range<u32>,
}

/// A record as it was loaded.
#[derive(Debug)]
struct Stored {
    /// Its ISO 2709 form.
    octets: Bytes,
    /// The syntax of that form: a record says itself whether it is UNIMARC.
    syntax: Oid,
}

/// The name that means all databases, unless one bears it.
const ALL: &str = "Default";

impl MemoryBackend {
    /// A backend in the making.
    pub fn builder() -> MemoryBackendBuilder {
        MemoryBackendBuilder::default()
    }

    /// The demo catalogue: databases `books` and `serials`.
    pub fn demo() -> Self {
        Self::builder().add_demo().build()
    }

    /// The records of the databases named, as ascending ranges.
    fn ranges(&self, names: &[DatabaseName]) -> Result<Vec<Range<u32>>, Diagnostic> {
        let mut ranges = Vec::new();
        for name in names {
            let octets = name.0.as_bytes();
            let text = name.0.to_str().unwrap_or_default();
            match self
                .databases
                .iter()
                .find(|database| same_name(&database.name, text))
            {
                Some(database) => ranges.push(database.records.clone()),
                None if same_name(text, ALL) => {
                    ranges.extend(
                        self.databases
                            .iter()
                            .map(|database| database.records.clone()),
                    );
                }
                None => return Err(diagnostic(Condition::DATABASE_DOES_NOT_EXIST, octets)),
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup();
        Ok(ranges)
    }

    fn stored(&self, record: RecordId) -> Option<&Stored> {
        self.records.get(usize::try_from(record.0).ok()?)
    }
}

/// Database names are compared without case (Z39.50-2003 §3.1.2).
fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right) || left.to_lowercase() == right.to_lowercase()
}

impl Backend for MemoryBackend {
    fn databases(&self) -> Vec<&str> {
        self.databases
            .iter()
            .map(|database| &*database.name)
            .collect()
    }

    /// Operands that are result sets are restricted to the databases searched, as terms are.
    fn search(&self, search: &Search<'_>) -> Result<Hits, Diagnostic> {
        let ranges = self.ranges(search.databases)?;
        let found = evaluate(&self.index, search.query, search.result_set)?;
        let searched: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if searched == self.records.len() {
            return Ok(found);
        }
        let within = ranges.iter().flat_map(|range| {
            let start = found.partition_point(|record| record.0 < range.start);
            let end = found.partition_point(|record| record.0 < range.end);
            found.get(start..end).unwrap_or_default()
        });
        Ok(within.copied().collect())
    }

    fn database_of(&self, record: RecordId) -> &str {
        let index = self
            .databases
            .partition_point(|database| database.records.end <= record.0);
        self.databases
            .get(index)
            .map_or("", |database| &database.name)
    }

    /// The syntaxes in which records are stored, and those that all can be put into. A server without records takes USMARC.
    fn has_syntax(&self, syntax: &Oid) -> bool {
        forms::SYNTAXES.contains(syntax)
            || self.stored_syntaxes.contains(syntax)
            || (self.records.is_empty() && *syntax == USMARC)
    }

    fn default_syntax(&self, record: RecordId) -> Oid {
        self.stored(record).map_or(USMARC, |stored| stored.syntax)
    }

    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        name.eq_ignore_ascii_case("F")
            || name.eq_ignore_ascii_case("B")
            || (syntax == Some(&XML) && forms::is_of_xml(name))
    }

    fn record(
        &self,
        record: RecordId,
        syntax: &Oid,
        element_set: &str,
    ) -> Result<External, Diagnostic> {
        let lost = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
        let stored = self.stored(record).ok_or_else(lost)?;
        forms::record(&stored.octets, stored.syntax, syntax, element_set)
    }
}

/// Collects databases for a [`MemoryBackend`].
#[derive(Debug, Default)]
pub struct MemoryBackendBuilder {
    docid: DocidField,
    databases: Vec<(String, Vec<LoadedRecord>)>,
}

impl MemoryBackendBuilder {
    /// Where docids stand, 001 unless said otherwise.
    pub fn docid(mut self, field: DocidField) -> Self {
        self.docid = field;
        self
    }

    /// Adds records to a database, which is made if there is none of that name yet.
    pub fn add(mut self, name: &str, records: impl IntoIterator<Item = LoadedRecord>) -> Self {
        let found = self
            .databases
            .iter_mut()
            .find(|(known, _)| same_name(known, name));
        match found {
            Some((_, known)) => known.extend(records),
            None => self
                .databases
                .push((name.to_owned(), records.into_iter().collect())),
        }
        self
    }

    /// As [`MemoryBackendBuilder::add`], with records from memory.
    ///
    /// # Errors
    /// The first record that has no ISO 2709 form.
    pub fn add_records(
        self,
        name: &str,
        records: impl IntoIterator<Item = MarcRecord>,
    ) -> Result<Self, Note> {
        let Loaded { records, notes } = load::from_records(records);
        match notes.into_iter().next() {
            None => Ok(self.add(name, records)),
            Some(note) => Err(note),
        }
    }

    /// Adds the demo catalogue: databases `books` and `serials`.
    pub fn add_demo(self) -> Self {
        demo::add(self)
    }

    /// Numbers and indexes the records.
    pub fn build(self) -> MemoryBackend {
        let mut index = IndexBuilder::default();
        let mut records = Vec::new();
        let mut stored_syntaxes = Vec::new();
        let mut databases = Vec::new();
        let mut next: u32 = 0;
        for (name, loaded) in self.databases {
            let start = next;
            for LoadedRecord { octets, record } in loaded {
                index.add(RecordId(next), &record, self.docid.of(&record));
                let syntax = marc_syntax(&record);
                if !stored_syntaxes.contains(&syntax) {
                    stored_syntaxes.push(syntax);
                }
                records.push(Stored { octets, syntax });
                // Four thousand million records do not fit into memory.
                next = next.saturating_add(1);
            }
            databases.push(Database {
                name,
                records: start..next,
            });
        }
        MemoryBackend {
            databases,
            records,
            stored_syntaxes,
            index: index.finish(),
        }
    }
}

#[cfg(test)]
mod tests;
