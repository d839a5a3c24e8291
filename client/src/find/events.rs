//! Runs the courses at all targets, and returns a stream of events.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;

use super::at_target::{AtTarget, TargetOutcome};
use super::best::best;
use super::course::Round;
use super::event::{Best, Ending, Event, Found};
use super::lending::{HeldSet, Lender};
use super::wanted::{SearchTarget, Wanted};
use crate::client::Client;
use crate::error::{Diagnostics, Error};
use crate::lookup::holds;
use crate::protocol::service::ResultRecord;
use crate::retrieve::{Outcome, OutcomeName};

/// The events of a search for records, in order. The search continues only while the caller waits for an event, so at
/// most one record is in memory beyond those that the caller has received. For identifiers, however, [`Wanted::count`]
/// records are read together.
pub struct Events {
    /// The channel of events. They are boxed, because a channel allocates memory for many events when it is created.
    events: mpsc::Receiver<Box<Event>>,
    /// The future that sends the events; `None` after it has completed.
    work: Option<BoxFuture<'static, ()>>,
    held: Arc<[HeldSet]>,
}

impl Events {
    pub(super) fn new(client: Client, targets: Vec<SearchTarget>, wanted: Wanted) -> Self {
        let (sender, events) = mpsc::channel(1);
        let held: Arc<[HeldSet]> = targets.iter().map(|_| HeldSet::default()).collect();
        let work = carry_out(client, targets, wanted, sender, Arc::clone(&held));
        Self::of(events, work.boxed(), held)
    }

    /// Creates a stream of the events that are sent by `work`.
    pub(super) fn of(
        events: mpsc::Receiver<Box<Event>>,
        work: BoxFuture<'static, ()>,
        held: Arc<[HeldSet]>,
    ) -> Self {
        Self {
            events,
            work: Some(work),
            held,
        }
    }

    /// Returns the next event; `None` after the last event.
    pub async fn next(&mut self) -> Option<Event> {
        StreamExt::next(self).await
    }

    /// Returns to the pool the session from which a target's records would be read. A caller that has no room for
    /// records can call this method after [`Event::Found`] and before it requests the next event. The next request then
    /// repeats the search and reports it again.
    pub fn let_go(&self, target: usize) {
        if let Some(held) = self.held.get(target) {
            held.let_go();
        }
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Poll::Ready(event) = self.events.poll_recv(context) {
            return Poll::Ready(event.map(|event| *event));
        }
        if let Some(work) = &mut self.work
            && work.poll_unpin(context).is_ready()
        {
            // Dropping the work drops the sender, so that the stream ends after the last event.
            self.work = None;
        }
        let event = self.events.poll_recv(context);
        event.map(|event| event.map(|event| *event))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("targets", &self.held.len())
            .finish_non_exhaustive()
    }
}

/// Searches all targets at the same time, or one after the other until one has a record.
async fn carry_out(
    client: Client,
    targets: Vec<SearchTarget>,
    wanted: Wanted,
    events: mpsc::Sender<Box<Event>>,
    held: Arc<[HeldSet]>,
) {
    let at_targets = targets.iter().zip(&*held).enumerate();
    let at_targets = at_targets.map(|(target, (place, held))| AtTarget {
        lender: Lender::Client(&client),
        wanted: &wanted,
        place,
        target,
        events: Some(&events),
        held,
        keeps_records: wanted.best.is_some(),
        round: Round::All,
    });
    let outcomes = if wanted.all_targets {
        let all = at_targets.map(|at_target| async move { at_target.carry_out().await });
        join_all(all).await
    } else {
        in_turn(at_targets.collect(), &wanted).await
    };
    let preferences = wanted.best.as_ref();
    let best = preferences.and_then(|preferences| best(&outcomes, &targets, &wanted, preferences));
    if let Some((best, record)) = &best {
        let chosen = Event::Best(Box::new(best.clone()));
        let _ = events.send(Box::new(chosen)).await;
        let record = Event::Record {
            target: best.target,
            position: best.position,
            record: (*record).clone(),
        };
        let _ = events.send(Box::new(record)).await;
    }
    let best = best.as_ref().map(|(best, _)| best);
    let ending = Ending::of(&outcomes, &targets, &wanted, best);
    let ended = Event::Ended(Box::new(ending));
    // An error means that the events are no longer read.
    let _ = events.send(Box::new(ended)).await;
}

