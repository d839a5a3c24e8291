//! Opens sessions for session URLs. Such a session stays open whatever the result of the search is (RFC 2056 §3).

use crate::error::Error;
use crate::plan::{Plan, SessionDefaults};
use crate::protocol::session::Session;
use crate::retrieve::{KnownItemSearch, Outcome, Step};

/// A session that was opened for a URL, or was open before.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Opened {
    /// The session, which stays open until it is closed or all its handles are dropped.
    pub session: Session,
    /// Whether the session was open before, so that no Init was sent.
    pub reused: bool,
    /// The defaults for later searches, as given by the URL.
    pub defaults: SessionDefaults,
    /// The result of the search, if the URL has a docid. After [`Error::Refused`], the session remains open. After
    /// other errors, see [`Session::is_open`].
    pub found: Option<Result<OpenedSearch, Error>>,
}

/// The result of the search for a session URL, with any number of hits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedSearch {
    /// The number of matching records, or `None` if the server does not know it. The records are in the result set
    /// `default`.
    pub hits: Option<u64>,
    /// The outcome of requesting the record, or `None` unless there is exactly one hit and
    /// [`PlanOptions::auto_present`] is set.
    ///
    /// [`PlanOptions::auto_present`]: crate::plan::PlanOptions::auto_present
    pub record: Option<Outcome>,
    /// The requests in the order in which they were sent, with the server's diagnostics.
    pub steps: Vec<Step>,
    /// The form of the successful step, in the same format as [`Retrieval::step`](crate::Retrieval::step).
    pub step: Option<String>,
}

/// Runs the search of `plan` in an open session. Returns `None` if the plan has no search.
///
/// # Errors
/// Returns the error from the first request if the server did not answer it, for example because the session was
/// already lost.
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
