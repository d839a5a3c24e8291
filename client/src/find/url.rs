//! Retrieves the record named by a URL (RFC 2056 §4), and reports it in events.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc;

use super::event::{Ending, Event, Found};
use super::events::Events;
use crate::client::Client;
use crate::error::{Diagnostics, Error};
use crate::plan::Plan;
use crate::protocol::service::ResultRecord;
use crate::protocol::service::search::SearchResult;
use crate::retrieve::{Outcome, OutcomeName, Retrieval, Step, StepRequest};

impl Client {
    /// Retrieves the record of a URL's plan like [`retrieve_plan`](Self::retrieve_plan), and reports the progress. The
    /// server of the URL is the only target; its name is empty.
    pub fn find_planned(&self, plan: Plan) -> Events {
        let (sender, events) = mpsc::channel(1);
        let work = carry_out_plan(self.clone(), plan, sender);
        Events::of(events, work.boxed(), Arc::default())
    }
}

/// Retrieves the record of a plan, and sends events about it.
async fn carry_out_plan(client: Client, plan: Plan, events: mpsc::Sender<Box<Event>>) {
    let retrieval = client.retrieve_plan(&plan).await;
    let retrieval = retrieval.unwrap_or_else(|error| Outcome::Failed(Error::Plan(error)).into());
    for event in retrieval_events(&plan, retrieval) {
        // An error means that the events are no longer read.
        let _ = events.send(Box::new(event)).await;
    }
}

/// Returns the events of a retrieval.
fn retrieval_events(plan: &Plan, retrieval: Retrieval) -> Vec<Event> {
    let target = 0;
    let mut events = step_events(target, &retrieval.steps);
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

/// Returns the events for the searches, with the reason for each attempt after the first.
fn step_events(target: usize, steps: &[Step]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut last: Option<&Step> = None;
    for step in steps {
        // A Present in the same form as its search is not another attempt.
        if let Some(failed) = last.filter(|last| last.form != step.form) {
            events.push(Event::Again {
                target,
                identifier: None,
                reason: failed.reason(),
                step: step.form.clone(),
            });
        }
        if step.request == StepRequest::Search {
            events.push(Event::Asked { target });
        }
        last = Some(step);
    }
    events
}

/// Returns the number of matching records, if the outcome contains it.
fn outcome_hits(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Delivered(_) => Some(1),
        Outcome::Failed(Error::NoMatch | Error::Incomplete(_)) => Some(0),
        Outcome::Failed(Error::Ambiguous { hits }) => Some(*hits),
        _ => None,
    }
}
