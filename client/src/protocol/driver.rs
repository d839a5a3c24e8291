//! The state of a session's task: the stream as APDUs, the requests from the handles, and the operations in progress.
//! Each answer is matched to its request, checked, and returned to the caller (Z39.50-2003 §3.1.2, §3.4, §3.5).

mod segments;
mod server_requests;
pub(crate) mod task;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Sink, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::codec::Framed;
use tracing::{Level, debug, trace};
use z3950_asn1::apdu::{
    Apdu, PresentRequest, PresentResponse, ReferenceId, ScanRequest, ScanResponse, SearchResponse,
    SortKeySpec, TriggerResourceControlRequest,
};
use z3950_asn1::codec;
use z3950_asn1::codec::frame::{ApduCodec, StreamError};
use z3950_asn1::concurrency::ResultSetUse;
use z3950_asn1::decoded;
use z3950_asn1::error::{DecodeError, EncodeError};

use self::segments::Segments;
use crate::error::{Cause, Error, Phase, ProtocolFault};
use crate::protocol::service::{count, init};
use crate::transport::timeouts::{Limit, Timeouts};

/// How a session ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum End {
    /// The client closed the session.
    Closed,
    /// The session failed, or the server closed it.
    Failed(Arc<Error>),
}

impl End {
    /// Returns the end of a session whose task was dropped because its runtime ended.
    pub(crate) fn with_runtime() -> Self {
        Self::Failed(Arc::new(Error::Unavailable {
            phase: Phase::Idle,
            cause: Cause::RuntimeEnded,
        }))
    }

    /// Returns the error for a request made after the session has ended.
    pub(crate) fn error(&self) -> Error {
        match self {
            Self::Closed => Error::Ended { cause: None },
            Self::Failed(error) => Error::Ended {
                cause: Some(error.clone()),
            },
        }
    }
}

/// Whether a session is open, has ended, or is closed completely.
#[derive(Debug, Clone)]
pub(crate) enum State {
    Open,
    /// The session has ended: no further requests are accepted, but Close may still be in transit.
    Ended(End),
    /// The session has ended, and the stream is closed.
    Gone(End),
}

impl State {
    pub(crate) fn end(&self) -> Option<&End> {
        match self {
            Self::Open => None,
            Self::Ended(end) | Self::Gone(end) => Some(end),
        }
    }
}

/// The sender of a session's state, owned by its task. If the task is dropped, as happens when its runtime ends,
/// dropping the sender marks the session as ended.
pub(crate) struct StateSender(watch::Sender<State>);

impl StateSender {
    /// Creates the state of an open session, and a receiver for its changes.
    pub(crate) fn new() -> (Self, watch::Receiver<State>) {
        let (sender, receiver) = watch::channel(State::Open);
        (Self(sender), receiver)
    }

    pub(crate) fn set(&self, state: State) {
        self.0.send_replace(state);
    }
}

impl Drop for StateSender {
    fn drop(&mut self) {
        let end = self.0.borrow().end().cloned();
        self.set(State::Gone(end.unwrap_or_else(End::with_runtime)));
    }
}

/// The sender of the answer to a request. If it is dropped without an answer although the request was sent, the caller
/// receives an error that warns that the server may have performed the request.
pub(crate) struct Reply {
    sender: Option<oneshot::Sender<Result<Apdu, Error>>>,
    /// The phase of the request, or `None` if it has not been sent.
    sent: Option<Phase>,
}

impl Reply {
    /// Creates a sender, and the receiver for the caller.
    pub(crate) fn new() -> (Self, oneshot::Receiver<Result<Apdu, Error>>) {
        let (sender, receiver) = oneshot::channel();
        let reply = Self {
            sender: Some(sender),
            sent: None,
        };
        (reply, receiver)
    }

    pub(crate) fn note_sent(&mut self, phase: Phase) {
        self.sent = Some(phase);
    }

    /// Sends the result to the caller, unless a result was sent before.
    pub(crate) fn send(&mut self, result: Result<Apdu, Error>) {
        if let Some(sender) = self.sender.take() {
            // An error means that the caller no longer waits for the answer.
            let _ = sender.send(result);
        }
    }

