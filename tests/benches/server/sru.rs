//! Generates load over SRU connections that are kept open. Threads on the load generator's core send one GET after another and
//! read each answer completely.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use z3950_tests::surroundings::command;

use crate::peers::{LOAD_CORE, Peer};

/// An SRU request that is repeated.
pub(crate) struct SruLoad {
    connections: usize,
    /// The query, in which `%07d` is replaced by the number of a record from 1 to `records`.
    query: String,
    records: u64,
    /// The number of records to request per response.
    count: usize,
}

/// The result of a measurement.
pub(crate) struct SruMeasured {
    pub(crate) per_second: f64,
    /// The throughput in 10^6 octets per second, counting only complete answers.
    pub(crate) megabytes: f64,
}

impl SruLoad {
    /// Creates a load with a query in PQF.
    pub(crate) fn new(connections: usize, query: &str, records: u64, count: usize) -> Self {
        Self {
            connections,
            query: query.to_owned(),
            records,
            count,
        }
    }

    /// Runs the load for this number of seconds. Prints a message and returns `None` if answers are missing or wrong.
    pub(crate) fn run(&self, peer: &Peer, seconds: f64) -> Option<SruMeasured> {
        // Threads inherit the core to which their parent is pinned, so this thread is pinned before it starts others.
        let is_pinned = pin(LOAD_CORE);
        let (stopped, failed) = (AtomicBool::new(false), AtomicBool::new(false));
        let (answers, octets) = (AtomicU64::new(0), AtomicU64::new(0));
        let begun = Instant::now();
        thread::scope(|scope| {
            for connection in 0..self.connections {
                let (stopped, failed, answers, octets) = (&stopped, &failed, &answers, &octets);
                scope.spawn(move || {
                    let asked = self.ask(peer, connection as u64, stopped, answers, octets);
                    if let Err(error) = asked {
                        println!("{}: {error}", peer.name);
                        failed.store(true, Ordering::Relaxed);
                    }
                });
            }
            thread::sleep(Duration::from_secs_f64(seconds));
            stopped.store(true, Ordering::Relaxed);
        });
        let time = begun.elapsed().as_secs_f64();
        if is_pinned {
            pin(&format!("0-{LOAD_CORE}"));
        }
        if failed.into_inner() {
            return None;
        }
        Some(SruMeasured {
            per_second: answers.into_inner() as f64 / time,
            megabytes: octets.into_inner() as f64 / time / 1e6,
        })
    }

    fn ask(
        &self,
        peer: &Peer,
        first: u64,
        stopped: &AtomicBool,
        answers: &AtomicU64,
        octets: &AtomicU64,
    ) -> std::io::Result<()> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, peer.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut writer = stream.try_clone()?;
        let mut reader = BufReader::with_capacity(1 << 16, stream);
        let (mut line, mut body) = (String::new(), Vec::new());
        let mut number = first;
        while !stopped.load(Ordering::Relaxed) {
            number += self.connections as u64;
            let query = self
                .query
                .replace("%07d", &format!("{:07}", number % self.records + 1));
            let query = query.replace('@', "%40").replace(' ', "+");
            let request = format!(
                "GET /{}?version=1.1&operation=searchRetrieve&x-pquery={query}&maximumRecords={}{} HTTP/1.1\r\n\
                 Host: 127.0.0.1\r\n\r\n",
                peer.database,
                self.count,
                schema(peer)
            );
            writer.write_all(request.as_bytes())?;
            let mut length = 0;
            let mut head = 0;
            loop {
                line.clear();
                head += reader.read_line(&mut line)?;
                let (name, value) = line.trim_end().split_once(':').unwrap_or_default();
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().map_err(std::io::Error::other)?;
                }
                if line.trim_end().is_empty() {
                    break;
                }
            }
            body.resize(length, 0);
            reader.read_exact(&mut body)?;
            let text = std::str::from_utf8(&body).map_err(std::io::Error::other)?;
            // A diagnostic in place of a record also has a recordPosition. Only records have leaders, so these are counted.
            let found = text.matches("<leader>").count();
            if found != self.count {
                let words = format!("{found} records instead of {}: {text}", self.count);
                return Err(std::io::Error::other(words));
            }
            answers.fetch_add(1, Ordering::Relaxed);
            octets.fetch_add((head + length) as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Returns the parameter that requests MARCXML. It is empty for zebrasrv, which sends MARCXML by default. zebrasrv refuses the
/// name of the schema unless it is configured to convert records, which takes longer.
fn schema(peer: &Peer) -> &'static str {
    match peer.name {
        "zebrasrv -S" => "",
        _ => "&recordSchema=marcxml",
    }
}

/// Restricts this thread, and the threads that it starts, to these cores. Returns whether this succeeded.
fn pin(cores: &str) -> bool {
    let process = std::process::id().to_string();
    let pinned = command("taskset").args(["-pc", cores, &process]).output();
    pinned.is_ok_and(|output| output.status.success())
}
