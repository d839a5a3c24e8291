//! The task that owns the stream of a session. It sends requests, receives answers, and closes the session.
//!
//! ```text
//!            request                    answer
//!   idle ---------------> operations ---------------> idle       Z39.50-2003 §3.1.2, §3.4, §3.5: one operation at a
//!     |                       |                                  time, or several if both sides agreed
//!     | closed, Close, EOF    | the same, a fault, a timeout
//!     v                       v
//!   ended: callers get their error -> in version 3, Close is sent and answered -> gone
//! ```
//!
//! Requests that the server sends during an operation are handled in `server_requests`. Any other APDU that does not
//! answer a request is a protocol error. If the caller of a request has dropped its future, the answer is still
//! received and discarded, so that later answers reach the right callers. If that answer does not come in time, and
//! another request is waiting for it, the session ends.

use std::future::{pending, poll_fn, ready};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::trace;
use z3950_asn1::apdu::{Apdu, Close, CloseReason, Options, Segment, TriggerResourceControlRequest};
use z3950_asn1::codec::frame::StreamError;

use super::{
    Command, End, Operation, Operations, State, StateSender, Trigger, Wire, examine, received,
    stream_error,
};
use crate::error::{Cause, Error, Phase, ProtocolFault};
use crate::protocol::service::init::{self, InitOutcome};
use crate::protocol::session::options::SessionOptions;
use crate::transport::connect::BoxFuture;
use crate::transport::timeouts::Limit;

/// The receiving ends of the channels to a session's handles.
pub(crate) struct Inbox {
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) triggers: mpsc::Receiver<Trigger>,
    pub(crate) closing: CancellationToken,
    pub(in crate::protocol) close_mode: Arc<OnceLock<CloseMode>>,
}

/// How the client closes the session.
#[derive(Debug, Clone)]
pub(crate) struct CloseMode {
    pub(in crate::protocol) close: Close,
    /// Whether to wait for the server's Close.
    pub(in crate::protocol) awaits_answer: bool,
}

impl Default for CloseMode {
    fn default() -> Self {
        Self {
            close: Close::new(CloseReason::FINISHED, None),
            awaits_answer: true,
        }
    }
}

/// A handler's response to a request from the server.
pub(super) struct HandlerAnswer {
    /// The number of the operation, or `None` if the request concerns the session.
    pub(super) operation: Option<u64>,
    /// The response to send, or `None` if the server does not want a response.
    pub(super) response: Option<Apdu>,
    /// Whether the response is the refusal of a challenge.
    pub(super) is_refusal: bool,
}

/// The task that owns the stream of a session, with its state.
pub(in crate::protocol) struct Driver<S> {
    /// The state of the session. It is the first field, and therefore dropped first, so that callers see the end of the
    /// session if the task is dropped.
    state: StateSender,
    wire: Wire<S>,
    /// The result of Init, or `None` until Init has been accepted.
    agreed: Option<InitOutcome>,
    pub(super) options: SessionOptions,
    inbox: Inbox,
    /// The next request, if it has to wait for operations in progress.
    held: Option<HeldCommand>,
    pub(super) operations: Operations,
    /// The futures of handlers that have not decided yet.
    pub(super) handler_answers: FuturesUnordered<BoxFuture<'static, HandlerAnswer>>,
    /// The number of requests that the server has sent since the last operation ended.
    pub(super) interruptions: usize,
    /// The number of APDUs received so far.
    heard: u64,
}

