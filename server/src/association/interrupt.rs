//! The operations in progress, which can be stopped by the client's TriggerResourceControl (Z39.50-2003 §3.2.6.2) or by the server.

use std::future::poll_fn;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures_util::future::{Either, select};
use tokio::sync::Notify;
use z3950_asn1::apdu::{
    Apdu, Options, ReferenceId, RequestedAction, ResourceControlRequest,
    TriggerResourceControlRequest,
};

use super::Association;
use crate::backend::Answer;
use crate::diagnostic::{Condition, Diagnostic, diagnostic};
use crate::lock::lock;

/// A handle on the operations in progress, for the task that reads the client's next requests.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    running: Mutex<Vec<Running>>,
    /// Notified when any operation is stopped.
    stopped: Notify,
}

/// The entry for an operation in progress.
struct Running {
    number: u64,
    reference_id: Option<ReferenceId>,
    /// The diagnostic with which the operation ends; `None` until it is stopped.
    stopped: Option<Diagnostic>,
    /// Whether resource control is in effect, so that reports may be sent to the client.
    resource_control: bool,
}

/// An operation in progress, within its association. The entry is removed when the operation is dropped.
pub(crate) struct Operation {
    association: Arc<Association>,
    inner: Arc<Inner>,
    number: u64,
    pub(crate) reference_id: Option<ReferenceId>,
    /// The request that was held back until the client answered the server's question (for credentials, or whether to continue),
    /// and that can now be performed.
    pub(crate) held: Option<Box<Apdu>>,
}

impl Interrupt {
    /// Handles a request that arrives while the session is busy, if it is a TriggerResourceControl. Returns the APDUs to send
    /// immediately, or `None` for any other request, which has to wait for its turn. A trigger that does not name an operation
    /// in progress has no effect.
    pub fn take(&self, request: &Apdu) -> Option<Vec<Apdu>> {
        let Apdu::TriggerResourceControlRequest(trigger) = request else {
            return None;
        };
        let mut running = lock(&self.0.running);
        if running.is_empty() {
            return None;
        }
        let mut operations = running.iter_mut();
        let Some(operation) =
            operations.find(|operation| operation.reference_id == trigger.reference_id)
        else {
            return Some(Vec::new());
        };
        if trigger.requested_action == RequestedAction::CANCEL {
            operation.stopped = Some(diagnostic(Condition::CANCELLED, ""));
            self.0.stopped.notify_waiters();
            return Some(Vec::new());
        }
        let report = operation.resource_control.then(|| report(trigger).into());
        Some(report.into_iter().collect())
    }

    /// Stops the operation with this referenceId, which then fails with the diagnostic; a Present returns the records that it has
    /// so far. If no operation has this referenceId, nothing happens.
    pub fn stop(&self, reference_id: Option<&ReferenceId>, why: Diagnostic) {
        let mut running = lock(&self.0.running);
        let mut operations = running.iter_mut();
        let operation =
            operations.find(|operation| operation.reference_id.as_ref() == reference_id);
        if let Some(operation) = operation.filter(|operation| operation.stopped.is_none()) {
            operation.stopped = Some(why);
            self.0.stopped.notify_waiters();
        }
    }

    /// Adds an entry for an operation that begins.
    pub(crate) fn begin(
        &self,
        association: Arc<Association>,
        reference_id: Option<ReferenceId>,
        held: Option<Box<Apdu>>,
    ) -> Operation {
        let mut running = lock(&self.0.running);
        let number = running.last().map_or(0, |last| last.number.wrapping_add(1));
        // Most sessions run one operation at a time, so space is reserved for only one more.
        running.reserve_exact(1);
        running.push(Running {
            number,
            reference_id: reference_id.clone(),
            stopped: None,
            resource_control: association
                .terms
                .options
                .contains(Options::RESOURCE_CONTROL),
        });
        Operation {
            association,
            inner: Arc::clone(&self.0),
            number,
            reference_id,
            held,
        }
    }
}

impl Deref for Operation {
    type Target = Association;

    fn deref(&self) -> &Association {
        &self.association
    }
}

impl Operation {
    pub(crate) fn is_stopped(&self) -> bool {
        self.why_stopped().is_some()
    }

    /// Waits for the backend's answer. If the operation is stopped first, fails with the reason: condition 105 if the client
    /// cancelled it.
    pub(crate) async fn or_stopped<T>(&self, mut answer: Answer<'_, T>) -> Result<T, Diagnostic> {
        // Most answers are ready immediately, so they are tried before anything is allocated.
        match poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await {
            Poll::Ready(answer) => return answer,
            Poll::Pending => {}
        }
        // The box keeps this future small for the usual case of an answer that is ready.
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
            let mut notified = pin!(self.inner.stopped.notified());
            // The wait is registered before the check, so that no notification is missed.
            notified.as_mut().enable();
            if let Some(why) = self.why_stopped() {
                return why;
            }
            notified.await;
        }
    }

    fn why_stopped(&self) -> Option<Diagnostic> {
        let running = lock(&self.inner.running);
        let mut operations = running.iter();
        let operation = operations.find(|operation| operation.number == self.number)?;
        operation.stopped.clone()
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        lock(&self.inner.running).retain(|operation| operation.number != self.number);
    }
}

/// Returns a report that does not require a response. The report contains no figures, because backends do not supply any.
fn report(trigger: &TriggerResourceControlRequest) -> ResourceControlRequest {
    ResourceControlRequest {
        reference_id: trigger.reference_id.clone(),
        suspended_flag: Some(false),
        triggered_request_flag: Some(true),
        ..ResourceControlRequest::default()
    }
}
