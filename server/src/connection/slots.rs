//! Limits the number of connections, so that no address can lock out others (Z39.50-2003 §3.2.1, §3.2.11). Each connection
//! occupies a slot. The rules for assigning slots are:
//!
//! - an address has at most half of the slots; the last tenth of the slots is reserved for addresses without a connection;
//! - if all slots are taken, a connection without a session is closed or, if there is none, a connection whose session is idle.
//!   Of these, the oldest or longest idle one at the address with the most connections is closed. No connection is closed before
//!   a certain time has passed, and a connection is closed only for a new one from the same address or from an address with fewer
//!   connections.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backend::network;
use crate::limits::Limits;
use crate::lock::lock;

/// The connection slots of a server. Clones share the slots.
#[derive(Clone)]
pub(crate) struct Slots(Arc<SlotTable>);

struct SlotTable {
    /// The reference point of all times, which are stored in milliseconds.
    begun: Instant,
    sessions: usize,
    per_address: usize,
    /// The number of slots reserved for addresses without a connection.
    reserve: usize,
    /// The minimum time before a connection is closed to free its slot: the first is for connections without a session, the
    /// second for idle sessions.
    patience: [Duration; 2],
    holders: Mutex<Holders>,
    freed: Notify,
}

#[derive(Default)]
struct Holders {
    /// The connections of each address, in the order of arrival.
    of: HashMap<Option<IpAddr>, BTreeMap<u64, Arc<SlotHolder>>>,
    count: usize,
    /// The number of the next connection.
    next: u64,
}

/// A connection that occupies a slot.
struct SlotHolder {
    number: u64,
    address: Option<IpAddr>,
    /// The time at which the connection arrived or became idle, in milliseconds; [`BUSY`] while its session is not idle.
    since: AtomicU64,
    has_session: AtomicBool,
    gives_way: AtomicBool,
    waker: AtomicWaker,
}

const BUSY: u64 = u64::MAX;

/// The slot of a connection; dropping the value frees the slot.
pub(crate) struct Slot {
    slots: Slots,
    holder: Arc<SlotHolder>,
}

/// The result of requesting a slot.
pub(crate) enum Entrance {
    Admitted(Slot),
    /// All slots are taken. Contains the time at which a connection can be closed to make room for the new one, unless a slot
    /// becomes free earlier; `None` if no connection can be closed.
    Full(Option<Instant>),
    /// The address already has the maximum number of connections.
    Refused,
}

/// A connection that can be closed to free its slot.
struct Candidate {
    address: Option<IpAddr>,
    number: u64,
}

