//! Accepts connections from all sockets in turn, within the limit for each address, while there is room for a session
//! or a connection that waits for Init can give way.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::socket::{Accepted, Socket};
use crate::connection::lobby::{Greeting, Lobby};
use crate::limits::Limits;
use crate::metrics::{ConnectionRefusal, Metrics};
use crate::observer::Peer;

/// Accepts connections from all sockets.
pub(super) struct Acceptor {
    sockets: Vec<Socket>,
    permits: Arc<Semaphore>,
    lobby: Lobby,
    /// How long a connection without a session may stay when there is no room for others.
    patience: Duration,
    crowd: Option<Crowd>,
    metrics: Arc<Metrics>,
    /// A connection that waits for room.
    waiting: Option<Arrived>,
    /// The socket to poll first next time, so that none is starved.
    first: usize,
    /// When to try again after an error, such as too many open files.
    retry: Option<Instant>,
    pause: Duration,
}

/// An accepted connection and its room.
pub(super) struct Admitted {
    pub(super) room: Room,
    pub(super) stream: Accepted,
    pub(super) peer: Peer,
    /// Its entry in the lobby until it has a session.
    pub(super) greeting: Greeting,
    /// Resolves if it has to give way.
    pub(super) sent_away: oneshot::Receiver<()>,
}

/// The room of a connection; dropping it frees the room.
pub(super) struct Room {
    _permit: OwnedSemaphorePermit,
    _place: Option<AddressPermit>,
}

/// A connection within the limit of its address.
type Arrived = (Accepted, Peer, Option<AddressPermit>);

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Acceptor {
    pub(super) fn new(sockets: Vec<Socket>, limits: &Limits, metrics: Arc<Metrics>) -> Self {
        let sessions = limits.sessions.min(Semaphore::MAX_PERMITS);
        Self {
            sockets,
            permits: Arc::new(Semaphore::new(sessions)),
            lobby: Lobby::default(),
            patience: limits.init_patience,
            waiting: None,
            crowd: limits.sessions_per_address.map(Crowd::new),
            metrics,
            first: 0,
            retry: None,
            pause: FIRST_PAUSE,
        }
    }

    /// The next connection. Cancel safe.
    pub(super) async fn accept(&mut self) -> Admitted {
        loop {
            if self.waiting.is_none() {
                self.waiting = Some(self.arrival().await);
            }
            let permit = self.permit().await;
            if let (Ok(permit), Some((stream, peer, place))) = (permit, self.waiting.take()) {
                let (greeting, sent_away) = self.lobby.enter();
                return Admitted {
                    room: Room {
                        _permit: permit,
                        _place: place,
                    },
                    stream,
                    peer,
                    greeting,
                    sent_away,
                };
            }
        }
    }

    /// Waits for room. If there is none, the oldest connection without a session gives way once it has had some time to
    /// open one.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        let free = Arc::clone(&self.permits).acquire_owned();
        tokio::pin!(free);
        while let Some(oldest) = self.lobby.oldest() {
            tokio::select! {
                biased;
                permit = &mut free => return permit,
                () = sleep_until(oldest + self.patience) => {
                    if self.lobby.send_oldest_away(self.patience) {
                        break;
                    }
                }
            }
        }
        free.await
    }

    /// A connection within the limit of its address.
    async fn arrival(&mut self) -> Arrived {
        loop {
            if let Some(retry) = self.retry {
                sleep_until(retry).await;
                self.retry = None;
            }
            match self.poll_sockets().await {
                Ok((stream, peer)) => {
                    self.pause = FIRST_PAUSE;
                    let place = match (&mut self.crowd, peer.ip()) {
                        (Some(crowd), Some(address)) => crowd.admit(address).map(Some),
                        _ => Some(None),
                    };
                    let Some(place) = place else {
                        self.metrics.connection_refused(ConnectionRefusal::Address);
                        if self.metrics.may_log_refusal() {
                            warn!(%peer, "too many sessions from this address");
                        }
                        continue;
                    };
                    return (stream, peer, place);
                }
                Err(error) => {
                    warn!(%error, "cannot accept a connection");
                    self.retry = Some(Instant::now() + self.pause);
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn poll_sockets(&mut self) -> io::Result<(Accepted, Peer)> {
        let count = self.sockets.len();
        self.first = (self.first + 1) % count.max(1);
        let in_turn = self.sockets.iter().cycle().skip(self.first).take(count);
        poll_fn(|context| {
            for socket in in_turn.clone() {
                if let Poll::Ready(accepted) = socket.poll_accept(context) {
                    return Poll::Ready(accepted);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// The sessions from each address, at most `most`.
struct Crowd {
    most: usize,
    sessions: HashMap<IpAddr, Weak<()>>,
}

/// One of the sessions from an address, which all hold a clone.
type AddressPermit = Arc<()>;

impl Crowd {
    fn new(most: usize) -> Self {
        let sessions = HashMap::new();
        Self { most, sessions }
    }

    /// A permit for a session from this address, unless it already has the most allowed.
    fn admit(&mut self, address: IpAddr) -> Option<AddressPermit> {
        self.sessions.retain(|_, permit| permit.strong_count() > 0);
        let permit = self.sessions.get(&address).and_then(Weak::upgrade);
        let permit = permit.unwrap_or_default();
        let admitted = Arc::strong_count(&permit) <= self.most;
        admitted.then(|| {
            self.sessions.insert(address, Arc::downgrade(&permit));
            permit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_two_sessions_at_most() {
        let mut crowd = Crowd::new(2);
        let [one, other]: [IpAddr; 2] =
            ["192.0.2.1", "2001:db8::1"].map(|address| address.parse().expect("an address"));
        let first = crowd.admit(one);
        let second = crowd.admit(one);
        assert!(first.is_some() && second.is_some() && crowd.admit(one).is_none());
        assert!(crowd.admit(other).is_some());
        drop(first);
        assert!(crowd.admit(one).is_some());
        drop(second);
        assert!(crowd.admit(other).is_some());
        assert_eq!(
            crowd.sessions.len(),
            1,
            "addresses without sessions are forgotten"
        );
        assert!(Crowd::new(0).admit(one).is_none());
    }
}