    /// Returns whether the caller has stopped waiting for the answer.
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Completes when the caller has stopped waiting for the answer.
    pub(crate) async fn closed(&mut self) {
        poll_fn(|context| self.poll_closed(context)).await;
    }

    fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.sender {
            Some(sender) => sender.poll_closed(context),
            None => Poll::Ready(()),
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(phase) = self.sent {
            let cause = Cause::RuntimeEnded;
            self.send(Err(Error::Unavailable { phase, cause }));
        }
    }
}

/// A request that a handle passes to the task.
pub(crate) struct Command {
    pub(crate) request: Apdu,
    /// The keys by which an SRU server sorts the result of a search. The list is unused in Z39.50, which has a separate
    /// service for sorting.
    #[cfg_attr(not(feature = "sru"), expect(dead_code, reason = "for SRU alone"))]
    pub(crate) sort: Vec<SortKeySpec>,
    pub(crate) timeouts: Timeouts,
    pub(crate) reply: Reply,
}

/// A command to send TriggerResourceControl for every operation in progress. The reply is the number of these
/// operations.
pub(crate) struct Trigger {
    pub(crate) request: TriggerResourceControlRequest,
    pub(crate) reply: oneshot::Sender<usize>,
}

/// A request that has been sent but not answered yet.
struct Operation {
    /// A number that identifies the operation in the client, independent of its referenceId.
    number: u64,
    /// The request, with its referenceId.
    request: Apdu,
    timeouts: Timeouts,
    /// The time at which the wait for an answer ends, if it is limited.
    limit: Option<Limit>,
    /// The number of requests that the server has sent during this operation.
    interruptions: usize,
    /// The number of server requests that wait for the client's decision. While it is not 0, the answer timeout is
    /// suspended.
    questions: usize,
    /// The segments of the answer received so far.
    segments: Segments,
    /// The time at which the last caller stopped waiting for the answer, or `None` while a caller is waiting.
    abandoned: Option<Instant>,
    /// The number of APDUs that had been received before the request was sent.
    heard: u64,
    reply: Reply,
}

impl Operation {
    fn phase(&self) -> Phase {
        Phase::of(&self.request)
    }

    /// Restarts the answer timeout. While the server waits for a decision, only the deadline applies.
    fn wait(&mut self) {
        self.limit = Some(match self.questions {
            0 => self.timeouts.to_answer(),
            _ => self.timeouts.to_deadline(),
        });
    }
}

/// Checks that `answer` is an answer to `request` and is consistent.
///
/// # Errors
/// A [`ProtocolFault`] or the rejection of Init, each of which ends the session. A diagnostic is not an error here.
pub(crate) fn examine(request: &Apdu, answer: &Apdu) -> Result<(), Error> {
    let checked = match (request, answer) {
        (Apdu::InitializeRequest(_), Apdu::InitializeResponse(response)) => {
            return init::examine(response);
        }
        (Apdu::SearchRequest(_), Apdu::SearchResponse(response)) => examine_search(response),
        (Apdu::PresentRequest(request), Apdu::PresentResponse(response)) => {
            examine_present(request, response)
        }
        (Apdu::ScanRequest(request), Apdu::ScanResponse(response)) => {
            examine_scan(request, response)
        }
        (Apdu::DeleteResultSetRequest(_), Apdu::DeleteResultSetResponse(_))
        | (Apdu::ResourceReportRequest(_), Apdu::ResourceReportResponse(_))
        | (Apdu::SortRequest(_), Apdu::SortResponse(_))
        | (Apdu::ExtendedServicesRequest(_), Apdu::ExtendedServicesResponse(_))
        | (Apdu::DuplicateDetectionRequest(_), Apdu::DuplicateDetectionResponse(_)) => Ok(()),
        _ => Err(ProtocolFault::Unexpected(answer.name())),
    };
    checked.map_err(|fault| Error::fault(Phase::of(request), fault))
}

/// Checks that a search response is consistent. A `resultCount` that is negative, or less than the number of records,
/// is not an error here.
fn examine_search(response: &SearchResponse) -> Result<(), ProtocolFault> {
    count(
        response.records.as_ref(),
        response.number_of_records_returned,
    )
    .map(|_| ())
}

