//! A session URL from its first octet to the prompt: the session stays open whatever comes of the search
//! (RFC 2056 §3).

use crate::error::Error;
use crate::plan::{Plan, PlanError, SessionDefaults};
use crate::protocol::session::Session;
use crate::retrieve::{Outcome, Quest, Step};

/// A session that a URL opened, or found open.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Opened {
    /// The session.
    pub session: Session,
    /// Whether it had been opened before, so that no Init was sent.
    pub reused: bool,
    /// What the URL says about searches to come.
    pub defaults: SessionDefaults,
    /// What its search found, if the URL has a docid. After [`Error::Refused`] the session is still open; ask
    /// [`Session::is_open`] after others.
    pub found: Option<Result<OpenedSearch, Error>>,
}

/// What the search of a session URL found. Any number of hits will do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedSearch {
    /// How many records match; they are the result set `default`. `None` where the server does not know.
    pub hits: Option<u64>,
    /// With exactly one hit the record, or why it did not come; without [`PlanOptions::auto_present`] only
    /// what the search itself brought.
    ///
    /// [`PlanOptions::auto_present`]: crate::plan::PlanOptions::auto_present
    pub record: Option<Outcome>,
    /// What was asked, in order, and what the server had against it.
    pub steps: Vec<Step>,
    /// The step that found something, as in [`Retrieval::step`](crate::Retrieval::step).
    pub step: Option<String>,
    /// Whether the last search was the one RFC 2056 §4 prescribes.
    pub conforming: bool,
}

/// Why there is no session.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL cannot be followed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The port is reserved for another protocol, and connecting to it was not allowed: nothing was sent.
    #[error("port {0} is reserved for another protocol and was not connected to")]
    PortRefused(u16),
    /// The session could not be opened.
    #[error(transparent)]
    Session(#[from] Error),
}

/// Does on an open session what the URL of `plan` says.
///
/// # Errors
/// What came instead of an answer to the first request: the session may have been lost before.
pub async fn process(
    session: &Session,
    plan: &Plan,
) -> Result<Option<Result<OpenedSearch, Error>>, Error> {
    let Some(mut quest) = Quest::new(session, plan) else {
        return match session.is_open() {
            true => Ok(None),
            false => Err(Error::Ended { cause: None }),
        };
    };
    quest.takes_unknown_count = true;
    let found = match quest.search().await {
        Err(error) if quest.is_unanswered(&error) => return Err(error),
        Err(error) => return Ok(Some(Err(error))),
        Ok(found) => found,
    };
    let hits = found.count();
    let record = match hits {
        Some(1) if plan.auto_present() => Some(quest.record(found).await),
        Some(1) => quest.pushed(found),
        _ => None,
    };
    Ok(Some(Ok(OpenedSearch {
        hits,
        record,
        step: quest.step(),
        conforming: quest.is_prescribed(),
        steps: quest.steps,
    })))
}
