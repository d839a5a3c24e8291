//! Limits the number of requests in progress, in total and per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use z3950_server::backend::Caller;
use z3950_server::lock;

/// The requests in progress.
#[derive(Debug)]
pub(super) struct RequestSlots {
    taken: Mutex<HashMap<Option<IpAddr>, usize>>,
    most: usize,
    most_of_address: usize,
}

/// A slot for a request; it becomes free when the value is dropped.
#[derive(Debug)]
pub(super) struct RequestSlot {
    slots: Arc<RequestSlots>,
    address: Option<IpAddr>,
}

impl RequestSlots {
    pub(super) fn new(most: usize, most_of_address: usize) -> Arc<Self> {
        Arc::new(Self {
            taken: Mutex::default(),
            most,
            most_of_address,
        })
    }

    /// Returns a slot for a client; `None` if all slots are taken. An IPv6 client is counted by its /64 network.
    pub(super) fn take(self: &Arc<Self>, address: Option<IpAddr>) -> Option<RequestSlot> {
        let address = address.and_then(|address| Caller::new().with_address(address).address());
        let mut taken = lock(&self.taken);
        let of_address = taken.get(&address).copied().unwrap_or(0);
        if of_address >= self.most_of_address || taken.values().sum::<usize>() >= self.most {
            return None;
        }
        taken.insert(address, of_address + 1);
        Some(RequestSlot {
            slots: Arc::clone(self),
            address,
        })
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        let mut taken = lock(&self.slots.taken);
        match taken.get_mut(&self.address) {
            Some(number) if *number > 1 => *number -= 1,
            _ => drop(taken.remove(&self.address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_and_returned() {
        let slots = RequestSlots::new(3, 2);
        let address = |text: &str| Some(text.parse().expect("an address"));
        let one = slots.take(address("2001:db8::1"));
        let two = slots.take(address("2001:db8::2"));
        assert!(one.is_some() && two.is_some());
        assert!(slots.take(address("2001:db8::3")).is_none());
        let other = slots.take(address("192.0.2.1"));
        assert!(other.is_some());
        assert!(slots.take(address("192.0.2.2")).is_none());
        drop(two);
        assert!(slots.take(address("::ffff:192.0.2.1")).is_some());
        drop((one, other));
        assert!(lock(&slots.taken).is_empty());
    }
}
