//! Accepts connections from all sockets in turn. A connection that does not get a slot waits, while others are still accepted, so
//! that the connections of one address do not hold up other addresses.

use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::socket::{Arrival, Listening};
use crate::connection::slots::{Entrance, Slot, Slots};
use crate::limits::Limits;
use crate::metrics::{ConnectionRefusal, LoggedRefusal, Metrics};
use crate::observer::Peer;

/// Accepts connections from all sockets.
pub(super) struct Acceptor {
    sockets: Vec<Listening>,
    slots: Slots,
    metrics: Arc<Metrics>,
    /// Connections that are waiting for a slot, oldest first.
    waiting: VecDeque<Arrival>,
    most_waiting: usize,
    per_address: usize,
    /// The index of the socket to poll first next time. It changes each time, so that no socket is starved.
    first: usize,
    /// The time at which to try again after an error, such as too many open files.
    retry: Option<Instant>,
    pause: Duration,
}

/// An accepted connection and its slot.
pub(super) struct Admitted {
    pub(super) slot: Slot,
    pub(super) arrival: Arrival,
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Acceptor {
    pub(super) fn new(sockets: Vec<Listening>, limits: &Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            sockets,
            slots: Slots::new(limits),
            metrics,
            waiting: VecDeque::new(),
            most_waiting: limits.waiting,
            per_address: limits.most_per_address(),
            first: 0,
            retry: None,
            pause: FIRST_PAUSE,
        }
    }

    /// Returns the next connection that gets a slot. This method is cancel safe.
    pub(super) async fn accept(&mut self) -> Admitted {
        loop {
            let due = match self.admit_waiting() {
                Ok(admitted) => return admitted,
                Err(due) => due,
            };
            let slots = self.slots.clone();
            let someone_waits = !self.waiting.is_empty();
            tokio::select! {
                biased;
                () = slots.freed(), if someone_waits => {}
                () = at(due), if someone_waits => {}
                arrival = self.arrival() => match self.slots.enter(arrival.peer.ip()) {
                    Entrance::Admitted(slot) => return Admitted { slot, arrival },
                    Entrance::Refused => self.refuse(arrival.peer, ConnectionRefusal::Address),
                    Entrance::Full(_) if self.may_wait(arrival.peer) => {
                        self.waiting.push_back(arrival);
                    }
                    Entrance::Full(_) => self.refuse(arrival.peer, ConnectionRefusal::Full),
                },
            }
        }
    }

    /// Returns the first waiting connection that gets a slot, or the time at which to try again.
    fn admit_waiting(&mut self) -> Result<Admitted, Option<Instant>> {
        let mut soonest = None;
        let mut index = 0;
        while let Some(peer) = self.waiting.get(index).map(|arrival| arrival.peer) {
            let due = match self.slots.enter(peer.ip()) {
                Entrance::Admitted(slot) => match self.waiting.remove(index) {
                    Some(arrival) => return Ok(Admitted { slot, arrival }),
                    None => None,
                },
                Entrance::Full(due) => due,
                Entrance::Refused => {
                    self.refuse(peer, ConnectionRefusal::Address);
                    self.waiting.remove(index);
                    continue;
                }
            };
            soonest = soonest.into_iter().chain(due).min();
            index += 1;
        }
        Err(soonest)
    }

    /// Closes a connection without sending anything, because the client's protocol is not known yet.
    fn refuse(&self, peer: Peer, why: ConnectionRefusal) {
        self.metrics.connection_refused(why);
        let refusal = match why {
            ConnectionRefusal::Address => LoggedRefusal::Address,
            ConnectionRefusal::Full => LoggedRefusal::Full,
        };
        if self.metrics.may_log(refusal) {
            match why {
                ConnectionRefusal::Address => {
                    let most = self.per_address;
                    warn!(%peer, "connection closed: its address has {most} sessions already (sessions-per-address)");
                }
                ConnectionRefusal::Full => {
                    warn!(%peer, "connection closed: the server is full (sessions), and as many wait as may (waiting)");
                }
            }
        }
    }

    /// Returns whether a further connection from this peer may wait.
    fn may_wait(&self, peer: Peer) -> bool {
        let others = self.waiting.iter();
        let of_address = others.filter(|other| other.peer.ip() == peer.ip());
        self.waiting.len() < self.most_waiting && of_address.count() < self.most_waiting.div_ceil(2)
    }

    /// Waits for the next connection on any socket. This method is cancel safe.
    async fn arrival(&mut self) -> Arrival {
        loop {
            if let Some(retry) = self.retry {
                sleep_until(retry).await;
                self.retry = None;
            }
            match self.poll_sockets().await {
                Ok(arrived) => {
                    self.pause = FIRST_PAUSE;
                    return arrived;
                }
                Err(error) => {
                    warn!(%error, "cannot accept a connection");
                    self.retry = Some(Instant::now() + self.pause);
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn poll_sockets(&mut self) -> io::Result<Arrival> {
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

/// Waits until this time; with `None`, waits forever.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
