//! Performs Z39.50 operations for SRU, within the time limit of a request.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::Instant;
use z3950_asn1::apdu::Apdu;
use z3950_asn1::sru::{SruCondition, SruDiagnostic};

use super::SruSession;
use super::failure::SruFailure;
use crate::diagnostic::{Condition, diagnostic};
use crate::logins::Proof;
use crate::session::carry_out;

/// The time by which an SRU request must be answered, including all its operations.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    since: Instant,
    most: Option<Duration>,
}

impl SruSession {
    /// Returns the deadline of a request that arrives now.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline {
            since: Instant::now(),
            most: self.target.limits.operation_time,
        }
    }

    /// Performs an operation.
    ///
    /// # Errors
    /// Condition 2 if the operation takes too long, or if the session has ended. A response that reports a failure is not an
    /// error.
    pub(super) async fn exchange(
        &mut self,
        request: Apdu,
        deadline: Deadline,
    ) -> Result<Apdu, SruFailure> {
        let operation = match self.session.begin(&request, Proof::default()) {
            Ok(operation) => operation,
            Err(mut reply) => return reply.apdus.pop().ok_or_else(SruFailure::unanswered),
        };
        let interrupt = self.session.interrupt();
        let mut done = pin!(carry_out(operation, &request));
        // Most operations end immediately, and do not need a timer.
        let ready = poll_fn(|context| Poll::Ready(done.as_mut().poll(context))).await;
        let mut is_overdue = false;
        let done = match (ready, deadline.at()) {
            (Poll::Ready(done), _) => done,
            (Poll::Pending, None) => done.await,
            (Poll::Pending, Some(deadline)) => {
                let alarm = pin!(tokio::time::sleep_until(deadline));
                match select(done.as_mut(), alarm).await {
                    Either::Left((done, _)) => done,
                    Either::Right(((), done)) => {
                        is_overdue = true;
                        let why = diagnostic(Condition::RESOURCES_EXHAUSTED, "no answer in time");
                        interrupt.stop(None, why);
                        done.await
                    }
                }
            }
        };
        let mut reply = self.session.finish(done);
        match reply.apdus.pop() {
            // Records that were ready before the deadline are sent.
            Some(Apdu::PresentResponse(some)) if some.number_of_records_returned > 0 => {
                Ok((*some).into())
            }
            // An update is not stopped, and is answered whenever it is done.
            Some(update @ Apdu::ExtendedServicesResponse(_)) => Ok(update),
            Some(_) if is_overdue => {
                let late = SruDiagnostic::new(SruCondition::TEMPORARILY_UNAVAILABLE, "");
                Err(late.with_message("no answer in time").into())
            }
            answer => answer.ok_or_else(SruFailure::unanswered),
        }
    }
}

impl Deadline {
    /// Returns the time of the deadline; `None` if there is no limit or `Instant` cannot represent the time.
    fn at(self) -> Option<Instant> {
        self.since.checked_add(self.most?)
    }
}
