//! The stream of a connection as used by hyper. It also tracks the phase of the exchange, by looking at the octets that are read
//! and written.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::ReadBuf;
use tokio::time::{Instant, Sleep, sleep};

use crate::budget::Charge;
use crate::connection::stream::Transport;
use crate::limits::Limits;
use crate::lock::lock;
use crate::metrics::SessionEnd;

/// The phase of a connection in the exchange of a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No octet of the next request has arrived.
    Idle,
    /// A request is arriving.
    Asking,
    /// The request is being answered.
    Answering,
    /// A fault delays or withholds the answer.
    Delayed,
    /// The answer is withheld because the client guesses passwords.
    Withheld,
    /// The answer is being written.
    Sending,
}

/// The state of the exchange of requests and answers on a connection.
pub(super) struct Exchange {
    pub(super) phase: Phase,
    /// The time at which the phase began.
    since: Instant,
    /// The time since which the client has not accepted any octets of the answer; `None` if it accepts them.
    blocked: Option<Instant>,
    /// The time at which the client closed its sending side; `None` until then.
    ended: Option<Instant>,
    /// The number of requests whose answers have been written.
    pub(super) answered: u64,
    /// The part of the head received so far, while the head is incomplete.
    head: Vec<u8>,
    /// Whether the head is complete.
    has_head: bool,
    /// The number of octets that have arrived after the head.
    beyond: usize,
    /// Whether octets of this request arrived together with the previous request, so that the beginning of its head is unknown.
    is_mixed: bool,
    /// The charge for the request, and later for its answer.
    pub(super) charge: Charge,
    /// The number of octets of the request received so far.
    asked: usize,
    /// The number of octets received since they were last counted.
    received: u64,
    sent: u64,
    /// The number of octets of the answer that have been written.
    written: usize,
    manner: WriteMode,
    /// Whether the answer has further parts.
    has_more: bool,
    /// The time since which the connection has been waiting for the next part of the answer; `None` if it is not waiting.
    awaited: Option<Instant>,
    /// Whether a fault has cut the answer.
    is_cut: bool,
    /// The status with which hyper refuses a malformed head; `None` if hyper has not refused the head. hyper's own answer does
    /// not have a message and is not sent.
    pub(super) refused: Option<StatusCode>,
    /// Whether the connection ends after this exchange, because the client or the answer says so.
    pub(super) is_last: bool,
}

/// The way to write an answer, as changed by faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WriteMode {
    /// The pause after each octet; `None` to write all octets together.
    pub(super) trickle: Option<Duration>,
    /// The number of octets after which the connection ends; `None` to write everything.
    pub(super) cut_after: Option<usize>,
    /// Whether the connection ends after the answer.
    pub(super) hang_up: bool,
    /// Whether the connection is reset when it ends.
    pub(super) reset: bool,
    /// The octets that are sent instead of the answer; `None` to send the answer.
    pub(super) instead: Option<Bytes>,
}

/// The number of octets of a request that are not charged; most requests are shorter.
const FREE: usize = 8192;

