//! Compares the throughput, latency, loading time and memory of z3950d with those of YAZ's and Zebra's servers, using the same
//! records and the same load in one run. Prints figures and ratios without asserting anything. `Z3950_BENCH=quick` runs one round
//! with smaller files.
//!
//! Needs `../shared/bench` and `../shared/data/marc`, a C compiler with libyaz, python3, taskset, YAZ and Zebra, and reports
//! which of these are missing. The server and the load generator are each pinned to one core.

mod load;
mod peers;
mod sru;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use load::{Load, Measured};
use peers::{Catalogue, Peer, Tools};
use sru::{SruLoad, SruMeasured};
use table::Table;

/// The number of rounds and the amounts of data, for full and quick runs.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    seconds: f64,
    records: usize,
    sessions: usize,
    /// The numbers of records for which [`growth`] measures the costs.
    growth: &'static [usize],
}

fn main() {
    let quick = std::env::var("Z3950_BENCH").as_deref() == Ok("quick");
    let effort = if quick {
        Effort {
            rounds: 1,
            seconds: 0.5,
            records: 10_000,
            sessions: 500,
            growth: &[10_000],
        }
    } else {
        Effort {
            rounds: 5,
            seconds: 2.0,
            records: 100_000,
            sessions: 5_000,
            growth: &[10_000, 100_000, 1_000_000],
        }
    };
    let Some(tools) = Tools::find() else { return };
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    type Part = fn(&Tools, Effort);
    let parts: [(&str, Part); 6] = [
        ("service", service),
        ("sru", sru),
        ("queries", queries),
        ("loading", loading),
        ("idle", idle),
        ("growth", growth),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part(&tools, effort);
        }
    }
}

/// Returns a query for a known item that the server understands. For yaz-ztest, a numeric term is the number of hits to return.
fn known_item(peer: &str) -> &'static str {
    match peer {
        "yaz-ztest -S" | "yaz-ztest -T" | "zcanned" => "@attr 1=12 1",
        _ => "@attr 1=12 rec%07d",
    }
}