/// Searches targets one after the other until one has a record. The exact searches for identifiers are made at every
/// target before the broader searches, which may find a record without the identifier, are made at the first.
async fn in_turn(at_targets: Vec<AtTarget<'_>>, wanted: &Wanted) -> Vec<TargetOutcome> {
    let is_broadened = wanted.fallback.attributes && wanted.is_lookup();
    let mut exact = wanted.clone();
    exact.fallback.attributes = false;
    let has_rounds = is_broadened && at_targets.len() > 1;
    let mut outcomes = Vec::new();
    for at_target in &at_targets {
        let outcome = if has_rounds {
            let exact = AtTarget {
                wanted: &exact,
                round: Round::Exact,
                ..*at_target
            };
            exact.carry_out().await
        } else {
            at_target.carry_out().await
        };
        let is_enough = has_record(&outcome, wanted);
        outcomes.push(outcome);
        if is_enough {
            return outcomes;
        }
    }
    if !has_rounds {
        return outcomes;
    }
    let exact = std::mem::take(&mut outcomes);
    for (at_target, exact) in at_targets.into_iter().zip(exact) {
        let outcome = at_target.broaden(exact).await;
        let is_enough = has_record(&outcome, wanted);
        outcomes.push(outcome);
        if is_enough {
            break;
        }
    }
    outcomes
}

/// Returns whether the remaining targets can be skipped, because this one has a record, or as many as are wanted. If
/// the best record is to be chosen, a record that lacks the identifier is not enough.
fn has_record(outcome: &TargetOutcome, wanted: &Wanted) -> bool {
    if wanted.best.is_some() && outcome.delivered > 0 && lacks_number(outcome, wanted) {
        return false;
    }
    let has_hits = outcome
        .found
        .as_ref()
        .is_some_and(|found| found.result.count() != Some(0));
    has_hits && (outcome.delivered > 0 || wanted.count == 0)
}

/// Returns whether none of the records from a target contains the identifier that is looked up.
fn lacks_number(outcome: &TargetOutcome, wanted: &Wanted) -> bool {
    let index = outcome.found.as_ref().and_then(|found| found.identifier);
    let identifier = index.and_then(|index| wanted.identifiers().get(index));
    let Some(identifier) = identifier else {
        return false;
    };
    outcome.records.iter().all(|(_, record)| match record {
        ResultRecord::Record { external, .. } => holds(identifier, external) == Some(false),
        ResultRecord::Diagnostic { .. } => true,
    })
}

impl Ending {
    fn of(
        outcomes: &[TargetOutcome],
        targets: &[SearchTarget],
        wanted: &Wanted,
        best: Option<&Best>,
    ) -> Self {
        let mut ending = Self::default();
        let mut first: Option<&Found> = None;
        let mut chosen: Option<&Found> = None;
        let mut hits: Option<u64> = None;
        for (outcome, place) in outcomes.iter().zip(targets) {
            if let Some(found) = outcome.found.as_deref() {
                ending.sources.join(found.sources.clone());
                hits = match (hits, found.result.count()) {
                    (Some(before), Some(more)) => Some(before.saturating_add(more)),
                    (before, more) => before.or(more),
                };
                let is_hit = found.result.count() != Some(0);
                first = first.or(Some(found).filter(|_| is_hit));
                chosen = chosen.or(Some(found)
                    .filter(|found| best.is_some_and(|best| best.target == found.target)));
            }
            match &outcome.error {
                Some(Error::NoMatch) => hits = hits.or(Some(0)),
                Some(error) => {
                    ending.failed.push((place.name.clone(), error.clone()));
                    if ending.diagnostics.is_empty() {
                        ending.diagnostics = Diagnostics(error.diagnostics().to_vec());
                    }
                }
                None => {}
            }
        }
        let found = chosen.or(first);
        ending.outcome = match (found, ending.failed.first()) {
            (Some(found), _) => outcome_of(found, outcomes, wanted, best),
            (None, Some((_, error))) => Outcome::from(error.clone()).name(),
            (None, None) => OutcomeName::NoMatch,
        };
        if let Some(found) = found {
            ending.target = targets.get(found.target).map(|place| place.name.clone());
            ending.step.clone_from(&found.step);
            ending.step_name.clone_from(&found.step_name);
        }
        let by_title = found.and_then(|found| found.by_title.as_ref());
        let choice = best.map(|best| &best.choice);
        ending.choice = choice.or(by_title.map(|found| &found.choice)).cloned();
        ending.hits = hits;
        ending
    }
}

fn outcome_of(
    found: &Found,
    outcomes: &[TargetOutcome],
    wanted: &Wanted,
    best: Option<&Best>,
) -> OutcomeName {
    if wanted.count == 0 {
        return OutcomeName::Found;
    }
    if outcomes.iter().all(|outcome| outcome.delivered == 0) {
        let mut errors = outcomes.iter().filter_map(|outcome| outcome.error.as_ref());
        return match errors.find(|error| !matches!(error, Error::NoMatch)) {
            Some(error) => Outcome::from(error.clone()).name(),
            None if wanted.wanted_of(found.result.count()) == 0 => OutcomeName::OutOfRange,
            None => OutcomeName::RecordRefused,
        };
    }
    if wanted.is_lookup() && best.is_none() && found.matching() != 1 {
        return OutcomeName::Ambiguous;
    }
    OutcomeName::Delivered
}
