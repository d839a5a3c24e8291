//! What happens while records are looked for.

use std::sync::Arc;

use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;

use crate::error::{Diagnostics, Error};
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;
use crate::retrieve::OutcomeName;

/// What happens while records are looked for. Targets are named by their index in the list given to [`Client::find`](crate::Client::find).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A search is sent.
    Asked {
        /// The target.
        target: usize,
    },
    /// A search found nothing or was refused, and another one follows, as a [`Fallback`](crate::plan::Fallback) allows.
    Again {
        /// The target.
        target: usize,
        /// The index of the identifier, if identifiers are looked up.
        identifier: Option<usize>,
        /// Why.
        reason: String,
        /// What is different in the next search: `@attr 1=1016 war;database=books;esn=none`.
        step: String,
    },
    /// The records are not sorted as wanted.
    Unsorted {
        /// The target.
        target: usize,
        /// Why.
        error: Error,
    },
    /// A search was answered. For a query, nothing may have been found.
    Found(Arc<Found>),
    /// A record, or the diagnostic in its place. With [`Wanted::best`](super::Wanted::best) only the best record comes, and the diagnostics.
    Record {
        /// The target.
        target: usize,
        /// The position in the result set, from 1.
        position: u64,
        /// The record or diagnostic.
        record: ResultRecord,
    },
    /// All that a target has to say has been told.
    Done {
        /// The target.
        target: usize,
        /// The record syntax in which records were requested last; `None` leaves the choice to the server.
        record_syntax: Option<Oid>,
        /// How many records came, without the diagnostics in the place of records.
        delivered: u64,
        /// Why no record came, or why there are no more.
        error: Option<Error>,
    },
    /// One of several records is the best; it comes next.
    Best(Box<Best>),
    /// The end, which is always the last event.
    Ended(Box<Ending>),
}

/// What a search found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Found {
    /// The target.
    pub target: usize,
    /// The index of the identifier that was found, if identifiers are looked up.
    pub identifier: Option<usize>,
    /// The search that found something: the attributes of a lookup or retrieval, such as `1=7`, then what is different from what was asked
    /// for, such as `@attr 1=1016 war;database=books;esn=none`. `None` for a query as given.
    pub step: Option<String>,
    /// The same with the name of the index, such as `ISBN with right truncation`, if identifiers are looked up.
    pub step_name: Option<String>,
    /// The search for the identifier, or the query that was searched for in another way, in PQF; empty for a query as given.
    pub query: String,
    /// The forms of the identifier that were searched for.
    pub terms: Vec<String>,
    /// The server's result, without the records.
    pub result: SearchResult,
    /// The sources of the records in all searches at the target, if they come from several and the server says so.
    pub sources: SearchSources,
}

/// Which of several records is taken, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Best {
    /// The target.
    pub target: usize,
    /// Its position in the result set, from 1.
    pub position: u64,
    /// How many records match at all targets that have some.
    pub hits: u64,
    /// The reason: `b1 is the best of 2 records: its encoding level is full, that of b2 is minimal`.
    pub choice: String,
}

/// How a search for records ended, at all targets together.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Ending {
    /// The outcome. Several records are [`OutcomeName::Ambiguous`] only where an identifier should have found one.
    pub outcome: OutcomeName,
    /// How many records match at all targets that were asked; `None` if no server has said so.
    pub hits: Option<u64>,
    /// The name of the target that had a record first, or the best record; `None` for a URL.
    pub target: Option<String>,
    /// Which search found something there: see [`Found::step`].
    pub step: Option<String>,
    /// The same in words: see [`Found::step_name`].
    pub step_name: Option<String>,
    /// Which of several records was taken, and why.
    pub choice: Option<String>,
    /// The sources of the records, if they come from several and the servers say so.
    pub sources: SearchSources,
    /// The targets that had no answer, by their names, each with the reason.
    pub failed: Vec<(String, Error)>,
    /// The diagnostics of the first target that refused.
    pub diagnostics: Diagnostics,
}

impl From<&Found> for Ending {
    /// What is known before any record.
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
