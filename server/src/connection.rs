//! One connection from its first octet to its last: requests in, one after the other, answers out (Z39.50-2003 §4.2).
//! Nothing is read while an answer is written, so a client that does not read holds up itself alone; while an operation
//! runs, only as far ahead as it takes to notice that it is no longer wanted.

mod inlet;
mod outlet;
mod rush;
mod tally;

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tracing::{debug, info, trace};
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::codec;
use z3950_asn1::codec::dump::dump;
use z3950_asn1::codec::frame::StreamError;

use self::inlet::{Ahead, Inlet};
pub(crate) use self::outlet::Transport;
pub(crate) use self::rush::Rush;
use self::rush::Turn;
use self::tally::Tally;
use crate::diagnostic::{Diagnostic, diagnostic};
use crate::fault::{Faults, Intake, Item, Output, Script};
use crate::limits::Limits;
use crate::listener::Greeting;
use crate::observer::{Observer, Peer};
use crate::session::{Reply, Session};
use crate::target::Target;
use crate::transcript::{Player, Recording};

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) target: Arc<Target>,
    pub(crate) faults: Arc<Faults>,
    /// Conversations to be answered again instead of the target's answers.
    pub(crate) replayed: Option<Arc<Recording>>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) rush: Rush,
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
        player: player.map(|recording| Player::new(recording, number)),
        stopping,
        begun,
        greeting,
        turn: shared.rush.turn(),
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
    stopping: watch::Receiver<bool>,
    begun: Instant,
    /// Given up once the session is open.
    greeting: Option<Greeting>,
    turn: Turn,
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
    /// An APDU, by its octets.
    Apdu(Bytes),
    /// The client has ended the connection, as it may without Close.
    End,
    /// What came is no APDU, or cannot be read.
    Fault(StreamError),
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
                Event::Apdu(octets) => self.receive(&octets).await?,
                Event::End => return Ok(End::Closed),
                Event::Fault(StreamError::Io(error)) => return Err(error),
                Event::Fault(fault) => {
                    debug!(%fault, "no APDU");
                    self.session.fault(&fault).into()
                }
                Event::Idle => {
                    info!("no activity");
                    self.session
                        .end(CloseReason::LACK_OF_ACTIVITY, Some("no request in time"))
                        .into()
                }
                Event::NoInit => {
                    info!("no Init in time");
                    return Ok(End::Closed);
                }
                Event::Stop => self
                    .session
                    .end(CloseReason::SHUTDOWN, Some("the server is stopping"))
                    .into(),
            };
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
        let limits = &self.shared.target.limits;
        // A time too long to be counted is none.
        let (deadline, overdue) = match self.is_open() {
            true => {
                let idle = limits.idle_time;
                (
                    idle.and_then(|time| Instant::now().checked_add(time)),
                    Event::Idle,
                )
            }
            false => (self.begun.checked_add(limits.init_time), Event::NoInit),
        };
        // What has come is looked at before `stopped`, which costs more to poll than to be asked.
        if self.stopping.has_changed().unwrap_or(true) {
            return Event::Stop;
        }
        loop {
            tokio::select! {
                biased;
                next = self.inlet.next(&mut self.stream) => return match next {
                    Some(Ok(octets)) => Event::Apdu(octets),
                    Some(Err(error)) => Event::Fault(error),
                    None => Event::End,
                },
                _ = stopped.as_mut() => return Event::Stop,
                () = ringing(alarm.as_mut(), deadline) => {}
            }
            match deadline {
                Some(deadline) if deadline <= Instant::now() => return overdue,
                deadline => alarm.as_mut().reset(deadline.unwrap_or_else(far_away)),
            }
        }
    }

    async fn receive(&mut self, octets: &Bytes) -> io::Result<Output> {
        let request = codec::decode(octets);
        let observer = &self.shared.observer;
        observer.received(self.number, octets, request.as_ref());
        self.tally.received(octets.len(), request.as_ref().ok());
        if let Some(player) = &mut self.player {
            return Ok(player.answer(octets));
        }
        match request {
            Ok(request) => {
                debug!(apdu = request.name(), octets = octets.len(), "received");
                trace!("\n{}", dump(octets));
                self.answer(request).await
            }
            Err(error) => {
                debug!(%error, octets = octets.len(), "malformed APDU");
                Ok(self.session.fault(&error).into())
            }
        }
    }

    /// Has the session answer a request, with the faults that strike it.
    async fn answer(&mut self, mut request: Apdu) -> io::Result<Output> {
        let begun = Tally::begin();
        let striking = match self.script.request(&mut request) {
            Intake::Answer(striking) => striking,
            Intake::Answered(output) => return Ok(output),
        };
        let reply = self.operate(&request).await?;
        Tally::access(&request, reply.apdus.last(), begun);
        Ok(self.script.reply(&striking, &request, reply))
    }

    /// Runs an operation to its end, unless the client no longer wants it.
    async fn operate(&mut self, request: &Apdu) -> io::Result<Reply> {
        let Shared {
            target, observer, ..
        } = &*self.shared;
        let interrupt = self.session.interrupt();
        let mut ended = false;
        let mut patience = pin!(after(target.limits.operation_time));
        {
            let operation = self.session.answer(request);
            tokio::pin!(operation);
            loop {
                let ahead = tokio::select! {
                    biased;
                    reply = &mut operation => return Ok(reply),
                    ahead = self.inlet.ahead(&mut self.stream, target.limits.read_ahead), if !ended => ahead,
                    () = patience.as_mut() => {
                        if ended {
                            return Err(io::ErrorKind::ConnectionAborted.into());
                        }
                        // What cannot be stopped, such as an update, is waited for.
                        patience.set(after(None));
                        interrupt.stop(overdue());
                        continue;
                    }
                };
                match ahead {
                    Ahead::Trigger(octets) => {
                        let trigger = codec::decode(&octets);
                        observer.received(self.number, &octets, trigger.as_ref());
                        self.tally.received(octets.len(), trigger.as_ref().ok());
                        let reports = trigger.ok().and_then(|trigger| interrupt.take(&trigger));
                        for report in reports.into_iter().flatten() {
                            let octets = codec::encode(&report).map_err(io::Error::other)?;
                            self.tally.sent(octets.len(), Some(&report));
                            observer.sent(self.number, &octets, Some(&report));
                            outlet::write(&mut self.stream, &octets, target.limits.write_time)
                                .await?;
                        }
                    }
                    Ahead::Close => break,
                    // A client that ended its side may still read, but is not waited for long.
                    Ahead::End => {
                        ended = true;
                        patience.set(after(Some(target.limits.drain_time)));
                    }
                    Ahead::Lost(error) => return Err(error),
                }
            }
        }
        // The operation is given up for the Close behind it.
        Ok(self.session.end(CloseReason::FINISHED, None))
    }

    /// Writes what there is; answers how the connection ends behind it, if it does.
    async fn send(&mut self, output: Output) -> io::Result<Option<End>> {
        if !output.delay.is_zero() {
            sleep(output.delay).await;
        }
        let octets = self.encode(output.items)?;
        self.turn.give_way(&self.shared.rush).await;
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

/// Why an operation is stopped that takes too long.
fn overdue() -> Diagnostic {
    diagnostic(Condition::RESOURCES_EXHAUSTED, "no answer in time")
}

/// Waits so long from when it is first polled, or for ever.
async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
