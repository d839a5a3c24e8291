//! What stands behind the server: databases, searches and records (Z39.50-2003 §3.1.2). A method left out
//! answers that it is not supported.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use z3950_asn1::apdu::{
    AttributeList, AttributesPlusTerm, DatabaseName, External, RpnQuery, Schema, SortKeySpec, Term,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;

use crate::diagnostic::{Diagnostic, diagnostic};

/// What a backend answers, once it can: a value, or the diagnostic why there is none. A backend that waits for nothing answers
/// with [`ready`]. An answer that is dropped before it is there is an operation cancelled, and leaves nothing half done.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Diagnostic>> + Send + 'a>>;

/// An answer that is there already.
pub fn ready<'a, T: Send + 'a>(answer: Result<T, Diagnostic>) -> Answer<'a, T> {
    Box::pin(std::future::ready(answer))
}

/// Databases that can be searched, and their records.
///
/// One backend serves all sessions at once. What takes longer than some milliseconds of work or waits for anything belongs in a
/// future that yields: the methods themselves, and futures that do not yield, hold up the thread that serves the connection.
pub trait Backend: Send + Sync {
    /// The databases, as people and Explain are told of them. The first is the one to name where only one can be.
    fn databases(&self) -> Vec<DatabaseInfo> {
        Vec::new()
    }

    /// The records that a query finds.
    ///
    /// # Errors
    /// Why there is no result set: a database that does not exist (235), or a part of the query that is not supported.
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        let _ = search;
        ready(Err(diagnostic(Condition::UNSUPPORTED_SEARCH, "")))
    }

    /// Whether any record can be had in the syntax; where none can, a Present fails with condition 239.
    fn has_syntax(&self, syntax: &Oid) -> bool {
        let _ = syntax;
        false
    }

    /// Whether the syntax (`None`: that which the backend chooses) has the element set; where it has not, a Present fails with
    /// condition 25. Names are caseless, and `F` (full) and `B` (brief) always work (Z39.50-2003 §3.6.2).
    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        let _ = syntax;
        name.eq_ignore_ascii_case("F") || name.eq_ignore_ascii_case("B")
    }

    /// The element set under which the backend has a schema in the syntax; `None` where it has it under none, and a Present
    /// fails with condition 1066.
    fn element_set_of_schema(&self, schema: &Schema, syntax: Option<&Oid>) -> Option<String> {
        let _ = (schema, syntax);
        None
    }

    /// A record of a result set, in a syntax and element set that the backend has.
    ///
    /// # Errors
    /// The diagnostic that goes in the place of all records; one for this record alone is in the answer.
    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        let _ = wanted;
        ready(Err(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")))
    }

    /// Terms of an index, on both sides of a term.
    ///
    /// # Errors
    /// Why there are none: a database that does not exist (235), an index that cannot be scanned (228), an attribute that is not
    /// supported (as for a search).
    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        let _ = scan;
        ready(Err(diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "scan")))
    }

    /// The records of result sets in another order.
    ///
    /// # Errors
    /// A key that cannot be sorted by (207), a missing value where the key says to abort (213), or what else is not supported.
    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        let _ = sort;
        ready(Err(diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "sort")))
    }

    /// Changes records of a database, all or none. The outcomes are those of the records, in order, each with the identifier
    /// that the record then has; if one of them is a diagnostic, nothing has changed.
    ///
    /// # Errors
    /// Why nothing can be changed at all.
    fn update<'a>(&'a self, update: Update<'a>) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        let _ = update;
        ready(Err(diagnostic(
            Condition::SERVICE_NOT_FOR_DATABASE,
            "update",
        )))
    }
}

/// A record of a result set, by a number that its backend gives it and that stays while the result set does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub u32);

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A list of records as a backend keeps it, with whatever it needs to give the records later as they were when they were
/// found, such as a snapshot of the database.
#[expect(clippy::len_without_is_empty, reason = "Hits has it")]
pub trait HitList: Any + Send + Sync {
    /// How many records there are. Known at once, whatever else is left for later.
    fn len(&self) -> usize;

    /// The records at positions from 0; only so many as there are.
    fn ids(&self, positions: Range<usize>) -> Vec<RecordId>;
}

