//! A proxy between a client and another server, which reports the octets of both sides to the observer. Octets are passed on
//! unchanged, unless a fault strikes. Each direction waits until its receiver has accepted the octets, so that buffers do not
//! grow.

mod exchange;
mod pieces;

use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, WriteHalf, split};
use tokio::sync::{Mutex, watch};
use tokio::time::{timeout, timeout_at};
use tracing::{debug, info, warn};
use z3950_asn1::apdu::{Apdu, Close, CloseReason};
use z3950_asn1::codec;

use self::exchange::{Passed, RelayedSession};
use self::pieces::{Piece, Pieces};
use crate::budget::{Account, Charge};
use crate::connection::slots::gives_way;
use crate::connection::stream::{self, Transport};
use crate::connection::tally::Tally;
use crate::connection::trail::Trail;
use crate::connection::{Client, Context, far_away};
use crate::fault::{Item, Output};
use crate::limits::Limits;
use crate::metrics::SessionEnd;
use crate::recorded::{RecordedServer, RecordedStream};

/// Serves a connection until one side ends it, or until `stopping` turns true. If the client speaks HTTP, returns the octets
/// received so far.
pub(crate) async fn serve<S: Transport>(
    stream: &mut S,
    client: &Client,
    context: &Context,
    server: &dyn RecordedServer,
    stopping: &watch::Receiver<bool>,
    tally: &mut Tally,
) -> Option<Bytes> {
    let limits = &context.target.limits;
    let mut stopping = stopping.clone();
    let mut outside = pin!(async {
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => RelayEnd::Stopped,
            () = gives_way(client.slot.as_ref()) => RelayEnd::GaveWay,
        }
    });
    let mut said = BytesMut::new();
    let begun = tokio::select! {
        begun = begin(stream, client, server, limits, &mut said) => begun,
        end = &mut outside => Err(end),
    };
    let end = match begun {
        #[cfg(feature = "sru")]
        Ok(Begun::Http) => return Some(said.freeze()),
        Ok(Begun::Connected(mut recorded)) => {
            let exchange = RelayedSession::new(client, context, tally);
            let relay = Relay {
                limits,
                account: context.target.budget.account(limits),
                exchange: &exchange,
                server,
            };
            let end = tokio::select! {
                end = relay.run(stream, &mut recorded, std::mem::take(&mut said)) => end,
                end = &mut outside => end,
            };
            exchange.interrupted(end)
        }
        Err(end) => end,
    };
    finish(stream, end, &said, client, context, server, tally).await;
    None
}

/// The way in which a relayed connection ended.
#[derive(Debug)]
pub(super) enum RelayEnd {
    /// Both sides closed the connection, the client first.
    Closed,
    /// The server closed the connection, and all requests had been answered.
    ServerClosed,
    /// The client left without sending anything.
    Left,
    NoInit,
    /// The server could not be reached.
    NotThere(io::Error),
    /// The connection to the server failed, or the server closed it before sending all answers.
    Died(Option<io::Error>),
    /// The connection to the client failed.
    Lost(io::Error),
    Idle,
    GaveWay,
    Stopped,
    Fault {
        reset: bool,
    },
    /// The connection has to end even though an answer has been only partly written.
    Torn(SessionEnd),
}

/// The state after a relayed connection has begun.
enum Begun {
    #[cfg(feature = "sru")]
    Http,
    /// The server is connected.
    Connected(Box<dyn RecordedStream>),
}

