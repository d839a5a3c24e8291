//! The interface between the server and its databases (Z39.50-2003 §3.1.2): [`Backend`]. By default, its methods answer that the
//! service is not supported.
//!
//! This module contains everything that a custom backend needs, including the types of the standard that it uses. The
//! following items may also help:
//!
//! - [`Clause`]: a term of a query as plain values; [`RpnStructure::evaluate`](z3950_asn1::apdu::RpnStructure::evaluate) combines
//!   the values into which the terms of a query are converted;
//! - [`blocking`]: work that blocks a thread; [`ready`]: an answer without waiting;
//! - [`memory::forms`](crate::memory::forms): a MARC record in all syntaxes and element sets;
//! - [`memory::index_map`](crate::memory::index_map): the access points, words and keys of MARC records, as
//!   [`MemoryBackend`](crate::MemoryBackend) reads them; [`RecordOrder`](crate::RecordOrder) and [`TermOrder`](crate::TermOrder): its
//!   orders of records and terms;
//! - [`access::Authenticate`](crate::access::Authenticate): a custom source of users.
//!
//! The examples `own_backend`, `sqlite` and `http` are complete backends.

mod caller;
mod clause;
mod database;
mod hits;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
pub use z3950_asn1::apdu::{
    AttributeList, AttributesPlusTerm, DatabaseName, External, Operand, Operator, RpnQuery, Schema,
    SortKeySpec, Term,
};
pub use z3950_asn1::oid::{self, Oid};
pub use z3950_asn1::sru::RecordSource;

pub use self::caller::Caller;
pub(crate) use self::caller::network;
pub use self::clause::Clause;
pub use self::database::{AttributeInfo, DatabaseInfo, DatabasePart, check_databases};
pub use self::hits::{HitList, Hits, RecordId};
pub(crate) use self::hits::{ResultSet, part_of};
use crate::budget::Account;
pub use crate::diagnostic::{Condition, Diagnostic, diagnostic};

/// The answer from a backend: a value, or a diagnostic. A backend that never waits returns [`ready`]. Dropping the future cancels the
/// operation; a cancelled operation must not leave incomplete changes behind.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Diagnostic>> + Send + 'a>>;

/// Returns an answer that is available immediately.
pub fn ready<'a, T: Send + 'a>(answer: Result<T, Diagnostic>) -> Answer<'a, T> {
    Box::pin(std::future::ready(answer))
}

/// Runs work that blocks a thread, such as an SQLite query, on a thread for blocking work, so that it does not delay other
/// sessions. If the operation is stopped, the work continues, but the client gets its answer immediately.
///
/// ```
/// use z3950_server::backend::{Answer, Found, Hits, RecordId, blocking};
///
/// fn search<'a>() -> Answer<'a, Found> {
///     blocking(|| {
///         let ids = [17, 4]; // from a library that knows nothing of futures
///         Ok(ids.map(RecordId).into_iter().collect::<Hits>().into())
///     })
/// }
/// ```
///
/// # Panics
/// The answer panics if the work panics, or if it is awaited outside a Tokio runtime. If a backend panics, only the request that
/// it was answering fails.
pub fn blocking<'a, T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Diagnostic> + Send + 'static,
) -> Answer<'a, T> {
    Box::pin(async {
        let ended = tokio::task::spawn_blocking(work).await;
        ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(diagnostic(Condition::TEMPORARY_SYSTEM_ERROR, "")),
        })
    })
}

/// Databases that can be searched, and their records.
///
/// One backend serves all sessions at once. Work that takes longer than a few milliseconds or waits for anything belongs in a
/// future that yields, or in [`blocking`]: the methods themselves, and futures that do not yield, hold up all connections that the same
/// thread serves. If a method or its future panics, its request fails with condition 2, and the session continues.
///
/// Each request names its [`Caller`]: the session, the client's address, and the user.
#[expect(unused_variables, reason = "the names document the methods")]
pub trait Backend: Send + Sync {
    /// Returns the databases, as shown to people and in Explain. The first is the default database. Requests may also name
    /// databases that do not exist, which [`check_databases`] refuses.
    fn databases(&self) -> Vec<DatabaseInfo> {
        Vec::new()
    }

