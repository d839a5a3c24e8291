//! Retrieval: a search, followed by the record or the reason why there is none (RFC 2056 §4). RFC 2056 does not say
//! what to do if no record or several records match. In these cases, this client returns no record and sends no
//! Present. The plan decides which further requests follow a refusal.

mod name;
mod outcome;

use tokio::sync::mpsc;
use tracing::warn;
use z3950_asn1::apdu::ResultSetId;
use z3950_asn1::format::sources::SearchSources;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use crate::error::{Diagnostics, Error, Phase};
use crate::lookup::has_docid;
use crate::plan::{DocidRequests, Plan};
use crate::protocol::pager::{is_empty, is_too_large};
use crate::protocol::service::search::SearchResult;
use crate::protocol::service::{DEFAULT_RESULT_SET, ResultRecord};
use crate::protocol::session::Session;
use crate::record::Record;
pub use name::{OutcomeName, UnknownOutcome};
pub use outcome::{DeliveredRecord, Outcome};

/// The result of a retrieval, with its steps.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Retrieval {
    /// The record, or the reason why there is none.
    pub outcome: Outcome,
    /// The requests in the order in which they were sent, with the server's diagnostics.
    pub steps: Vec<Step>,
    /// The [`Step::form`] of the successful step, if any. [`is_prescribed`](crate::plan::is_prescribed) returns whether
    /// it was the search prescribed by RFC 2056 §4 and not a [`Fallback`](crate::plan::Fallback).
    pub step: Option<String>,
    /// The sources of the records, if the server reports several sources. A source counts as failed if all searches in
    /// it have failed.
    pub sources: SearchSources,
}

/// One request in a retrieval.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The kind of request.
    pub request: StepRequest,
    /// The attributes of the search, followed by the deviations from the URL: `1=1032,4=104`,
    /// `1=12;database=books;rs=1.2.840.10003.5.1`, `1=7;rs=none;esn=none`.
    pub form: String,
    /// The number of hits, or `None` for a Present and for a search that was refused.
    pub hits: Option<u64>,
    /// The reasons that the server gave, if it refused the request.
    pub diagnostics: Diagnostics,
}

impl Step {
    /// Returns the reason why another step follows this one: the reasons that the server gave for a refusal, or the
    /// statement that no record matches.
    pub fn reason(&self) -> String {
        match (self.request, self.hits) {
            (StepRequest::Search, Some(0)) => "no record matches".to_owned(),
            _ if self.diagnostics.is_empty() => "the record is empty".to_owned(),
            _ => self.diagnostics.to_string(),
        }
    }
}

/// The kind of request in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepRequest {
    /// A search, which may return the record.
    Search,
    /// A Present that requests the record.
    Present,
}

/// A request in a retrieval, which is reported before it is sent.
#[derive(Debug)]
pub(crate) struct NextStep {
    /// The number of earlier requests in this session. If the retrieval is repeated in another session, it begins again
    /// at 0.
    pub(crate) position: usize,
    /// The kind of request.
    pub(crate) request: StepRequest,
    /// The form of the request; see [`Step::form`].
    pub(crate) form: String,
    /// The reason why this form differs from the form of the previous request, or `None` if it does not differ.
    pub(crate) reason: Option<String>,
}

/// The channel on which requests are reported. It is unbounded, because a session is leased while reports are sent, and
/// must not wait until they are read. The number of requests is limited.
pub(crate) type NextSteps = mpsc::UnboundedSender<NextStep>;

impl Retrieval {
    /// Returns the record, or the reason why there is none.
    ///
    /// # Errors
    /// [`Error::NoMatch`], [`Error::Incomplete`], [`Error::Ambiguous`], [`Error::PortRefused`], [`Error::Refused`] with
    /// diagnostics, or another error if the connection failed.
    pub(crate) fn into_record(self) -> Result<Record, Error> {
        self.outcome.into_record()
    }

    /// Returns whether the retrieved record does not contain the docid in the plan.
    pub(crate) fn lacks(&self, plan: &Plan) -> bool {
        match (&self.outcome, &plan.docid) {
            (Outcome::Delivered(delivered), Some(docid)) => {
                !has_docid(&delivered.record, docid.as_bytes())
            }
            _ => false,
        }
    }
}

impl From<Outcome> for Retrieval {
    /// Creates a retrieval with this outcome, for which no request was sent.
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            steps: Vec::new(),
            step: None,
            sources: SearchSources::default(),
        }
    }
}

/// Makes the requests of `plan` in an open session, which stays open. In a session with other users, the search uses a
/// separate result set. For a plan without a docid, nothing is sent, and the outcome is [`Error::NoMatch`]. If
/// `next_steps` is given, each request is reported to it.
///
/// # Errors
/// Returns the error from the first search if it was not answered, because the session may already have been lost. If a
/// separate result set is used, also returns the error from a later loss of the session, because another user's request
/// may have caused it.
pub(crate) async fn attempt(
    session: &Session,
    plan: &Plan,
    own_set: Option<&InternationalString>,
    next_steps: Option<&NextSteps>,
) -> Result<Retrieval, Error> {
    let Some(mut search) = KnownItemSearch::new(session, plan) else {
        return Ok(Outcome::Failed(Error::NoMatch).into());
    };
    search.next_steps = next_steps;
    if let Some(name) = own_set {
        search.result_set = name.clone();
    }
    match search.carry_out().await? {
        (_, Some(lost)) if own_set.is_some() => Err(lost),
        (retrieval, _) => Ok(retrieval),
    }
}

