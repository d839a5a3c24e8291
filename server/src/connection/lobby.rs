//! The connections that have no session yet (Z39.50-2003 §3.2.1). If the server is full, the oldest of them gives way to a new
//! one, so that connections that never send an Init keep nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::lock::lock;

/// The connections that wait for a session, oldest first.
#[derive(Clone, Default)]
pub(crate) struct Lobby(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    guests: BTreeMap<u64, GuestEntry>,
    /// The number of the next one.
    next: u64,
}

struct GuestEntry {
    since: Instant,
    send_away: oneshot::Sender<()>,
}

/// A connection's entry in the lobby. Dropped when it has a session, or has ended.
pub(crate) struct Greeting {
    number: u64,
    lobby: Lobby,
}

impl Lobby {
    /// Adds a new connection; the receiver is sent to when the connection has to give way.
    pub(crate) fn enter(&self) -> (Greeting, oneshot::Receiver<()>) {
        let (send_away, sent_away) = oneshot::channel();
        let mut waiting = lock(&self.0);
        let number = waiting.next;
        waiting.next = number.wrapping_add(1);
        let since = Instant::now();
        let entry = GuestEntry { since, send_away };
        waiting.guests.insert(number, entry);
        let lobby = self.clone();
        (Greeting { number, lobby }, sent_away)
    }

    /// When the oldest connection entered.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        let waiting = lock(&self.0);
        waiting.guests.values().next().map(|oldest| oldest.since)
    }

    /// Sends the oldest connection away, if it has waited at least `patience`; returns whether it did.
    pub(crate) fn send_oldest_away(&self, patience: Duration) -> bool {
        let mut waiting = lock(&self.0);
        let oldest = waiting.guests.first_entry();
        let oldest = oldest.filter(|oldest| oldest.get().since.elapsed() >= patience);
        let Some(oldest) = oldest else {
            return false;
        };
        // The connection may have ended already.
        let _ = oldest.remove().send_away.send(());
        true
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        lock(&self.lobby.0).guests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_goes_first() {
        let lobby = Lobby::default();
        let begun = Instant::now();
        let second = Duration::from_secs(1);
        let [served, oldest] = [lobby.enter(), lobby.enter()];
        sleep(second).await;
        let young = lobby.enter();
        assert_eq!(lobby.oldest(), Some(begun));
        drop(served.0);
        let gone = [second * 2, second, second].map(|time| lobby.send_oldest_away(time));
        assert_eq!(gone, [false, true, false]);
        assert_eq!(lobby.oldest(), Some(begun + second));
        let told = [served.1, oldest.1, young.1];
        let told = told.map(|sent_away| sent_away.now_or_never().and_then(Result::ok));
        assert_eq!(told, [None, Some(()), None]);
        drop((oldest.0, young.0));
        assert_eq!(lobby.oldest(), None);
    }
}
