//! One connection from its first octet to its last: requests in, one after the other, answers out (Z39.50-2003 §4.2).
//! Nothing is read while an answer is written, so a client that does not read holds up itself alone.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::codec::FramedRead;
use tracing::{debug, info, trace};
use z3950_asn1::apdu::{Apdu, CloseReason};
use z3950_asn1::codec;
use z3950_asn1::codec::dump::dump;
use z3950_asn1::codec::frame::{ApduCodec, StreamError};

use crate::backend::Backend;
use crate::fault::{Faults, Item, Output, Script};
use crate::limits::Limits;
use crate::observer::Observer;
use crate::session::Session;

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) observer: Arc<dyn Observer>,
}

/// Serves a connection until it ends, or until `stopping` turns true and the answer in progress is out.
pub(crate) async fn serve<S>(
    stream: S,
    number: u64,
    shared: Arc<Shared>,
    stopping: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let session = Session::new(Arc::clone(&shared.backend), Arc::clone(&shared.limits));
    let codec = ApduCodec::new(session.max_apdu_size());
    let script = Script::new(Arc::clone(&shared.faults), number);
    let stream = FramedRead::new(stream, codec);
    let begun = Instant::now();
    let mut connection = Connection {
        stream,
        number,
        session,
        script,
        shared,
        stopping,
        begun,
    };
    match connection.run().await {
        Ok(()) => connection.linger().await,
        // The client is gone, or takes nothing: there is nobody left to tell.
        Err(error) => debug!(%error, "connection lost"),
    }
}

struct Connection<S> {
    stream: FramedRead<S, ApduCodec>,
    number: u64,
    session: Session,
    script: Script,
    shared: Arc<Shared>,
    stopping: watch::Receiver<bool>,
    begun: Instant,
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

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run(&mut self) -> io::Result<()> {
        loop {
            let output = match self.event().await {
                Event::Apdu(octets) => self.receive(&octets),
                Event::End => return Ok(()),
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
                    return Ok(());
                }
                Event::Stop => self
                    .session
                    .end(CloseReason::SHUTDOWN, Some("the server is stopping"))
                    .into(),
            };
            if self.send(output).await? {
                return Ok(());
            }
            let max_apdu_size = self.session.max_apdu_size();
            self.stream.decoder_mut().set_max_apdu_size(max_apdu_size);
        }
    }

    async fn event(&mut self) -> Event {
        let limits = &self.shared.limits;
        // A time too long to be counted is none.
        let (deadline, overdue) = match self.session.is_open() {
            true => {
                let idle = limits.idle_time;
                (
                    idle.and_then(|time| Instant::now().checked_add(time)),
                    Event::Idle,
                )
            }
            false => (self.begun.checked_add(limits.init_time), Event::NoInit),
        };
        tokio::select! {
            biased;
            // An error means that the server itself is gone.
            _ = self.stopping.wait_for(|stopping| *stopping) => Event::Stop,
            next = self.stream.next() => match next {
                Some(Ok(octets)) => Event::Apdu(octets),
                Some(Err(error)) => Event::Fault(error),
                None => Event::End,
            },
            () = until(deadline) => overdue,
        }
    }

    fn receive(&mut self, octets: &Bytes) -> Output {
        let request = codec::decode(octets);
        self.shared
            .observer
            .received(self.number, octets, request.as_ref());
        match request {
            Ok(request) => {
                debug!(apdu = request.name(), octets = octets.len(), "received");
                trace!("\n{}", dump(octets));
                self.script.serve(&mut self.session, request)
            }
            Err(error) => {
                debug!(%error, octets = octets.len(), "malformed APDU");
                self.session.fault(&error).into()
            }
        }
    }

    /// Writes what there is; answers whether the connection ends behind it.
    async fn send(&mut self, output: Output) -> io::Result<bool> {
        if !output.delay.is_zero() {
            sleep(output.delay).await;
        }
        let mut octets = Vec::new();
        for item in output.items {
            self.encode(item, &mut octets)?;
        }
        let end = output.cut_after.unwrap_or(octets.len()).min(octets.len());
        let step = if output.trickle {
            1
        } else {
            octets.len().max(1)
        };
        for piece in octets.get(..end).unwrap_or_default().chunks(step) {
            self.write(piece).await?;
        }
        Ok(output.hang_up || output.cut_after.is_some())
    }

    fn encode(&self, item: Item, octets: &mut Vec<u8>) -> io::Result<()> {
        match item {
            Item::Apdu(apdu) => {
                let encoded = codec::encode(&apdu).map_err(io::Error::other)?;
                debug!(apdu = apdu.name(), octets = encoded.len(), "sent");
                trace!("\n{}", dump(&encoded));
                self.observe_sent(&encoded, Some(&apdu));
                octets.extend(encoded);
            }
            Item::Octets(raw) => {
                debug!(octets = raw.len(), "sent in the place of an APDU");
                self.observe_sent(&raw, None);
                octets.extend(raw);
            }
        }
        Ok(())
    }

    fn observe_sent(&self, octets: &[u8], apdu: Option<&Apdu>) {
        self.shared.observer.sent(self.number, octets, apdu);
    }

    /// Writes as fast as the client takes it; each part has to be taken in time.
    async fn write(&mut self, mut octets: &[u8]) -> io::Result<()> {
        let limit = self.shared.limits.write_time;
        let stream = self.stream.get_mut();
        while !octets.is_empty() {
            let written = timeout(limit, stream.write(octets)).await??;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            octets = octets.get(written..).unwrap_or_default();
        }
        timeout(limit, stream.flush()).await??;
        Ok(())
    }

    /// Ends the sending side and takes what still comes for a while: a connection that is dropped with octets unread is
    /// reset, and the client would lose the last answer.
    async fn linger(&mut self) {
        let limit = self.shared.limits.linger_time;
        let stream = self.stream.get_mut();
        let rest = async {
            stream.shutdown().await?;
            let mut discarded = [0; 4096];
            for _ in 0..MAX_LINGERING_READS {
                if stream.read(&mut discarded).await? == 0 {
                    break;
                }
            }
            io::Result::Ok(())
        };
        let _ = timeout(limit, rest).await;
    }
}

/// Reads after the last answer, of up to 4,096 octets each.
const MAX_LINGERING_READS: usize = 1024;

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