    /// Returns the records that a query finds.
    ///
    /// # Errors
    /// Fails with condition 235 for a database that does not exist, or with the condition for an unsupported part of the query.
    fn search<'a>(&'a self, search: Search<'a>) -> Answer<'a, Found> {
        ready(Err(diagnostic(Condition::UNSUPPORTED_SEARCH, "")))
    }

    /// Returns whether any record is available in the syntax; if not, a Present fails with condition 239.
    fn has_syntax(&self, syntax: &Oid) -> bool {
        false
    }

    /// Returns whether records in the syntax, or in one that the backend chooses (`None`), are available in the element set; if
    /// not, a Present fails with condition 25. The case of names is ignored, and `F` (full) and `B` (brief) always work
    /// (Z39.50-2003 §3.6.2).
    fn has_element_set(&self, name: &str, syntax: Option<&Oid>) -> bool {
        name.eq_ignore_ascii_case("F") || name.eq_ignore_ascii_case("B")
    }

    /// Returns the name of the element set that a schema stands for in the syntax. If the schema is not supported, returns
    /// `None`, and a Present fails with condition 1066.
    fn element_set_of_schema(&self, schema: &Schema, syntax: Option<&Oid>) -> Option<String> {
        None
    }

    /// Prepares the retrieval of all records in a response, before they are retrieved one by one. A backend whose records are elsewhere
    /// can fetch them together here. Returns `None` if there is nothing to wait for.
    ///
    /// # Errors
    /// Fails with a diagnostic that replaces all records.
    fn prepare<'a>(&'a self, wanted: RetrieveMany<'a>) -> Option<Answer<'a, ()>> {
        None
    }

    /// Returns a record in a result set, in a syntax and element set that the backend supports.
    ///
    /// # Errors
    /// Fails with a diagnostic that replaces all records; a diagnostic for this record alone is part of the answer.
    fn record<'a>(&'a self, wanted: Retrieve<'a>) -> Answer<'a, Retrieved> {
        ready(Err(diagnostic(Condition::SYSTEM_ERROR_PRESENTING, "")))
    }

    /// Returns the terms in an index on both sides of the starting term.
    ///
    /// # Errors
    /// Fails with condition 235 for a database that does not exist, with 228 for an index that cannot be scanned, or with the
    /// condition for an unsupported attribute, as in a search.
    fn scan<'a>(&'a self, scan: Scan<'a>) -> Answer<'a, Scanned> {
        ready(Err(diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "scan")))
    }

    /// Returns the records of result sets in another order.
    ///
    /// # Errors
    /// Fails with condition 207 for an unsupported key, with 213 for a record without a value if the key requires the sort to
    /// fail in this case, or with the condition for another unsupported feature.
    fn sort<'a>(&'a self, sort: Sort<'a>) -> Answer<'a, Hits> {
        ready(Err(diagnostic(Condition::SERVICE_NOT_FOR_DATABASE, "sort")))
    }

    /// Changes records in a database, either all or none. Returns, in the order of the records, the identifier of each record after the
    /// change; if any result is a diagnostic, nothing was changed.
    ///
    /// # Errors
    /// Fails with a diagnostic that says why nothing can be changed.
    fn update<'a>(&'a self, update: Update<'a>) -> Answer<'a, Vec<Result<Bytes, Diagnostic>>> {
        ready(Err(diagnostic(
            Condition::SERVICE_NOT_FOR_DATABASE,
            "update",
        )))
    }
}

/// A request to search databases.
#[derive(Clone)]
#[non_exhaustive]
pub struct Search<'a> {
    /// The caller that requests the search.
    pub caller: Caller,
    /// The databases as named in the request. There is at least one.
    pub databases: &'a [DatabaseName],
    /// The query, of type 1 or 101, which mean the same in version 3 (Z39.50-2003 §3.7.1).
    pub query: &'a RpnQuery,
    /// The session's result sets by name, for operands of the query.
    pub result_set: &'a (dyn Fn(&[u8]) -> Option<Hits> + Send + Sync),
    /// Whether to count the records for each term of the query separately (SearchResult-1).
    pub term_counts: bool,
    /// Whether the client requests the counts of terms. If it does not, a backend that needs separate searches for them may leave
    /// them out.
    pub term_counts_asked: bool,
    /// The facets to count over the records found.
    pub facets: &'a [FacetRequest],
    /// The maximum number of records that the response may contain, starting with the first record of the result set. The actual
    /// number depends on the number of hits, which is not known yet.
    pub first_records: usize,
    /// The preferred syntax of the records in the answer.
    pub syntax: Option<Oid>,
    /// The account for the memory that a long search needs while it is in progress.
    pub(crate) work: Option<&'a Arc<Account>>,
}