/// The records found, in the order in which they are presented. Clones share them.
#[derive(Clone)]
pub struct Hits(Arc<dyn HitList>);

impl Hits {
    /// The records of a list.
    pub fn new(list: impl HitList) -> Self {
        Self(Arc::new(list))
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records at positions from 0; only so many as there are.
    pub fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        self.0.ids(positions)
    }

    /// The list, if it is of that type: so a backend knows its own again.
    pub fn downcast<L: HitList>(&self) -> Option<&L> {
        let list: &dyn Any = &*self.0;
        list.downcast_ref()
    }
}

impl fmt::Debug for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hits", self.len())
    }
}

/// For backends whose records need nothing but their numbers.
impl FromIterator<RecordId> for Hits {
    fn from_iter<I: IntoIterator<Item = RecordId>>(records: I) -> Self {
        Self::new(RecordIds(records.into_iter().collect()))
    }
}

struct RecordIds(Box<[RecordId]>);

impl HitList for RecordIds {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn ids(&self, positions: Range<usize>) -> Vec<RecordId> {
        let end = positions.end.min(self.0.len());
        self.0
            .get(positions.start..end)
            .unwrap_or_default()
            .to_vec()
    }
}

/// A search, as a backend is asked for it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Search<'a> {
    /// The databases as named in the request; at least one.
    pub databases: &'a [DatabaseName],
    /// The query, of type 1 or 101, which mean the same in version 3 (Z39.50-2003 §3.7.1).
    pub query: &'a RpnQuery,
    /// The session's result sets by name, for operands of the query.
    pub result_set: &'a (dyn Fn(&[u8]) -> Option<Hits> + Send + Sync),
    /// Whether to count the records of each term by itself (SearchResult-1).
    pub term_counts: bool,
    /// Facets to count over the records found.
    pub facets: &'a [FacetRequest],
}

/// Terms of a field wanted with their counts over a result set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FacetRequest {
    /// What names the field, as the request has it: Use (type 1), a number or a name.
    pub attributes: AttributeList,
    /// Terms to leave out at the beginning.
    pub skip: usize,
    /// The most terms wanted.
    pub terms: usize,
    /// Whether the terms come by the alphabet, and not the most frequent first.
    pub alphabetical: bool,
}

/// What a search has found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// The records.
    pub hits: Hits,
    /// Whether their number is an estimate.
    pub estimate: bool,
    /// Why the search ended before its time, if it did: then the hits are some of those that there are.
    pub interrupted: Option<Diagnostic>,
    /// The terms of the query from the left, if they were to be counted and as far as they have been.
    pub term_counts: Vec<TermCount>,
    /// The facets, in the order asked for; those of fields that have none are left out.
    pub facets: Vec<Facet>,
}

impl From<Hits> for Found {
    fn from(hits: Hits) -> Self {
        Self {
            hits,
            estimate: false,
            interrupted: None,
            term_counts: Vec::new(),
            facets: Vec::new(),
        }
    }
}

/// A term of a query and how many records have it.
#[derive(Clone, Debug, PartialEq)]
pub struct TermCount {
    /// The term, as the query has it.
    pub operand: AttributesPlusTerm,
    /// Records of the databases searched.
    pub records: usize,
}

/// Terms of a field with their counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Facet {
    /// What names the field, as the request has it.
    pub attributes: AttributeList,
    /// The terms and how many of the records found have each.
    pub terms: Vec<(Term, usize)>,
}

/// A record wanted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Retrieve<'a> {
    /// The result set it is in.
    pub hits: &'a Hits,
    /// The record.
    pub record: RecordId,
    /// In what syntax and with what elements.
    pub composition: &'a Composition,
}

/// A record, or why it cannot be had.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retrieved {
    /// The database it belongs to.
    pub database: DatabaseName,
    /// The record, or the diagnostic in its place.
    pub record: Result<External, Diagnostic>,
}

impl Retrieved {
    /// A record of the database, or the diagnostic in its place.
    pub fn new(database: DatabaseName, record: Result<External, Diagnostic>) -> Self {
        Self { database, record }
    }
}