impl Exchange {
    /// Creates the exchange of a connection that was accepted at this time.
    pub(super) fn new(begun: Instant, charge: Charge) -> Self {
        Self {
            phase: Phase::Idle,
            since: begun,
            blocked: None,
            ended: None,
            answered: 0,
            head: Vec::new(),
            has_head: false,
            beyond: 0,
            is_mixed: false,
            charge,
            asked: 0,
            received: 0,
            sent: 0,
            written: 0,
            manner: WriteMode::default(),
            has_more: false,
            awaited: None,
            is_cut: false,
            refused: None,
            is_last: false,
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.since = Instant::now();
    }

    /// Adds received octets.
    fn received(&mut self, octets: &[u8]) -> io::Result<()> {
        self.received += octets.len() as u64;
        // Empty lines before a request are not yet a part of it (RFC 9112 §2.2).
        let is_empty = octets.iter().all(|octet| b"\r\n".contains(octet));
        if self.phase == Phase::Idle && is_empty {
            return Ok(());
        }
        if self.phase == Phase::Idle {
            self.asked = 0;
            // The time limit for the first request runs from the moment the connection was opened.
            let since = self.since;
            self.enter(Phase::Asking);
            if self.answered == 0 {
                self.since = since;
            }
        }
        if self.phase == Phase::Asking && self.has_head {
            self.beyond = self.beyond.saturating_add(octets.len());
        }
        self.is_mixed |= !matches!(self.phase, Phase::Idle | Phase::Asking);
        if self.phase == Phase::Asking {
            self.asked = self.asked.saturating_add(octets.len());
            if !self.has_head {
                self.head.extend_from_slice(octets);
            }
            if self.asked > FREE {
                let charged = self.charge.cover(self.asked);
                charged
                    .map_err(|why| io::Error::new(io::ErrorKind::QuotaExceeded, why.to_string()))?;
            }
        }
        Ok(())
    }

    /// Marks the head of a request as complete, and returns its octets as far as they are known. The result is empty if the head
    /// was received together with the previous request.
    pub(super) fn take_head(&mut self) -> Vec<u8> {
        if self.phase == Phase::Idle {
            self.enter(Phase::Asking);
        }
        self.has_head = true;
        let head = std::mem::take(&mut self.head);
        if self.is_mixed {
            return Vec::new();
        }
        self.beyond = head.len() - head_length(&head);
        head
    }

    /// Begins the phase in which a complete request, with a body of this length, is answered. `is_last` tells whether the
    /// connection ends after the answer.
    pub(super) fn answering(&mut self, length: u64, is_last: bool) {
        self.is_mixed |= u64::try_from(self.beyond).is_ok_and(|beyond| beyond > length);
        self.is_last = is_last;
        self.has_head = false;
        self.enter(Phase::Answering);
    }

    /// Begins the phase in which a fault delays the answer.
    pub(super) fn delayed(&mut self) {
        self.enter(Phase::Delayed);
    }

    /// Begins the phase in which the answer is withheld.
    pub(super) fn withheld(&mut self) {
        self.enter(Phase::Withheld);
    }

    /// Begins the phase of writing the answer in this manner; `has_more` tells whether the answer has further parts.
    pub(super) fn sending(&mut self, manner: WriteMode, has_more: bool) {
        self.manner = manner;
        self.has_more = has_more;
        self.awaited = None;
        self.written = 0;
        self.enter(Phase::Sending);
    }

    /// Records that the next part of the answer has not arrived yet.
    pub(super) fn awaits_part(&mut self) {
        self.awaited.get_or_insert_with(Instant::now);
    }

    /// Records that the next part of the answer has arrived.
    pub(super) fn has_part(&mut self) {
        self.awaited = None;
    }

    /// Records that the answer has no further parts.
    pub(super) fn has_last_part(&mut self) {
        self.awaited = None;
        self.has_more = false;
    }

    /// Returns the time at which the request being answered was complete.
    pub(super) fn answered_since(&self) -> Instant {
        self.since
    }

    /// Adds to the number of octets written.
    fn wrote(&mut self, octets: usize) {
        self.blocked = None;
        self.sent += octets as u64;
        self.written = self.written.saturating_add(octets);
    }

    fn flushed(&mut self) {
        self.blocked = None;
        if self.phase == Phase::Sending && self.written > 0 && !self.has_more {
            self.answered += 1;
            // Reducing a charge is never refused, so there is no error.
            let _ = self.charge.set(0);
            self.is_cut |= self.manner.hang_up;
            self.enter(Phase::Idle);
        }
    }

    /// Returns whether `octets` are hyper's own answer to a malformed head, and saves its status.
    fn refuses(&mut self, octets: &[u8]) -> bool {
        let is_own = !self.has_head && matches!(self.phase, Phase::Idle | Phase::Asking);
        if is_own && self.refused.is_none() {
            let code = octets
                .get(b"HTTP/1.1 ".len()..)
                .and_then(|rest| rest.get(..3));
            self.refused = code.and_then(|code| StatusCode::from_bytes(code).ok());
        }
        is_own
    }

    /// Returns the number of octets of the current answer that may still be written; `None` for no limit.
    fn left_to_write(&self) -> Option<usize> {
        let cut_after = self.manner.cut_after?;
        (self.phase == Phase::Sending).then(|| cut_after.saturating_sub(self.written))
    }

    /// Returns the numbers of octets received and sent since the last call, and resets them.
    pub(super) fn take_counts(&mut self) -> (u64, u64) {
        (
            std::mem::take(&mut self.received),
            std::mem::take(&mut self.sent),
        )
    }

    /// Returns whether the client has closed its sending side.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Returns `None` if no fault has cut the answer; otherwise, whether the connection is to be reset.
    pub(super) fn cut(&self) -> Option<bool> {
        self.is_cut.then_some(self.manner.reset)
    }

    /// Returns the reason for the end of a connection that did not fail.
    pub(super) fn end(&self) -> SessionEnd {
        if self.is_last {
            SessionEnd::Closed
        } else {
            SessionEnd::Left
        }
    }

    /// Returns the time at which the current phase exceeds its limit; `None` if it has no limit.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let after = |time: Instant, most: Duration| time.checked_add(most);
        // The client may still read after it has closed its sending side, but the server does not wait long for that.
        let ended = self.ended.and_then(|ended| after(ended, limits.drain_time));
        match self.phase {
            Phase::Idle if self.answered == 0 => after(self.since, limits.init_time),
            Phase::Idle => after(self.since, limits.idle_time?),
            Phase::Asking => after(self.since, limits.init_time),
            Phase::Answering => {
                // The work on the answer has its own limits, except for updates, which are never stopped.
                let told = self.blocked;
                let stops = told.and_then(|told| after(told, Duration::from_secs(1)));
                stops.into_iter().chain(ended).min()
            }
            Phase::Delayed => {
                let idle = limits.idle_time.and_then(|most| after(self.since, most));
                idle.into_iter().chain(ended).min()
            }
            Phase::Withheld => ended,
            Phase::Sending => {
                let blocked = self.blocked.and_then(|at| after(at, limits.write_time));
                let awaited = self.awaited.map(|at| {
                    let late = limits.operation_time.and_then(|most| after(at, most));
                    late.into_iter().chain(ended).min()
                });
                blocked.into_iter().chain(awaited.flatten()).min()
            }
        }
    }
}

