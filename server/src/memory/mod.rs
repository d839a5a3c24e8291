//! Databases of MARC records in memory: the server's own backend, and the reference for others.
//!
//! | file | what it does |
//! |---|---|
//! | `load` | files into records, damage told of |
//! | `docid` | where a record's docid stands |
//! | `fields`, `words`, `isbn`, `index` | what can be searched, and how fast |
//! | `attributes`, `eval`, `hits` | a query into records |
//! | `brief` | element set B |
//! | `demo` | the catalogue that the program shows itself with |

mod attributes;
mod brief;
mod demo;
mod docid;
mod eval;
mod fields;
mod hits;
mod index;
mod isbn;
mod load;
mod words;

use std::ops::Range;

use bytes::Bytes;
use z3950_asn1::apdu::{DatabaseName, External};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::{Oid, SUTRS, USMARC};
use z3950_asn1::record::{MarcRecord, iso2709, sutrs_external, sutrs_text};

use self::brief::brief;
pub use self::docid::{DocidField, DocidFieldError};
use self::eval::evaluate;
use self::index::{Index, IndexBuilder};
pub use self::load::{LoadError, Loaded, LoadedRecord, Note, load};
use crate::backend::{Backend, Hits, RecordId, Search};
use crate::diagnostic::{Diagnostic, diagnostic};

/// Databases of MARC records in memory.
///
/// Records are served as USMARC, octet for octet as they were loaded, and as SUTRS; with element sets F and B.
#[derive(Debug)]
pub struct MemoryBackend {
    databases: Vec<Database>,
    /// The ISO 2709 form of each record, by its number.
    records: Vec<Bytes>,
    index: Index,
}

/// A database is a range of records.
#[derive(Debug)]
struct Database {
    name: String,
    records: Range<u32>,
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

    fn octets(&self, record: RecordId) -> Option<&Bytes> {
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

    fn has_syntax(&self, syntax: &Oid) -> bool {
        [USMARC, SUTRS].contains(syntax)
    }

    fn record(
        &self,
        record: RecordId,
        syntax: &Oid,
        element_set: &str,
    ) -> Result<External, Diagnostic> {
        let lost = || diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "");
        let octets = self.octets(record).ok_or_else(lost)?;
        let full = !element_set.eq_ignore_ascii_case("B");
        if full && *syntax == USMARC {
            return Ok(External::octet_aligned(USMARC, octets.clone()));
        }
        let mut marc = iso2709::parse(octets).map_err(|_| lost())?.record;
        if !full {
            marc = brief(&marc);
        }
        match *syntax {
            SUTRS => sutrs_external(&sutrs_text(&marc)).ok_or_else(lost),
            USMARC => {
                let octets = iso2709::encode(&marc).map_err(|_| lost())?;
                Ok(External::octet_aligned(USMARC, octets))
            }
            _ => Err(diagnostic(
                Condition::NOT_AVAILABLE_IN_SYNTAX,
                syntax.to_string(),
            )),
        }
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
        let mut databases = Vec::new();
        let mut next: u32 = 0;
        for (name, loaded) in self.databases {
            let start = next;
            for LoadedRecord { octets, record } in loaded {
                index.add(RecordId(next), &record, self.docid.of(&record));
                records.push(octets);
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
            index: index.finish(),
        }
    }
}

#[cfg(test)]
mod tests;
