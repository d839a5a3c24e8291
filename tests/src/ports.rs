//! Ports for servers that cannot choose one by themselves.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that the system gives to connections, and to servers that take any: no other test gets one of these while a server is
/// started again.
const FIRST: u16 = 12_000;
const PAIRS: u16 = 9_000;

/// A free port of the loopback address.
///
/// # Panics
/// If there is none.
pub fn free_port() -> u16 {
    pairs_of_ports(1)[0]
}

/// Free ports, each followed by another free one, which the servers of an engine use among themselves.
///
/// # Panics
/// If there are not enough.
pub fn pairs_of_ports(number: usize) -> Vec<u16> {
    let turns = (0..PAIRS).map(|_| next());
    let free = turns.filter(|port| is_free(*port) && is_free(*port + 1));
    let ports: Vec<_> = free.take(number).collect();
    assert_eq!(ports.len(), number, "free ports");
    ports
}

/// The first ports of the pairs in turn. Each process begins somewhere else, since others run beside it.
fn next() -> u16 {
    static TURN: LazyLock<AtomicU16> = LazyLock::new(|| {
        let random = RandomState::new().build_hasher().finish();
        AtomicU16::new(random as u16)
    });
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    FIRST + 2 * (turn % PAIRS)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
