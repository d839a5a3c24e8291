//! Records far from the first of a large set, and scans: through `z3950d`, and as the requests that it sends for them.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use z3950::{Client, Connection, ResultSet, ScanOptions};
use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::query::parse_pqf;
use z3950_tests::opensearch::Cluster;
use z3950_tests::program::Daemon;

use crate::direct::Direct;
use crate::records::QuerySample;
use crate::{INDEX, percentiles, ratio};

/// The number of positions, and of scans in each direction.
const TIMES: usize = 100;
/// The positions are around this part of the set: 900,000 of a million.
const PART: f64 = 0.9;
/// The terms of a scan.
const TERMS: u64 = 20;

/// A request as `z3950d` sent it: the path and the body.
type Request = (String, Vec<u8>);

/// Measures records far from the first, and scans in both directions.
pub(crate) async fn far_positions_and_scans(
    cluster: &Cluster,
    daemon: &Daemon,
    samples: &[QuerySample],
) {
    let relay = Relay::to(cluster.ports()[0]).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("z3950d.toml");
    let engine = format!("http://127.0.0.1:{}/{INDEX}", relay.port);
    let text = format!("[[database]]\nname = \"books\"\nengine = {engine:?}\n");
    std::fs::write(&settings, text).expect("written");
    let recorded = Daemon::start(["--config", settings.to_str().expect("text")]);
    let mut direct = Direct::connect(cluster.ports()[0]).await;

    let everything = parse_pqf("@attr 1=4 @attr 2=103 all").expect("a query");
    let own = Client::new().connect(&books(daemon)).await;
    let own = own.expect("a session");
    let hits = own.search(everything.clone()).await.expect("found");
    let other = Client::new().connect(&books(&recorded)).await;
    let other = other.expect("a session");
    let other_hits = other.search(everything).await.expect("found");
    let middle = (hits.count() as f64 * PART) as u64;
    let mut times = Times::default();
    for at in 0..TIMES {
        // Apart, so that none is among the records that are fetched with another.
        let position = middle + at as u64 * (hits.count() / 2_000);
        relay.forget();
        let wanted = record(&other_hits, position).await;
        let requests = relay.requests();
        let found = times.add(requests, &mut direct, record(&hits, position));
        assert_eq!(found.await, wanted, "the same record");
    }
    times.print(&format!(
        "a record about position {middle} of {}",
        hits.count()
    ));

    for (name, preferred) in [("forward", 1), ("backward", TERMS + 1)] {
        let mut times = Times::default();
        for sample in samples.iter().take(TIMES) {
            let start = format!("@attr 1=4 @attr 4=2 {}", sample.words.0);
            let start = parse_pqf(&start).expect("a term");
            relay.forget();
            let wanted = terms(&other, start.clone(), preferred).await;
            let requests = relay.requests();
            let found = times.add(requests, &mut direct, terms(&own, start, preferred));
            assert_eq!(found.await, wanted, "the same terms");
        }
        times.print(&format!("scan of {TERMS} words {name}"));
    }
}

fn books(daemon: &Daemon) -> String {
    format!("{}/books", daemon.address())
}

async fn record(hits: &ResultSet, position: u64) -> Vec<u8> {
    let record = hits.record(position).await.expect("a record");
    record.octets().to_vec()
}

async fn terms(connection: &Connection, start: RpnQuery, preferred: u64) -> Vec<String> {
    let mut options = ScanOptions::default();
    options.number_of_terms = TERMS;
    options.preferred_position = Some(preferred);
    let scanned = connection.scan_with(start, options).await;
    let scanned = scanned.expect("scanned");
    scanned
        .terms()
        .iter()
        .map(|term| format!("{term:?}"))
        .collect()
}

/// The times of something by `z3950d`, and of the engine for the same requests.
#[derive(Default)]
struct Times {
    own: Vec<Duration>,
    direct: Vec<Duration>,
    most_requests: usize,
}

impl Times {
    /// Takes the time of `own`, and of the requests that were sent for it. They take turns in going first.
    async fn add<T>(
        &mut self,
        requests: Vec<Request>,
        direct: &mut Direct,
        own: impl Future<Output = T>,
    ) -> T {
        self.most_requests = self.most_requests.max(requests.len());
        let is_own_first = self.own.len().is_multiple_of(2);
        if !is_own_first {
            self.add_direct(&requests, direct).await;
        }
        let begun = Instant::now();
        let found = own.await;
        self.own.push(begun.elapsed());
        if is_own_first {
            self.add_direct(&requests, direct).await;
        }
        found
    }

    async fn add_direct(&mut self, requests: &[Request], direct: &mut Direct) {
        let begun = Instant::now();
        for (path, body) in requests {
            std::hint::black_box(direct.ask(path, body).await);
        }
        self.direct.push(begun.elapsed());
    }

    fn print(self, what: &str) {
        let (own, own_99) = percentiles(self.own);
        let (direct, direct_99) = percentiles(self.direct);
        println!(
            "{what}: at most {} requests (at most 3); p50 {own:.1?}, {direct:.1?} directly: {:.2} times (at most 1.3); p99 {own_99:.1?}, \
             {direct_99:.1?} directly: {:.2} times",
            self.most_requests,
            ratio(own, direct),
            ratio(own_99, direct_99),
        );
    }
}

/// A relay to a node that keeps what is sent to it.
struct Relay {
    port: u16,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Relay {
    async fn to(node: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let sent = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let kept = Arc::clone(&sent);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let node = TcpStream::connect((Ipv4Addr::LOCALHOST, node)).await;
                let node = node.expect("a node");
                let connection = {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push(Vec::new());
                    kept.len() - 1
                };
                tokio::spawn(relay(client, node, Arc::clone(&kept), connection));
            }
        });
        Self { port, sent }
    }

    /// Forgets what was sent.
    fn forget(&self) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.iter_mut().for_each(Vec::clear);
    }

    /// Returns the searches that were sent: those of each connection in order.
    fn requests(&self) -> Vec<Request> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = sent.iter().flat_map(|octets| requests(octets));
        requests
            .filter(|(path, _)| path.contains("search"))
            .collect()
    }
}

async fn relay(
    client: TcpStream,
    node: TcpStream,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
    connection: usize,
) {
    for stream in [&client, &node] {
        stream.set_nodelay(true).expect("a socket");
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_node, mut to_node) = node.into_split();
    tokio::spawn(async move { copy(&mut from_node, &mut to_client).await });
    let mut octets = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from_client.read(&mut octets).await {
        {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept[connection].extend_from_slice(&octets[..read]);
        }
        if to_node.write_all(&octets[..read]).await.is_err() {
            break;
        }
    }
}

/// Reads requests of HTTP/1.1 with a Content-Length.
fn requests(octets: &[u8]) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut rest = octets;
    while let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().expect("a number"))
        });
        let body = end + 4..end + 4 + length.unwrap_or_default();
        requests.push((path, rest[body.clone()].to_vec()));
        rest = &rest[body.end..];
    }
    requests
}
