//! The events of a search for records.

use std::sync::Arc;

use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;

use crate::error::{Diagnostics, Error};
use crate::lookup::Likeness;
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;
use crate::retrieve::OutcomeName;

/// An event of a search for records. A target is given by its index in the list passed to
/// [`Client::find`](crate::Client::find).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A search is about to be sent.
    Asked {
        /// The index of the target.
        target: usize,
    },
    /// A search found nothing or was refused, and another search follows, as allowed by
    /// [`Fallback`](crate::plan::Fallback).
    Again {
        /// The index of the target.
        target: usize,
        /// The index of the identifier; `None` if no identifiers are looked up.
        identifier: Option<usize>,
        /// The reason for the next search.
        reason: String,
        /// The differences of the next search from the original one, such as
        /// `@attr 1=1016 war;database=books;esn=none`.
        step: String,
    },
    /// A search by title found records, but each of them has a different title or a conflicting author. Another search
    /// may follow.
    Unlike {
        /// The index of the target.
        target: usize,
        /// The number of matching records.
        hits: u64,
        /// The name of the search, such as `title and author`.
        step_name: String,
    },
    /// The records could not be sorted by the requested keys.
    Unsorted {
        /// The index of the target.
        target: usize,
        /// The reason why they could not be sorted.
        error: Error,
    },
    /// A search has returned a result. The result of a query may be empty.
    Found(Arc<Found>),
    /// A record, or the diagnostic in its place. With [`Wanted::best`](super::Wanted::best), only the best record and
    /// diagnostics are sent.
    Record {
        /// The index of the target.
        target: usize,
        /// The 1-based position in the result set.
        position: u64,
        /// The record or diagnostic.
        record: ResultRecord,
    },
    /// The search at one target has ended.
    Done {
        /// The index of the target.
        target: usize,
        /// The record syntax that was requested last; `None` leaves the choice to the server.
        record_syntax: Option<Oid>,
        /// The number of records received, not counting diagnostics in place of records.
        delivered: u64,
        /// The reason why no record was received, or why there are no further records.
        error: Option<Error>,
    },
    /// The best of several records was chosen. The next event contains this record.
    Best(Box<Best>),
    /// The search has ended. This is always the last event.
    Ended(Box<Ending>),
}

/// The result of a search at one target.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Found {
    /// The index of the target.
    pub target: usize,
    /// The index of the identifier that was found; `None` if no identifiers are looked up.
    pub identifier: Option<usize>,
    /// The successful search: the attributes of a lookup or retrieval, such as `1=7`, followed by the differences from
    /// the original request, such as `@attr 1=1016 war;database=books;esn=none`. `None` for the original query.
    pub step: Option<String>,
    /// The name of the successful search, such as `ISBN with right truncation`; `None` unless identifiers are looked
    /// up.
    pub step_name: Option<String>,
    /// The query that was sent, in PQF: the query for an identifier, or the one that replaced the caller's query. Empty
    /// if the caller's query was sent unchanged.
    pub query: String,
    /// The notations of the identifier that were searched for.
    pub terms: Vec<String>,
    /// The server's result, without the records.
    pub result: SearchResult,
    /// The sources of the records in all searches at the target, if the server reports several sources.
    pub sources: SearchSources,
    /// The choice among the records, if a publication is looked up.
    pub by_title: Option<ByTitle>,
}

impl Found {
    /// Returns the number of matching records. If they were found by title, only the most similar records count.
    pub fn matching(&self) -> u64 {
        match &self.by_title {
            Some(by_title) => by_title.alike,
            None => self.result.hits,
        }
    }
}

/// The choice of the records that are most similar to a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ByTitle {
    /// The number of chosen records. If there are several, they are equally similar.
    pub alike: u64,
    /// The choice and the reason for it, such as
    /// `by title: 12 hits, b1 chosen because its title, author and year agree`.
    pub choice: String,
    /// The difference between the record and the publication, such as `its year is 1995, not 1813`; `None` if there is
    /// none.
    pub doubt: Option<String>,
    /// The similarity of the records to the publication.
    pub(super) likeness: Likeness,
}

/// The choice of one of several records, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Best {
    /// The index of the target.
    pub target: usize,
    /// The 1-based position of the record in its result set.
    pub position: u64,
    /// The total number of matching records at all targets.
    pub hits: u64,
    /// The reason for the choice, such as
    /// `b1 is the best of 2 records: its encoding level is full, that of b2 is minimal`.
    pub choice: String,
}

/// The result of a search for records at all targets together.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Ending {
    /// The outcome. If several records match, it is [`OutcomeName::Ambiguous`] only for a lookup, which should find a
    /// single record.
    pub outcome: OutcomeName,
    /// The total number of matching records at all targets that were searched; `None` if no server has reported a
    /// number.
    pub hits: Option<u64>,
    /// The name of the first target with a record, or of the target with the best record; `None` for a URL.
    pub target: Option<String>,
    /// The successful search at `target`; see [`Found::step`].
    pub step: Option<String>,
    /// The search in [`Ending::step`] in words; see [`Found::step_name`].
    pub step_name: Option<String>,
    /// The reason why the best record, or a record found by title, was chosen; `None` if no choice was made.
    pub choice: Option<String>,
    /// The sources of the records, if the servers report several sources.
    pub sources: SearchSources,
    /// The names of the targets that did not answer, each with the error.
    pub failed: Vec<(String, Error)>,
    /// The diagnostics from the first target that refused the search.
    pub diagnostics: Diagnostics,
}

impl From<&Found> for Ending {
    /// Creates an ending from the result of a search, before any record is received.
    fn from(found: &Found) -> Self {
        Self {
            hits: found.result.count(),
            step: found.step.clone(),
            step_name: found.step_name.clone(),
            sources: found.sources.clone(),
            choice: found.by_title.as_ref().map(|found| found.choice.clone()),
            ..Self::default()
        }
    }
}
