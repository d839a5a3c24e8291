//! The retrieval of the record that a URL names, told as events: the searches, then the record or why there is none (RFC 2056 §4).

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
use crate::retrieve::{Asked, Outcome, OutcomeName, Retrieval, Step};

impl Client {
    /// Fetches the record of a URL's plan, as [`retrieve_plan`](Self::retrieve_plan) does, and tells what happens. The server of the URL
    /// is the only target; it has no name.
    pub fn find_planned(&self, plan: Plan) -> Events {
        let (sender, events) = mpsc::channel(1);
        let work = carry_out(self.clone(), plan, sender);
        Events::of(events, work.boxed(), Arc::default())
    }
}

/// Fetches the record of a plan, and tells what happens.
async fn carry_out(client: Client, plan: Plan, events: mpsc::Sender<Box<Event>>) {
    let retrieval = client.retrieve_plan(&plan).await;
    let retrieval = retrieval.unwrap_or_else(|error| Outcome::Failed(Error::Plan(error)).into());
    for event in told(&plan, retrieval) {
        // Errors: nobody reads events any more.
        let _ = events.send(Box::new(event)).await;
    }
}

/// The events of a retrieval.
fn told(plan: &Plan, retrieval: Retrieval) -> Vec<Event> {
    let target = 0;
    let mut events = asked(target, &retrieval.steps);
    let outcome = retrieval.outcome;
    let mut ending = Ending {
        outcome: outcome.name(),
        hits: hits(&outcome),
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

/// The searches, and why each other way of asking was tried.
fn asked(target: usize, steps: &[Step]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut last: Option<&Step> = None;
    for step in steps {
        // A Present in the form of its search is no other way.
        if let Some(failed) = last.filter(|last| last.form != step.form) {
            events.push(Event::Again {
                target,
                identifier: None,
                reason: failed.reason(),
                step: step.form.clone(),
            });
        }
        if step.request == Asked::Search {
            events.push(Event::Asked { target });
        }
        last = Some(step);
    }
    events
}

/// How many records match, as far as the outcome says.
fn hits(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Delivered(_) => Some(1),
        Outcome::Failed(Error::NoMatch | Error::Incomplete(_)) => Some(0),
        Outcome::Failed(Error::Ambiguous { hits }) => Some(*hits),
        _ => None,
    }
}
