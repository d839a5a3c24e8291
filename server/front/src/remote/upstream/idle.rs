//! Closes sessions and deletes result sets that are not in use: after a while, or immediately if another user is waiting for a
//! session with the server.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, interval};
use z3950_server::backend::Caller;
use z3950_server::lock;

use super::{HeldSet, SessionSlot, SlotState, Upstream};

/// The time after which an idle session is closed and an unused result set is deleted at the target.
const IDLE: Duration = Duration::from_secs(60);

impl Upstream {
    /// Starts the task that closes idle sessions and deletes unused sets, unless it is running. The task ends when the database
    /// is dropped.
    pub(super) fn tend(self: &Arc<Self>) {
        if self.is_tended.swap(true, Ordering::Relaxed) {
            return;
        }
        let upstream = Arc::downgrade(self);
        let (demand, opened) = (self.demand.clone(), Arc::clone(&self.opened));
        tokio::spawn(async move {
            let mut rounds = interval(IDLE / 2);
            while let Some(has_session) = upstream.upgrade().map(|one| one.has_session()) {
                let is_wanted = tokio::select! {
                    _ = rounds.tick() => false,
                    () = opened.notified(), if !has_session => continue,
                    () = demand.opened(), if has_session => true,
                };
                match upstream.upgrade() {
                    Some(upstream) if is_wanted => upstream.give_way().await,
                    Some(upstream) => upstream.close_idle(),
                    None => return,
                }
            }
        });
    }

    /// Returns whether there is a session with the target.
    pub(in crate::remote) fn has_session(&self) -> bool {
        self.slots.iter().any(SessionSlot::is_open)
    }

    /// Closes the session that has been idle for the longest time or, if all are in use, the first one that becomes idle while
    /// another user is still waiting.
    async fn give_way(&self) {
        let open = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| slot.is_open());
        let used = open.map(|(number, slot)| {
            let state = slot.state.try_lock().ok();
            let last_use = state.and_then(|state| Some(state.open.as_ref()?.last_use));
            (last_use.unwrap_or_else(Instant::now), number)
        });
        let Some((_, number)) = used.min() else {
            return;
        };
        let Ok(turn) = self.queue.turn(&Caller::new(), Some(number)).await else {
            return;
        };
        if let Some(slot) = self.slots.get(number) {
            let mut state = slot.state.lock().await;
            if state.open.is_some() && self.demand.promise() {
                slot.close(&mut state);
                // The number is increased, so that operations that wait for this session detect that their result sets are gone.
                let session = (number, state.number);
                state.number += 1;
                drop(state);
                self.forget_sets(|held| held.session == session);
            }
        }
        turn.done();
    }

    fn close_idle(&self) {
        self.searches.forget_stale();
        self.facets.forget_stale();
        self.forget_sets(|held| held.last_use.elapsed() > IDLE);
        for slot in &self.slots {
            if let Ok(mut state) = slot.state.try_lock()
                && { &state.open }
                    .as_ref()
                    .is_some_and(|open| open.last_use.elapsed() > IDLE)
            {
                slot.close(&mut state);
            }
        }
    }

    /// Closes all sessions that are not in use, with their result sets.
    pub(in crate::remote) fn retire(&self) {
        self.forget_sets(|_| true);
        for slot in &self.slots {
            if let Ok(mut state) = slot.state.try_lock() {
                slot.close(&mut state);
                state.number += 1;
            }
        }
    }

    /// Deletes the unused sets at the target for which `is_one` is true.
    fn forget_sets(&self, is_one: impl Fn(&HeldSet) -> bool) {
        let mut sets = lock(&self.held);
        sets.retain(|set| set.strong_count() > 0);
        for set in sets.iter().filter_map(Weak::upgrade) {
            if let Ok(mut held) = set.held.try_lock()
                && is_one(&held)
            {
                held.result = None;
            }
        }
    }
}

impl SessionSlot {
    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Drops the connection of a slot. The session ends when no result set needs it.
    pub(super) fn close(&self, state: &mut SlotState) {
        state.open = None;
        self.is_open.store(false, Ordering::Release);
    }
}
