//! One connection from its first octet to its last: requests in, answers out (Z39.50-2003 §4.2). Nothing is read while an
//! answer is written, so a client that does not read holds up itself alone; while there are as many operations as may run,
//! only as far ahead as it takes to notice that one is no longer wanted.

mod inlet;
mod operations;
mod outlet;
mod tally;

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};
use tracing::{debug, info, trace};
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec;
use z3950_asn1::codec::dump::dump;
use z3950_asn1::codec::frame::StreamError;

use self::inlet::{Ahead, Inlet};
use self::operations::{Asked, Ended, Operations};
pub(crate) use self::outlet::Transport;
use self::tally::Tally;
use crate::diagnostic::diagnostic;
use crate::fault::{Faults, Intake, Item, Output, Script};
use crate::limits::Limits;
use crate::listener::Greeting;
use crate::observer::{Observer, Peer};
use crate::session::Session;
use crate::target::Target;
use crate::transcript::{Player, Replay};

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) target: Arc<Target>,
    pub(crate) faults: Arc<Faults>,
    /// Conversations to be answered again instead of the target's answers.
    pub(crate) replayed: Option<Arc<Replay>>,
    pub(crate) observer: Arc<dyn Observer>,
}

/// Who is connected.
pub(crate) struct Client {
    /// The number of the session, from 1.
    pub(crate) number: u64,
    pub(crate) peer: Peer,
    /// When the connection was accepted.
    pub(crate) begun: Instant,
    /// Its place among those without a session; `None` for a connection that needs none.
    pub(crate) greeting: Option<Greeting>,
}

/// Serves a connection until it ends, or until `stopping` turns true and the answer in progress is out.
pub(crate) async fn serve<S: Transport>(
    stream: S,
    client: Client,
    shared: Arc<Shared>,
    stopping: watch::Receiver<bool>,
) {
    let Client {
        number,
        peer,
        begun,
        greeting,
    } = client;
    let mut session = Session::new(Arc::clone(&shared.target));
    if let Some(address) = peer.ip() {
        session = session.with_peer(address);
    }
    let player = shared.replayed.as_ref();
    let mut connection = Connection {
        stream,
        number,
        inlet: Inlet::new(session.max_apdu_size()),
        session,
        script: Script::new(Arc::clone(&shared.faults), number),
        player: player.map(|replay| Player::new(replay, number)),
        operations: Operations::default(),
        left: None,
        stopping,
        begun,
        greeting,
        tally: Tally::new(),
        shared,
    };
    match connection.run().await {
        // A client that has ended its side leaves nothing unread behind.
        Ok(End::Closed) if connection.inlet.has_ended() && !S::ENDS_WITH_A_WORD => {}
        Ok(End::Closed) => {
            let limit = connection.limits().linger_time;
            outlet::linger(&mut connection.stream, limit).await;
        }
        Ok(End::Reset) => connection.stream.reset(),
        // The client is gone, or takes nothing: there is nobody left to tell.
        Err(error) => debug!(%error, "connection lost"),
    }
    connection.tally.tell();
}

struct Connection<S> {
    stream: S,
    number: u64,
    inlet: Inlet,
    session: Session,
    script: Script,
    player: Option<Player>,
    operations: Operations,
    /// When a client that has ended its side is given up, if an operation runs so long.
    left: Option<Instant>,
    stopping: watch::Receiver<bool>,
    begun: Instant,
    /// Given up once the session is open.
    greeting: Option<Greeting>,
    tally: Tally,
    shared: Arc<Shared>,
}

/// How a connection ends.
enum End {
    /// Once everything that was written is on its way.
    Closed,
    /// Without a word.
    Reset,
}

/// What a connection waits for.
enum Event {
    /// A request has ended.
    Ended(Ended),
    /// An APDU, by its octets.
    Apdu(Bytes),
    /// A Close, behind requests for whose answers the client does not wait.
    Close,
    /// The client has ended the connection, as it may without Close.
    End,
    /// What came is no APDU, or cannot be read.
    Fault(StreamError),
    /// An operation takes too long.
    Overdue,
    /// The client has been silent for too long.
    Idle,
    /// Init has not come in time.
    NoInit,
    /// The server is to stop.
    Stop,
}