/// Measures throughput with one client and with several, on a server with 1000 records.
fn service(tools: &Tools, effort: Effort) {
    let catalogue = tools.catalogue(1_000);
    let peers: Vec<Peer> = [
        tools.z3950d(&catalogue),
        tools.zcanned(&catalogue, 1, false),
        tools.ztest("-S"),
        tools.zebra(&catalogue),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut table = Table::new(
        "One record looked up",
        &["work", "z3950d", "zcanned", "yaz-ztest -S", "zebrasrv -S"],
        effort,
    );
    let url = (
        "URL: connect, Init, Search, Present, 1 connection",
        Load::new("retr", 1),
    );
    for (title, load) in std::iter::once(url).chain(kept_open()) {
        let is_url = load.mode == "retr";
        let figures = table::rounds(&peers, effort.rounds, |peer| {
            let load = load.clone().query(known_item(peer.name)).of(1_000);
            load.run(tools, peer, effort.seconds)
                .map(|found| if is_url { found.p50 } else { found.per_second })
        });
        table.row(title, if is_url { "p50 µs" } else { "op/s" }, &figures);
    }
    table.print();
    drop(peers);
    same_record(tools, effort);

    let peers: Vec<Peer> = [
        tools.z3950d(&catalogue),
        tools.ztest("-T"),
        tools.zebra(&catalogue),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut table = Table::new(
        "A result set of 1000 records presented in chunks of 50",
        &["work", "z3950d", "yaz-ztest -T", "zebrasrv -S"],
        effort,
    );
    type Figure = fn(&Measured) -> f64;
    let units: [(&str, Figure); 2] = [
        ("MB/s", |found| found.megabytes),
        ("records/s", |found| found.records),
    ];
    for (unit, figure) in units {
        let figures = table::rounds(&peers, effort.rounds, |peer| {
            let query = match peer.name {
                "yaz-ztest -T" => "@attr 1=4 1000",
                // Every ISBN in the catalogue begins with these digits.
                _ => "@attr 1=7 @attr 5=1 978",
            };
            let load = Load::new("present", 1).query(query).chunks(50, 1_000);
            load.run(tools, peer, effort.seconds)
                .map(|found| figure(&found))
        });
        table.row("Present, 1 connection", unit, &figures);
    }
    table.print();
}

/// Returns the requests that are repeated over connections that stay open.
fn kept_open() -> [(&'static str, Load); 4] {
    [
        (
            "kept open: Search, Present, 10 connections",
            Load::new("kept", 10),
        ),
        (
            "kept open: Search, Present, 100 connections",
            Load::new("kept", 100),
        ),
        ("piggyback Search, 10 connections", Load::new("piggy", 10)),
        ("piggyback Search, 100 connections", Load::new("piggy", 100)),
    ]
}

/// Measures throughput with copies of yaz-ztest's record, so that both servers return the same record.
fn same_record(tools: &Tools, effort: Effort) {
    let Some(ztest) = tools.ztest("-S") else {
        return;
    };
    let Some(catalogue) = tools.like_ztest(&ztest, 1_000) else {
        return println!("skipped: no record of yaz-ztest");
    };
    let Some(ours) = tools.z3950d(&catalogue) else {
        return;
    };
    let title = format!(
        "One record of {} octets looked up, the same on both",
        catalogue.octets / 1_000
    );
    let mut table = Table::new(&title, &["work", "z3950d", "yaz-ztest -S"], effort);
    let peers = [ours, ztest];
    for (title, load) in kept_open() {
        let figures = table::rounds(&peers, effort.rounds, |peer| {
            let load = load.clone().query(known_item(peer.name)).of(1_000);
            load.run(tools, peer, effort.seconds)
                .map(|found| found.per_second)
        });
        table.row(title, "op/s", &figures);
    }
    table.print();
}

/// Measures searchRetrieve requests for records in MARCXML.
fn sru(tools: &Tools, effort: Effort) {
    let catalogue = tools.catalogue(1_000);
    let peers: Vec<Peer> = [
        tools.z3950d(&catalogue),
        tools.ztest("-S"),
        tools.zebra(&catalogue),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut table = Table::new(
        "SRU: searchRetrieve with MARCXML",
        &["work", "z3950d", "yaz-ztest -S", "zebrasrv -S"],
        effort,
    );
    type Figure = fn(SruMeasured) -> f64;
    let rows: [(&str, usize, usize, &str, Figure); 4] = [
        ("1 record, 1 connection", 1, 1, "requests/s", |found| {
            found.per_second
        }),
        ("1 record, 10 connections", 10, 1, "requests/s", |found| {
            found.per_second
        }),
        ("1 record, 100 connections", 100, 1, "requests/s", |found| {
            found.per_second
        }),
        ("50 records, 1 connection", 1, 50, "MB/s", |found| {
            found.megabytes
        }),
    ];
    for (title, connections, count, unit, figure) in rows {
        let figures = table::rounds(&peers, effort.rounds, |peer| {
            let query = match (peer.name, count) {
                (_, 1) => known_item(peer.name),
                ("yaz-ztest -S", _) => "@attr 1=4 1000",
                // Every ISBN in the catalogue begins with these digits.
                _ => "@attr 1=7 @attr 5=1 978",
            };
            let load = SruLoad::new(connections, query, 1_000, count);
            load.run(peer, effort.seconds).map(figure)
        });
        table.row(title, unit, &figures);
    }
    table.print();
}

/// Returns the queries that are compared, with words from the generated catalogue.
fn query_mix(catalogue: &Catalogue) -> Vec<(&'static str, String)> {
    let [common, second, rare] = &catalogue.words;
    let [first_word, second_word] = &catalogue.phrase;
    let beginning: String = common.chars().take(4).collect();
    let middle: String = common.chars().skip(1).take(4).collect();
    vec![
        ("known item", "@attr 1=12 rec%07d".to_owned()),
        ("word", format!("@attr 1=4 {common}")),
        ("and", format!("@and @attr 1=4 {common} @attr 1=4 {second}")),
        ("or", format!("@or @attr 1=4 {common} @attr 1=4 {rare}")),
        ("not", format!("@not @attr 1=4 {common} @attr 1=4 {second}")),
        (
            "phrase",
            format!("@attr 1=4 @attr 4=1 \"{first_word} {second_word}\""),
        ),
        (
            "phrase of two frequent words",
            "@attr 1=1016 @attr 4=1 \"of the\"".to_owned(),
        ),
        (
            "right truncation",
            format!("@attr 1=4 @attr 5=1 {beginning}"),
        ),
        (
            "both-sided truncation",
            format!("@attr 1=4 @attr 5=3 {middle}"),
        ),
    ]
}

/// Measures queries and Scan on many records. The round trip is measured with zcanned and subtracted from the printed latencies.
fn queries(tools: &Tools, effort: Effort) {
    let catalogue = tools.catalogue(effort.records);
    let peers: Vec<Peer> = [
        tools.z3950d(&catalogue),
        tools.zebra(&catalogue),
        tools.zcanned(&catalogue, 1, false),
    ]
    .into_iter()
    .flatten()
    .collect();
    let title = format!(
        "Queries on {} records: p50 in µs; zcanned is the round trip",
        effort.records
    );
    let mut table = Table::new(
        &title,
        &["query", "z3950d", "zebrasrv -S", "zcanned"],
        effort,
    )
    .less_the_last();
    for (name, query) in query_mix(&catalogue) {
        let figures = table::rounds(&peers, effort.rounds, |peer| {
            let load = Load::new("search", 1).query(&query).of(effort.records);
            load.run(tools, peer, effort.seconds).map(|found| found.p50)
        });
        table.row(name, "µs", &figures);
    }
    table.print();
    let mut table = Table::new(
        "Scan of 20 terms",
        &["work", "z3950d", "zebrasrv -S"],
        effort,
    );
    let scanned = match peers.get(..2) {
        Some(peers) => peers,
        None => return,
    };
    let start = format!("@attr 1=4 {}", catalogue.words[1]);
    let figures = table::rounds(scanned, effort.rounds, |peer| {
        let load = Load::new("scan", 1).query(&start);
        load.run(tools, peer, effort.seconds).map(|found| found.p50)
    });
    table.row("Scan, 1 connection", "p50 µs", &figures);
    table.print();
}

/// Measures the time from the start with a file of records to the first answer, and the memory used.
fn loading(tools: &Tools, effort: Effort) {
    let catalogue = tools.catalogue(effort.records);
    let title = format!(
        "Loading {} records, {} octets",
        effort.records, catalogue.octets
    );
    let mut table = Table::new(&title, &["work", "z3950d", "zebraidx"], effort);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut memory, mut most) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        if let Some(peer) = tools.z3950d_unpinned(&catalogue) {
            ours.push(effort.records as f64 / peer.started.as_secs_f64());
            memory.push(peer.memory() as f64 / catalogue.octets as f64);
            most.push(peer.most_memory() as f64 / catalogue.octets as f64);
        }
        if let Some(time) = tools.zebraidx(&catalogue) {
            theirs.push(effort.records as f64 / time.as_secs_f64());
        }
    }
    table.row("start to ready, both cores", "records/s", &[ours, theirs]);
    table.print();
    let mut table = Table::new("Memory as a multiple of the file", &["", "z3950d"], effort);
    table.row("while loading, the most", "× file", &[most]);
    table.row("loaded", "× file", &[memory]);
    table.print();

    let small = tools.catalogue(1_000);
    let mut table = Table::new(
        "Start to first answer",
        &["work", "z3950d --demo", "zebrasrv -S, 1000 records"],
        effort,
    );
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds.max(3) {
        ours.extend(tools.demo().map(|peer| millis(peer.started)));
        theirs.extend(tools.zebra(&small).map(|peer| millis(peer.started)));
    }
    table.row("start, connect, Init", "ms", &[ours, theirs]);
    table.print();
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Measures memory per idle session, and search latency while many sessions are idle.
fn idle(tools: &Tools, effort: Effort) {
    let catalogue = tools.catalogue(1_000);
    let mut table = Table::new("Idle sessions", &["work", "z3950d"], effort);
    let (mut each, mut many, mut few) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let Some(peer) = tools.z3950d(&catalogue) else {
            return;
        };
        let before = peer.memory();
        let held = load::idle(tools, &peer, effort.sessions, || peer.memory());
        let Some((p50, during)) = held else { return };
        each.push((during.saturating_sub(before)) as f64 / effort.sessions as f64 / 1e3);
        many.push(p50);
        let Some(peer) = tools.z3950d(&catalogue) else {
            return;
        };
        few.extend(load::idle(tools, &peer, 100, || 0).map(|(p50, _)| p50));
    }
    table.row(
        &format!("memory per session, {} open", effort.sessions),
        "kB",
        &[each],
    );
    table.row(
        &format!("Search with {} open", effort.sessions),
        "p50 µs",
        &[many],
    );
    table.row("Search with 100 open", "p50 µs", &[few]);
    table.print();
}

/// Measures in one round how costs grow with the number of records.
fn growth(tools: &Tools, effort: Effort) {
    let effort = Effort {
        rounds: 1,
        ..effort
    };
    let mut table = Table::new(
        "z3950d as the number of records grows",
        &["work", "10 k", "100 k", "1 M"],
        effort,
    );
    let mut rows: Vec<(String, &str, Vec<Vec<f64>>)> = Vec::new();
    let mut note = |title: &str, unit: &'static str, figure: f64, column: usize| {
        let found = rows.iter_mut().find(|(known, ..)| known == title);
        let row = match found {
            Some(row) => row,
            None => {
                rows.push((title.to_owned(), unit, Vec::new()));
                rows.last_mut().expect("just pushed")
            }
        };
        row.2.resize(column + 1, Vec::new());
        row.2[column].push(figure);
    };
    for (column, records) in effort.growth.iter().enumerate() {
        let catalogue = tools.catalogue(*records);
        let Some(peer) = tools.z3950d_unpinned(&catalogue) else {
            return;
        };
        note("loading", "s", peer.started.as_secs_f64(), column);
        for (name, memory) in [
            ("memory while loading, the most", peer.most_memory()),
            ("memory loaded", peer.memory()),
        ] {
            note(
                name,
                "× file",
                memory as f64 / catalogue.octets as f64,
                column,
            );
        }
        for (name, query) in query_mix(&catalogue) {
            let load = Load::new("search", 1).query(&query).of(*records);
            if let Some(found) = load.run(tools, &peer, effort.seconds) {
                note(name, "p50 µs", found.p50, column);
            }
        }
        let start = format!("@attr 1=4 {}", catalogue.words[1]);
        if let Some(found) = Load::new("scan", 1)
            .query(&start)
            .run(tools, &peer, effort.seconds)
        {
            note("Scan of 20 terms", "p50 µs", found.p50, column);
        }
    }
    for (title, unit, figures) in &rows {
        table.row(title, unit, figures);
    }
    table.print();
}

/// Returns the folder with the benchmark tools and data, next to the checkout.
fn shared() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"))
}
