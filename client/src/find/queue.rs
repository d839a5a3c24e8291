//! The queue of events from a search to their reader. Adding an event never waits, because a search that waited would still occupy its
//! session. Before more records are fetched, the search waits until the reader has taken all events and requests another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::sync::{Mutex, Notify, mpsc};

use super::event::Event;

/// Creates a queue of events.
pub(super) fn queue() -> (EventSender, EventReceiver) {
    let (sender, queue) = mpsc::unbounded_channel();
    let requests = Arc::new(Requests::default());
    let sender = EventSender {
        queue: sender,
        sent: AtomicU64::new(0),
        requests: Arc::clone(&requests),
        turn: Mutex::new(()),
    };
    let receiver = EventReceiver {
        queue,
        taken: 0,
        requests,
    };
    (sender, receiver)
}

/// The reader's requests for events.
#[derive(Default)]
struct Requests {
    /// The number of events that the reader had taken when it last requested another one.
    taken: AtomicU64,
    /// Wakes the search when `taken` changes and when the events are no longer read.
    changed: Notify,
}

/// The end of the queue at which a search adds events.
pub(super) struct EventSender {
    /// The queue. The events are boxed, because a channel allocates memory for many events when it is created.
    queue: mpsc::UnboundedSender<Box<Event>>,
    sent: AtomicU64,
    requests: Arc<Requests>,
    /// The lock held while waiting for the reader, so that searches at several targets take turns.
    turn: Mutex<()>,
}

impl EventSender {
    /// Adds an event.
    pub(super) fn send(&self, event: Event) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        // An error means that the events are no longer read and that the search is about to be dropped.
        let _ = self.queue.send(Box::new(event));
    }

    /// Waits until the reader has taken all events and requests another one, or until the events are no longer read.
    pub(super) async fn requested(&self) {
        let _turn = self.turn.lock().await;
        let is_next =
            || self.requests.taken.load(Ordering::Acquire) == self.sent.load(Ordering::Relaxed);
        while !is_next() && !self.queue.is_closed() {
            self.requests.changed.notified().await;
        }
    }
}

/// The end of the queue at which events are taken.
pub(super) struct EventReceiver {
    queue: mpsc::UnboundedReceiver<Box<Event>>,
    taken: u64,
    requests: Arc<Requests>,
}

impl EventReceiver {
    /// Takes the next event, if there is one; `None` after the last event.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let event = self.queue.poll_recv(context);
        if let Poll::Ready(Some(_)) = event {
            self.taken += 1;
        }
        event.map(|event| event.map(|event| *event))
    }

    /// Tells the search that all events have been taken and that another one is requested.
    pub(super) fn request(&self) {
        let before = self.requests.taken.swap(self.taken, Ordering::Release);
        if before != self.taken {
            self.requests.changed.notify_one();
        }
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        self.queue.close();
        self.requests.changed.notify_one();
    }
}