impl<'a> Search<'a> {
    /// Creates a search with a new [`Caller`], without result sets, counts of terms and facets.
    pub fn new(databases: &'a [DatabaseName], query: &'a RpnQuery) -> Self {
        Self {
            caller: Caller::new(),
            databases,
            query,
            result_set: &|_| None,
            term_counts: false,
            term_counts_asked: false,
            facets: &[],
            first_records: 0,
            syntax: None,
            work: None,
        }
    }
}

/// A request for a facet, that is, for the terms of a field with their counts in a result set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FacetRequest {
    /// The field as named in the request, by a Use attribute (type 1) whose value is a number or a name.
    pub attributes: AttributeList,
    /// The number of terms to skip.
    pub skip: usize,
    /// The maximum number of terms to return.
    pub terms: usize,
    /// Whether to order the terms alphabetically instead of by count.
    pub alphabetical: bool,
}

impl FacetRequest {
    /// Creates a request for the facet of a field.
    pub fn new(attributes: AttributeList, skip: usize, terms: usize, alphabetical: bool) -> Self {
        Self {
            attributes,
            skip,
            terms,
            alphabetical,
        }
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// The records found.
    pub hits: Hits,
    /// Whether the number of records is an estimate.
    pub estimate: bool,
    /// The reason why the search was stopped early, if it was; the hits are then a subset.
    pub interrupted: Option<Diagnostic>,
    /// The counts of the query's terms, from left to right; empty if they were not requested or not computed.
    pub term_counts: Vec<TermCount>,
    /// The facets, in the requested order; fields without terms are left out.
    pub facets: Vec<Facet>,
    /// The results of the individual sources; empty if all records come from one source.
    pub sources: Vec<SourceReport>,
    /// Remarks for people, such as the reason why the number of records is an estimate.
    pub remarks: Vec<String>,
}

impl From<Hits> for Found {
    fn from(hits: Hits) -> Self {
        Self {
            hits,
            estimate: false,
            interrupted: None,
            term_counts: Vec::new(),
            facets: Vec::new(),
            sources: Vec::new(),
            remarks: Vec::new(),
        }
    }
}

/// The result of one source of records, such as one of the servers to which a search was passed on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SourceReport {
    /// The name of the source, which is the name of the database of its records.
    pub name: String,
    /// The number of records found.
    pub records: usize,
    /// The reason why the source failed; `None` if it did not fail. If it failed, `records` is 0.
    pub failure: Option<Diagnostic>,
    /// Whether facets were requested but the source did not count any, so that its records are missing from the counts.
    pub lacks_facets: bool,
}

impl SourceReport {
    /// Creates a report on a source: its number of records, or the reason why it failed.
    pub fn new(name: impl Into<String>, found: Result<usize, Diagnostic>) -> Self {
        let (records, failure) = match found {
            Ok(records) => (records, None),
            Err(failure) => (0, Some(failure)),
        };
        Self {
            name: name.into(),
            records,
            failure,
            lacks_facets: false,
        }
    }
}

/// A term of a query, and the number of records that it finds.
#[derive(Clone, Debug, PartialEq)]
pub struct TermCount {
    /// The term as it is in the query.
    pub operand: AttributesPlusTerm,
    /// The number of records that the term finds in the databases searched.
    pub records: usize,
}

/// Terms of a field with their counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Facet {
    /// The field as named in the request.
    pub attributes: AttributeList,
    /// The terms, each with the number of records that have it.
    pub terms: Vec<(Term, usize)>,
}