/// Returns the length of the first head, including empty lines before it and the empty line after it (RFC 9112 §2.1).
fn head_length(octets: &[u8]) -> usize {
    let mut length = 0;
    let mut has_begun = false;
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        length += line.len();
        let is_empty = line.iter().all(|octet| b"\r\n".contains(octet));
        if is_empty && has_begun {
            break;
        }
        has_begun |= !is_empty;
    }
    length
}

/// The stream, preceded by octets that have already been read from it.
pub(super) struct Wire<'a, S> {
    stream: &'a mut S,
    first: Bytes,
    exchange: &'a Mutex<Exchange>,
    /// The pause before the next octet, if the octets are written one by one.
    pause: Option<Pin<Box<Sleep>>>,
}

impl<'a, S> Wire<'a, S> {
    pub(super) fn new(stream: &'a mut S, first: Bytes, exchange: &'a Mutex<Exchange>) -> Self {
        Self {
            stream,
            first,
            exchange,
            pause: None,
        }
    }
}

/// The number of octets per read.
const READ: usize = 8192;

impl<S: Transport> Read for Wire<'_, S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut to: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let most = to.remaining().min(READ);
        if !this.first.is_empty() {
            let octets = this.first.split_to(most.min(this.first.len()));
            to.put_slice(&octets);
            return Poll::Ready(lock(this.exchange).received(&octets));
        }
        let mut space = [MaybeUninit::uninit(); READ];
        let mut read = ReadBuf::uninit(space.get_mut(..most).unwrap_or_default());
        ready!(Pin::new(&mut *this.stream).poll_read(context, &mut read))?;
        let mut exchange = lock(this.exchange);
        if read.filled().is_empty() {
            exchange.ended.get_or_insert_with(Instant::now);
            // At the end of the stream, hyper would drop the answer, but the client may have shut down only its own side.
            let is_whole = match exchange.phase {
                Phase::Idle => false,
                Phase::Asking => exchange.has_head,
                Phase::Answering | Phase::Delayed | Phase::Withheld | Phase::Sending => true,
            };
            return if is_whole {
                Poll::Pending
            } else {
                Poll::Ready(Ok(()))
            };
        }
        to.put_slice(read.filled());
        Poll::Ready(exchange.received(read.filled()))
    }
}