/// In which syntax and with which elements records are wanted (Z39.50-2003 §3.2.3.1.5): only what the backend has said it has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Composition {
    /// The syntax; `None` leaves it to the backend, record by record.
    pub syntax: Option<Oid>,
    /// The element set.
    pub element_set: String,
    /// The element sets for single databases, by their names.
    pub by_database: Vec<(String, String)>,
}

impl Composition {
    /// The element set for records of a database.
    pub fn element_set(&self, database: &str) -> &str {
        let mut by_database = self.by_database.iter();
        by_database
            .find(|(name, _)| name.to_lowercase() == database.to_lowercase())
            .map_or(&self.element_set, |(_, element_set)| element_set)
    }
}

/// A part of an index wanted.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Scan<'a> {
    /// The databases as named in the request; at least one.
    pub databases: &'a [DatabaseName],
    /// The attribute set of attributes that do not name their own.
    pub attribute_set: Oid,
    /// The index and the term to begin at.
    pub start: &'a AttributesPlusTerm,
    /// Only terms of these records are wanted, and counted in them.
    pub within: Option<&'a Hits>,
    /// The most terms wanted that go before the term.
    pub before: usize,
    /// The most terms wanted from the term on: the term itself, or else the next, and those behind it.
    pub after: usize,
    /// Terms to leave out between any two, on either side of the first that is not before the term.
    pub step: usize,
}

/// Terms of an index, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Scanned {
    /// Those before the term; fewer than wanted if the index begins there.
    pub before: Vec<ScanTerm>,
    /// Those from the term on; fewer than wanted if the index ends there.
    pub after: Vec<ScanTerm>,
    /// Whether the first of `after` is the very term.
    pub exact: bool,
}

/// A term of an index.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScanTerm {
    /// The term, as it can be searched with the same attributes.
    pub term: Term,
    /// How it reads, if otherwise.
    pub display: Option<String>,
    /// How many records have it, if known.
    pub records: Option<usize>,
}

impl ScanTerm {
    /// A term that reads as it is searched; how many records have it is not known.
    pub fn new(term: Term) -> Self {
        Self {
            term,
            display: None,
            records: None,
        }
    }
}

/// An order wanted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sort<'a> {
    /// The result sets whose records are wanted, each record once; at least one set.
    pub inputs: &'a [Hits],
    /// The keys, the most significant first; at least one. Records of equal keys keep their order.
    pub keys: &'a [SortKeySpec],
}

/// A change to a database (Z39.50-2003 Appendix EXT.1.4).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Update<'a> {
    /// The database.
    pub database: &'a DatabaseName,
    /// What to do with the records.
    pub action: UpdateAction,
    /// The records; at least one.
    pub records: &'a [UpdateRecord],
}

/// What to do with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateAction {
    /// Add it; it must not be there.
    Insert,
    /// Put it in the place of the one of its identifier, which must be there.
    Replace,
    /// Delete the one of its identifier, which must be there.
    Delete,
    /// Put its elements in the place of the elements of the same names.
    Elements,
    /// Add it, or put it in the place of the one of its identifier.
    Special,
}

/// A record to be changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UpdateRecord {
    /// The identifier of the record in the database; `None` leaves it to the record.
    pub id: Option<Bytes>,
    /// The record; `None` only to delete.
    pub record: Option<External>,
}

/// A database, as people and Explain are told of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseInfo {
    /// The name it is searched by.
    pub name: String,
    /// What it is called.
    pub title: Option<String>,
    /// What is in it.
    pub description: Option<String>,
    /// How many records it has, if known.
    pub records: Option<usize>,
    /// The syntaxes in which records can be had.
    pub syntaxes: Vec<Oid>,
    /// The element sets, besides `F` and `B`.
    pub element_sets: Vec<String>,
    /// The attributes that a query may use.
    pub attributes: Vec<AttributeInfo>,
    /// Whether indexes can be scanned.
    pub scan: bool,
    /// Whether result sets can be sorted.
    pub sort: bool,
    /// Whether records can be changed.
    pub update: bool,
}

/// An attribute that a query may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeInfo {
    /// Its attribute set.
    pub attribute_set: Oid,
    /// Its type: 1 is Use.
    pub attribute_type: i64,
    /// Its value.
    pub value: i64,
    /// What it is called, or what it means to this database.
    pub name: String,
}