/// A request to retrieve a record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retrieve<'a> {
    /// The caller that retrieves the record.
    pub caller: Caller,
    /// The result set that contains the record.
    pub hits: &'a Hits,
    /// The identifier of the record in the result set.
    pub record: RecordId,
    /// The syntax and element set in which to return the record.
    pub composition: &'a Composition,
}

/// The records in a response, which are announced to the backend before they are retrieved one by one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RetrieveMany<'a> {
    /// The caller that retrieves the records.
    pub caller: Caller,
    /// The result set that contains the records.
    pub hits: &'a Hits,
    /// The records in the order of the response; the response may not have room for all of them.
    pub records: &'a [RecordId],
    /// The syntax and element set in which to return the records.
    pub composition: &'a Composition,
}

impl<'a> Retrieve<'a> {
    /// Creates a request, with a new [`Caller`], to retrieve a record in a result set.
    pub fn new(hits: &'a Hits, record: RecordId, composition: &'a Composition) -> Self {
        Self {
            caller: Caller::new(),
            hits,
            record,
            composition,
        }
    }
}

impl<'a> RetrieveMany<'a> {
    /// Creates a request, with a new [`Caller`], to retrieve records in a result set.
    pub fn new(hits: &'a Hits, records: &'a [RecordId], composition: &'a Composition) -> Self {
        Self {
            caller: Caller::new(),
            hits,
            records,
            composition,
        }
    }
}

/// A record, or the diagnostic in its place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retrieved {
    /// The database that contains the record.
    pub database: DatabaseName,
    /// The record, or the diagnostic in its place.
    pub record: Result<External, Diagnostic>,
    /// The databases that contain the record, if it was merged from several records.
    pub sources: Vec<RecordSource>,
    /// Whether all XML in the record is known to be well-formed; see [`written_here`](Self::written_here).
    pub(crate) is_written_here: bool,
}

impl Retrieved {
    /// Creates a record from the database, or the diagnostic in its place.
    pub fn new(database: DatabaseName, record: Result<External, Diagnostic>) -> Self {
        Self {
            database,
            record,
            sources: Vec::new(),
            is_written_here: false,
        }
    }

    /// Declares that all XML in the record was written by [`memory::forms`](crate::memory::forms) or an equally strict writer, so
    /// that it need not be parsed again. Any other XML must be a single well-formed element; if it is not, a diagnostic is sent
    /// in its place.
    #[must_use]
    pub fn written_here(self) -> Self {
        Self {
            is_written_here: true,
            ..self
        }
    }

    /// Sets the databases that contain the record, if it was merged from several records.
    #[must_use]
    pub fn with_sources(self, sources: Vec<RecordSource>) -> Self {
        Self { sources, ..self }
    }
}

/// The requested syntax and element set of records (Z39.50-2003 §3.2.3.1.5). The server only requests values for which the
/// backend has declared support.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Composition {
    /// The syntax; `None` lets the backend choose for each record.
    pub syntax: Option<Oid>,
    /// The name of the element set for records in databases that are not in `by_database`.
    pub element_set: String,
    /// Pairs of a database name and the name of the element set for the records in that database.
    pub by_database: Vec<(String, String)>,
}

impl Composition {
    /// Returns the composition of full records in a syntax.
    pub fn full(syntax: Option<Oid>) -> Self {
        Self {
            syntax,
            element_set: "F".to_owned(),
            by_database: Vec::new(),
        }
    }

    /// Returns the element set for records in a database.
    pub fn element_set(&self, database: &str) -> &str {
        let mut by_database = self.by_database.iter();
        by_database
            .find(|(name, _)| name.to_lowercase() == database.to_lowercase())
            .map_or(&self.element_set, |(_, element_set)| element_set)
    }
}

