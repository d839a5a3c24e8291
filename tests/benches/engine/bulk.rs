//! Measures the speed at which nodes process the requests in a load, without z3950d.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use z3950_front::engine::opensearch::{ClusterIndex, ClusterOptions, LoadWork, RecordPlace};
use z3950_front::engine::{EngineLayout, IndexUses};
use z3950_marc::iso2709;
use z3950_server::memory::{AccessPoints, DocidField, Profile};
use z3950_tests::opensearch::Cluster;

use crate::direct::Direct;
use crate::records::read;

pub(crate) fn layout() -> Arc<EngineLayout> {
    let points = AccessPoints::default();
    let (profile, docid) = (Profile::default(), DocidField::default());
    let layout = EngineLayout::new(points, profile, docid, &IndexUses::default());
    Arc::new(layout.expect("a layout"))
}

pub(crate) fn options(cluster: &Cluster, index: &str) -> ClusterOptions {
    let urls = cluster.urls(index).into_iter();
    let addresses = urls.map(|url| url.parse().expect("an address"));
    ClusterOptions::new("books", addresses.collect())
}

/// The number of requests in flight, which is the same as in a load by `z3950d`.
const IN_FLIGHT: usize = 4;
/// The number of octets of each request, which is the same as in a load by `z3950d`.
const BODY_OCTETS: usize = 5 << 20;
/// The number of requests on each connection in a round.
const ROUND: usize = 5;

/// Returns the time that the engine takes for the requests in a load into a separate index. The requests are created in advance,
/// in rounds. Within a round, connections do not wait for each other.
pub(crate) async fn bulk_speed(cluster: &Cluster, file: &Path) -> Duration {
    let index = ClusterIndex::new(&options(cluster, "bulk"), layout()).expect("an index");
    let load = index.begin(LoadWork::Add, |_| ()).await.expect("an index");
    let changes = load.changes();
    let mut records = read(file);
    let mut connections = Vec::new();
    for port in cluster.ports().into_iter().cycle().take(IN_FLIGHT) {
        connections.push(Direct::connect(port).await);
    }
    let mut spent = Duration::ZERO;
    loop {
        let mut bodies = Vec::new();
        while bodies.len() < IN_FLIGHT * ROUND {
            let mut body = Vec::with_capacity(BODY_OCTETS);
            for record in records.by_ref() {
                let octets = iso2709::encode(&record).expect("fits");
                let change = changes.of(&record, &octets, RecordPlace::default());
                body.extend_from_slice(change.lines());
                if body.len() >= BODY_OCTETS {
                    break;
                }
            }
            if body.is_empty() {
                break;
            }
            bodies.push(body);
        }
        if bodies.is_empty() {
            break;
        }
        let bodies = Arc::new(bodies);
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for (lane, mut connection) in connections.drain(..).enumerate() {
            let bodies = Arc::clone(&bodies);
            tasks.push(tokio::spawn(async move {
                for body in bodies.iter().skip(lane).step_by(IN_FLIGHT) {
                    let path = "/bulk/_bulk?filter_path=errors,items.*.status,items.*.error";
                    let answer = connection.ask(path, body).await;
                    let is_sound = answer.starts_with(b"{\"errors\":false");
                    assert!(is_sound, "{}", String::from_utf8_lossy(&answer));
                }
                connection
            }));
        }
        for task in tasks {
            connections.push(task.await.expect("done"));
        }
        spent += begun.elapsed();
    }
    let begun = Instant::now();
    load.end().await.expect("refreshed");
    spent += begun.elapsed();
    let (status, answer) = cluster.ask("DELETE", "/bulk-1", "");
    assert_eq!(status, 200, "{answer}");
    spent
}
