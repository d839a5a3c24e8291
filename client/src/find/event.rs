//! The events of a search for records.

use std::sync::Arc;

use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;

use crate::error::{Diagnostics, Error};
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;
use crate::retrieve::OutcomeName;

/// An event of a search for records. Targets are named by their index in the list given to [`Client::find`](crate::Client::find).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A search is being sent.
    Asked {
        /// The index of the target.
        target: usize,
    },
    /// A search found nothing or was refused, and another one follows, as a [`Fallback`](crate::plan::Fallback) allows.
    Again {
        /// The index of the target.
        target: usize,
        /// The index of the identifier, if identifiers are looked up.
        identifier: Option<usize>,
        /// The reason for the other search.
        reason: String,
        /// How the next search differs: `@attr 1=1016 war;database=books;esn=none`.
        step: String,
    },
    /// The records could not be sorted as wanted.
    Unsorted {
        /// The index of the target.
        target: usize,
        /// The reason.
        error: Error,
    },
    /// A search was answered. If it was a query, it may have found nothing.
    Found(Arc<Found>),
    /// A record, or the diagnostic in its place. With [`Wanted::best`](super::Wanted::best), only the best record is sent, and
    /// diagnostics.
    Record {
        /// The index of the target.
        target: usize,
        /// The position in the result set, 1-based.
        position: u64,
        /// The record or diagnostic.
        record: ResultRecord,
    },
    /// The search at one target has ended.
    Done {
        /// The index of the target.
        target: usize,
        /// The record syntax in which records were requested last; `None` leaves the choice to the server.
        record_syntax: Option<Oid>,
        /// The number of records received, without the diagnostics in place of records.
        delivered: u64,
        /// The reason why no record was received, or why there are no more.
        error: Option<Error>,
    },
    /// The best of several records has been chosen; that record is the next event.
    Best(Box<Best>),
    /// The end of the search, which is always the last event.
    Ended(Box<Ending>),
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Found {
    /// The index of the target.
    pub target: usize,
    /// The index of the identifier that was found, if identifiers are looked up.
    pub identifier: Option<usize>,
    /// The search that found something: the attributes of a lookup or retrieval, such as `1=7`, then how the search differs from
    /// the request as given, such as `@attr 1=1016 war;database=books;esn=none`. `None` for a query as given.
    pub step: Option<String>,
    /// The same as `step`, with the name of the index, such as `ISBN with right truncation`, if identifiers are looked up.
    pub step_name: Option<String>,
    /// The search for the identifier, or the query that was sent instead of the one given, in PQF; empty for a query as given.
    pub query: String,
    /// The forms of the identifier that the search includes.
    pub terms: Vec<String>,
    /// The server's result, without the records.
    pub result: SearchResult,
    /// The sources of the records in all searches at the target, if the records come from several sources and the server says so.
    pub sources: SearchSources,
}

/// The choice of one of several records, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Best {
    /// The index of the target.
    pub target: usize,
    /// The position of the record in its result set, 1-based.
    pub position: u64,
    /// The number of matching records at all targets that have any.
    pub hits: u64,
    /// The reason: `b1 is the best of 2 records: its encoding level is full, that of b2 is minimal`.
    pub choice: String,
}

/// How a search for records ended at all targets together.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Ending {
    /// The outcome. Several records are [`OutcomeName::Ambiguous`] only where an identifier should have found one.
    pub outcome: OutcomeName,
    /// The number of matching records at all targets that were asked; `None` if no server has reported it.
    pub hits: Option<u64>,
    /// The name of the first target that had a record, or of the target that has the best record; `None` for a URL.
    pub target: Option<String>,
    /// The search that found something at this target: see [`Found::step`].
    pub step: Option<String>,
    /// The same search in words: see [`Found::step_name`].
    pub step_name: Option<String>,
    /// The reason why the best record was chosen from several.
    pub choice: Option<String>,
    /// The sources of the records, if the records come from several sources and the servers say so.
    pub sources: SearchSources,
    /// The names of the targets that did not answer, each with the reason.
    pub failed: Vec<(String, Error)>,
    /// The diagnostics of the first target that refused the search.
    pub diagnostics: Diagnostics,
}

impl From<&Found> for Ending {
    /// Creates an ending from what is known before any record is received.
    fn from(found: &Found) -> Self {
        Self {
            hits: found.result.count(),
            step: found.step.clone(),
            step_name: found.step_name.clone(),
            sources: found.sources.clone(),
            ..Self::default()
        }
    }
}
