//! Compares `z3950d` in front of three OpenSearch nodes with the same JSON sent to a node directly: loading, searches with their
//! first ten records, records at high positions, scans, memory, and a node killed under load. Prints the rows of `BENCHMARKS.md`.
//!
//! ```sh
//! cargo bench -p z3950-tests --bench engine                                  # 100,000 artificial records
//! Z3950_RECORDS=1000000 cargo bench -p z3950-tests --bench engine            # this number of records
//! Z3950_FILE=records.mrc cargo bench -p z3950-tests --bench engine           # the records of a file in ISO 2709
//! ```

mod bulk;
mod direct;
mod far;
mod records;
mod relay;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use z3950::{Client, Query};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::opensearch::ClusterDatabase;
use z3950_tests::opensearch::{Cluster, NodeProgram};
use z3950_tests::program::{self, Daemon};
use z3950_tests::surroundings::command;

use self::bulk::{bulk_speed, layout, options};
use self::direct::{Direct, percentiles, ratio};
use self::far::far_positions_and_scans;
use self::records::{KNOWN_ITEM, QuerySample, made_up, number_of, queries, samples};

const NODES: usize = 3;
const INDEX: &str = "books";
/// The number of clients that search while a node is killed.
const CLIENTS: usize = 10;
/// The time for which the clients search.
const LOAD_TIME: Duration = Duration::from_secs(12);
/// The time at which the node is killed, counted from the beginning of [`LOAD_TIME`].
const KILLED_AFTER: Duration = Duration::from_secs(5);
/// The time after which answers must be as fast as before the node was killed.
const RECOVERY: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = match std::env::var_os("Z3950_FILE").map(PathBuf::from) {
        Some(file) => file,
        None => made_up(folder.path(), number_of("Z3950_RECORDS", 100_000)),
    };
    let (records, samples) = samples(&file);
    let Some(program) = NodeProgram::of_two() else {
        return;
    };
    let mut cluster = Cluster::start(&program.for_measuring(), NODES);
    let direct = bulk_speed(&cluster, &file).await;
    let settings = folder.path().join("z3950d.toml");
    std::fs::write(&settings, cluster.settings(INDEX, "")).expect("written");
    let mut load = command(program::path("z3950d"));
    load.args(["load", "--config"]).arg(&settings).arg(&file);
    let begun = Instant::now();
    let load_memory = finished(load);
    let own = begun.elapsed();
    let rate = |time: Duration| records as f64 / time.as_secs_f64();
    println!(
        "{records} records loaded, {:.0}/s, {:.0}/s by _bulk alone: {:.2} times (at least 0.9)",
        rate(own),
        rate(direct),
        rate(own) / rate(direct)
    );
    println!("loading took {} MiB (at most 256)", load_memory >> 10);
    cluster.wait_for_green();
    let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
    searches(&cluster, &daemon, &samples).await;
    far_positions_and_scans(&cluster, &daemon, &samples).await;
    node_killed(&mut cluster, &daemon, &samples).await;
    println!("z3950d took {} MiB (at most 64)", peak(daemon.id()) >> 10);
}

