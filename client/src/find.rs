//! From what is wanted to records: a query or identifiers, at one target or several, with fallbacks and the choice of the best record.
//! What happens is told as it happens.
//!
//! | file | holds |
//! |---|---|
//! | `wanted` | what is searched for, where, and which records are wanted |
//! | `course` | the searches at one target, and what follows each answer |
//! | `ways` | what a [`Fallback`](crate::plan::Fallback) allows, in order |
//! | `at_target` | carries out a course in a session |
//! | `events` | carries out the courses at all targets; the stream of events |
//! | `best` | which of several records is taken, and why |
//! | `ending` | how it ended |
//! | `connection` | a lookup in the session of a connection |

mod at_target;
mod best;
mod connection;
mod course;
mod ending;
mod events;
#[cfg(test)]
mod tests;
mod wanted;
mod ways;

use std::sync::Arc;

use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;

pub use self::connection::LookupResult;
pub use self::ending::Ending;
pub use self::events::Events;
pub use self::wanted::{SearchTarget, Sought, Wanted};
use crate::client::Client;
use crate::error::Error;
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;

/// What happens while records are looked for. Targets are named by their index in the list given to [`Client::find`].
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
    Found(Found),
    /// A record, or the diagnostic in its place. With [`Wanted::best`] only the best record comes, and the diagnostics.
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
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Found {
    /// The target.
    pub target: usize,
    /// The index of the identifier that was found, if identifiers are looked up.
    pub identifier: Option<usize>,
    /// The search that found something: the attributes of a lookup, such as `1=7`, then what is different from what was asked for, such
    /// as `@attr 1=1016 war;database=books;esn=none`. `None` for a query as given.
    pub step: Option<String>,
    /// The same with the name of the index, such as `ISBN with right truncation`, if identifiers are looked up.
    pub step_name: Option<String>,
    /// The search for the identifier in PQF; empty for a query.
    pub query: String,
    /// The forms of the identifier that were searched for.
    pub terms: Vec<String>,
    /// The server's result, without the records.
    pub result: Arc<SearchResult>,
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

impl Client {
    /// Looks for records at one target or several, and tells what happens. Nothing is sent before the first event is asked for. Dropping
    /// the result ends the search.
    ///
    /// ```no_run
    /// use z3950::find::{Event, Wanted};
    /// use z3950::plan::Fallback;
    /// use z3950::{Client, lookup::Preferences};
    ///
    /// # async fn example() -> Result<(), z3950::Error> {
    /// let client = Client::from_user_config()?;
    /// let targets = [client.target("loc")?, client.target("bnf")?];
    /// let wanted = Wanted::identifier("isbn:9780141439518")?.fallback(Fallback::ALL).best(Preferences::default());
    /// let mut events = client.find(targets, wanted);
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         Event::Found(found) => println!("{} found", found.result.hits),
    ///         Event::Best(best) => println!("{}", best.choice),
    ///         Event::Ended(ending) => println!("{}", ending.outcome),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn find(&self, targets: impl IntoIterator<Item = SearchTarget>, wanted: Wanted) -> Events {
        Events::new(self.clone(), targets.into_iter().collect(), wanted)
    }

    /// The target of a text, which [`connect`](Self::connect) explains.
    ///
    /// # Errors
    /// [`Error::Target`].
    pub fn target(&self, target: impl AsRef<str>) -> Result<SearchTarget, Error> {
        let resolved = self.profiles().resolve(target.as_ref());
        let resolved = resolved.map_err(|error| Error::Target(Arc::new(error)))?;
        let init = self.options().plan.init.clone();
        Ok(SearchTarget::new(target.as_ref(), resolved, init))
    }
}