/// Waits for the client's first octets, appends them to `said`, and then connects to the server.
async fn begin<S: Transport>(
    stream: &mut S,
    client: &Client,
    server: &dyn RecordedServer,
    limits: &Limits,
    said: &mut BytesMut,
) -> Result<Begun, RelayEnd> {
    let deadline = client
        .begun
        .checked_add(limits.init_time)
        .unwrap_or_else(far_away);
    match timeout_at(deadline, stream.read_buf(said)).await {
        Err(_) => return Err(RelayEnd::NoInit),
        Ok(Err(error)) => return Err(RelayEnd::Lost(error)),
        Ok(Ok(0)) => return Err(RelayEnd::Left),
        Ok(Ok(_)) => {}
    }
    #[cfg(feature = "sru")]
    if client.speaks_http && said.first().is_some_and(u8::is_ascii_uppercase) {
        return Ok(Begun::Http);
    }
    match timeout(limits.init_time, server.connect()).await {
        Ok(Ok(recorded)) => Ok(Begun::Connected(recorded)),
        Ok(Err(error)) => Err(RelayEnd::NotThere(error)),
        Err(_) => Err(RelayEnd::NotThere(io::ErrorKind::TimedOut.into())),
    }
}

/// The state shared by the two directions of a connection.
struct Relay<'a> {
    limits: &'a Limits,
    account: Arc<Account>,
    exchange: &'a RelayedSession<'a>,
    server: &'a dyn RecordedServer,
}

impl Relay<'_> {
    /// Passes octets in both directions until the connection ends.
    async fn run<S: Transport>(
        &self,
        stream: &mut S,
        recorded: &mut Box<dyn RecordedStream>,
        said: BytesMut,
    ) -> RelayEnd {
        let (mut from_client, to_client) = split(stream);
        let (mut from_server, mut to_server) = split(recorded);
        let to_client = Mutex::new(to_client);
        tokio::select! {
            end = self.requests(&mut from_client, &mut to_server, &to_client, said) => end,
            end = self.answers(&mut from_server, &to_client) => end,
            () = self.exchange.fell_silent(self.limits) => RelayEnd::Idle,
        }
    }

    /// Passes on the octets from the client. Does not return when the client closes its side, because the server may still
    /// answer.
    async fn requests(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        to_client: &Mutex<WriteHalf<&mut impl Transport>>,
        said: BytesMut,
    ) -> RelayEnd {
        let mut pieces = Pieces::new(said, self.limits.session_octets, self.charge());
        loop {
            let piece = match pieces.next(from).await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) => return RelayEnd::Lost(error),
            };
            let passed = match piece {
                Piece::Apdu(octets) => self.exchange.request(octets),
                Piece::Raw(octets) => {
                    self.exchange.raw_request(&octets);
                    Passed::On(octets)
                }
            };
            match passed {
                Passed::On(octets) => {
                    if let Err(error) = stream::write(to, &octets, self.limits.write_time).await {
                        debug!(%error, "the server takes no more");
                        // The relay does not end here: answers that the server has already sent are still passed on, until the
                        // server ends its side.
                        return std::future::pending().await;
                    }
                }
                Passed::Answered(output) => match self.deliver(output, to_client).await {
                    Ok(None) => {}
                    Ok(Some(end)) => return end,
                    Err(error) => return RelayEnd::Lost(error),
                },
            }
        }
        self.exchange.client_ended();
        if let Err(error) = to.shutdown().await {
            debug!(%error, "the server's side has ended");
        }
        std::future::pending().await
    }

    /// Passes on the octets from the server, until the server closes its side.
    async fn answers(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        to_client: &Mutex<WriteHalf<&mut impl Transport>>,
    ) -> RelayEnd {
        let mut pieces = Pieces::new(BytesMut::new(), self.limits.session_octets, self.charge());
        loop {
            let output = match pieces.next(from).await {
                Ok(Some(Piece::Apdu(octets))) => self.exchange.answer(octets),
                Ok(Some(Piece::Raw(octets))) => Item::Octets(octets).into(),
                Ok(None) => return self.exchange.server_ended(self.server),
                Err(error) => return RelayEnd::Died(Some(error)),
            };
            match self.deliver(output, to_client).await {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(error) => return RelayEnd::Lost(error),
            }
        }
    }

    /// Writes an output to the client; returns how the connection ends if it ends after the output.
    async fn deliver(
        &self,
        output: Output,
        to_client: &Mutex<WriteHalf<&mut impl Transport>>,
    ) -> io::Result<Option<RelayEnd>> {
        if !output.delay.is_zero() {
            tokio::time::sleep(output.delay).await;
        }
        let mut to = to_client.lock().await;
        let octets = self.exchange.sent(output.items)?;
        let end = output.cut_after.unwrap_or(octets.len()).min(octets.len());
        let octets = octets.get(..end).unwrap_or_default();
        let limit = self.limits.write_time;
        let writing = self.exchange.writing();
        match output.trickle {
            None => stream::write(&mut *to, octets, limit).await?,
            Some(pause) => stream::trickle(&mut *to, octets, pause, limit).await?,
        }
        drop(writing);
        let has_ended = output.hang_up || output.cut_after.is_some();
        Ok(has_ended.then_some(RelayEnd::Fault {
            reset: output.reset,
        }))
    }

    fn charge(&self) -> Charge {
        Charge::to(&self.account)
    }
}

