//! Finds records by a query or identifiers, at one or more targets, with fallbacks, and can choose the best record.
//! Events report the progress of the search.
//!
//! | file | holds |
//! |---|---|
//! | `wanted` | the subject of a search, the targets, and the wanted records |
//! | `course` | the searches at one target, and the next step after each answer |
//! | `ways` | the searches that a [`Fallback`](crate::plan::Fallback) allows, in order |
//! | `at_target` | makes a course's searches in a session |
//! | `reading` | reads the records for a query as the reader of the events requests them |
//! | `by_title` | compares what a search by title found, and chooses among the records |
//! | `lending` | the session leased for a course, and the result set found in it |
//! | `events` | runs the courses at all targets; the stream of events |
//! | `queue` | the queue of events from the search to the reader |
//! | `event` | the events, and the end of a search |
//! | `best` | the choice of one of several records, and the reason |
//! | `url` | the retrieval of the record named by a URL |
//! | `connection` | a lookup in a connection's session |

mod at_target;
mod best;
mod by_title;
mod connection;
mod course;
mod event;
mod events;
mod lending;
mod queue;
mod reading;
#[cfg(test)]
mod tests;
mod url;
mod wanted;
mod ways;

pub use self::connection::LookupResult;
pub use self::event::{Best, ByTitle, Ending, Event, Found};
pub use self::events::Events;
pub use self::wanted::{SearchTarget, Subject, Wanted};
use crate::client::Client;
use crate::error::Error;

impl Client {
    /// Searches for records at one or more targets, and returns a stream of events. Nothing is sent before the first event
    /// is requested. After that, the search continues in a task of the same runtime, so that a reader that stops does not
    /// prevent other users from using the session. Dropping the stream ends the search, and so does the end of that runtime
    /// ([`Cause::RuntimeEnded`](crate::error::Cause::RuntimeEnded)).
    ///
    /// ```no_run
    /// use z3950::find::{Event, Wanted};
    /// use z3950::plan::Fallback;
    /// use z3950::{Client, lookup::Preferences};
    ///
    /// # async fn example() -> Result<(), z3950::Error> {
    /// let client = Client::new();
    /// let targets = [client.target("lx2.loc.gov:210/LCDB")?, client.target("z3950.bnf.fr:2211/TOUT-UTF8")?];
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

    /// Parses a target, in any of the forms that [`connect`](Self::connect) accepts.
    ///
    /// # Errors
    /// [`Error::Target`] if the text is not a target, or has a part that would have no effect.
    pub fn target(&self, target: impl AsRef<str>) -> Result<SearchTarget, Error> {
        let (resolved, init) = self.resolve(target.as_ref())?;
        Ok(SearchTarget::new(target.as_ref(), resolved, init))
    }
}