impl KnownItemSearch<'_> {
    /// Makes the requests. Returns the retrieval, and the error if the session was lost during the last request.
    async fn carry_out(mut self) -> Result<(Retrieval, Option<Error>), Error> {
        let outcome = match self.search().await {
            Err(error) if self.is_unanswered(&error) => return Err(error),
            Err(error) => self.failed(error),
            // A retrieval depends on there being exactly one match, so a wrong count is an error.
            Ok(found) if u64::try_from(found.records.len()).is_ok_and(|came| came > found.hits) => {
                let words = format!(
                    "more records than hits: {} for {}",
                    found.records.len(),
                    found.hits
                );
                self.session.miscounted(words).await.into()
            }
            Ok(found) => match found.hits {
                0 => Outcome::Failed(Error::of_nothing(&self.sources)),
                1 => self.record(found).await,
                hits => Outcome::Failed(Error::Ambiguous { hits }),
            },
        };
        let mut sources = self.sources.clone();
        // Remarks are removed if the diagnostics in the outcome already say the same.
        let said: Vec<String> = outcome
            .diagnostics()
            .iter()
            .map(ToString::to_string)
            .collect();
        sources.remarks.retain(|remark| !said.contains(remark));
        let retrieval = Retrieval {
            outcome,
            step: self.step(),
            steps: self.steps,
            sources,
        };
        Ok((retrieval, self.lost))
    }

    /// Returns the outcome of a failed request.
    fn failed(&mut self, error: Error) -> Outcome {
        if error.is_connection_lost() || matches!(error, Error::Ended { .. }) {
            self.lost = Some(error.clone());
        }
        error.into()
    }
}

/// The state of a search for a known record, with the steps so far.
pub(crate) struct KnownItemSearch<'a> {
    session: &'a Session,
    requests: DocidRequests<'a>,
    pub(crate) steps: Vec<Step>,
    /// The sources of all searches so far.
    sources: SearchSources,
    /// Whether a negative number of hits is accepted, as in [`SearchOptions`](crate::service::search::SearchOptions). A
    /// person can look at a result set of unknown size, but a retrieval needs exactly one record.
    pub(crate) takes_unknown_count: bool,
    result_set: InternationalString,
    /// The channel on which each request is reported, if anyone follows the retrieval.
    next_steps: Option<&'a NextSteps>,
    /// The error from the request during which the session was lost, or `None` if it was not lost.
    lost: Option<Error>,
}

impl<'a> KnownItemSearch<'a> {
    /// Creates the state for a plan. Returns `None` for a plan without a docid.
    pub(crate) fn new(session: &'a Session, plan: &'a Plan) -> Option<Self> {
        Some(Self {
            session,
            requests: DocidRequests::new(plan)?,
            steps: Vec::new(),
            sources: SearchSources::default(),
            takes_unknown_count: false,
            result_set: DEFAULT_RESULT_SET.into(),
            next_steps: None,
            lost: None,
        })
    }

    /// Searches, with fallbacks, until a search finds a record. If every search is refused, returns the last refusal.
    /// If no search finds a record, but at least one is not refused, returns an empty result.
    pub(crate) async fn search(&mut self) -> Result<SearchResult, Error> {
        let mut empty = None;
        loop {
            let mut request = self.requests.search();
            request.result_set_name = self.result_set.clone();
            self.report(StepRequest::Search);
            let result = self
                .session
                .send_search(request, Vec::new(), self.takes_unknown_count)
                .await;
            match result {
                Ok(found) => {
                    self.note(
                        StepRequest::Search,
                        found.count(),
                        found.diagnostics.clone(),
                    );
                    self.sources.join(found.sources());
                    if found.count() != Some(0) || !self.requests.after_nothing() {
                        return Ok(found);
                    }
                    empty = Some(found);
                }
                Err(Error::Refused { phase, diagnostics }) => {
                    self.note(StepRequest::Search, None, diagnostics.clone());
                    if !self.requests.after_refusal(&diagnostics.0) {
                        return empty.ok_or(Error::Refused { phase, diagnostics });
                    }
                }
                Err(error) => {
                    self.note(StepRequest::Search, None, Diagnostics::default());
                    return Err(error);
                }
            }
            tracing::info!(step = self.requests.form(), "searching in another way");
        }
    }

    /// Returns whether the first request was not answered, which may mean that the session had been lost while it was
    /// idle.
    pub(crate) fn is_unanswered(&self, error: &Error) -> bool {
        self.steps.len() == 1 && !matches!(error, Error::Refused { .. })
    }

