//! Runs the searches at all targets, and returns a stream of events.

use std::fmt;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::task::JoinSet;
use tracing::Instrument;

use super::at_target::{AtTarget, TargetOutcome};
use super::best::best;
use super::course::Round;
use super::event::{Best, Ending, Event, Found};
use super::lending::{HeldRecords, Lender};
use super::queue::{EventReceiver, EventSender, queue};
use super::wanted::{SearchTarget, Wanted};
use crate::client::Client;
use crate::error::{Cause, Diagnostics, Error, Phase};
use crate::lookup::holds;
use crate::protocol::service::ResultRecord;
use crate::retrieve::{Outcome, OutcomeName};

/// The events of a search for records, in order. The search continues until it has records for the reader. Further records for a
/// query are received only when the reader has taken all events and requests another one. Apart from the records that the reader
/// has taken, only the records of one response from each target, and of the responses requested ahead, are therefore in memory. For
/// identifiers, [`Wanted::count`] records are read together.
///
/// A search occupies a session while requests to the server are in progress, and as long as the server has further records for a
/// query. If the reader does not request these records for half a second, the session is given to another user who is waiting for
/// it. The search is then repeated when the reader continues.
pub struct Events {
    queue: EventReceiver,
    /// The future that carries out the search or waits for its end; `None` after it has ended.
    work: Option<BoxFuture<'static, ()>>,
    held: Arc<[HeldRecords]>,
}

impl Events {
    pub(super) fn new(client: Client, targets: Vec<SearchTarget>, wanted: Wanted) -> Self {
        let (sender, receiver) = queue();
        let held: Arc<[HeldRecords]> = targets.iter().map(|_| HeldRecords::default()).collect();
        let search = Search {
            client,
            targets,
            wanted,
            events: sender,
            held: Arc::clone(&held),
        };
        Self::of(receiver, carry_out(Arc::new(search)).boxed(), held)
    }

    /// Creates a stream of the events that are sent by `work`.
    pub(super) fn of(
        queue: EventReceiver,
        work: BoxFuture<'static, ()>,
        held: Arc<[HeldRecords]>,
    ) -> Self {
        Self {
            queue,
            work: Some(work),
            held,
        }
    }

    /// Returns the next event; `None` after the last event.
    pub async fn next(&mut self) -> Option<Event> {
        StreamExt::next(self).await
    }

    /// Returns to the pool the session from which a target's records are to be read, and drops the records that arrived with the
    /// response to the search. A reader that cannot accept records yet can call this after [`Event::Found`] and before it requests
    /// the next event. That request then repeats the search and reports the result again, unless there are no records to read.
    pub fn let_go(&self, target: usize) {
        if let Some(held) = self.held.get(target) {
            held.release();
        }
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if let Poll::Ready(event) = self.queue.poll(context) {
            return Poll::Ready(event);
        }
        self.queue.request();
        if let Some(work) = &mut self.work
            && work.poll_unpin(context).is_ready()
        {
            // Dropping the work drops the sender, so that the stream ends after the last event.
            self.work = None;
        }
        self.queue.poll(context)
    }
}

impl Drop for Events {
    /// Ends the search. The sessions from which records were to be read return to the pool immediately, and not only when the
    /// runtime drops the task.
    fn drop(&mut self) {
        self.work = None;
        let_all_go(&self.held);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("targets", &self.held.len())
            .finish_non_exhaustive()
    }
}

/// Returns the sessions of all targets to the pool.
fn let_all_go(held: &[HeldRecords]) {
    held.iter().for_each(HeldRecords::release);
}

/// A guard that returns the sessions to the pool when the search ends, even if the search panics or its runtime ends
/// while the reader still has the events.
struct Guard<'a>(&'a [HeldRecords]);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let_all_go(self.0);
    }
}

/// A search at one or more targets.
struct Search {
    client: Client,
    targets: Vec<SearchTarget>,
    wanted: Wanted,
    events: EventSender,
    held: Arc<[HeldRecords]>,
}

/// Carries out a search in a separate task. Otherwise, the search would stop while holding a session if the reader
/// stopped polling the events.
async fn carry_out(search: Arc<Search>) {
    // The `JoinSet` contains only this task, and aborts it if the caller drops the events and with them this future.
    let mut task = JoinSet::new();
    let work = Arc::clone(&search);
    task.spawn(async move { work.carry_out().await }.in_current_span());
    if let Err(error) = end(&mut task).await {
        let outcome = || TargetOutcome {
            error: Some(error.clone()),
            ..TargetOutcome::default()
        };
        let outcomes: Vec<TargetOutcome> = search.targets.iter().map(|_| outcome()).collect();
        search.end(&outcomes, None);
    }
}

/// Returns the result of a task.
///
/// # Errors
/// [`Cause::RuntimeEnded`], if the runtime of the task has ended.
pub(super) async fn end<T: 'static>(task: &mut JoinSet<T>) -> Result<T, Error> {
    match task.join_next().await {
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
        _ => {
            let (phase, cause) = (Phase::Call, Cause::RuntimeEnded);
            Err(Error::Unavailable { phase, cause })
        }
    }
}

impl Search {
    /// Searches all targets at the same time, or one after the other until one of them has a record.
    async fn carry_out(&self) {
        let _guard = Guard(&self.held);
        let wanted = &self.wanted;
        let at_targets =
            self.targets
                .iter()
                .zip(&*self.held)
                .enumerate()
                .map(|(target, (place, held))| AtTarget {
                    lender: Lender::Client(&self.client),
                    wanted,
                    place,
                    target,
                    events: Some(&self.events),
                    held,
                    keeps_records: wanted.best.is_some(),
                    round: Round::All,
                });
        let outcomes = if wanted.all_targets {
            let all = at_targets.map(|at_target| async move { at_target.carry_out().await });
            join_all(all).await
        } else {
            in_turn(at_targets.collect(), wanted).await
        };
        let preferences = wanted.best.as_ref();
        let best =
            preferences.and_then(|preferences| best(&outcomes, &self.targets, wanted, preferences));
        if let Some((best, record)) = &best {
            self.events.send(Event::Best(Box::new(best.clone())));
            self.events.send(Event::Record {
                target: best.target,
                position: best.position,
                record: (*record).clone(),
            });
        }
        self.end(&outcomes, best.as_ref().map(|(best, _)| best));
    }

    /// Sends the last event.
    fn end(&self, outcomes: &[TargetOutcome], best: Option<&Best>) {
        let ending = Ending::of(outcomes, &self.targets, &self.wanted, best);
        self.events.send(Event::Ended(Box::new(ending)));
    }
}

/// Searches targets one after the other until one has a record. The exact searches for identifiers are made at every
/// target before the broader searches, which may find a record without the identifier, are made at any of them.
async fn in_turn(at_targets: Vec<AtTarget<'_>>, wanted: &Wanted) -> Vec<TargetOutcome> {
    let is_broadened = wanted.fallback.attributes && wanted.is_lookup();
    let has_rounds = is_broadened && at_targets.len() > 1;
    let exact = has_rounds.then(|| {
        let mut exact = wanted.clone();
        exact.fallback.attributes = false;
        exact
    });
    let mut outcomes = Vec::new();
    for at_target in &at_targets {
        let outcome = if let Some(exact) = &exact {
            let exact = AtTarget {
                wanted: exact,
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

/// Returns whether the remaining targets can be skipped, because this target delivered a record or, if no records are
/// wanted, has a hit. If the best record is to be chosen, a record that lacks the identifier is not enough.
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