impl<S: Transport> Connection<S> {
    async fn run(&mut self) -> io::Result<End> {
        let mut stopping = self.stopping.clone();
        // An error means that the server itself is gone.
        let mut stopped = pin!(async move { drop(stopping.wait_for(|stopping| *stopping).await) });
        let mut alarm = pin!(sleep_until(far_away()));
        loop {
            let output = match self.event(stopped.as_mut(), alarm.as_mut()).await {
                Event::Ended(ended) => self.answer(ended),
                Event::Apdu(octets) => self.receive(&octets).await?,
                Event::Close => Some(self.give_up()),
                Event::End if self.operations.is_empty() => return Ok(End::Closed),
                Event::End => {
                    // A client that ended its side may still read, but is not waited for long.
                    self.left = Instant::now().checked_add(self.limits().drain_time);
                    None
                }
                Event::Fault(StreamError::Io(error)) => return Err(error),
                Event::Fault(fault) => {
                    debug!(%fault, "no APDU");
                    Some(self.session.fault(&fault).into())
                }
                Event::Overdue => {
                    self.stop_what_is_overdue()?;
                    None
                }
                Event::Idle => {
                    info!("no activity");
                    let words = Some("no request in time");
                    let end = self.session.end(CloseReason::LACK_OF_ACTIVITY, words);
                    Some(end.into())
                }
                Event::NoInit => {
                    info!("no Init in time");
                    return Ok(End::Closed);
                }
                Event::Stop => {
                    let words = Some("the server is stopping");
                    Some(self.session.end(CloseReason::SHUTDOWN, words).into())
                }
            };
            let Some(output) = output else { continue };
            if let Some(end) = self.send(output).await? {
                return Ok(end);
            }
            if self.is_open() {
                self.greeting = None;
            }
            self.inlet.set_max_apdu_size(self.max_apdu_size());
        }
    }

    async fn event(
        &mut self,
        mut stopped: Pin<&mut impl Future>,
        mut alarm: Pin<&mut Sleep>,
    ) -> Event {
        let is_busy = !self.operations.is_empty();
        // What has come is looked at before `stopped`, which costs more to poll than to be asked.
        let is_stopping = self.stopping.has_changed().unwrap_or(true);
        if is_stopping && !is_busy {
            return Event::Stop;
        }
        let is_open = self.is_open();
        let limits = &self.shared.target.limits;
        // A time too long to be counted is none.
        let deadline = match (is_busy, is_open) {
            (true, _) => self.operations.deadline(limits.operation_time, self.left),
            (false, true) => {
                let idle = limits.idle_time;
                idle.and_then(|time| Instant::now().checked_add(time))
            }
            (false, false) => self.begun.checked_add(limits.init_time),
        };
        let most = self.session.most_operations();
        let ahead = match !is_busy || (self.operations.len() < most && !is_stopping) {
            true => None,
            false => Some(limits.read_ahead),
        };
        let is_heard = !is_busy || self.left.is_none();
        loop {
            tokio::select! {
                biased;
                ended = self.operations.next(), if is_busy => return Event::Ended(ended),
                event = heard(&mut self.inlet, &mut self.stream, ahead), if is_heard => return event,
                _ = stopped.as_mut(), if !is_busy => return Event::Stop,
                () = ringing(alarm.as_mut(), deadline) => {}
            }
            match deadline {
                Some(deadline) if deadline <= Instant::now() => {
                    return match (is_busy, is_open) {
                        (true, _) => Event::Overdue,
                        (false, true) => Event::Idle,
                        (false, false) => Event::NoInit,
                    };
                }
                deadline => alarm.as_mut().reset(deadline.unwrap_or_else(far_away)),
            }
        }
    }

    /// Takes an APDU that has come; answers what is to be sent at once.
    async fn receive(&mut self, octets: &Bytes) -> io::Result<Option<Output>> {
        let request = codec::decode(octets);
        let observer = &self.shared.observer;
        observer.received(self.number, octets, request.as_ref());
        self.tally.received(octets.len(), request.as_ref().ok());
        if let Some(player) = &mut self.player {
            return Ok(Some(player.answer(octets)));
        }
        let is_busy = !self.operations.is_empty();
        match request {
            Ok(Apdu::Close(_)) if is_busy => Ok(Some(self.give_up())),
            Ok(trigger @ Apdu::TriggerResourceControlRequest(_)) if is_busy => {
                self.interrupt(&trigger).await?;
                Ok(None)
            }
            Ok(request) => {
                debug!(apdu = request.name(), octets = octets.len(), "received");
                trace!("\n{}", dump(octets));
                self.left = None;
                Ok(self.take_on(request).await)
            }
            Err(error) => {
                debug!(%error, octets = octets.len(), "malformed APDU");
                Ok(Some(self.session.fault(&error).into()))
            }
        }
    }

    /// Takes a request on, with the faults that strike it; answers what is to be sent at once.
    async fn take_on(&mut self, mut request: Apdu) -> Option<Output> {
        let begun = Tally::begin();
        let intake = self.script.request(&mut request);
        let request = Arc::new(request);
        match intake {
            Intake::Answered(output) => self.in_time(request, output),
            Intake::Answer(striking) => {
                let asked = Asked {
                    request,
                    striking,
                    begun,
                };
                let ended = self.operations.take_on(asked, &mut self.session).await;
                ended.and_then(|ended| self.answer(ended))
            }
        }
    }

    /// The answer to a request that has ended, unless it is kept back.
    fn answer(&mut self, ended: Ended) -> Option<Output> {
        let (asked, reply) = match ended {
            Ended::Done(asked, done) => (asked, self.session.finish(done)),
            Ended::Reply(asked, reply) => (asked, reply),
            Ended::Output(output) => {
                self.operations.begin(&mut self.session);
                return Some(output);
            }
        };
        let Asked {
            request,
            striking,
            begun,
        } = asked;
        Tally::access(&request, reply.apdus.last(), begun);
        let output = self.script.reply(&striking, &request, reply);
        let output = self.in_time(request, output);
        self.operations.begin(&mut self.session);
        output
    }