    /// Returns the form of the successful step, if any.
    pub(crate) fn step(&self) -> Option<String> {
        let mut hits = self.steps.iter().filter_map(|step| step.hits);
        hits.any(|hits| hits > 0).then(|| self.requests.form())
    }

    /// Returns the record of a result set with exactly one record: the record in the search response, or the record
    /// from a Present.
    ///
    /// A Present follows even if the search response contains the reason why no record was sent, because this reason
    /// may apply only to the search.
    pub(crate) async fn record(&mut self, found: SearchResult) -> Outcome {
        let mut outcome = match self.pushed(found) {
            Some(outcome) => outcome,
            None => self.present().await,
        };
        while self.requests.after_no_record(outcome.diagnostics()) {
            tracing::info!(step = self.requests.form(), "asking in another form");
            outcome = self.present().await;
        }
        if is_unusable(&outcome) {
            self.in_other_forms(outcome).await
        } else {
            outcome
        }
    }

    /// If a record is too large or empty, requests it again with other element sets, and then in other syntaxes, unless
    /// the URL names these. If none of them helps, the original answer is kept.
    async fn in_other_forms(&mut self, first: Outcome) -> Outcome {
        for form in self.requests.substitutes() {
            if !self.requests.substitute(&form) {
                break;
            }
            match self.present().await {
                Outcome::Delivered(mut delivered) if !is_empty(&delivered.record) => {
                    delivered.substitute = Some(form);
                    return Outcome::Delivered(delivered);
                }
                Outcome::Failed(error) if !matches!(error, Error::Refused { .. }) => {
                    return Outcome::Failed(error);
                }
                _ => {}
            }
        }
        self.requests.end_substitutes();
        first
    }

    /// Returns the outcome for the record or diagnostic in the search response, if there is one.
    fn pushed(&mut self, found: SearchResult) -> Option<Outcome> {
        let slot = found.records.into_iter().next()?;
        let outcome = judge(slot, self.requests.record_syntax());
        if let Some(step) = self.steps.last_mut() {
            step.diagnostics.0.extend_from_slice(outcome.diagnostics());
        }
        Some(outcome)
    }

    async fn present(&mut self) -> Outcome {
        let mut request = self.requests.present(1);
        request.result_set_id = ResultSetId(self.result_set.clone());
        self.report(StepRequest::Present);
        let result = self.session.present_request(request).await;
        let mut beside = Diagnostics::default();
        let outcome = match result {
            Ok(presented) => match presented.records.into_iter().next() {
                Some(slot) => {
                    beside = presented.diagnostics;
                    judge(slot, self.requests.record_syntax())
                }
                // Success without a record violates the standard, but some servers respond in this way. The diagnostics in the search
                // response may give the reason.
                None => Outcome::Failed(Error::Refused {
                    phase: Phase::Present,
                    diagnostics: self.last_diagnostics(),
                }),
            },
            Err(error) => self.failed(error),
        };
        let mut diagnostics = Diagnostics(outcome.diagnostics().to_vec());
        for diagnostic in &beside.0 {
            warn!("the record came with {diagnostic}");
        }
        diagnostics.extend(beside.0);
        self.note(StepRequest::Present, None, diagnostics);
        outcome
    }

    /// Returns the diagnostics from the last step.
    fn last_diagnostics(&self) -> Diagnostics {
        let last = self.steps.last();
        last.map_or_else(Diagnostics::default, |step| step.diagnostics.clone())
    }

    /// Reports a request that is about to be sent.
    fn report(&self, request: StepRequest) {
        let Some(next_steps) = self.next_steps else {
            return;
        };
        let form = self.requests.form();
        let last = self.steps.last();
        let step = NextStep {
            position: self.steps.len(),
            request,
            reason: last.filter(|last| last.form != form).map(Step::reason),
            form,
        };
        // An error means that the receiver has been dropped, so nobody needs this step.
        let _ = next_steps.send(step);
    }

    fn note(&mut self, request: StepRequest, hits: Option<u64>, diagnostics: Diagnostics) {
        self.steps.push(Step {
            request,
            form: self.requests.form(),
            hits,
            diagnostics,
        });
    }
}

/// Returns whether a record is too large or empty, in which case it may be usable in another form.
fn is_unusable(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Delivered(delivered) => is_empty(&delivered.record),
        Outcome::RecordDiagnostic { .. } | Outcome::Failed(Error::Refused { .. }) => {
            outcome.diagnostics().iter().any(is_too_large)
        }
        Outcome::Failed(_) => false,
    }
}

/// Returns the outcome for a record, or for the diagnostic in its place.
fn judge(slot: ResultRecord, requested: Option<Oid>) -> Outcome {
    match slot {
        ResultRecord::Diagnostic { diagnostic, .. } => Outcome::RecordDiagnostic { diagnostic },
        ResultRecord::Record {
            database,
            external: record,
            ..
        } => {
            let delivered = DeliveredRecord::new(record, requested);
            Outcome::Delivered(Box::new(DeliveredRecord {
                database,
                ..delivered
            }))
        }
    }
}
