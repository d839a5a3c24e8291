//! What reaches a session while it is busy: the client may ask how an operation gets on, or have it stop, before it is
//! answered (Z39.50-2003 §3.2.6.2 trigger-resource-control).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_util::future::{Either, select};
use tokio::sync::Notify;
use z3950_asn1::apdu::{
    Apdu, ReferenceId, RequestedAction, ResourceControlRequest, TriggerResourceControlRequest,
};
use z3950_asn1::bib1::diagnostics::Condition;

use crate::backend::Answer;
use crate::diagnostic::{Diagnostic, diagnostic};

/// A handle on the operation that a session is busy with, for whoever reads the client's next requests meanwhile.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Default)]
struct Shared {
    operation: Mutex<Operation>,
    stopped: Notify,
}

/// How the session stands.
#[derive(Default)]
struct Operation {
    running: bool,
    /// Why it is to end before its time.
    stopped: Option<Diagnostic>,
    /// The referenceId of the request being answered.
    reference_id: Option<ReferenceId>,
    /// Whether resource control was agreed on, so that the client can be sent reports.
    resource_control: bool,
}

/// 105: stopped at the client's request.
pub(crate) const CANCELLED: Condition = Condition(105);

impl Interrupt {
    /// Takes a request that came while the session is busy: what is to be sent at once, or `None` for a request that has to wait
    /// for its turn. Only TriggerResourceControl is taken; one about another operation than the present one has no effect.
    pub fn take(&self, request: &Apdu) -> Option<Vec<Apdu>> {
        let Apdu::TriggerResourceControlRequest(trigger) = request else {
            return None;
        };
        let mut operation = self.operation();
        if !operation.running {
            return None;
        }
        if trigger.reference_id != operation.reference_id {
            return Some(Vec::new());
        }
        if trigger.requested_action == RequestedAction::CANCEL {
            operation.stopped = Some(diagnostic(CANCELLED, ""));
            self.0.stopped.notify_one();
            return Some(Vec::new());
        }
        let report = operation.resource_control.then(|| report(trigger).into());
        Some(report.into_iter().collect())
    }

    /// Has the operation end with a diagnostic, such as condition 31 where it takes too long; a Present gives the records that it
    /// has. Without an operation nothing happens.
    pub fn stop(&self, why: Diagnostic) {
        let mut operation = self.operation();
        if operation.running && operation.stopped.is_none() {
            operation.stopped = Some(why);
            self.0.stopped.notify_one();
        }
    }

    /// Notes that a request is going to be answered.
    pub(super) fn begin(&self, reference_id: Option<ReferenceId>, resource_control: bool) {
        *self.operation() = Operation {
            running: true,
            stopped: None,
            reference_id,
            resource_control,
        };
    }

    /// Notes that the request is answered.
    pub(super) fn end(&self) {
        *self.operation() = Operation::default();
    }

    /// Whether the operation was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.operation().stopped.is_some()
    }

    /// What the backend answers, or why the operation was stopped before: condition 105 if the client had it stopped.
    pub(crate) async fn or_stopped<T>(&self, mut answer: Answer<'_, T>) -> Result<T, Diagnostic> {
        // What is there already needs nothing else.
        match poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await {
            Poll::Ready(answer) => return answer,
            Poll::Pending => {}
        }
        // In a box, so that what is there at once need not have its room.
        Box::pin(async {
            match select(answer, pin!(self.stopped())).await {
                Either::Left((answer, _)) => answer,
                Either::Right((why, _)) => Err(why),
            }
        })
        .await
    }

    async fn stopped(&self) -> Diagnostic {
        loop {
            // Copied out, so that nothing is locked while this waits.
            let stopped = self.operation().stopped.clone();
            match stopped {
                Some(why) => return why,
                // What wakes it may be left of an operation that ended first.
                None => self.0.stopped.notified().await,
            }
        }
    }

    fn operation(&self) -> MutexGuard<'_, Operation> {
        let operation = self.0.operation.lock();
        operation.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The report of an operation in progress, which nobody has to answer. There are no figures: the backend gives none.
fn report(trigger: &TriggerResourceControlRequest) -> ResourceControlRequest {
    ResourceControlRequest {
        reference_id: trigger.reference_id.clone(),
        suspended_flag: Some(false),
        resource_report: None,
        partial_results_available: None,
        response_required: false,
        triggered_request_flag: Some(true),
        other_info: None,
    }
}
