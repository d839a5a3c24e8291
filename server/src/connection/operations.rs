//! The operations of a connection. They run one after the other or, if concurrent operations are in effect, concurrently unless
//! they conflict. Each is answered when it ends (Z39.50-2003 §3.4, §3.5).

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::poll_immediate;
use tokio::time::{Instant, Sleep, sleep};
use z3950_asn1::apdu::{Apdu, ReferenceId, RequestedAction};
use z3950_asn1::concurrency::ResultSetUse;

use crate::budget::Charge;
use crate::fault::{Fault, Output};
use crate::logins::Proof;
use crate::metrics::OperationTimer;
use crate::session::{Done, Session, carry_out};

/// The requests that are not answered yet, in the order of arrival.
#[derive(Default)]
pub(super) struct Operations {
    pub(super) list: Vec<OperationState>,
}

/// A request, and the data needed to answer it.
pub(super) struct ReceivedRequest {
    pub(super) request: Arc<Apdu>,
    /// The faults to apply to the answer.
    pub(super) striking: Vec<Fault>,
    /// The charge for the request until it is answered.
    pub(super) charge: Charge,
    /// The timer of the operation; `None` for a request that is not an operation.
    pub(super) timer: Option<OperationTimer>,
}

/// The result of a step in handling a request.
pub(super) enum Ended {
    /// The login in a request has been checked, and the request can begin.
    LoginChecked,
    /// The operation is done, and the session has to create the reply.
    Done(ReceivedRequest, Done),
    /// The answer is no longer delayed, and can be sent.
    Output(Output),
}

pub(super) enum OperationState {
    /// Waiting for earlier requests.
    Waiting(ReceivedRequest),
    /// The login in the request is being checked.
    CheckingLogin(ReceivedRequest, Pin<Box<dyn Future<Output = Proof> + Send>>),
    /// The login has been checked, and the request is about to begin.
    LoginChecked(ReceivedRequest, Proof),
    Running(ReceivedRequest, Run),
    /// The answer to the request is delayed.
    Delayed(Arc<Apdu>, Pin<Box<Sleep>>, Box<Output>),
    /// The request has ended, and its entry is about to be removed.
    Over,
}

pub(super) struct Run {
    future: Pin<Box<dyn Future<Output = Done> + Send>>,
    /// The time from which the operation's time limit is counted; `None` until the deadline is first computed.
    since: Option<Instant>,
    /// Whether the operation was stopped because of its time limit.
    is_overdue: bool,
}

impl Operations {
    /// Adds a request, and begins it unless it must wait. Returns the result if the request ends immediately.
    pub(super) async fn take_on(
        &mut self,
        asked: ReceivedRequest,
        session: &mut Session,
    ) -> Option<Ended> {
        let mut operation = if are_in_the_way(&self.list, &asked.request) {
            OperationState::Waiting(asked)
        } else {
            begun(asked, session)
        };
        let is_checking = matches!(operation, OperationState::CheckingLogin(..));
        if !is_checking
            && let Some(ended) = poll_immediate(poll_fn(|context| operation.poll(context))).await
        {
            return Some(ended);
        }
        // Most clients send one request at a time, so space is reserved for only one more.
        self.list.reserve_exact(1);
        self.list.push(operation);
        None
    }

    /// Delays the answer to a request. Later requests that conflict with this request wait until the answer is sent. Earlier
    /// requests that are still waiting do not conflict with it, because otherwise this request would have waited for them.
    pub(super) fn delay(&mut self, request: Arc<Apdu>, output: Output) {
        let delay = Box::pin(sleep(output.delay));
        let delayed = OperationState::Delayed(request, delay, Box::new(output));
        self.list.insert(0, delayed);
    }

    /// Ends the delay of an answer if the request cancels the delayed operation.
    pub(super) fn hasten(&mut self, request: &Apdu) {
        let Apdu::TriggerResourceControlRequest(trigger) = request else {
            return;
        };
        if trigger.requested_action != RequestedAction::CANCEL {
            return;
        }
        for operation in &mut self.list {
            if let OperationState::Delayed(request, delay, _) = operation
                && request.reference_id() == trigger.reference_id.as_ref()
            {
                delay.as_mut().reset(Instant::now());
            }
        }
    }

    /// Begins the requests that no longer have to wait.
    pub(super) fn begin(&mut self, session: &mut Session) {
        for index in 0..self.list.len() {
            let (before, rest) = self.list.split_at_mut(index);
            let Some(operation @ (OperationState::Waiting(_) | OperationState::LoginChecked(..))) =
                rest.first_mut()
            else {
                continue;
            };
            match std::mem::replace(operation, OperationState::Over) {
                OperationState::Waiting(asked) if !are_in_the_way(before, &asked.request) => {
                    *operation = begun(asked, session);
                }
                OperationState::LoginChecked(asked, proof) => {
                    *operation = running(asked, session, proof);
                }
                other => *operation = other,
            }
        }
    }

