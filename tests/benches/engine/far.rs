//! Measures the retrieval of records at high positions in a large set, and scans, through `z3950d` and with the requests
//! that it sends to the engine.

use std::time::{Duration, Instant};

use z3950::{Client, Connection, ResultSet, ScanOptions};
use z3950_asn1::apdu::RpnQuery;
use z3950_asn1::query::parse_pqf;
use z3950_tests::opensearch::Cluster;
use z3950_tests::program::Daemon;

use crate::INDEX;
use crate::direct::{Direct, percentiles, ratio};
use crate::records::QuerySample;
use crate::relay::{Relay, Request};

/// The number of positions that are measured, and the number of scans in each direction.
const TIMES: usize = 100;
/// The relative position in the set around which records are presented: 900,000 in a set of a million.
const PART: f64 = 0.9;
/// The number of terms in a scan.
const TERMS: u64 = 20;

/// Measures records at high positions, and scans in both directions.
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
        // The positions are far apart, so that no record is fetched together with another.
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

/// The times that an operation takes through `z3950d`, and that the engine takes for the same requests.
#[derive(Default)]
struct Times {
    own: Vec<Duration>,
    direct: Vec<Duration>,
    most_requests: usize,
}

impl Times {
    /// Measures the time of `own`, and the time that the engine takes for the requests of the same operation. They
    /// alternate in going first.
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