/// Ends the client's side of the connection as required by `RelayEnd`. Sends a Close if the client could not otherwise recognize
/// the reason. The octets in `said` were not passed on.
async fn finish<S: Transport>(
    stream: &mut S,
    end: RelayEnd,
    said: &[u8],
    client: &Client,
    context: &Context,
    server: &dyn RecordedServer,
    tally: &mut Tally,
) {
    let limits = &context.target.limits;
    let (ended, last) = match end {
        RelayEnd::Closed => {
            tally.client_left();
            (SessionEnd::Left, None)
        }
        RelayEnd::ServerClosed => (SessionEnd::Upstream, None),
        RelayEnd::Left => {
            tally.client_left();
            return tally.ends(SessionEnd::Left, None);
        }
        RelayEnd::NoInit => (SessionEnd::NoInit, None),
        RelayEnd::NotThere(error) => {
            warn!(%server, %error, "the server to record cannot be reached");
            let words = format!("{server} cannot be reached: {error}");
            tally.ends(SessionEnd::Upstream, Some(&words));
            let last = Close::new(CloseReason::SYSTEM_PROBLEM, Some(&words));
            (SessionEnd::Upstream, Some(last))
        }
        RelayEnd::Died(error) => {
            let error = error.map(|error| error.to_string());
            let words = error.as_deref().unwrap_or("answers are missing");
            warn!(%server, error = words, "the server to record broke off");
            tally.ends(SessionEnd::Upstream, Some(&words));
            return stream.reset();
        }
        RelayEnd::Lost(error) => {
            debug!(%error, "connection lost");
            return tally.lost(&error);
        }
        RelayEnd::Idle => {
            info!("no activity");
            let words = Some("neither side said anything in time");
            let last = Close::new(CloseReason::LACK_OF_ACTIVITY, words);
            (SessionEnd::Idle, Some(last))
        }
        RelayEnd::GaveWay => {
            info!("gave way to a further connection");
            (SessionEnd::GaveWay, None)
        }
        RelayEnd::Stopped => {
            let last = Close::new(CloseReason::SHUTDOWN, Some("the recorder is stopping"));
            (SessionEnd::Stopped, Some(last))
        }
        RelayEnd::Fault { reset: true } => {
            tally.ends(SessionEnd::Fault, None);
            return stream.reset();
        }
        RelayEnd::Fault { reset: false } => (SessionEnd::Fault, None),
        RelayEnd::Torn(end) => {
            tally.ends(end, None);
            return stream.reset();
        }
    };
    tally.ends(ended, None);
    let mut trail = Trail::new(&*context.observer, client.number);
    trail.push(said);
    if let Some(last) = last {
        let last = Apdu::from(last);
        let Ok(octets) = codec::encode(&last) else {
            return;
        };
        tally.sent(octets.len(), Some(&last));
        context.observer.sent(client.number, &octets, Some(&last));
        // An error means that the client is gone, so the Close is not needed.
        let _ = stream::write(stream, &octets, limits.write_time.min(limits.drain_time)).await;
    }
    if stream::linger(stream, limits.linger_time, |octets| trail.push(octets)).await {
        tally.client_left();
    }
}

#[cfg(test)]
mod tests;