    /// Waits for the next operation to end, and returns its result; never ready if no operation is running. This method is cancel
    /// safe.
    pub(super) async fn next(&mut self) -> Ended {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        for index in 0..self.list.len() {
            if let Some(operation) = self.list.get_mut(index)
                && let Poll::Ready(ended) = operation.poll(context)
            {
                if !matches!(ended, Ended::LoginChecked) {
                    self.list.remove(index);
                }
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    }

    /// Returns the earliest deadline of the running operations: `most` after an operation began, or `left`, which applies to all
    /// operations. Delayed answers do not have a deadline. Returns `None` if there is no deadline.
    pub(super) fn deadline(
        &mut self,
        most: Option<Duration>,
        left: Option<Instant>,
    ) -> Option<Instant> {
        let now = Instant::now();
        let deadlines = self.runs().filter_map(|(_, run)| {
            run.since.get_or_insert(now);
            run.deadline(most).into_iter().chain(left).min()
        });
        deadlines.min()
    }

    /// Marks the operations that are overdue, and returns their referenceIds.
    pub(super) fn overdue(&mut self, most: Option<Duration>) -> Vec<Option<ReferenceId>> {
        let now = Instant::now();
        let overdue = self.runs().filter(|(_, run)| {
            let deadline = run.deadline(most);
            deadline.is_some_and(|deadline| deadline <= now)
        });
        let overdue = overdue.map(|(asked, run)| {
            run.is_overdue = true;
            asked.request.reference_id().cloned()
        });
        overdue.collect()
    }

    fn runs(&mut self) -> impl Iterator<Item = (&ReceivedRequest, &mut Run)> {
        self.list
            .iter_mut()
            .filter_map(|operation| match operation {
                OperationState::Running(asked, run) => Some((&*asked, run)),
                _ => None,
            })
    }
}

/// Returns whether a request must wait for any of the earlier requests.
fn are_in_the_way(before: &[OperationState], later: &Apdu) -> bool {
    let mut before = before.iter();
    before.any(|before| before.is_in_the_way_of(later))
}

impl Run {
    /// Returns the time at which the operation becomes overdue; `None` if it has no time limit, is already overdue, or if
    /// `Instant` cannot represent the time.
    fn deadline(&self, most: Option<Duration>) -> Option<Instant> {
        let since = self.since.filter(|_| !self.is_overdue)?;
        since.checked_add(most?)
    }
}

/// Begins a request or, if it contains a login, begins checking the login first.
fn begun(asked: ReceivedRequest, session: &mut Session) -> OperationState {
    match session.login_check(&asked.request) {
        Some(check) => OperationState::CheckingLogin(asked, Box::pin(check.run())),
        None => running(asked, session, Proof::default()),
    }
}

fn running(asked: ReceivedRequest, session: &mut Session, proof: Proof) -> OperationState {
    let begun = session.begin(&asked.request, proof);
    let future: Pin<Box<dyn Future<Output = Done> + Send>> = match begun {
        Err(reply) => Box::pin(std::future::ready(Done::Reply(reply))),
        Ok(operation) => {
            let request = Arc::clone(&asked.request);
            Box::pin(async move { carry_out(operation, &request).await })
        }
    };
    let run = Run {
        future,
        since: None,
        is_overdue: false,
    };
    OperationState::Running(asked, run)
}

impl OperationState {
    fn request(&self) -> Option<&Apdu> {
        match self {
            Self::Waiting(asked)
            | Self::CheckingLogin(asked, _)
            | Self::LoginChecked(asked, _)
            | Self::Running(asked, _) => Some(&asked.request),
            Self::Delayed(request, ..) => Some(request),
            Self::Over => None,
        }
    }

    /// Returns whether a later request must wait for this one because they have the same referenceId or conflict.
    fn is_in_the_way_of(&self, later: &Apdu) -> bool {
        let Some(earlier) = self.request() else {
            return false;
        };
        let is_of_the_session = |request: &Apdu| {
            matches!(
                request,
                Apdu::InitializeRequest(_) | Apdu::AccessControlResponse(_)
            )
        };
        earlier.reference_id() == later.reference_id()
            || is_of_the_session(earlier)
            || is_of_the_session(later)
            || ResultSetUse::of(earlier).conflicts_with(&ResultSetUse::of(later))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Ended> {
        let mut proof = Proof::default();
        let done = match self {
            Self::Waiting(_) | Self::LoginChecked(..) | Self::Over => return Poll::Pending,
            Self::CheckingLogin(_, check) => {
                proof = ready!(check.as_mut().poll(context));
                None
            }
            Self::Running(_, run) => Some(ready!(run.future.as_mut().poll(context))),
            Self::Delayed(_, delay, _) => {
                ready!(delay.as_mut().poll(context));
                None
            }
        };
        match (std::mem::replace(self, Self::Over), done) {
            (Self::Running(asked, _), Some(done)) => Poll::Ready(Ended::Done(asked, done)),
            (Self::Delayed(_, _, output), _) => Poll::Ready(Ended::Output(*output)),
            (Self::CheckingLogin(asked, _), _) => {
                *self = Self::LoginChecked(asked, proof);
                Poll::Ready(Ended::LoginChecked)
            }
            _ => Poll::Pending,
        }
    }
}
