//! Session URLs: the session stays open, whatever the result of the search (RFC 2056 §3).

use crate::error::Error;
use crate::plan::{Plan, SessionDefaults};
use crate::protocol::session::Session;
use crate::retrieve::{KnownItemSearch, Outcome, Step};

/// A session that was opened for a URL, or was already open.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Opened {
    /// The open session.
    pub session: Session,
    /// Whether the session was already open, so that no Init was sent.
    pub reused: bool,
    /// The defaults for later searches.
    pub defaults: SessionDefaults,
    /// The result of the search, if the URL has a docid. After [`Error::Refused`] the session is still open; after other errors
    /// see [`Session::is_open`].
    pub found: Option<Result<OpenedSearch, Error>>,
}

/// The result of the search for a session URL, with any number of hits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedSearch {
    /// The number of matching records, which make up the result set `default`; `None` if the server does not know it.
    pub hits: Option<u64>,
    /// With exactly one hit and [`PlanOptions::auto_present`], the record or why there is none.
    ///
    /// [`PlanOptions::auto_present`]: crate::plan::PlanOptions::auto_present
    pub record: Option<Outcome>,
    /// The requests in order, with the server's diagnostics.
    pub steps: Vec<Step>,
    /// The form of the step that found something, as in [`Retrieval::step`](crate::Retrieval::step).
    pub step: Option<String>,
}

/// Carries out the search of `plan` in an open session.
///
/// # Errors
/// The first request has no answer. In that case the session may have been lost before.
pub async fn process(
    session: &Session,
    plan: &Plan,
) -> Result<Option<Result<OpenedSearch, Error>>, Error> {
    let Some(mut search) = KnownItemSearch::new(session, plan) else {
        return if session.is_open() {
            Ok(None)
        } else {
            Err(Error::Ended { cause: None })
        };
    };
    search.takes_unknown_count = true;
    let found = match search.search().await {
        Err(error) if search.is_unanswered(&error) => return Err(error),
        Err(error) => return Ok(Some(Err(error))),
        Ok(found) => found,
    };
    let hits = found.count();
    let record = match hits {
        Some(1) if plan.options.auto_present => Some(search.record(found).await),
        _ => None,
    };
    Ok(Some(Ok(OpenedSearch {
        hits,
        record,
        step: search.step(),
        steps: search.steps,
    })))
}