/// Waits for a program to end; returns its peak memory, in KiB.
fn finished(mut program: std::process::Command) -> u64 {
    let mut child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.as_mut().expect("the program starts");
    let mut most = 0;
    loop {
        most = most.max(peak(child.id()));
        if let Some(status) = child.try_wait().expect("a program") {
            assert!(status.success(), "{status}");
            return most;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Measures searches that return their first ten records, through `z3950d` and sent to the nodes directly. Other queries are sent
/// first, to warm up the nodes.
async fn searches(cluster: &Cluster, daemon: &Daemon, samples: &[QuerySample]) {
    let database = ClusterDatabase::new(options(cluster, INDEX), layout()).expect("a database");
    let mut direct = Vec::new();
    for port in cluster.ports() {
        direct.push(Direct::connect(port).await);
    }
    let target = format!("{}/books", daemon.address());
    let own = Client::new().connect(&target).await.expect("a session");
    let (measured, first) = samples.split_at(samples.len() / 2);
    for (kind, (name, _)) in queries(&samples[0]).into_iter().enumerate() {
        let (mut own_times, mut direct_times) = (Vec::new(), Vec::new());
        for (at, sample) in first.iter().chain(measured).enumerate() {
            if at == first.len() {
                own_times.clear();
                direct_times.clear();
            }
            let (_, text) = &queries(sample)[kind];
            let query = parse_pqf(text).expect("a query");
            let body = database.statement(&query, 10).expect("a search");
            let mut path = format!("/{INDEX}/_search?allow_partial_search_results=true");
            if name == KNOWN_ITEM {
                path.push_str(&format!("&routing={}", sample.id));
            }
            let node = at % direct.len();
            // The two programs take turns in going first, because the one that goes second finds everything in caches.
            for turn in 0..2 {
                let begun = Instant::now();
                if (at + turn).is_multiple_of(2) {
                    std::hint::black_box(direct[node].ask(&path, &body).await);
                    direct_times.push(begun.elapsed());
                } else {
                    let found = own.search_first(query.clone(), 10).await.expect("found");
                    std::hint::black_box(found.count());
                    own_times.push(begun.elapsed());
                }
            }
        }
        let (own, own_99) = percentiles(own_times);
        let (direct, direct_99) = percentiles(direct_times);
        println!(
            "{name}: p50 {own:.1?}, {direct:.1?} directly: {:.2} times; p99 {own_99:.1?}, {direct_99:.1?} directly: {:.2} times (at most 1.2)",
            ratio(own, direct),
            ratio(own_99, direct_99),
        );
    }
}

/// The result of a search while a node is killed.
struct TimedSearch {
    begun: Duration,
    took: Duration,
    /// Whether the search found as many records as before, or the reason why there was no answer.
    is_whole: Result<bool, String>,
}

/// Measures the searches of several clients while a node is killed.
async fn node_killed(cluster: &mut Cluster, daemon: &Daemon, samples: &[QuerySample]) {
    let target = format!("{}/books", daemon.address());
    let connection = Client::new().connect(&target).await.expect("a session");
    let mut known = Vec::new();
    for sample in samples {
        let word = sample.words.0.clone();
        let found = connection.search_first(Query::title(&*word), 10).await;
        known.push((word, found.expect("found").count()));
    }
    let known = Arc::new(known);
    let begun = Instant::now();
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let (target, known) = (target.clone(), Arc::clone(&known));
        clients.push(tokio::spawn(async move {
            let connection = Client::new().connect(&target).await.expect("a session");
            let mut searches = Vec::new();
            for at in client.. {
                let started = begun.elapsed();
                if started > LOAD_TIME {
                    break;
                }
                let (word, count) = &known[at % known.len()];
                let found = connection.search_first(Query::title(&**word), 10).await;
                let found = found.map(|found| found.count() == *count);
                searches.push(TimedSearch {
                    begun: started,
                    took: begun.elapsed() - started,
                    is_whole: found.map_err(|error| error.to_string()),
                });
            }
            searches
        }));
    }
    tokio::time::sleep(KILLED_AFTER).await;
    cluster.kill(NODES - 1);
    let killed = begun.elapsed();
    let mut searches = Vec::new();
    for client in clients {
        searches.extend(client.await.expect("done"));
    }
    let of = |from: Duration, to: Duration| {
        let some = searches
            .iter()
            .filter(|search| (from..to).contains(&search.begun));
        percentiles(some.map(|search| search.took).collect()).1
    };
    let errors = searches
        .iter()
        .filter_map(|search| search.is_whole.as_ref().err());
    let errors: Vec<_> = errors.collect();
    let missed = searches
        .iter()
        .filter(|search| search.is_whole == Ok(false));
    println!(
        "{CLIENTS} clients, a node killed: {} searches, {} errors {:?} (none), {} missed records (none); p99 {:.1?} before, {:.1?} within \
         {RECOVERY:?}, {:.1?} after that (at most as before)",
        searches.len(),
        errors.len(),
        errors.first(),
        missed.count(),
        of(Duration::from_secs(1), killed),
        of(killed, killed + RECOVERY),
        of(killed + RECOVERY, LOAD_TIME),
    );
}

/// Returns the peak memory of a process, in KiB; 0 if it has ended.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_default()
}