/// A request that waits for operations in progress.
struct HeldCommand {
    command: Command,
    since: Instant,
    limit: Limit,
    /// Whether the request waits only because it conflicts with an operation, and not because the maximum number of
    /// operations is in progress.
    is_in_conflict: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Driver<S> {
    /// Creates the driver of a session for which Init has not been sent yet.
    pub(in crate::protocol) fn new(
        stream: S,
        options: &SessionOptions,
        inbox: Inbox,
        state: StateSender,
    ) -> Self {
        Self {
            state,
            wire: Wire::new(stream, init::max_apdu_size(&options.init)),
            agreed: None,
            options: options.clone(),
            inbox,
            held: None,
            operations: Operations::default(),
            handler_answers: FuturesUnordered::new(),
            interruptions: 0,
            heard: 0,
        }
    }

    /// Serves requests until the session ends, and then closes the connection.
    pub(in crate::protocol) async fn run(mut self) {
        let error = self.serve().await.err();
        let limit = Limit::within(self.options.timeouts.close);
        let close_mode = close_mode(error.as_ref(), self.inbox.close_mode.get());
        let mut is_answered = false;
        if let Some(close_mode) = close_mode.filter(|_| self.version() >= Some(3)) {
            // If an answer arrives after this side has closed, the connection is reset, and the server may lose the
            // client's Close.
            let awaits_answer = close_mode.awaits_answer || !self.operations.list.is_empty();
            let put = self.wire.put(&close_mode.close.into());
            let sent = limit.hold(Phase::Close, self.wire.flush()).await;
            is_answered = awaits_answer && put.is_ok() && matches!(sent, Ok(Ok(())));
        }
        let end = self.end(error).await;
        // An error means that the server has closed the connection or does not respond.
        let _ = limit
            .hold(Phase::Close, async {
                if is_answered {
                    self.wire.await_close().await;
                }
                self.wire.shutdown().await;
            })
            .await;
        self.state.set(State::Gone(end));
    }

    /// Ends all operations, with `error` if it is given, or else with the error for a session that the client closed.
    async fn end(&mut self, error: Option<Error>) -> End {
        let (end, error) = match error {
            None => (End::Closed, End::Closed.error()),
            Some(error) => (End::Failed(Arc::new(error.clone())), error),
        };
        trace!(?end, "session ended");
        self.state.set(State::Ended(end.clone()));
        let are_several = self.operations.list.len() > 1;
        for mut operation in self.operations.list.drain(..) {
            let error = error_of(operation.phase(), &error, are_several);
            operation.reply.send(Err(error));
        }
        self.inbox.triggers.close();
        self.inbox.commands.close();
        if let Some(mut held) = self.held.take() {
            held.command.reply.send(Err(end.error()));
        }
        while let Some(mut command) = self.inbox.commands.recv().await {
            command.reply.send(Err(end.error()));
        }
        end
    }

    /// Serves requests until the client closes the session.
    async fn serve(&mut self) -> Result<(), Error> {
        loop {
            let may_begin = self.may_begin_held();
            let is_free = self.held.is_none();
            let next_limit = self.next_limit();
            // Reading comes first, so that no request is sent in a session that the server has closed.
            tokio::select! {
                biased;
                frame = self.wire.next() => self.receive(frame)?,
                () = self.inbox.closing.cancelled() => return Ok(()),
                Some(answer) = self.handler_answers.next(), if !self.handler_answers.is_empty() => {
                    self.decided(answer)?;
                }
                number = poll_fn(|context| self.operations.poll_dropped(context)) => {
                    self.abandon(number)?;
                }
                () = gone(&mut self.held) => self.held = None,
                Some(trigger) = self.inbox.triggers.recv() => self.trigger(trigger)?,
                () = ready(()), if may_begin => {
                    if let Some(held) = self.held.take() {
                        self.begin(held.command);
                    }
                }
                command = self.inbox.commands.recv(), if is_free => match command {
                    Some(command) => self.hold(command),
                    None => return Ok(()),
                },
                () = until(next_limit) => self.expire()?,
            }
        }
    }

    /// Returns the maximum number of operations that may currently be in progress.
    fn max_operations(&self) -> usize {
        match &self.agreed {
            None => 1,
            Some(_) => {
                let is_concurrent = self.offers(Options::CONCURRENT_OPERATIONS);
                self.options.max_in_progress(is_concurrent)
            }
        }
    }

    fn offers(&self, option: Options) -> bool {
        self.agreed
            .is_some_and(|agreed| agreed.options.contains(option))
    }

    pub(super) fn version(&self) -> Option<u8> {
        self.agreed.map(|agreed| agreed.version)
    }

    /// Stores the next request until it may begin.
    fn hold(&mut self, command: Command) {
        self.held = Some(HeldCommand {
            since: Instant::now(),
            limit: command.timeouts.to_deadline(),
            is_in_conflict: false,
            command,
        });
    }

    /// Returns whether the held request may begin. If it waits only because it conflicts with an operation, the wait is
    /// limited by the answer timeout.
    fn may_begin_held(&mut self) -> bool {
        let has_room = self.operations.list.len() < self.max_operations();
        // Only concurrent operations can conflict, because pipelined operations are executed in order.
        let is_concurrent = self.offers(Options::CONCURRENT_OPERATIONS);
        let Some(held) = &mut self.held else {
            return false;
        };
        if !has_room {
            return false;
        }
        let may_begin = !is_concurrent || !self.operations.is_in_conflict(&held.command.request);
        if !may_begin && !held.is_in_conflict {
            held.is_in_conflict = true;
            held.limit = held.command.timeouts.to_answer();
        }
        may_begin
    }

    /// Sends a request, unless its caller has stopped waiting.
    fn begin(&mut self, mut command: Command) {
        if command.reply.is_closed() {
            return;
        }
        self.operations.label(&mut command.request);
        match self.wire.put(&command.request) {
            Ok(()) => {
                self.interruptions = 0;
                self.operations.begin(command, self.heard);
            }
            Err(error) => {
                let phase = Phase::of(&command.request);
                command.reply.send(Err(Error::fault(phase, error)));
            }
        }
    }

    /// Sends an APDU that does not begin an operation.
    pub(super) fn put(&mut self, apdu: Apdu, phase: Phase) -> Result<(), Error> {
        let put = self.wire.put(&apdu);
        put.map_err(|error| Error::fault(phase, error))
    }

    fn receive(&mut self, frame: Option<Result<Bytes, StreamError>>) -> Result<(), Error> {
        let phase = self.operations.phase();
        let octets = match frame {
            Some(Ok(octets)) => octets,
            Some(Err(error)) => return Err(stream_error(error, phase)),
            None => {
                let cause = Cause::Disconnected;
                return Err(Error::Unavailable { phase, cause });
            }
        };
        self.heard += 1;
        match received(&octets).map_err(|error| Error::fault(phase, error))? {
            Apdu::Close(close) => Err(closed_by_server(phase, *close)),
            Apdu::AccessControlRequest(challenge) => self.challenged(*challenge),
            Apdu::ResourceControlRequest(question) => self.questioned(*question),
            Apdu::Segment(segment) => self.segment(*segment, octets.len()),
            answer => self.answered(answer),
        }
    }

    /// Receives a segment of the answer to a Present.
    fn segment(&mut self, segment: Segment, octets: usize) -> Result<(), Error> {
        let is_agreed =
            self.offers(Options::SEGMENTATION_1) || self.offers(Options::SEGMENTATION_2);
        let phase = self.operations.phase();
        let added = match self.operations.find(segment.reference_id.as_ref()) {
            Ok(Some(operation))
                if is_agreed && matches!(operation.request, Apdu::PresentRequest(_)) =>
            {
                operation.segments.add(segment, octets)
            }
            Ok(_) => Err(ProtocolFault::Unexpected("segmentRequest")),
            Err(fault) => Err(fault),
        };
        added.map_err(|fault| Error::fault(phase, fault))
    }

    /// Ends the operation to which `answer` belongs, and passes the answer to its caller.
    fn answered(&mut self, answer: Apdu) -> Result<(), Error> {
        let are_fragments_allowed = self.offers(Options::SEGMENTATION_2);
        let phase = self.operations.phase();
        let operation = match self.operations.find(answer.reference_id()) {
            Ok(Some(operation)) => operation,
            Ok(None) => {
                let fault = ProtocolFault::Unexpected(answer.name());
                return Err(Error::fault(Phase::Idle, fault));
            }
            Err(fault) => return Err(Error::fault(phase, fault)),
        };
        let phase = operation.phase();
        let answer = match (answer, &operation.request) {
            (Apdu::PresentResponse(last), Apdu::PresentRequest(request)) => {
                let syntax = request.preferred_record_syntax;
                let whole = operation
                    .segments
                    .complete(*last, syntax, are_fragments_allowed);
                whole.map_err(|fault| Error::fault(phase, fault))?.into()
            }
            (answer, _) => answer,
        };
        examine(&operation.request, &answer)?;
        if let Some(agreed) = init::agreed(&operation.request, &answer) {
            self.agreed = Some(agreed);
        }
        let number = operation.number;
        if let Some(mut operation) = self.operations.finish(number) {
            operation.reply.send(Ok(answer));
        }
        // Many servers execute operations one after the other, so an answer restarts the wait for the remaining operations. An
        // answer to a much later request does not, so the wait ends even if such answers keep coming.
        let room = u64::try_from(self.max_operations()).unwrap_or(u64::MAX);
        let has_waited =
            |operation: &&mut Operation| operation.number.saturating_add(room) > number;
        self.operations
            .list
            .iter_mut()
            .filter(has_waited)
            .for_each(Operation::wait);
        Ok(())
    }

    /// Records that no caller waits for an operation any longer. If the options say so, asks the server to cancel it.
    fn abandon(&mut self, number: u64) -> Result<(), Error> {
        let cancels =
            self.options.cancels_dropped && self.offers(Options::TRIGGER_RESOURCE_CONTROL);
        let Some(operation) = self.operations.numbered(number) else {
            return Ok(());
        };
        operation.abandoned = Some(Instant::now());
        if !cancels {
            return Ok(());
        }
        let phase = operation.phase();
        let cancel = TriggerResourceControlRequest {
            reference_id: operation.request.reference_id().cloned(),
            ..TriggerResourceControlRequest::cancel()
        };
        self.put(cancel.into(), phase)
    }

    /// Sends a TriggerResourceControl for each operation in progress.
    fn trigger(&mut self, trigger: Trigger) -> Result<(), Error> {
        let phase = self.operations.phase();
        for operation in &mut self.operations.list {
            let mut request = trigger.request.clone();
            request.reference_id = operation.request.reference_id().cloned();
            let put = self.wire.put(&request.into());
            put.map_err(|error| Error::fault(phase, error))?;
        }
        // An error means that the caller no longer waits for the number.
        let _ = trigger.reply.send(self.operations.list.len());
        Ok(())
    }

    /// Returns the earliest time at which a wait reaches its limit.
    fn next_limit(&self) -> Option<Instant> {
        let held = self.held.as_ref().and_then(|held| held.limit.at());
        let operations = self.operations.next_limit();
        let abandoned = self.abandoned_until();
        [held, operations, abandoned].into_iter().flatten().min()
    }

    /// Returns the time at which the held request stops waiting for operations whose callers have all dropped their
    /// futures, or `None` if it does not wait for such operations. The wait restarts when octets of an answer arrive.
    fn abandoned_until(&self) -> Option<Instant> {
        let held = self.held.as_ref()?;
        let mut since = self.operations.all_abandoned()?.max(held.since);
        if let Some((_, last)) = self.wire.arriving {
            since = since.max(last);
        }
        since.checked_add(held.command.timeouts.abandoned)
    }

    /// Ends waits that have reached their limit. If operations are concurrent and the server has sent any APDU since
    /// the request that timed out, the session continues. Otherwise, the server is assumed to be down.
    fn expire(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if let Some(held) = &self.held
            && self.abandoned_until().is_some_and(|until| until <= now)
        {
            // The request that is held back has not been sent, so its caller may repeat it in another session.
            return Err(Error::Unavailable {
                phase: self.operations.phase(),
                cause: Cause::Timeout(held.command.timeouts.abandoned),
            });
        }
        let is_late = |held: &mut HeldCommand| held.limit.at().is_some_and(|at| at <= now);
        if let Some(mut late) = self.held.take_if(is_late) {
            let phase = Phase::of(&late.command.request);
            late.command.reply.send(Err(late.limit.error(phase)));
        }
        let goes_on = self.offers(Options::CONCURRENT_OPERATIONS);
        while let Some(number) = self.operations.overdue(now)
            && let Some(operation) = self.operations.numbered(number)
        {
            if let Some((begun, last)) = self.wire.arriving
                && let Some(limit) = operation.timeouts.to_rest(begun, last)
            {
                operation.limit = Some(limit);
                continue;
            }
            let phase = operation.phase();
            let error = match operation.limit.take() {
                Some(limit) => limit.error(phase),
                None => continue,
            };
            if !goes_on || operation.heard == self.heard {
                return Err(error);
            }
            operation.reply.send(Err(error.clone()));
            self.abandon(number)?;
            let is_last_room = self.operations.next_limit().is_none()
                && self.operations.list.len() >= self.max_operations();
            if is_last_room {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Returns the error for an operation that is in progress when the session ends. If the server's answer was wrong, it
/// may have been intended for another operation.
fn error_of(phase: Phase, error: &Error, are_several: bool) -> Error {
    let is_of_one = match error {
        Error::ProtocolError { .. } => true,
        Error::ProtocolClosed { reason, .. } => *reason == CloseReason::PROTOCOL_ERROR,
        _ => false,
    };
    let error = error.clone().in_phase(phase);
    if is_of_one && are_several {
        Error::Unavailable {
            phase,
            cause: Cause::AnotherAnswer(Arc::new(error)),
        }
    } else {
        error
    }
}

/// Completes when the caller of the held request has dropped its future.
async fn gone(held: &mut Option<HeldCommand>) {
    match held {
        Some(held) => held.command.reply.closed().await,
        None => pending().await,
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

/// Returns how to close a version 3 session: as `error` requires or, if there is no error, as the client has `chosen`.
/// Returns `None` if no Close can be sent, because the connection is lost or the server would not understand it.
fn close_mode(error: Option<&Error>, chosen: Option<&CloseMode>) -> Option<CloseMode> {
    let (reason, info, awaits_answer) = match error {
        None => return Some(chosen.cloned().unwrap_or_default()),
        Some(Error::ProtocolClosed { .. }) => (CloseReason::FINISHED, None, false),
        Some(Error::ProtocolError { fault, .. }) => {
            (CloseReason::PROTOCOL_ERROR, Some(fault.to_string()), true)
        }
        Some(Error::Unavailable {
            cause: Cause::Timeout(_) | Cause::Deadline,
            ..
        }) => {
            let info = "no answer in time".to_owned();
            (CloseReason::UNSPECIFIED, Some(info), false)
        }
        Some(_) => return None,
    };
    Some(CloseMode {
        close: Close::new(reason, info.as_deref()),
        awaits_answer,
    })
}

/// Returns the error for a Close sent by the server.
fn closed_by_server(phase: Phase, close: Close) -> Error {
    let info = close
        .diagnostic_information
        .map(|text| text.to_string_lossy().into_owned());
    Error::ProtocolClosed {
        phase,
        reason: close.close_reason,
        info: info.filter(|text| !text.is_empty()),
    }
}
