//! Generates load on a server with `zbench`, which is used for every server.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use z3950_tests::surroundings::command;

use crate::peers::{LOAD_CORE, Peer, Tools};

/// An operation that is repeated, and the number of connections that repeat it.
#[derive(Clone)]
pub(crate) struct Load {
    /// The mode of `zbench`: `retr`, `kept`, `piggy`, `search`, `scan` or `present`.
    pub(crate) mode: &'static str,
    connections: usize,
    query: String,
    records: usize,
    chunk: usize,
    total: usize,
}

/// The result of a measurement.
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    /// The median latency in microseconds.
    pub(crate) p50: f64,
    pub(crate) megabytes: f64,
    pub(crate) records: f64,
}

impl Load {
    pub(crate) fn new(mode: &'static str, connections: usize) -> Self {
        Self {
            mode,
            connections,
            query: String::new(),
            records: 1,
            chunk: 1,
            total: 1,
        }
    }

    /// Sets the query in PQF, in which `%07d` is replaced by the number of a record.
    pub(crate) fn query(mut self, query: &str) -> Self {
        self.query = query.to_owned();
        self
    }

    /// Sets the number of records in the catalogue.
    pub(crate) fn of(mut self, records: usize) -> Self {
        self.records = records;
        self
    }

    /// Makes the load a Present of `total` records in chunks.
    pub(crate) fn chunks(mut self, chunk: usize, total: usize) -> Self {
        (self.chunk, self.total) = (chunk, total);
        self
    }

    /// Runs the load for this number of seconds. Prints a message and returns `None` if answers are missing or wrong.
    pub(crate) fn run(&self, tools: &Tools, peer: &Peer, seconds: f64) -> Option<Measured> {
        let output = command("taskset")
            .args(["-c", LOAD_CORE])
            .arg(&tools.zbench)
            .args(["-h", &format!("127.0.0.1:{}", peer.port)])
            .args(["-m", self.mode, "-d", peer.database, "-q", &self.query])
            .args([
                "-c",
                &self.connections.to_string(),
                "-M",
                &self.records.to_string(),
            ])
            .args(["-k", &self.chunk.to_string(), "-N", &self.total.to_string()])
            .args(["-t", &seconds.to_string(), "-w", "20"])
            .output()
            .expect("zbench starts");
        let line = String::from_utf8_lossy(&output.stdout);
        let figures: HashMap<&str, f64> = line
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect();
        let figure = |name: &str| figures.get(name).copied();
        let faults = ["diag", "errs", "conn_err"].map(|name| figure(name).unwrap_or(1.0));
        let is_canned = peer.name == "zcanned";
        let is_empty = figure("zero").unwrap_or(1.0) > 0.0 && self.mode != "scan" && !is_canned;
        if faults.iter().any(|count| *count > 0.0) || is_empty {
            let errors = String::from_utf8_lossy(&output.stderr);
            eprintln!(
                "{}: {} {}: {} {}",
                peer.name,
                self.mode,
                self.query,
                line.trim(),
                errors.trim()
            );
        }
        Some(Measured {
            per_second: figure("ops/s")?,
            p50: figure("p50us")?,
            megabytes: figure("MB/s")?,
            records: figure("rec/s")?,
        })
    }
}

/// Opens this number of sessions, calls `figure` while they are idle, and then searches once in each session. Returns the median
/// latency in microseconds and the value of `figure`.
pub(crate) fn idle<T>(
    tools: &Tools,
    peer: &Peer,
    sessions: usize,
    figure: impl FnOnce() -> T,
) -> Option<(f64, T)> {
    let mut child = command("taskset")
        .args(["-c", LOAD_CORE])
        .arg(&tools.zbench)
        .args(["-h", &format!("127.0.0.1:{}", peer.port)])
        .args([
            "-m",
            "idle",
            "-d",
            peer.database,
            "-q",
            "@attr 1=12 rec%07d",
        ])
        .args(["-c", &sessions.to_string(), "-M", "1000", "-t", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("zbench starts");
    let mut output = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut ready = String::new();
    output.read_line(&mut ready).expect("a line");
    if !ready.contains(&format!("sessions={sessions} ")) {
        eprintln!("{}: {}", peer.name, ready.trim());
    }
    let figure = figure();
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the rest");
    let _ = child.wait();
    let p50 = rest
        .split("p50=")
        .nth(1)?
        .split("us")
        .next()?
        .parse()
        .ok()?;
    Some((p50, figure))
}
