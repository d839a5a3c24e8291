//! The connections that have no session yet (Z39.50-2003 §3.2.1): where the server is full, the oldest of them gives way to a
//! further one, so that those that never send an Init keep nobody out.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

/// Who is waiting for a session, in the order in which they came.
#[derive(Clone, Default)]
pub(super) struct Lobby(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    guests: BTreeMap<u64, Entry>,
    /// The number of the next one.
    next: u64,
}

struct Entry {
    since: Instant,
    send_away: oneshot::Sender<()>,
}

/// A connection that waits: both ends of its stay.
pub(super) struct Guest {
    pub(super) greeting: Greeting,
    pub(super) sent_away: SentAway,
}

/// A connection's place in the lobby, which it leaves when this is dropped: it has a session, or is gone.
pub(crate) struct Greeting {
    number: u64,
    lobby: Lobby,
}

/// Tells a connection that it has to give way.
pub(super) struct SentAway(oneshot::Receiver<()>);

impl Lobby {
    /// Takes a connection in that has just come.
    pub(super) fn enter(&self) -> Guest {
        let (send_away, sent_away) = oneshot::channel();
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next = number.wrapping_add(1);
        let since = Instant::now();
        waiting.guests.insert(number, Entry { since, send_away });
        Guest {
            greeting: Greeting {
                number,
                lobby: self.clone(),
            },
            sent_away: SentAway(sent_away),
        }
    }

    /// Since when the oldest has been waiting.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let waiting = self.lock();
        waiting.guests.values().next().map(|oldest| oldest.since)
    }

    /// Sends the oldest away, if it has been waiting for so long; answers whether there was one.
    pub(super) fn send_oldest_away(&self, patience: Duration) -> bool {
        let mut waiting = self.lock();
        let oldest = waiting.guests.first_entry();
        let oldest = oldest.filter(|oldest| oldest.get().since.elapsed() >= patience);
        let Some(oldest) = oldest else {
            return false;
        };
        // It may be gone already, which is what is wanted.
        let _ = oldest.remove().send_away.send(());
        true
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SentAway {
    /// Ready once the connection has to go; never, if it has left the lobby before.
    pub(super) async fn wait(self) {
        if self.0.await.is_err() {
            pending().await
        }
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        self.lobby.lock().guests.remove(&self.number);
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
        drop(served.greeting);
        let gone = [second * 2, second, second].map(|time| lobby.send_oldest_away(time));
        assert_eq!(gone, [false, true, false]);
        assert_eq!(lobby.oldest(), Some(begun + second));
        let told = [served.sent_away, oldest.sent_away, young.sent_away];
        let told = told.map(|sent_away| sent_away.wait().now_or_never());
        assert_eq!(told, [None, Some(()), None]);
        drop((oldest.greeting, young.greeting));
        assert_eq!(lobby.oldest(), None);
    }
}