/// Checks that a Present response is consistent.
fn examine_present(
    request: &PresentRequest,
    response: &PresentResponse,
) -> Result<(), ProtocolFault> {
    let came = count(
        response.records.as_ref(),
        response.number_of_records_returned,
    )?;
    let further = request.additional_ranges.iter().flatten();
    let asked = further
        .map(|range| range.number_of_records)
        .fold(request.number_of_records_requested, i64::saturating_add);
    if i64::try_from(came).is_ok_and(|came| came > asked.max(0)) {
        let words = format!("more records than requested: {came} for {asked}");
        return Err(ProtocolFault::Count(words.into()));
    }
    Ok(())
}

/// Checks that a scan response is consistent. Non-surrogate diagnostics do not count as entries, even if
/// `numberOfEntriesReturned` includes them.
fn examine_scan(request: &ScanRequest, response: &ScanResponse) -> Result<(), ProtocolFault> {
    let announced = response.number_of_entries_returned;
    if announced < 0 {
        let words = format!("numberOfEntriesReturned is {announced}");
        return Err(ProtocolFault::Count(words.into()));
    }
    let entries = response.entries.as_ref();
    let came = entries
        .and_then(|entries| entries.entries.as_ref())
        .map_or(0, Vec::len);
    let is_refusal = entries.is_some_and(|entries| entries.nonsurrogate_diagnostics.is_some());
    if usize::try_from(announced) != Ok(came) && !(is_refusal && came == 0) {
        let words = format!("numberOfEntriesReturned is {announced}, but {came} entries came");
        return Err(ProtocolFault::Count(words.into()));
    }
    let asked = request.number_of_terms_requested;
    if i64::try_from(came).is_ok_and(|came| came > asked.max(0)) {
        let words = format!("more entries than requested: {came} for {asked}");
        return Err(ProtocolFault::Count(words.into()));
    }
    Ok(())
}

/// The operations in progress, in the order in which they began.
#[derive(Default)]
struct Operations {
    list: Vec<Operation>,
    /// The number of operations begun so far, which is the number of the most recent one.
    count: u64,
    /// The referenceId of the most recent request.
    reference: u32,
}

impl Operations {
    /// Sets the referenceId of a request if other operations are in progress and the request has no referenceId, or one
    /// that is in use.
    fn label(&mut self, request: &mut Apdu) {
        let own = request.reference_id();
        if !self.list.is_empty() && own.is_none_or(|own| self.bears(own)) {
            let reference = self.next_reference();
            request.set_reference_id(Some(reference));
        }
    }

    /// Begins an operation. `heard` is the number of APDUs received so far.
    fn begin(&mut self, mut command: Command, heard: u64) {
        self.count += 1;
        command.reply.note_sent(Phase::of(&command.request));
        self.list.push(Operation {
            number: self.count,
            limit: Some(command.timeouts.to_answer()),
            request: command.request,
            timeouts: command.timeouts,
            interruptions: 0,
            questions: 0,
            segments: Segments::default(),
            abandoned: None,
            heard,
            reply: command.reply,
        });
    }

    fn next_reference(&mut self) -> ReferenceId {
        loop {
            self.reference = self.reference.wrapping_add(1);
            let reference = ReferenceId(self.reference.to_be_bytes().as_slice().into());
            if !self.bears(&reference) {
                return reference;
            }
        }
    }

    fn bears(&self, reference: &ReferenceId) -> bool {
        let mut list = self.list.iter();
        list.any(|operation| operation.request.reference_id() == Some(reference))
    }

    /// Returns the operation to which an APDU with this referenceId belongs, or `None` if no operation is in progress.
    ///
    /// An APDU without a referenceId belongs to the operation in progress if there is only one, or to the operation
    /// whose request has no referenceId.
    ///
    /// # Errors
    /// A [`ProtocolFault`] if no request has the referenceId, or if it is missing and several operations are possible.
    fn find(
        &mut self,
        reference: Option<&ReferenceId>,
    ) -> Result<Option<&mut Operation>, ProtocolFault> {
        let is_only = self.list.len() == 1;
        let mut list = self.list.iter_mut();
        let found = match reference {
            Some(_) => list.find(|operation| operation.request.reference_id() == reference),
            None if list.len() == 0 => return Ok(None),
            None => list.find(|operation| is_only || operation.request.reference_id().is_none()),
        };
        found.map(Some).ok_or(match reference {
            Some(_) => ProtocolFault::ReferenceId,
            None => ProtocolFault::NoReferenceId,
        })
    }

