//! A slow link, simulated by a relay on loopback that delays octets and limits their number per second.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The properties of a link between clients and a server.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) round_trip: Duration,
    /// The limit on octets per second in each direction, shared by all connections.
    pub(crate) rate: Option<f64>,
}

/// A relay that runs until the process ends.
pub(crate) struct Relay {
    pub(crate) port: u16,
    traffic: Arc<Mutex<Traffic>>,
}

/// Counts of the traffic from the server.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) octets: u64,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Traffic {
    /// Returns the number of seconds between the first and the last octets.
    pub(crate) fn seconds(&self) -> f64 {
        let time = self.last.zip(self.first).map(|(last, first)| last - first);
        time.unwrap_or_default().as_secs_f64()
    }
}

impl Relay {
    /// Starts a relay that forwards connections to the port `server` on this machine.
    pub(crate) fn to(server: u16, link: Link) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let traffic = Arc::new(Mutex::new(Traffic::default()));
        let (up, down) = (
            Arc::new(Wire::new(link, None)),
            Arc::new(Wire::new(link, Some(&traffic))),
        );
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A client cannot send data until one round trip after it starts to connect.
                let connected = Instant::now() + link.round_trip;
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else {
                    continue;
                };
                for stream in [&client, &server] {
                    stream.set_nodelay(true).expect("an open socket");
                }
                let twin = |stream: &TcpStream| stream.try_clone().expect("a second handle");
                pump(twin(&client), twin(&server), Arc::clone(&up), connected);
                pump(server, client, Arc::clone(&down), connected);
            }
        });
        Self { port, traffic }
    }

    /// Returns the traffic from the server since the last call.
    pub(crate) fn traffic(&self) -> Traffic {
        std::mem::take(&mut *lock(&self.traffic))
    }
}

/// One direction of a link.
struct Wire {
    link: Link,
    /// The time at which the wire will have finished sending the octets that it has accepted so far.
    free: Mutex<Instant>,
    traffic: Option<Arc<Mutex<Traffic>>>,
}

impl Wire {
    fn new(link: Link, traffic: Option<&Arc<Mutex<Traffic>>>) -> Self {
        Self {
            link,
            free: Mutex::new(Instant::now()),
            traffic: traffic.map(Arc::clone),
        }
    }

    /// Accepts octets at time `at`, and returns the time at which the wire has finished sending them.
    fn take(&self, at: Instant, octets: usize) -> Instant {
        let mut free = lock(&self.free);
        let began = at.max(*free);
        let octets = f64::from(u32::try_from(octets).expect("a small chunk"));
        *free = began
            + self.link.rate.map_or(Duration::ZERO, |rate| {
                Duration::from_secs_f64(octets / rate)
            });
        *free
    }

    fn count(&self, octets: usize) {
        if let Some(traffic) = &self.traffic {
            let (mut traffic, now) = (lock(traffic), Instant::now());
            traffic.octets += u64::try_from(octets).expect("a small chunk");
            traffic.first.get_or_insert(now);
            traffic.last = Some(now);
        }
    }
}

/// The maximum number of octets that are sent as a unit.
const CHUNK: usize = 16 << 10;
/// The maximum time for which octets may be queued for the wire. A sender that would exceed it is delayed.
const QUEUE: Duration = Duration::from_millis(20);

/// The time at which octets arrive, and the octets. An empty vector marks the end of the stream.
type Arrival = (Instant, Vec<u8>);

/// Forwards octets in one direction of a connection that is established at time `connected`.
fn pump(mut from: TcpStream, to: TcpStream, wire: Arc<Wire>, connected: Instant) {
    let (sender, receiver) = channel();
    let sending = Arc::clone(&wire);
    thread::spawn(move || {
        let wire = sending;
        let mut chunk = vec![0; CHUNK];
        loop {
            let octets = from.read(&mut chunk).unwrap_or(0);
            let gone = wire.take(connected.max(Instant::now()), octets);
            let arrival = (gone + wire.link.round_trip / 2, chunk[..octets].to_vec());
            if send(&sender, arrival).is_none() || octets == 0 {
                break;
            }
            wait_until(gone.checked_sub(QUEUE).unwrap_or(gone));
        }
    });
    thread::spawn(move || deliver(to, receiver, &wire));
}

fn send(sender: &Sender<Arrival>, arrival: Arrival) -> Option<()> {
    sender.send(arrival).ok()
}

fn deliver(mut to: TcpStream, arrivals: Receiver<Arrival>, wire: &Wire) {
    for (at, octets) in arrivals {
        wait_until(at);
        if octets.is_empty() || to.write_all(&octets).is_err() {
            break;
        }
        wire.count(octets.len());
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn wait_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
