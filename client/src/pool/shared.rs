//! The sessions with a server that additional users may join.

use std::sync::{Arc, Mutex, Weak};

use tokio::sync::Notify;

use super::lease::{Lease, LentSession};
use super::{Key, lock};

/// The sessions that have room for several users.
#[derive(Default)]
pub(super) struct SharedSessions {
    list: Mutex<Vec<Weak<LentSession>>>,
    /// Notifies waiting users that a place has become free.
    freed: Notify,
}

impl SharedSessions {
    /// Allows other users to join a session.
    pub(super) fn offer(&self, session: &Arc<LentSession>) {
        let mut list = lock(&self.list);
        list.retain(|session| session.strong_count() > 0);
        list.push(Arc::downgrade(session));
        drop(list);
        self.notify();
    }

    /// Notifies waiting users that a place is free.
    pub(super) fn notify(&self) {
        self.freed.notify_waiters();
    }

    /// Waits for a free place in a session.
    pub(super) async fn join(&self, key: &Key) -> Lease {
        loop {
            let freed = self.freed.notified();
            if let Some(lease) = self.free_place(key) {
                return lease;
            }
            freed.await;
        }
    }

    fn free_place(&self, key: &Key) -> Option<Lease> {
        let list = lock(&self.list);
        let mut sessions = list.iter().filter_map(Weak::upgrade);
        sessions.find_map(|session| Lease::join(session, key))
    }
}