    fn numbered(&mut self, number: u64) -> Option<&mut Operation> {
        let mut list = self.list.iter_mut();
        list.find(|operation| operation.number == number)
    }

    fn finish(&mut self, number: u64) -> Option<Operation> {
        let mut list = self.list.iter();
        let index = list.position(|operation| operation.number == number)?;
        Some(self.list.remove(index))
    }

    /// Returns the phase of the oldest operation, or [`Phase::Idle`].
    fn phase(&self) -> Phase {
        self.list.first().map_or(Phase::Idle, Operation::phase)
    }

    /// Returns the earliest time at which an operation's wait for its answer ends.
    fn next_limit(&self) -> Option<Instant> {
        self.limits().map(|(at, _)| at).min()
    }

    /// Returns the number of an operation whose wait for an answer has ended, if there is one.
    fn overdue(&self, now: Instant) -> Option<u64> {
        let overdue = self.limits().find(|(at, _)| *at <= now);
        overdue.map(|(_, number)| number)
    }

    fn limits(&self) -> impl Iterator<Item = (Instant, u64)> {
        self.list.iter().filter_map(|operation| {
            let at = operation.limit.as_ref()?.at()?;
            Some((at, operation.number))
        })
    }

    /// Returns the time since which no caller has been waiting for any operation, or `None` if no operation is in
    /// progress or a caller is waiting.
    fn all_abandoned(&self) -> Option<Instant> {
        let times: Option<Vec<Instant>> = self
            .list
            .iter()
            .map(|operation| operation.abandoned)
            .collect();
        times?.into_iter().max()
    }

    /// Waits until the caller of any operation has dropped its future, and returns the operation's number. Operations
    /// already abandoned are ignored.
    fn poll_dropped(&mut self, context: &mut Context<'_>) -> Poll<u64> {
        for operation in &mut self.list {
            if operation.abandoned.is_none() && operation.reply.poll_closed(context).is_ready() {
                return Poll::Ready(operation.number);
            }
        }
        Poll::Pending
    }

    /// Returns whether a request must wait, because it changes a result set that an operation uses, or uses a result
    /// set that an operation changes.
    fn is_in_conflict(&self, request: &Apdu) -> bool {
        let wanted = ResultSetUse::of(request);
        self.list
            .iter()
            .any(|operation| wanted.conflicts_with(&ResultSetUse::of(&operation.request)))
    }
}

/// A stream of APDUs in both directions. Buffered octets are written while the next APDU is awaited, so that a peer
/// that does not read before it has finished writing cannot block both sides.
struct Wire<S> {
    framed: Framed<S, ApduCodec>,
    /// Whether the write buffer may contain octets that have not been written.
    is_unsent: bool,
    /// Whether the server has stopped reading. The octets that it has sent are still read.
    has_stopped_reading: bool,
    /// The times at which the first and the most recent octets of the current, incomplete APDU were read.
    arriving: Option<(Instant, Instant)>,
    /// The number of octets of the current, incomplete APDU that have been read.
    buffered: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// Wraps a stream. Received APDUs may have at most `max_apdu_size` octets.
    fn new(stream: S, max_apdu_size: usize) -> Self {
        Self {
            framed: Framed::new(stream, ApduCodec::new(max_apdu_size)),
            is_unsent: false,
            has_stopped_reading: false,
            arriving: None,
            buffered: 0,
        }
    }

    /// Appends an APDU to the write buffer, which [`next`](Self::next) and [`flush`](Self::flush) write to the stream.
    fn put(&mut self, apdu: &Apdu) -> Result<(), EncodeError> {
        let octets = codec::encode(apdu)?;
        debug!(apdu = apdu.name(), octets = octets.len(), "sent");
        trace_body(&octets);
        if !self.has_stopped_reading {
            self.framed.write_buffer_mut().extend_from_slice(&octets);
            self.is_unsent = true;
        }
        Ok(())
    }

