//! The task that owns the stream of a session: sends requests, tells whose answer has come, ends the session properly.
//!
//! ```text
//!            request                    answer
//!   idle ---------------> operations ---------------> idle       Z39.50-2003 §3.1.2, §3.4, §3.5: one operation at a
//!     |                       |                                  time, or several where both sides have agreed to it
//!     | closed, Close, end    | the same, a fault, no answer in time
//!     v                       v
//!   ended: callers are told -> Close is sent and awaited where version 3 is spoken -> gone
//! ```
//!
//! What a server may send in between is answered in `server_requests`. Everything else is a fault. The answer to a
//! request that nobody waits for any longer is still taken, so that the next one gets its own.

use std::future::{pending, poll_fn};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::trace;
use z3950_asn1::apdu::{
    Apdu, Close, Options, RequestedAction, Segment, TriggerResourceControlRequest,
};
use z3950_asn1::codec::frame::StreamError;

use super::operations::Operations;
use super::server_requests::Verdict;
use super::wire::{Wire, received, stream_error};
use super::{Command, End, State, Trigger};
use crate::error::{Cause, Error, Phase, ProtocolFault};
use crate::service;
use crate::service::access::AccessControl;
use crate::service::close::{closed_by_server, farewell};
use crate::service::init::Agreed;
use crate::service::resource::ResourceControl;
use crate::session::SessionOptions;
use crate::transport::{BoxFuture, Limit, Timeouts};

/// What the handles want.
pub(super) struct Orders {
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) triggers: mpsc::Receiver<Trigger>,
    pub(super) closing: CancellationToken,
    pub(super) farewell: Arc<OnceLock<Close>>,
}

/// The task's own view of a session.
pub(super) struct Connection<S> {
    wire: Wire<S>,
    /// What is in force, once Init was accepted.
    agreed: Option<Agreed>,
    timeouts: Timeouts,
    max_operations: usize,
    max_pipelined: usize,
    cancels_dropped: bool,
    pub(super) access_control: Option<Arc<dyn AccessControl>>,
    pub(super) resource_control: Option<Arc<dyn ResourceControl>>,
    orders: Orders,
    /// A request that must wait for an operation in progress, and how long.
    held: Option<(Command, Limit)>,
    pub(super) operations: Operations,
    /// What somebody here is thinking about.
    pub(super) verdicts: FuturesUnordered<BoxFuture<'static, Verdict>>,
    /// Requests of the server since the last operation.
    pub(super) interruptions: usize,
    /// How many APDUs have come.
    heard: u64,
    state: watch::Sender<State>,
}

/// Why the task stops serving.
pub(super) enum Stop {
    Closing,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// A session before Init.
    pub(super) fn new(
        stream: S,
        options: &SessionOptions,
        orders: Orders,
        state: watch::Sender<State>,
    ) -> Self {
        Self {
            wire: Wire::new(stream, options.init.max_apdu_size()),
            agreed: None,
            timeouts: options.timeouts,
            max_operations: options.max_operations,
            max_pipelined: options.max_pipelined,
            cancels_dropped: options.cancels_dropped,
            access_control: options.access_control.clone(),
            resource_control: options.resource_control.clone(),
            orders,
            held: None,
            operations: Operations::default(),
            verdicts: FuturesUnordered::new(),
            interruptions: 0,
            heard: 0,
            state,
        }
    }

    /// Serves requests until the session ends, and says farewell.
    pub(super) async fn run(mut self) {
        let stop = self.serve().await;
        let limit = Limit::within(self.timeouts.close);
        let error = match &stop {
            Stop::Closing => None,
            Stop::Failed(error) => Some(error),
        };
        let words = farewell(error, self.orders.farewell.get());
        let farewell = words.filter(|_| self.version() >= Some(3));
        let mut is_answered = false;
        if let Some(farewell) = farewell {
            let put = self.wire.put(&farewell.close.into());
            let sent = limit.hold(Phase::Close, self.wire.flush()).await;
            is_answered = farewell.is_answered && put.is_ok() && matches!(sent, Ok(Ok(())));
        }
        let end = self.tell(stop).await;
        // The server may be gone or silent: what follows is courtesy, and ends at the limit.
        let _ = limit
            .hold(Phase::Close, async {
                if is_answered {
                    self.wire.await_close().await;
                }
                self.wire.shutdown().await;
            })
            .await;
        self.state.send_replace(State::Gone(end));
    }

