//! Finds free ports for servers that cannot choose a port themselves.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port that is tried. The ports are below the range from which the system assigns ports, so that no other program is
/// assigned the port of a server while the server is restarted.
const FIRST: u16 = 12_000;
const PAIRS: u16 = 9_000;

/// Returns a free port of the loopback address.
///
/// # Panics
/// Panics if there is no free port.
pub fn free_port() -> u16 {
    pairs_of_ports(1)[0]
}

/// Returns free ports, each of which is followed by another free port. The server of an engine uses the second port to
/// communicate with other servers.
///
/// # Panics
/// Panics if there are not enough free ports.
pub fn pairs_of_ports(number: usize) -> Vec<u16> {
    let turns = (0..PAIRS).map(|_| next());
    let free = turns.filter(|port| is_free(*port) && is_free(*port + 1));
    let ports: Vec<_> = free.take(number).collect();
    assert_eq!(ports.len(), number, "free ports");
    ports
}

/// Returns the first port of the next pair. Each process begins with a different pair, because other processes may run at the
/// same time.
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
