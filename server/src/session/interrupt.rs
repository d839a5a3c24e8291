//! What reaches operations in progress: TriggerResourceControl of the client (Z39.50-2003 §3.2.6.2), and the server's own reasons
//! to stop one.

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

/// A handle on the operations that a session is busy with, for whoever reads the client's next requests meanwhile.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Default)]
struct Shared {
    running: Mutex<Running>,
    stopped: Notify,
}

#[derive(Default)]
struct Running {
    operations: Vec<Operation>,
    /// How many there have been.
    begun: u64,
}

/// How an operation stands.
struct Operation {
    number: u64,
    reference_id: Option<ReferenceId>,
    /// Why it is to end before its time.
    stopped: Option<Diagnostic>,
    /// Whether resource control was agreed on, so that the client can be sent reports.
    resource_control: bool,
}

/// One operation in progress: as long as there is this, it can be stopped.
pub(crate) struct Interruptible {
    shared: Arc<Shared>,
    number: u64,
}

/// 105: stopped at the client's request.
pub(crate) const CANCELLED: Condition = Condition(105);

impl Interrupt {
    /// Takes a request that came while the session is busy: what is to be sent at once, or `None` for a request that has to wait
    /// for its turn. Only TriggerResourceControl is taken; one about another operation than those in progress has no effect.
    pub fn take(&self, request: &Apdu) -> Option<Vec<Apdu>> {
        let Apdu::TriggerResourceControlRequest(trigger) = request else {
            return None;
        };
        let mut running = self.0.running();
        if running.operations.is_empty() {
            return None;
        }
        let mut operations = running.operations.iter_mut();
        let Some(operation) =
            operations.find(|operation| operation.reference_id == trigger.reference_id)
        else {
            return Some(Vec::new());
        };
        if trigger.requested_action == RequestedAction::CANCEL {
            operation.stopped = Some(diagnostic(CANCELLED, ""));
            self.0.stopped.notify_waiters();
            return Some(Vec::new());
        }
        let report = operation.resource_control.then(|| report(trigger).into());
        Some(report.into_iter().collect())
    }

    /// Has the operation of this referenceId end with a diagnostic, such as condition 31 where it takes too long; a Present gives
    /// the records that it has. Without such an operation nothing happens.
    pub fn stop(&self, reference_id: Option<&ReferenceId>, why: Diagnostic) {
        let mut running = self.0.running();
        let mut operations = running.operations.iter_mut();
        let operation =
            operations.find(|operation| operation.reference_id.as_ref() == reference_id);
        if let Some(operation) = operation.filter(|operation| operation.stopped.is_none()) {
            operation.stopped = Some(why);
            self.0.stopped.notify_waiters();
        }
    }

    /// Notes that an operation begins.
    pub(super) fn begin(
        &self,
        reference_id: Option<ReferenceId>,
        resource_control: bool,
    ) -> Interruptible {
        let mut running = self.0.running();
        running.begun += 1;
        let number = running.begun;
        // Most sessions do one thing at a time.
        running.operations.reserve_exact(1);
        running.operations.push(Operation {
            number,
            reference_id,
            stopped: None,
            resource_control,
        });
        Interruptible {
            shared: Arc::clone(&self.0),
            number,
        }
    }
}

impl Interruptible {
    /// Whether the operation was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.why().is_some()
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
            let mut notified = pin!(self.shared.stopped.notified());
            // From here on nothing is missed, whichever operation it is about.
            notified.as_mut().enable();
            if let Some(why) = self.why() {
                return why;
            }
            notified.await;
        }
    }

    /// Why the operation was stopped, if it was.
    fn why(&self) -> Option<Diagnostic> {
        let running = self.shared.running();
        let mut operations = running.operations.iter();
        let operation = operations.find(|operation| operation.number == self.number)?;
        operation.stopped.clone()
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        let operations = &mut self.shared.running().operations;
        operations.retain(|operation| operation.number != self.number);
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
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
