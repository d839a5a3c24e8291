//! Measures searches that fetch the first ten records.

use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use z3950::{Client, Connection};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::catalogue::CatalogueDatabase;
use z3950_tests::program::Daemon;

use crate::direct::{Direct, percentiles, ratio};
use crate::filled::Filled;
use crate::records::{QuerySample, queries};
use crate::relay::Relay;
use crate::wire::{self, Wire};
use crate::{books, serve};

/// The number of records fetched with a search.
const FIRST: usize = 10;

/// Measures searches through `z3950d`, and the same searches as requests to the engine; returns the path of these requests.
/// Queries with different words are sent first, because engines are slow in their first minutes.
pub(crate) async fn measure(
    index: &Filled,
    folder: &Path,
    daemon: &Daemon,
    database: &CatalogueDatabase,
    samples: &[QuerySample],
) -> String {
    let samples: Vec<_> = samples.iter().map(|one| index.sample(one)).collect();
    let path = path_of(index, folder, database, &samples[0]).await;
    let mut direct = Direct::connect(index.port).await;
    let mut own = Wire::connect(daemon.address()).await;
    let (first, measured) = samples.split_at(samples.len() / 2);
    for (kind, (name, _)) in queries(&samples[0]).into_iter().enumerate() {
        let (mut own_times, mut direct_times) = (Vec::new(), Vec::new());
        for (at, sample) in first.iter().chain(measured).enumerate() {
            if at == first.len() {
                own_times.clear();
                direct_times.clear();
            }
            let (_, text) = &queries(sample)[kind];
            let query = parse_pqf(text).expect("a query");
            let body = database.statement(&query, FIRST).expect("a search");
            let request = wire::search(query, FIRST as i64);
            let (mut response, mut answer) = (Bytes::new(), Vec::new());
            // The two programs take turns in going first, because the one that goes second finds everything in caches.
            for turn in 0..2 {
                let begun = Instant::now();
                if (at + turn).is_multiple_of(2) {
                    answer = direct.ask(&path, body.as_bytes()).await;
                    direct_times.push(begun.elapsed());
                } else {
                    response = own.ask(&request).await;
                    own_times.push(begun.elapsed());
                }
            }
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            let total = answer.pointer(index.kind.total).and_then(Value::as_u64);
            assert_eq!(total, Some(wire::hits(&response)), "{text}");
        }
        let (own, own_99) = percentiles(own_times);
        let (direct, direct_99) = percentiles(direct_times);
        println!(
            "{}, {name}: p50 {own:.1?}, {direct:.1?} directly: {:.2} times (at most 1.3); p99 {own_99:.1?}, {direct_99:.1?} directly: \
             {:.2} times",
            index.kind.title,
            ratio(own, direct),
            ratio(own_99, direct_99),
        );
    }
    path
}

/// Returns the path to which `z3950d` sends searches. Checks that their bodies are those that `database` creates.
async fn path_of(
    index: &Filled,
    folder: &Path,
    database: &CatalogueDatabase,
    sample: &QuerySample,
) -> String {
    let relay = Relay::to(index.port).await;
    let recorded = serve(folder, &index.settings(relay.port));
    let connection = connected(&recorded).await;
    let mut path = String::new();
    for (name, text) in queries(sample) {
        let query = parse_pqf(&text).expect("a query");
        let statement = database.statement(&query, FIRST).expect("a search");
        relay.forget();
        let found = connection.search_first(query, FIRST as u64).await;
        assert!(found.expect("found").count() > 0, "{name}");
        // The server may first compare the index with the map, so look for the request that contains the query.
        let mut sent = relay.requests().into_iter();
        let (sent_to, _) = { sent.find(|(_, body)| body == statement.as_bytes()) }.expect(name);
        path = sent_to;
    }
    path
}

async fn connected(daemon: &Daemon) -> Connection {
    let connection = Client::new().connect(&books(daemon)).await;
    connection.expect("a session")
}
