//! The queue for the sessions with a target. A session serves one operation at a time; further operations wait. When a session
//! becomes free, the client addresses take turns, then the clients of that address, and the session goes to the client's
//! operation that has waited longest.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use z3950_server::backend::Caller;
use z3950_server::lock;

/// The sessions with a target, numbered from 0, and the operations that wait for a session.
pub(super) struct Queue(Mutex<QueueState>);

/// The right to use a session. Dropping it gives the session to the next operation.
pub(super) struct SessionTurn {
    queue: Arc<Queue>,
    /// The number of the session.
    pub(super) slot: usize,
    is_done: bool,
}

#[derive(Default)]
struct QueueState {
    /// The sessions that are free. The last session in the list is taken first, so that the other sessions become idle and can be
    /// closed.
    free: Vec<usize>,
    waiting: Waiting,
    tickets: u64,
}

/// The operations that wait, by address and client.
#[derive(Default)]
struct Waiting(VecDeque<(Option<IpAddr>, WaitingCallers)>);

/// The clients of an address with their operations. Each client has at least one operation.
type WaitingCallers = VecDeque<(Caller, VecDeque<Waiter>)>;

struct Waiter {
    ticket: u64,
    /// The number of the session that the operation needs; `None` for any session.
    slot: Option<usize>,
    grant: oneshot::Sender<SessionTurn>,
}

impl Queue {
    /// Creates a queue for this number of sessions.
    pub(super) fn new(slots: usize) -> Self {
        Self(Mutex::new(QueueState {
            free: (0..slots).rev().collect(),
            ..QueueState::default()
        }))
    }

    /// Waits for any session, or for the session of this number. Dropping the future removes the operation from the
    /// queue.
    ///
    /// # Errors
    /// Fails if the queue is dropped, which cannot happen while the future borrows it.
    pub(super) async fn turn(
        self: &Arc<Self>,
        caller: &Caller,
        slot: Option<usize>,
    ) -> Result<SessionTurn, oneshot::error::RecvError> {
        let (ticket, granted) = self.enter(caller, slot);
        let _place = ticket.map(|ticket| Place {
            queue: self,
            caller,
            ticket,
        });
        granted.await
    }

    /// Joins the queue. Returns a ticket for leaving the queue, and a receiver for the turn. If a session is free, the turn is
    /// sent immediately, and there is no ticket.
    fn enter(
        self: &Arc<Self>,
        caller: &Caller,
        slot: Option<usize>,
    ) -> (Option<u64>, oneshot::Receiver<SessionTurn>) {
        let (grant, granted) = oneshot::channel();
        let mut state = lock(&self.0);
        let free = match slot {
            None => state.free.pop(),
            Some(slot) => {
                let at = state.free.iter().position(|free| *free == slot);
                at.map(|at| state.free.remove(at))
            }
        };
        if let Some(slot) = free {
            drop(state);
            // Sending cannot fail, because its receiver `granted` still exists.
            let _ = grant.send(self.turn_in(slot));
            return (None, granted);
        }
        state.tickets += 1;
        let ticket = state.tickets;
        let waiter = Waiter {
            ticket,
            slot,
            grant,
        };
        state.waiting.add(caller, waiter);
        (Some(ticket), granted)
    }

    fn turn_in(self: &Arc<Self>, slot: usize) -> SessionTurn {
        SessionTurn {
            queue: Arc::clone(self),
            slot,
            is_done: false,
        }
    }
}

impl SessionTurn {
    /// Ends the turn of an operation that has completed. The session is no longer busy, so it is the first to be used again.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for SessionTurn {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.0);
        match state.waiting.next(self.slot) {
            Some(next) => {
                drop(state);
                // An error means that the operation has just been dropped. Its turn is dropped with the error, and dropping the
                // turn runs this code again.
                let _ = next.grant.send(self.queue.turn_in(self.slot));
            }
            None if self.is_done => state.free.push(self.slot),
            // The session may still be busy with the operation of a client that has disconnected, so it is used last.
            None => state.free.insert(0, self.slot),
        }
    }
}

/// The place of an operation in the queue; dropping it removes the operation.
struct Place<'a> {
    queue: &'a Queue,
    caller: &'a Caller,
    ticket: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.queue.0).waiting.remove(self.caller, self.ticket);
    }
}

impl Waiting {
    fn add(&mut self, caller: &Caller, waiter: Waiter) {
        let address = caller.address();
        let known = self.0.iter_mut().find(|(known, _)| *known == address);
        let Some((_, callers)) = known else {
            let callers = [(caller.clone(), [waiter].into())];
            self.0.push_back((address, callers.into()));
            return;
        };
        match callers.iter_mut().find(|(known, _)| known == caller) {
            Some((_, waiters)) => waiters.push_back(waiter),
            None => callers.push_back((caller.clone(), [waiter].into())),
        }
    }