    /// The output if it is to go out now; otherwise it is kept back.
    fn in_time(&mut self, request: Arc<Apdu>, output: Output) -> Option<Output> {
        if output.delay.is_zero() {
            return Some(output);
        }
        self.operations.delay(request, output);
        None
    }

    /// Takes a request about the operations in progress, and sends what is to be sent at once.
    async fn interrupt(&mut self, request: &Apdu) -> io::Result<()> {
        let reports = self.session.interrupt().take(request);
        for report in reports.into_iter().flatten() {
            let octets = self.encode(vec![Item::Apdu(report)])?;
            let limit = self.limits().write_time;
            outlet::write(&mut self.stream, &octets, limit).await?;
        }
        Ok(())
    }

    /// Stops the operations that take too long. What cannot be stopped, such as an update, is waited for.
    ///
    /// # Errors
    /// A client that has ended its side and is not waited for any longer.
    fn stop_what_is_overdue(&mut self) -> io::Result<()> {
        if self.left.is_some_and(|left| left <= Instant::now()) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let most = self.shared.target.limits.operation_time;
        let interrupt = self.session.interrupt();
        for reference_id in self.operations.overdue(most) {
            let why = diagnostic(Condition::RESOURCES_EXHAUSTED, "no answer in time");
            interrupt.stop(reference_id.as_ref(), why);
        }
        Ok(())
    }

    /// Gives the operations up for the Close behind them.
    fn give_up(&mut self) -> Output {
        self.operations.clear();
        self.session.end(CloseReason::FINISHED, None).into()
    }

    /// Writes what there is; answers how the connection ends behind it, if it does.
    async fn send(&mut self, output: Output) -> io::Result<Option<End>> {
        let octets = self.encode(output.items)?;
        let end = output.cut_after.unwrap_or(octets.len()).min(octets.len());
        let octets = octets.get(..end).unwrap_or_default();
        let limit = self.limits().write_time;
        match output.trickle {
            None => outlet::write(&mut self.stream, octets, limit).await?,
            Some(pause) => {
                Box::pin(outlet::trickle(&mut self.stream, octets, pause, limit)).await?;
            }
        }
        Ok(
            match (output.hang_up || output.cut_after.is_some(), output.reset) {
                (false, _) => None,
                (true, false) => Some(End::Closed),
                (true, true) => Some(End::Reset),
            },
        )
    }

    /// The octets of all that is sent together.
    fn encode(&mut self, items: Vec<Item>) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        for item in items {
            let (octets, apdu) = match item {
                Item::Apdu(apdu) => {
                    let octets = codec::encode(&apdu).map_err(io::Error::other)?;
                    debug!(apdu = apdu.name(), octets = octets.len(), "sent");
                    trace!("\n{}", dump(&octets));
                    (octets, Some(apdu))
                }
                Item::Octets(octets) => {
                    debug!(octets = octets.len(), "sent in the place of an APDU");
                    (octets.into(), None)
                }
            };
            self.tally.sent(octets.len(), apdu.as_ref());
            let observer = &self.shared.observer;
            observer.sent(self.number, &octets, apdu.as_ref());
            if all.is_empty() {
                all = octets;
            } else {
                all.extend(octets);
            }
        }
        Ok(all)
    }

    /// Whether Init was granted.
    fn is_open(&self) -> bool {
        let replayed = self.player.as_ref().is_some_and(Player::has_begun);
        replayed || self.session.is_open()
    }

    /// The largest APDU to be taken now, in octets.
    fn max_apdu_size(&self) -> usize {
        match self.player {
            Some(_) => self.limits().apdu_size,
            None => self.session.max_apdu_size(),
        }
    }

    fn limits(&self) -> &Limits {
        &self.shared.target.limits
    }
}

/// Waits for the alarm, put forward to the deadline where that is sooner. It is never put off: one that rings too early is
/// set again, which costs less than setting it anew for each request; and it is not set for what has come already.
async fn ringing(mut alarm: Pin<&mut Sleep>, deadline: Option<Instant>) {
    if let Some(deadline) = deadline.filter(|deadline| *deadline < alarm.deadline()) {
        alarm.as_mut().reset(deadline);
    }
    alarm.await;
}

/// A moment that no connection lives to see.
fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(86_400 * 365)
}

/// What comes next: an APDU or, with a limit for the octets to look ahead, what the operations in progress have to know of.
async fn heard(inlet: &mut Inlet, stream: &mut impl Transport, ahead: Option<usize>) -> Event {
    match ahead {
        None => match inlet.next(stream).await {
            Some(Ok(octets)) => Event::Apdu(octets),
            Some(Err(error)) => Event::Fault(error),
            None => Event::End,
        },
        Some(most) => match inlet.ahead(stream, most).await {
            Ahead::Trigger(octets) => Event::Apdu(octets),
            Ahead::Close => Event::Close,
            Ahead::End => Event::End,
            Ahead::Lost(error) => Event::Fault(StreamError::Io(error)),
        },
    }
}

#[cfg(test)]
mod tests;
