//! Serves a connection: reads requests and writes answers (Z39.50-2003 §4.2). Nothing is read while an answer is written, so that
//! a client that does not read delays only itself. When the maximum number of operations is in progress, the server reads ahead,
//! but only handles requests that stop an operation.

mod operations;
mod output;
pub(crate) mod slots;
pub(crate) mod stream;
pub(crate) mod tally;
pub(crate) mod trail;

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::{debug, info, trace};
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_asn1::codec;
use z3950_asn1::codec::dump::dump;
use z3950_asn1::codec::frame::StreamError;
#[cfg(feature = "sru")]
use z3950_asn1::error::{FrameError, FrameErrorKind};

use self::operations::{Ended, Operations, ReceivedRequest};
use self::slots::Slot;
use self::stream::{Arrival, Inlet, Transport};
use self::tally::{Requester, Tally};
use self::trail::Trail;
use crate::budget::Charge;
use crate::diagnostic::{Condition, diagnostic};
use crate::fault::{Faults, Item, Output, Script};
use crate::limits::Limits;
use crate::metrics::{Metrics, SessionEnd};
use crate::observer::{Observer, Peer, Unobserved};
use crate::recorded::RecordedServer;
use crate::session::Session;
use crate::target::Target;
use crate::transcript::{Player, Replay, ReplayReply, redacted_request};
#[cfg(feature = "sru")]
use crate::web::Web;

/// The state shared by all connections of a server.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) target: Arc<Target>,
    pub(crate) faults: Arc<Faults>,
    /// Recorded conversations that are replayed instead of the target's answers.
    pub(crate) replayed: Option<Arc<Replay>>,
    /// An upstream server that answers instead of the target.
    pub(crate) recorded: Option<Arc<dyn RecordedServer>>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) metrics: Arc<Metrics>,
    /// The handler of HTTP requests other than SRU; `None` to refuse these requests.
    #[cfg(feature = "sru")]
    pub(crate) web: Option<Arc<dyn Web>>,
    /// The number of the newest session.
    pub(crate) numbers: Arc<AtomicU64>,
}

impl Context {
    /// Creates the context of a server for this target, with default values for everything else.
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target: Arc::new(target),
            faults: Arc::default(),
            replayed: None,
            recorded: None,
            observer: Arc::new(Unobserved),
            metrics: Arc::default(),
            #[cfg(feature = "sru")]
            web: None,
            numbers: Arc::default(),
        }
    }

    /// Returns the number for a new session.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// The client of a connection, and the properties of the connection.
pub(crate) struct Client {
    /// The number of the session, from 1.
    pub(crate) number: u64,
    pub(crate) peer: Peer,
    /// The time at which the connection was accepted.
    pub(crate) begun: Instant,
    /// The slot of the connection; `None` for a connection that is never closed to make room for others.
    pub(crate) slot: Option<Slot>,
    /// Whether the client may speak HTTP.
    #[cfg(feature = "sru")]
    pub(crate) speaks_http: bool,
}

/// Serves a connection until it ends, or until `stopping` turns true and the answer in progress is sent. If the client speaks
/// HTTP, returns the octets received so far.
pub(crate) async fn serve<S: Transport>(
    stream: &mut S,
    client: &Client,
    context: Arc<Context>,
    stopping: watch::Receiver<bool>,
    tally: &mut Tally,
) -> Option<Bytes> {
    let mut session = Session::new(Arc::clone(&context.target));
    if let Some(address) = client.peer.ip() {
        session = session.with_peer(address);
    }
    let player = context.replayed.as_ref();
    let has_faults = !context.faults.is_empty();
    let mut connection = Connection {
        stream,
        inlet: Inlet::new(session.max_apdu_size(), session.no_charge()),
        session,
        script: has_faults.then(|| Script::new(Arc::clone(&context.faults), client.number)),
        player: player.map(|replay| Player::new(replay, client.number)),
        operations: Operations::default(),
        drain_deadline: None,
        stopping,
        client,
        tally,
        context,
    };
    match connection.run().await {
        #[cfg(feature = "sru")]
        Ok(End::Http) => return Some(connection.inlet.take_rest()),
        Ok(End::Closed) => {
            let is_all_read = connection.inlet.ended && !S::ANNOUNCES_END;
            let limit = connection.limits().linger_time;
            let rest = connection.inlet.take_rest();
            let mut trail = Trail::new(&*connection.context.observer, client.number);
            trail.push(&rest);
            let has_left = is_all_read || {
                let discard = |octets: &[u8]| trail.push(octets);
                stream::linger(connection.stream, limit, discard).await
            };
            if has_left {
                connection.tally.client_left();
            }
        }
        Ok(End::Reset) => connection.stream.reset(),
        Ok(End::Dropped) => {}
        Err(error) => {
            debug!(%error, "connection lost");
            connection.tally.lost(&error);
        }
    }
    None
}