    /// Returns the octets of the next APDU, or `None` at the end of the stream. This function is cancel safe.
    async fn next(&mut self) -> Option<Result<Bytes, StreamError>> {
        poll_fn(|context| {
            match self.poll_sent(context) {
                Poll::Ready(Err(error)) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
            let polled = self.framed.poll_next_unpin(context);
            self.note_arrival(polled.is_ready());
            polled
        })
        .await
    }

    /// Records the time at which octets were read. If the APDU is complete, further octets belong to the next one.
    fn note_arrival(&mut self, is_complete: bool) {
        let buffered = self.framed.read_buffer().len();
        if is_complete {
            self.arriving = None;
        }
        if buffered > 0 && (is_complete || buffered != self.buffered) {
            let now = Instant::now();
            let begun = self.arriving.map_or(now, |(begun, _)| begun);
            self.arriving = Some((begun, now));
        }
        self.buffered = buffered;
    }

    /// Writes the write buffer to the stream.
    async fn flush(&mut self) -> Result<(), StreamError> {
        poll_fn(|context| self.poll_sent(context)).await
    }

    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        if !self.is_unsent {
            return Poll::Ready(Ok(()));
        }
        let sent = Sink::<Bytes>::poll_flush(Pin::new(&mut self.framed), context);
        let sent = ready!(sent);
        self.is_unsent = false;
        match sent {
            // The server may have sent a reason before it closed the connection, so stop writing but continue to read.
            Err(StreamError::Io(error)) if is_gone(&error) => {
                self.has_stopped_reading = true;
                self.framed.write_buffer_mut().clear();
                Poll::Ready(Ok(()))
            }
            sent => Poll::Ready(sent),
        }
    }

    /// Reads until the server's Close and the end of the stream.
    async fn await_close(&mut self) {
        while let Some(Ok(octets)) = self.next().await {
            if let Ok(Apdu::Close(_)) = received(&octets) {
                return;
            }
        }
        debug!("the server closed the connection without Close");
        // If unread octets are left, closing the stream resets the connection, and the server may lose the client's
        // Close.
        let mut dropped = [0; 4096];
        while matches!(self.framed.get_mut().read(&mut dropped).await, Ok(1..)) {}
    }

    /// Shuts down the write half of the stream.
    async fn shutdown(&mut self) {
        // An error means that the server has closed the connection, so it is ignored.
        let _ = self.framed.get_mut().shutdown().await;
    }
}

/// Decodes and logs a received APDU.
fn received(octets: &Bytes) -> Result<Apdu, DecodeError> {
    let apdu = codec::decode(octets);
    match &apdu {
        Ok(apdu) => debug!(apdu = apdu.name(), octets = octets.len(), "received"),
        Err(fault) => debug!(octets = octets.len(), %fault, "received an undecodable APDU"),
    }
    trace_body(octets);
    apdu
}

/// Returns the error for a failed stream.
fn stream_error(error: StreamError, phase: Phase) -> Error {
    let cause = match error {
        StreamError::Frame(fault) => {
            debug!(%fault, "received octets that are not an APDU");
            return Error::fault(phase, fault);
        }
        StreamError::CutOff(octets) => Cause::CutOff(octets),
        StreamError::Io(error) if is_gone(&error) => Cause::Disconnected,
        StreamError::Io(error) => Cause::Other(Arc::new(error)),
        error => Cause::Other(Arc::new(std::io::Error::other(error))),
    };
    Error::Unavailable { phase, cause }
}

fn is_gone(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::UnexpectedEof
    )
}

/// Logs an APDU at trace level, without secrets.
fn trace_body(octets: &[u8]) {
    if tracing::enabled!(Level::TRACE) {
        let listing = codec::dump::dump(octets);
        match codec::decode(octets) {
            Ok(apdu) => trace!("\n{}{listing}", decoded::to_text(&apdu)),
            Err(_) => trace!("\n{listing}"),
        }
    }
}