/// A request to scan a part of an index.
#[derive(Clone)]
#[non_exhaustive]
pub struct Scan<'a> {
    /// The caller that requests the scan.
    pub caller: Caller,
    /// The databases as named in the request. There is at least one.
    pub databases: &'a [DatabaseName],
    /// The attribute set for attributes that do not name a set themselves.
    pub attribute_set: Oid,
    /// The index and the starting term.
    pub start: &'a AttributesPlusTerm,
    /// The records to whose terms the scan and its counts are restricted; `None` for all records in the databases.
    pub within: Option<&'a Hits>,
    /// The maximum number of terms before the start.
    pub before: usize,
    /// The maximum number of terms from the start onwards, including the start itself or, if it is not in the index, its successor.
    pub after: usize,
    /// The number of terms to skip between two returned terms. Steps are counted from the first term that is not before the
    /// start, in both directions.
    pub step: usize,
}

impl<'a> Scan<'a> {
    /// Creates a scan with a new [`Caller`]. The scan returns one term: the start or, if it is not in the index, its successor.
    pub fn new(
        databases: &'a [DatabaseName],
        attribute_set: Oid,
        start: &'a AttributesPlusTerm,
    ) -> Self {
        Self {
            caller: Caller::new(),
            databases,
            attribute_set,
            start,
            within: None,
            before: 0,
            after: 1,
            step: 0,
        }
    }
}

/// Terms in an index, in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Scanned {
    /// The terms before the start; fewer than requested if the beginning of the index is reached.
    pub before: Vec<ScanTerm>,
    /// The terms from the start onwards; fewer than requested if the end of the index is reached.
    pub after: Vec<ScanTerm>,
    /// Whether the first term of `after` equals the start.
    pub exact: bool,
    /// The failures of sources, if the terms come from several sources; the additional information names the source.
    pub failures: Vec<Diagnostic>,
}

/// A term in an index, as returned by a scan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScanTerm {
    /// The term, in a form that can be searched with the attributes of the scan.
    pub term: Term,
    /// The form for display; `None` if the term itself is to be displayed.
    pub display: Option<String>,
    /// The number of records that have the term; `None` if it is not known.
    pub records: Option<usize>,
}

impl ScanTerm {
    /// Creates a term without a display form or count.
    pub fn new(term: Term) -> Self {
        Self {
            term,
            display: None,
            records: None,
        }
    }
}

/// A request to merge result sets and sort their records.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sort<'a> {
    /// The caller that requests the sort.
    pub caller: Caller,
    /// The result sets to be merged and sorted, of which there is at least one. Duplicate records are removed.
    pub inputs: &'a [Hits],
    /// The keys, most significant first. There is at least one. The sort must be stable.
    pub keys: &'a [SortKeySpec],
}

impl<'a> Sort<'a> {
    /// Creates a sort with a new [`Caller`].
    pub fn new(inputs: &'a [Hits], keys: &'a [SortKeySpec]) -> Self {
        Self {
            caller: Caller::new(),
            inputs,
            keys,
        }
    }
}

/// A change to a database (Z39.50-2003 Appendix EXT.1.4).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Update<'a> {
    /// The caller that changes the database.
    pub caller: Caller,
    /// The database to change.
    pub database: &'a DatabaseName,
    /// The change to make to each record.
    pub action: UpdateAction,
    /// The records, of which there is at least one.
    pub records: &'a [UpdateRecord],
}

impl<'a> Update<'a> {
    /// Creates a change to records in a database, with a new [`Caller`].
    pub fn new(
        database: &'a DatabaseName,
        action: UpdateAction,
        records: &'a [UpdateRecord],
    ) -> Self {
        Self {
            caller: Caller::new(),
            database,
            action,
            records,
        }
    }
}

/// A change to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateAction {
    /// Add the record, which must not exist yet.
    Insert,
    /// Replace the record with the same identifier, which must exist.
    Replace,
    /// Delete the record with the same identifier, which must exist.
    Delete,
    /// Replace those elements of the record that have the same names as the elements in the request.
    Elements,
    /// Add the record, or replace the record with the same identifier.
    Special,
}

/// A record to change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UpdateRecord {
    /// The identifier of the record in the database; `None` to take it from the record.
    pub id: Option<Bytes>,
    /// The record; `None` only for deletion.
    pub record: Option<External>,
}

impl UpdateRecord {
    /// Creates a record with this identifier; with `None`, the identifier is taken from the record.
    pub fn new(id: Option<Bytes>, record: Option<External>) -> Self {
        Self { id, record }
    }
}
