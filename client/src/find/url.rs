//! Retrieves the record named by a URL (RFC 2056 §4), and reports the progress of the retrieval in events.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::event::{Ending, Event, Found};
use super::events::{Events, end};
use super::queue::{EventSender, queue};
use crate::client::Client;
use crate::error::{Diagnostics, Error};
use crate::plan::Plan;
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;
use crate::retrieve::{NextStep, Outcome, OutcomeName, Retrieval, StepRequest};

/// The index of the only target, which is the server named in the URL.
const TARGET: usize = 0;

impl Client {
    /// Retrieves the record for a URL's plan like [`retrieve_plan`](Self::retrieve_plan), and reports the progress in
    /// events. The server named in the URL is the only target; its name is empty.
    ///
    /// Nothing is sent before the first event is requested. After that, the retrieval continues in a task of the same
    /// runtime, whether or not events are read, so that a slow reader neither occupies the session longer nor exceeds
    /// the time limit. Dropping the stream ends the retrieval, and so does the end of that runtime
    /// ([`Cause::RuntimeEnded`](crate::error::Cause::RuntimeEnded)).
    pub fn find_planned(&self, plan: Plan) -> Events {
        let (sender, receiver) = queue();
        let work = carry_out_plan(self.clone(), plan, sender);
        Events::of(receiver, work.boxed(), Arc::default())
    }
}

/// Retrieves the record for a plan, and sends events about it.
async fn carry_out_plan(client: Client, plan: Plan, events: EventSender) {
    let plan = Arc::new(plan);
    let (sender, mut next_steps) = mpsc::unbounded_channel();
    let work = {
        let plan = Arc::clone(&plan);
        async move { client.retrieve_reporting(&plan, &sender).await }
    };
    // The `JoinSet` contains only this task, and aborts it if the caller drops the events and with them this future.
    let mut task = JoinSet::new();
    task.spawn(Box::pin(work).in_current_span());
    let mut known = KnownSteps::default();
    while let Some(step) = next_steps.recv().await {
        for event in known.add(step).into_iter().flatten() {
            events.send(event);
        }
    }
    let retrieval = end(&mut task).await;
    let retrieval = retrieval
        .and_then(|retrieval| retrieval.map_err(Error::Plan))
        .unwrap_or_else(|error| Outcome::Failed(error).into());
    for event in last_events(&plan, retrieval) {
        events.send(event);
    }
}

/// The requests that have been reported to the reader of the events. If the retrieval is repeated in another session,
/// only requests that differ from these are reported.
#[derive(Default)]
struct KnownSteps(Vec<(StepRequest, String)>);

impl KnownSteps {
    /// Returns the events for a request: one with the reason for another attempt, and one that announces a search. Each
    /// is `None` if it does not apply.
    fn add(&mut self, step: NextStep) -> [Option<Event>; 2] {
        let NextStep {
            position,
            request,
            form,
            reason,
        } = step;
        let known = self.0.get(position);
        if known.is_some_and(|known| (known.0, &known.1) == (request, &form)) {
            return [None, None];
        }
        self.0.truncate(position);
        self.0.push((request, form.clone()));
        let again = reason.map(|reason| Event::Again {
            target: TARGET,
            identifier: None,
            reason,
            step: form,
        });
        let is_search = request == StepRequest::Search;
        [again, is_search.then_some(Event::Asked { target: TARGET })]
    }
}

/// Returns the events at the end of a retrieval, which follow those for its last request.
fn last_events(plan: &Plan, retrieval: Retrieval) -> Vec<Event> {
    let target = TARGET;
    let mut events = Vec::new();
    let outcome = retrieval.outcome;
    let mut ending = Ending {
        outcome: outcome.name(),
        hits: outcome_hits(&outcome),
        step: retrieval.step,
        sources: retrieval.sources,
        diagnostics: Diagnostics(outcome.diagnostics().to_vec()),
        ..Ending::default()
    };
    let counted = retrieval.steps.iter().rev().find_map(|step| step.hits);
    let hits = ending.hits.or(counted).unwrap_or_default();
    if hits > 0 {
        let result = SearchResult {
            hits,
            ..SearchResult::default()
        };
        events.push(Event::Found(Arc::new(Found {
            target,
            step: ending.step.clone(),
            result,
            sources: ending.sources.clone(),
            ..Found::default()
        })));
    }
    let mut record_syntax = plan.defaults.record_syntax;
    let mut error = None;
    let record = match outcome {
        Outcome::Delivered(delivered) => {
            record_syntax = delivered.requested;
            Some(ResultRecord::from(*delivered))
        }
        Outcome::RecordDiagnostic { diagnostic } => Some(ResultRecord::Diagnostic {
            database: None,
            diagnostic,
        }),
        Outcome::Failed(failure) => {
            ending.failed = vec![(plan.endpoint().to_string(), failure.clone())];
            error = Some(failure);
            None
        }
    };
    let delivered = u64::from(ending.outcome == OutcomeName::Delivered);
    events.extend(record.map(|record| Event::Record {
        target,
        position: 1,
        record,
    }));
    events.push(Event::Done {
        target,
        record_syntax,
        delivered,
        error,
    });
    events.push(Event::Ended(Box::new(ending)));
    events
}

/// Returns the number of matching records; `None` if the outcome does not contain it.
fn outcome_hits(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Delivered(_) => Some(1),
        Outcome::Failed(Error::NoMatch | Error::Incomplete(_)) => Some(0),
        Outcome::Failed(Error::Ambiguous { hits }) => Some(*hits),
        _ => None,
    }
}