    /// Removes the first operation that can use the session, and moves its client and address to the end.
    fn next(&mut self, slot: usize) -> Option<Waiter> {
        let addresses = self.0.iter_mut().enumerate();
        let (at, waiter) =
            { addresses }.find_map(|(at, (_, callers))| Some((at, next_of(callers, slot)?)))?;
        let address = self.0.remove(at)?;
        if !address.1.is_empty() {
            self.0.push_back(address);
        }
        Some(waiter)
    }

    fn remove(&mut self, caller: &Caller, ticket: u64) {
        let address = caller.address();
        let mut addresses = self.0.iter_mut();
        let Some((_, callers)) = addresses.find(|(known, _)| *known == address) else {
            return;
        };
        if let Some((_, waiters)) = callers.iter_mut().find(|(known, _)| known == caller) {
            waiters.retain(|waiter| waiter.ticket != ticket);
            callers.retain(|(_, waiters)| !waiters.is_empty());
        }
        self.0.retain(|(_, callers)| !callers.is_empty());
    }
}

/// Removes the first operation of an address that can use the session, and moves its client to the end.
fn next_of(callers: &mut WaitingCallers, slot: usize) -> Option<Waiter> {
    let can_use = |waiter: &Waiter| waiter.slot.is_none_or(|wanted| wanted == slot);
    let numbered = callers.iter_mut().enumerate();
    let (at, waiter) = { numbered }.find_map(|(at, (_, waiters))| {
        let first = waiters.iter().position(can_use)?;
        Some((at, waiters.remove(first)?))
    })?;
    let caller = callers.remove(at)?;
    if !caller.1.is_empty() {
        callers.push_back(caller);
    }
    Some(waiter)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn from(address: u8) -> Caller {
        Caller::new().with_address([192, 0, 2, address].into())
    }

    /// Queues an operation for each caller in the list, and returns their numbers in the order of their turns.
    async fn order(queue: &Arc<Queue>, callers: &[&Caller]) -> Vec<usize> {
        let first = queue.turn(&from(255), None).await.expect("a session");
        let mut waiting: Vec<_> = callers
            .iter()
            .map(|caller| queue.enter(caller, None).1)
            .collect();
        first.done();
        let mut order = Vec::new();
        while order.len() < callers.len() {
            let granted = { waiting.iter_mut().enumerate() }
                .find_map(|(number, waiting)| Some((number, waiting.try_recv().ok()?)));
            let (number, turn) = granted.expect("a turn");
            order.push(number);
            turn.done();
        }
        order
    }

    #[tokio::test]
    async fn addresses_take_turns_and_so_do_their_sessions() {
        let queue = Arc::new(Queue::new(1));
        let (one, other, far) = (&from(1), &from(1), &from(2));
        assert_eq!(order(&queue, &[one, other, far]).await, [0, 2, 1]);
        assert_eq!(order(&queue, &[one, one, one, other]).await, [0, 3, 1, 2]);
        let many = [one, one, other, other, far, far];
        assert_eq!(order(&queue, &many).await, [0, 4, 2, 5, 1, 3]);
        assert!(lock(&queue.0).waiting.0.is_empty());
    }

    #[tokio::test]
    async fn one_session_may_be_waited_for() {
        let queue = Arc::new(Queue::new(2));
        let [first, second] = [(); 2].map(|()| queue.enter(&from(1), None).1);
        let (first, second) = (first.await.expect("one"), second.await.expect("two"));
        assert_eq!((first.slot, second.slot), (0, 1));
        let mut second_only = queue.enter(&from(1), Some(1)).1;
        let mut any = queue.enter(&from(1), None).1;
        first.done();
        assert!(second_only.try_recv().is_err(), "it waits for the other");
        let any = any.try_recv().expect("any session does");
        second.done();
        assert_eq!(second_only.try_recv().expect("its session").slot, 1);
        drop(any);
    }

    #[tokio::test]
    async fn operations_that_are_dropped_lose_their_places() {
        let queue = Arc::new(Queue::new(1));
        let turn = queue.turn(&from(1), None).await.expect("a session");
        let caller = from(1);
        let waiting = queue.turn(&caller, None);
        assert!(waiting.now_or_never().is_none());
        assert!(lock(&queue.0).waiting.0.is_empty());
        // The operation is dropped after it got a turn, so the session becomes free again.
        let (_, granted) = queue.enter(&from(1), None);
        turn.done();
        drop(granted);
        assert_eq!(lock(&queue.0).free, [0]);
    }

    #[tokio::test]
    async fn a_session_that_may_still_be_busy_is_taken_last() {
        let queue = Arc::new(Queue::new(2));
        drop(queue.turn(&from(1), None).await.expect("a session"));
        let other = queue.turn(&from(1), None).await.expect("a session");
        assert_eq!(other.slot, 1);
        other.done();
        let again = queue.turn(&from(1), None).await.expect("a session");
        assert_eq!(again.slot, 1, "the last one used");
    }
}