struct Connection<'a, S> {
    stream: &'a mut S,
    inlet: Inlet,
    session: Session,
    /// The scripted faults of the session; `None` if the server has none.
    script: Option<Script>,
    player: Option<Player>,
    operations: Operations,
    /// The deadline of the operations in progress; set when the client closes its sending side.
    drain_deadline: Option<Instant>,
    stopping: watch::Receiver<bool>,
    client: &'a Client,
    tally: &'a mut Tally,
    context: Arc<Context>,
}

/// The reason for the end of a connection.
enum End {
    /// The connection is closed after all answers have been written.
    Closed,
    Reset,
    /// The connection is dropped immediately, because nothing has been written to it.
    Dropped,
    /// The client speaks HTTP, and the connection is continued as an HTTP connection.
    #[cfg(feature = "sru")]
    Http,
}

/// An event that a connection reacts to.
enum Event {
    /// The answer to a request is ready.
    Ended(Ended),
    Arrived(Arrival),
    /// The server is full, and this connection was chosen to be closed.
    GiveWay,
    /// A time limit was reached: an operation takes too long, or the client has been silent for too long.
    TimeOver,
    /// The server is stopping.
    Stop,
}

impl<S: Transport> Connection<'_, S> {
    async fn run(&mut self) -> io::Result<End> {
        let mut stopping = self.stopping.clone();
        // An error means that the server was dropped, which also stops the connection.
        let mut stopped = pin!(async move { drop(stopping.wait_for(|stopping| *stopping).await) });
        let mut alarm = pin!(sleep_until(far_away()));
        loop {
            let output = match self.event(stopped.as_mut(), alarm.as_mut()).await {
                Event::Ended(ended) => self.answer(ended),
                Event::Arrived(Arrival::Apdu(octets)) => self.receive(&octets).await?,
                Event::Arrived(Arrival::End) if self.operations.list.is_empty() => {
                    self.tally.ends(SessionEnd::Left, None);
                    return Ok(End::Closed);
                }
                Event::Arrived(Arrival::End) => {
                    self.tally.ends(SessionEnd::Left, None);
                    // The client may still read after it has closed its sending side, but the server does not wait long for that.
                    self.drain_deadline = Instant::now().checked_add(self.limits().drain_time);
                    None
                }
                Event::Arrived(Arrival::Fault(StreamError::Io(error)))
                    if error.kind() == io::ErrorKind::QuotaExceeded =>
                {
                    info!(%error, "no room for a request");
                    self.tally.ends(SessionEnd::Lost, Some(&error));
                    let message = error.to_string();
                    let end = self.session.end(CloseReason::RESOURCES, Some(&message));
                    Some(end.into())
                }
                Event::Arrived(Arrival::Fault(StreamError::Io(error))) => return Err(error),
                #[cfg(feature = "sru")]
                Event::Arrived(Arrival::Fault(StreamError::Frame(fault)))
                    if self.client.speaks_http && !self.is_open() && begins_http(&fault) =>
                {
                    return Ok(End::Http);
                }
                Event::Arrived(Arrival::Fault(fault)) => {
                    debug!(%fault, "no APDU");
                    let octets = self.inlet.take_rest();
                    let observer = &self.context.observer;
                    observer.unreadable(self.client.number, &octets, &fault);
                    self.tally.ends(SessionEnd::ProtocolError, Some(&fault));
                    Some(self.session.fault(&fault).into())
                }
                Event::GiveWay => {
                    info!("gave way to a further connection");
                    self.tally.ends(SessionEnd::GaveWay, None);
                    if !self.is_open() {
                        return Ok(End::Dropped);
                    }
                    let message = Some("the server is full, and this session was idle");
                    let end = self.session.end(CloseReason::LACK_OF_ACTIVITY, message);
                    Some(end.into())
                }
                Event::TimeOver if !self.operations.list.is_empty() => {
                    self.stop_what_is_overdue()?;
                    None
                }
                Event::TimeOver if self.is_open() => {
                    info!("no activity");
                    self.tally.ends(SessionEnd::Idle, None);
                    let message = Some("no request in time");
                    let end = self.session.end(CloseReason::LACK_OF_ACTIVITY, message);
                    Some(end.into())
                }
                Event::TimeOver => {
                    info!("no Init in time");
                    self.tally.ends(SessionEnd::NoInit, None);
                    return Ok(End::Closed);
                }
                Event::Stop => {
                    self.tally.ends(SessionEnd::Stopped, None);
                    let message = Some("the server is stopping");
                    Some(self.session.end(CloseReason::SHUTDOWN, message).into())
                }
            };
            let Some(output) = output else { continue };
            if let Some(end) = self.send(output).await? {
                return Ok(end);
            }
            if let Some(slot) = self.client.slot.as_ref().filter(|_| self.is_open()) {
                slot.open();
            }
            self.inlet.scanner.max_apdu_size = self.max_apdu_size();
        }
    }

    async fn event(
        &mut self,
        mut stopped: Pin<&mut impl Future>,
        mut alarm: Pin<&mut Sleep>,
    ) -> Event {
        let is_busy = !self.operations.list.is_empty();
        // This check is cheaper than polling `stopped`.
        let is_stopping = self.stopping.has_changed().unwrap_or(true);
        let may_stop = !is_busy || !self.session.silence().is_zero();
        if is_stopping && may_stop {
            return Event::Stop;
        }
        let limits = &self.context.target.limits;
        let slot = self.client.slot.as_ref();
        let is_idle = !is_busy && self.is_open();
        // If an `Instant` cannot represent the time, there is no deadline.
        let deadline = if is_busy {
            self.operations
                .deadline(limits.operation_time, self.drain_deadline)
        } else if is_idle {
            let now = Instant::now();
            if let Some(slot) = slot {
                slot.idle(now);
            }
            limits.idle_time.and_then(|time| now.checked_add(time))
        } else {
            self.client.begun.checked_add(limits.init_time)
        };
        let most = self.session.most_operations();
        let ahead = if !is_busy || (self.operations.list.len() < most && !is_stopping) {
            None
        } else {
            Some(limits.read_ahead)
        };
        let is_heard = !is_busy || self.drain_deadline.is_none();
        loop {
            let gives_way = slots::gives_way(slot);
            tokio::select! {
                biased;
                ended = self.operations.next(), if is_busy => return Event::Ended(ended),
                arrival = self.inlet.heard(self.stream, ahead), if is_heard => {
                    if let Some(slot) = slot.filter(|_| is_idle) {
                        slot.busy();
                    }
                    return Event::Arrived(arrival);
                }
                () = gives_way, if !is_busy => return Event::GiveWay,
                _ = stopped.as_mut(), if may_stop => return Event::Stop,
                () = ringing(alarm.as_mut(), deadline) => {}
            }
            match deadline {
                Some(deadline) if deadline <= Instant::now() => return Event::TimeOver,
                deadline => alarm.as_mut().reset(deadline.unwrap_or_else(far_away)),
            }
        }
    }

    /// Handles an APDU; returns the output to send immediately, if there is any.
    async fn receive(&mut self, octets: &Bytes) -> io::Result<Option<Output>> {
        let request = codec::decode(octets);
        let observer = &self.context.observer;
        observer.received(self.client.number, octets, request.as_ref());
        self.tally.received(octets.len(), request.as_ref().ok());
        if self.player.is_some() {
            // The box keeps the future small for sessions without a replay.
            let request = request.as_ref().ok();
            return Ok(Some(Box::pin(self.replay(octets, request)).await));
        }
        let is_busy = !self.operations.list.is_empty();
        match request {
            Ok(Apdu::Close(_)) if is_busy => Ok(Some(self.give_up())),
            Ok(trigger @ Apdu::TriggerResourceControlRequest(_)) if is_busy => {
                if self.session.silence().is_zero() {
                    self.interrupt(&trigger).await?;
                }
                Ok(None)
            }
            Ok(request) => {
                debug!(apdu = request.name(), octets = octets.len(), "received");
                trace!("\n{}", dump(&redacted_request(octets)));
                self.drain_deadline = None;
                match self.session.charge(&request, octets.len()) {
                    Ok(charge) => Ok(self.take_on(request, charge).await),
                    Err(refused) => Ok(Some(refused.into())),
                }
            }
            Err(error) => {
                debug!(%error, octets = octets.len(), "an APDU that cannot be decoded");
                // Without a referenceId, the client would take a refusal for the answer to an earlier request.
                let reply = if is_busy && codec::reference_id(octets).is_none() {
                    self.session.fault(&error)
                } else {
                    self.session.refuse_octets(octets, &error)
                };
                if reply.hang_up {
                    self.tally.ends(SessionEnd::ProtocolError, Some(&error));
                }
                Ok(Some(reply.into()))
            }
        }
    }

    /// Returns the recorded answer to a request.
    async fn replay(&mut self, octets: &Bytes, request: Option<&Apdu>) -> Output {
        let timer = request.and_then(|request| self.tally.timer(request));
        let Some(player) = &mut self.player else {
            return Output::default();
        };
        let ReplayReply {
            output,
            not_recorded,
        } = player.answer(octets).await;
        if let Some(why) = not_recorded {
            debug!(why, "not recorded");
            let observer = &self.context.observer;
            observer.not_recorded(self.client.number, octets, request, &why);
        }
        if let Some(request) = request {
            let answer = output.items.last().and_then(Item::apdu);
            let from = Requester {
                peer: self.client.peer.ip(),
                user: None,
            };
            self.tally.answered(timer, request, answer.as_deref(), from);
        }
        if output.hang_up {
            self.tally.ends(SessionEnd::Upstream, None);
        }
        output
    }

    /// Begins a request, applying the faults that strike it; returns the output to send immediately, if there is any.
    async fn take_on(&mut self, mut request: Apdu, charge: Charge) -> Option<Output> {
        let timer = self.tally.timer(&request);
        let striking = match &mut self.script {
            None => Vec::new(),
            Some(script) => match script.request(&mut request) {
                Ok(striking) => {
                    for rule in script.take_struck() {
                        self.context.observer.struck(self.client.number, &rule);
                    }
                    striking
                }
                Err(output) => return self.in_time(Arc::new(request), output),
            },
        };
        let asked = ReceivedRequest {
            request: Arc::new(request),
            striking,
            charge,
            timer,
        };
        let ended = self.operations.take_on(asked, &mut self.session).await;
        ended.and_then(|ended| self.answer(ended))
    }

    /// Handles a request that concerns operations in progress, and sends the resulting reports.
    async fn interrupt(&mut self, request: &Apdu) -> io::Result<()> {
        let reports = self.session.interrupt().take(request);
        self.operations.hasten(request);
        for report in reports.into_iter().flatten() {
            let octets = self.encode(vec![Item::Apdu(report)])?;
            let limit = self.limits().write_time;
            stream::write(self.stream, &octets, limit).await?;
        }
        Ok(())
    }

    /// Stops the operations that take too long, except those that cannot be stopped, such as updates.
    ///
    /// # Errors
    /// Fails if the client has closed its sending side, and the deadline of the operations has passed.
    fn stop_what_is_overdue(&mut self) -> io::Result<()> {
        if self
            .drain_deadline
            .is_some_and(|left| left <= Instant::now())
        {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let most = self.limits().operation_time;
        let interrupt = self.session.interrupt();
        for reference_id in self.operations.overdue(most) {
            let why = diagnostic(Condition::RESOURCES_EXHAUSTED, "no answer in time");
            interrupt.stop(reference_id.as_ref(), why);
        }
        Ok(())
    }

    /// Drops the operations, and returns the Close to send.
    fn give_up(&mut self) -> Output {
        self.operations.list.clear();
        self.session.end(CloseReason::FINISHED, None).into()
    }

    /// Returns whether Init was granted.
    fn is_open(&self) -> bool {
        let replayed = self.player.as_ref().is_some_and(|player| player.begun);
        replayed || self.session.is_open()
    }

    /// Returns the size limit for the next APDU, in octets.
    fn max_apdu_size(&self) -> usize {
        match self.player {
            Some(_) => self.limits().apdu_size,
            None => self.session.max_apdu_size(),
        }
    }

    fn limits(&self) -> &Limits {
        &self.context.target.limits
    }
}

/// Waits for the alarm, after moving it forward if the deadline is earlier. It is never moved back, because resetting an alarm
/// that rings too early costs less than resetting it for each request.
async fn ringing(mut alarm: Pin<&mut Sleep>, deadline: Option<Instant>) {
    if let Some(deadline) = deadline.filter(|deadline| *deadline < alarm.deadline()) {
        alarm.as_mut().reset(deadline);
    }
    alarm.await;
}

/// Returns whether the first octet is a letter, which begins every HTTP method (RFC 9110 §9.1) but no APDU, or belongs to an
/// empty line before the method (RFC 9112 §2.2).
#[cfg(feature = "sru")]
fn begins_http(fault: &FrameError) -> bool {
    matches!(fault.kind, FrameErrorKind::NotAnApdu(first) if first.is_ascii_uppercase() || b"\r\n".contains(&first))
}

/// Returns the instant a year from now, as a deadline that is never reached.
pub(crate) fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(86_400 * 365)
}

#[cfg(test)]
mod tests;