impl Slots {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(SlotTable {
            begun: Instant::now(),
            sessions: limits.sessions,
            per_address: limits.most_per_address(),
            reserve: limits.sessions / 10,
            patience: [limits.init_patience, limits.idle_patience],
            holders: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// Admits a connection from this address if a slot is free, or if another connection can be closed for it. All connections
    /// over Unix sockets count as one address, `None`, to which the limit per address does not apply.
    pub(crate) fn enter(&self, address: Option<IpAddr>) -> Entrance {
        let address = address.map(network);
        let mut holders = lock(&self.0.holders);
        let is_at_limit = self.is_at_limit(&holders, address);
        if is_at_limit || !self.is_free(&holders, address) {
            // If an address is at its limit, one of its own connections is closed to make room, but only one without an open
            // session.
            let kinds = if is_at_limit {
                &[false][..]
            } else {
                &[false, true]
            };
            let leaving = self.leaving(&holders, address, is_at_limit, kinds);
            match leaving {
                Ok(candidate) => holders.send_away(&candidate),
                Err(None) if is_at_limit => return Entrance::Refused,
                Err(time) => return Entrance::Full(time),
            }
        }
        Entrance::Admitted(self.occupy(&mut holders, address))
    }

    /// Returns a slot for a further session of a client that already has one, or `None` if another connection would have to be
    /// closed for it. The further session never counts as idle.
    #[cfg(feature = "sru")]
    pub(crate) fn spare(&self, address: Option<IpAddr>) -> Option<Slot> {
        let address = address.map(network);
        let mut holders = lock(&self.0.holders);
        let is_free = !self.is_at_limit(&holders, address) && self.is_free(&holders, address);
        is_free.then(|| {
            let slot = self.occupy(&mut holders, address);
            slot.open();
            slot
        })
    }

    fn is_at_limit(&self, holders: &Holders, address: Option<IpAddr>) -> bool {
        address.is_some() && holders.held(&address) >= self.0.per_address
    }

    fn is_free(&self, holders: &Holders, address: Option<IpAddr>) -> bool {
        let free = self.0.sessions.saturating_sub(holders.count);
        let kept = match holders.held(&address) {
            0 => 0,
            _ => self.0.reserve,
        };
        free > kept
    }

    fn occupy(&self, holders: &mut Holders, address: Option<IpAddr>) -> Slot {
        let number = holders.next;
        holders.next = number.wrapping_add(1);
        holders.count += 1;
        let holder = Arc::new(SlotHolder {
            number,
            address,
            since: AtomicU64::new(self.milliseconds(Instant::now())),
            has_session: AtomicBool::new(false),
            gives_way: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        let of_address = holders.of.entry(address).or_default();
        of_address.insert(number, Arc::clone(&holder));
        Slot {
            slots: self.clone(),
            holder,
        }
    }

    /// Waits until a slot may have become free.
    pub(crate) async fn freed(&self) {
        self.0.freed.notified().await;
    }

    /// Returns the connection to be closed for a new one from this address, or the next time at which one can be closed. `kinds`
    /// says whether to consider connections with or without a session, in this order. Of each kind, the oldest connection of the
    /// address with the most connections is chosen.
    fn leaving(
        &self,
        holders: &Holders,
        address: Option<IpAddr>,
        is_at_limit: bool,
        kinds: &[bool],
    ) -> Result<Candidate, Option<Instant>> {
        let held = holders.held(&address);
        let now = self.milliseconds(Instant::now());
        let mut soonest = None;
        for has_session in kinds {
            let [of_guests, of_sessions] = self.0.patience;
            let patience = if *has_session { of_sessions } else { of_guests };
            let patience = u64::try_from(patience.as_millis()).unwrap_or(BUSY);
            let mut best = None;
            for (other, list) in &holders.of {
                if *other != address && (is_at_limit || list.len() <= held) {
                    continue;
                }
                for holder in list.values() {
                    let since = holder.since.load(Ordering::Relaxed);
                    let is_of_kind = holder.has_session.load(Ordering::Relaxed) == *has_session;
                    if !is_of_kind || since == BUSY {
                        continue;
                    }
                    let due = since.saturating_add(patience);
                    if due > now {
                        soonest = Some(soonest.map_or(due, |soonest: u64| soonest.min(due)));
                        continue;
                    }
                    let merit = (list.len(), Reverse(since), Reverse(holder.number));
                    if best.as_ref().is_none_or(|(other, _)| merit > *other) {
                        best = Some((merit, holder));
                    }
                }
            }
            if let Some((
                _,
                SlotHolder {
                    address, number, ..
                },
            )) = best.map(|(merit, one)| (merit, &**one))
            {
                return Ok(Candidate {
                    address: *address,
                    number: *number,
                });
            }
        }
        Err(soonest.and_then(|due| self.0.begun.checked_add(Duration::from_millis(due))))
    }

    fn milliseconds(&self, time: Instant) -> u64 {
        let since = time.saturating_duration_since(self.0.begun);
        u64::try_from(since.as_millis()).unwrap_or(BUSY - 1)
    }
}

impl Holders {
    /// Returns the number of connections from an address.
    fn held(&self, address: &Option<IpAddr>) -> usize {
        self.of.get(address).map_or(0, BTreeMap::len)
    }

    /// Removes a connection; returns it if it existed.
    fn remove(&mut self, address: &Option<IpAddr>, number: u64) -> Option<Arc<SlotHolder>> {
        let list = self.of.get_mut(address)?;
        let removed = list.remove(&number)?;
        if list.is_empty() {
            self.of.remove(address);
        }
        self.count = self.count.saturating_sub(1);
        Some(removed)
    }

    /// Frees the slot of a connection immediately, because closing the connection may take a moment.
    fn send_away(&mut self, leaving: &Candidate) {
        if let Some(holder) = self.remove(&leaving.address, leaving.number) {
            holder.gives_way.store(true, Ordering::Release);
            holder.waker.wake();
        }
    }
}

impl Slot {
    /// Returns the collection of slots to which this slot belongs.
    #[cfg(feature = "sru")]
    pub(crate) fn slots(&self) -> Slots {
        self.slots.clone()
    }

    /// Marks the connection as having a session, which is busy.
    pub(crate) fn open(&self) {
        self.busy();
        self.holder.has_session.store(true, Ordering::Relaxed);
    }

    /// Marks the session as busy, because a request has arrived.
    pub(crate) fn busy(&self) {
        self.holder.since.store(BUSY, Ordering::Relaxed);
    }

    /// Marks the session as idle, because all requests are answered.
    pub(crate) fn idle(&self, now: Instant) {
        let since = self.slots.milliseconds(now);
        self.holder.since.store(since, Ordering::Relaxed);
    }

    /// Returns `Ready` if the connection has to be closed to free its slot.
    pub(crate) fn poll_called(&self, context: &Context<'_>) -> Poll<()> {
        self.holder.waker.register(context.waker());
        if self.holder.gives_way.load(Ordering::Acquire) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Waits until the connection in this slot has to be closed to make room for another; without a slot, waits forever.
pub(crate) async fn gives_way(slot: Option<&Slot>) {
    poll_fn(|context| slot.map_or(Poll::Pending, |slot| slot.poll_called(context))).await;
}

impl Drop for Slot {
    fn drop(&mut self) {
        let SlotTable { holders, freed, .. } = &*self.slots.0;
        let SlotHolder {
            address, number, ..
        } = &*self.holder;
        if lock(holders).remove(address, *number).is_some() {
            freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