impl<S: Transport> Wire<'_, S> {
    /// Writes as many octets as the current write mode allows.
    fn poll_write_some(
        &mut self,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (left, trickle, instead) = {
            let mut exchange = lock(self.exchange);
            let instead = match exchange.phase {
                Phase::Sending => exchange.manner.instead.as_mut(),
                _ => None,
            };
            let instead = instead.map(std::mem::take);
            (exchange.left_to_write(), exchange.manner.trickle, instead)
        };
        if let Some(mut instead) = instead {
            // These octets are sent instead of hyper's answer; hyper is then told that its own octets were written.
            while !instead.is_empty() {
                let written = Pin::new(&mut *self.stream).poll_write(context, &instead);
                match written {
                    Poll::Ready(Ok(count)) => drop(instead.split_to(count.min(instead.len()))),
                    other => {
                        lock(self.exchange).manner.instead = Some(instead);
                        return other;
                    }
                }
            }
            return Poll::Ready(Ok(octets.len()));
        }
        let octets = match left {
            Some(0) => {
                ready!(Pin::new(&mut *self.stream).poll_flush(context))?;
                lock(self.exchange).is_cut = true;
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            Some(left) => octets.get(..left.min(octets.len())).unwrap_or_default(),
            None => octets,
        };
        let Some(pause) = trickle else {
            return Pin::new(&mut *self.stream).poll_write(context, octets);
        };
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let first = octets.get(..1).unwrap_or_default();
        let written = ready!(Pin::new(&mut *self.stream).poll_write(context, first))?;
        if !pause.is_zero() {
            self.pause = Some(Box::pin(sleep(pause)));
        }
        Poll::Ready(Ok(written))
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let mut exchange = lock(self.exchange);
        match &written {
            Poll::Ready(Ok(count)) => exchange.wrote(*count),
            Poll::Ready(Err(_)) => {}
            // A pause that is part of a trickle fault is not a delay by the client.
            Poll::Pending if self.pause.is_some() => {}
            Poll::Pending => {
                exchange.blocked.get_or_insert_with(Instant::now);
            }
        }
        written
    }
}

impl<S: Transport> Write for Wire<'_, S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if lock(this.exchange).refuses(octets) {
            return Poll::Ready(Ok(octets.len()));
        }
        let written = this.poll_write_some(context, octets);
        this.note(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let first = octets.iter().find(|octets| !octets.is_empty());
        if lock(this.exchange).refuses(first.map_or(&[], |octets| octets)) {
            let count = octets.iter().map(|octets| octets.len()).sum();
            return Poll::Ready(Ok(count));
        }
        let is_plain = lock(this.exchange).manner == WriteMode::default();
        let written = if is_plain {
            Pin::new(&mut *this.stream).poll_write_vectored(context, octets)
        } else {
            this.poll_write_some(context, first.map_or(&[], |octets| octets))
        };
        this.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut *this.stream).poll_flush(context);
        let mut exchange = lock(this.exchange);
        match &flushed {
            Poll::Ready(Ok(())) => exchange.flushed(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                exchange.blocked.get_or_insert_with(Instant::now);
            }
        }
        flushed
    }

    /// Does nothing, because the stream is closed by the connection and not by hyper.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
