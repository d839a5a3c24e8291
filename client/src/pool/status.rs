//! Figures of the sessions in a pool, for metrics.

use std::ops::Add;

use super::{Pool, Server, lock};
use crate::target::Endpoint;

/// The number of sessions of a client and of users that wait for one, at one moment.
///
/// Sessions opened for session URLs or by [`Client::session`](crate::Client::session) are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatus {
    /// The sessions lent to connections and requests, including those that are being opened.
    pub in_use: usize,
    /// The open sessions that are kept for the next user.
    pub idle: usize,
    /// The users that wait for a session, because as many are in use as the target allows.
    pub waiting: usize,
}

impl Add for PoolStatus {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            in_use: self.in_use + other.in_use,
            idle: self.idle + other.idle,
            waiting: self.waiting + other.waiting,
        }
    }
}

impl Pool {
    /// Returns the figures of all servers together.
    pub(crate) fn status(&self) -> PoolStatus {
        let servers = lock(&self.servers);
        let each = servers.values().map(|server| server.status());
        each.fold(PoolStatus::default(), Add::add)
    }

    /// Returns the figures of one server.
    pub(crate) fn status_at(&self, endpoint: &Endpoint) -> PoolStatus {
        let servers = lock(&self.servers);
        let server = servers.get(endpoint);
        server.map(|server| server.status()).unwrap_or_default()
    }
}

impl Server {
    fn status(&self) -> PoolStatus {
        PoolStatus {
            in_use: *self.taken.borrow(),
            idle: self.idle.len(),
            waiting: self.demand.borrow().waiting(),
        }
    }
}