    /// Tells everyone that the session is over.
    async fn tell(&mut self, stop: Stop) -> End {
        let (end, error) = match stop {
            Stop::Closing => (End::Closed, End::Closed.error()),
            Stop::Failed(error) => (End::Failed(Arc::new(error.clone())), error),
        };
        trace!(?end, "session ended");
        self.state.send_replace(State::Ended(end.clone()));
        for mut operation in self.operations.drain() {
            let error = error.clone().in_phase(operation.phase());
            operation.answer(Err(error));
        }
        self.orders.triggers.close();
        self.orders.commands.close();
        if let Some((command, _)) = self.held.take() {
            let _ = command.reply.send(Err(end.error()));
        }
        while let Some(command) = self.orders.commands.recv().await {
            let _ = command.reply.send(Err(end.error()));
        }
        end
    }

    async fn serve(&mut self) -> Stop {
        loop {
            if let Some((command, limit)) = self.held.take() {
                self.begin(command, Some(limit));
            }
            let has_room = self.held.is_none() && self.operations.len() < self.room();
            let watches_callers =
                self.cancels_dropped && self.offers(Options::TRIGGER_RESOURCE_CONTROL);
            let next_limit = self.next_limit();
            // What the server sent first is seen first: no request goes out on a session already closed.
            let done = tokio::select! {
                biased;
                frame = self.wire.next() => self.receive(frame),
                () = self.orders.closing.cancelled() => return Stop::Closing,
                Some(verdict) = self.verdicts.next(), if !self.verdicts.is_empty() => {
                    self.decided(verdict)
                }
                number = poll_fn(|context| self.operations.poll_dropped(context)), if watches_callers => {
                    self.cancel(number)
                }
                () = gone(&mut self.held) => {
                    self.held = None;
                    Ok(())
                }
                Some(trigger) = self.orders.triggers.recv() => self.trigger(trigger),
                command = self.orders.commands.recv(), if has_room => match command {
                    Some(command) => {
                        self.begin(command, None);
                        Ok(())
                    }
                    None => return Stop::Closing,
                },
                () = until(next_limit) => self.expire(),
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }

    /// How many operations may be under way now.
    fn room(&self) -> usize {
        match &self.agreed {
            None => 1,
            Some(_) if self.offers(Options::CONCURRENT_OPERATIONS) => self.max_operations.max(1),
            Some(_) => self.max_pipelined.max(1),
        }
    }

    /// Whether an option is in force.
    fn offers(&self, option: Options) -> bool {
        self.agreed
            .is_some_and(|agreed| agreed.options.contains(option))
    }

    /// The version in force, once Init was accepted.
    pub(super) fn version(&self) -> Option<u8> {
        self.agreed.map(|agreed| agreed.version)
    }

    /// Sends a request, or holds it back until it may go; `held_until` is how long, if it was held back already.
    fn begin(&mut self, mut command: Command, held_until: Option<Limit>) {
        if command.reply.is_closed() {
            return;
        }
        // Operations that go on side by side must not get in each other's way; in a queue they cannot.
        if self.offers(Options::CONCURRENT_OPERATIONS)
            && self.operations.is_in_conflict(&command.request)
        {
            let limit = held_until.unwrap_or_else(|| command.timeouts.to_answer());
            self.held = Some((command, limit));
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
                let _ = command.reply.send(Err(Error::fault(phase, error)));
            }
        }
    }

    /// Sends what is no request for an operation.
    pub(super) fn put(&mut self, apdu: Apdu, phase: Phase) -> Result<(), Stop> {
        let put = self.wire.put(&apdu);
        put.map_err(|error| Error::fault(phase, error).into())
    }

    fn receive(&mut self, frame: Option<Result<Bytes, StreamError>>) -> Result<(), Stop> {
        let phase = self.operations.phase();
        let octets = match frame {
            Some(Ok(octets)) => octets,
            Some(Err(error)) => return Err(stream_error(error, phase).into()),
            None => {
                let cause = Cause::Disconnected;
                return Err(Error::Unavailable { phase, cause }.into());
            }
        };
        self.heard += 1;
        match received(&octets).map_err(|error| Error::fault(phase, error))? {
            Apdu::Close(close) => Err(closed_by_server(phase, *close).into()),
            Apdu::AccessControlRequest(challenge) => self.challenged(*challenge),
            Apdu::ResourceControlRequest(question) => self.questioned(*question),
            Apdu::Segment(segment) => self.segment(*segment, octets.len()),
            answer => self.answered(answer),
        }
    }

    /// A piece of the answer to a Present, where that was agreed on.
    fn segment(&mut self, segment: Segment, octets: usize) -> Result<(), Stop> {
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
        added.map_err(|fault| Error::fault(phase, fault).into())
    }

    /// The end of an operation.
    fn answered(&mut self, answer: Apdu) -> Result<(), Stop> {
        let are_fragments_allowed = self.offers(Options::SEGMENTATION_2);
        let phase = self.operations.phase();
        let operation = match self.operations.find(answer.reference_id()) {
            Ok(Some(operation)) => operation,
            Ok(None) => {
                let fault = ProtocolFault::Unexpected(answer.name());
                return Err(Error::fault(Phase::Idle, fault).into());
            }
            Err(fault) => return Err(Error::fault(phase, fault).into()),
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
        service::examine(&operation.request, &answer)?;
        if let Some(agreed) = service::init::agreed(&operation.request, &answer) {
            self.agreed = Some(agreed);
        }
        let number = operation.number;
        if let Some(mut operation) = self.operations.finish(number) {
            operation.answer(Ok(answer));
        }
        Ok(())
    }

    /// A caller has gone away: the server may as well stop.
    fn cancel(&mut self, number: u64) -> Result<(), Stop> {
        let Some(operation) = self.operations.numbered(number) else {
            return Ok(());
        };
        operation.is_cancelled = true;
        let phase = operation.phase();
        let cancel = TriggerResourceControlRequest {
            reference_id: operation.request.reference_id().cloned(),
            requested_action: RequestedAction::CANCEL,
            pref_resource_report_format: None,
            result_set_wanted: Some(false),
            other_info: None,
        };
        self.put(cancel.into(), phase)
    }

    /// Passes a TriggerResourceControl on, once for each operation in progress.
    fn trigger(&mut self, trigger: Trigger) -> Result<(), Stop> {
        let phase = self.operations.phase();
        for operation in self.operations.iter_mut() {
            let mut request = trigger.request.clone();
            request.reference_id = operation.request.reference_id().cloned();
            let put = self.wire.put(&request.into());
            put.map_err(|error| Error::fault(phase, error))?;
        }
        // Whoever asked may have gone away.
        let _ = trigger.reply.send(self.operations.len());
        Ok(())
    }

    /// When the next wait is over, if ever.
    fn next_limit(&self) -> Option<Instant> {
        let held = self.held.as_ref().and_then(|(_, limit)| limit.at());
        let operations = self.operations.next_limit();
        [held, operations].into_iter().flatten().min()
    }

    /// An answer has not come in time. The session goes on without it where the server has answered others meanwhile;
    /// a server that said nothing at all is taken for gone, and so is one whose answers come in turn.
    fn expire(&mut self) -> Result<(), Stop> {
        let now = Instant::now();
        if let Some((command, limit)) = self.held.take() {
            if limit.at().is_some_and(|at| at <= now) {
                let phase = Phase::of(&command.request);
                let _ = command.reply.send(Err(limit.error(phase)));
            } else {
                self.held = Some((command, limit));
            }
        }
        let goes_on = self.offers(Options::CONCURRENT_OPERATIONS);
        while let Some(number) = self.operations.overdue(now)
            && let Some(operation) = self.operations.numbered(number)
        {
            let phase = operation.phase();
            let error = match operation.limit.take() {
                Some(limit) => limit.error(phase),
                None => continue,
            };
            if !goes_on || operation.heard == self.heard {
                return Err(error.into());
            }
            operation.answer(Err(error.clone()));
            if self.cancels_dropped && self.offers(Options::TRIGGER_RESOURCE_CONTROL) {
                self.cancel(number)?;
            }
            let is_last_room =
                self.operations.next_limit().is_none() && self.operations.len() >= self.room();
            if is_last_room {
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// Waits until nobody wants the answer to a request held back.
async fn gone(held: &mut Option<(Command, Limit)>) {
    match held {
        Some((command, _)) => command.reply.closed().await,
        None => pending().await,
    }
}

/// Waits until a moment, or for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
