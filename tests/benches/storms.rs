//! Measures z3950d under storms of half-open connections, resets, slow octets, huge announced lengths and deep queries. During
//! each storm, a well-behaved client measures the time of its searches. Prints figures next to the target of 100 ms without
//! asserting anything.
//!
//! The load generator and the server are separate processes. Arguments after `--` select the storms whose names begin with them.
//! `Z3950_BENCH=quick` reduces each storm to a tenth of its size. A storm that runs out of file descriptors is scaled down, and a
//! message reports this.

#[path = "storms/fair.rs"]
mod fair;
#[path = "../tests/hostile/partner.rs"]
#[expect(dead_code, reason = "the tests of hostile input need more of it")]
mod partner;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use partner::{Partner, Process, TERM, deep_query, init, search};
use z3950_asn1::apdu::{Apdu, Query};
use z3950_asn1::codec::{decode, encode};

/// The maximum time that the well-behaved client should have to wait.
const AIM: Duration = Duration::from_millis(100);

/// The duration of storms that do not end by themselves.
const STORM: Duration = Duration::from_secs(5);

/// A function that runs a storm against a server with a size and a duration, and returns a description of what was sent.
type Storm = fn(SocketAddr, usize, Duration) -> String;

fn main() {
    let quick = std::env::var("Z3950_BENCH").as_deref() == Ok("quick");
    let part = if quick { 10 } else { 1 };
    let words = std::env::args().skip(1);
    let wanted: Vec<String> = words.filter(|word| !word.starts_with('-')).collect();
    println!("aim: every Search within {AIM:?}; times in ms, memory in KiB");
    println!(
        "{:<24}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}{:>10}  what came",
        "storm", "searches", "p50", "p99", "max", "before", "after", "at most"
    );
    // The limit on sessions in `most` is higher than the storms need, so that the load is measured and not the limit.
    let (most, usual) = (&["--demo", "--sessions", "20000"][..], &["--demo"][..]);
    let storms: [(&str, usize, &[&str], Storm); 11] = [
        ("calm", 0, most, calm),
        ("half-open connections", 10_000, most, half_open),
        ("half-open, 1000 at most", 10_000, usual, half_open),
        ("connect and reset", 20_000, most, reset),
        ("slow octets", 500, most, slow_octets),
        ("giant announcements", 20_000, most, announcements),
        ("deep queries", 500, most, deep_queries),
        ("heavy queries", 8, most, heavy_queries),
        ("names of 1 MB", 1_000, usual, long_names),
        ("one address", 1, usual, hoarders),
        ("ten addresses", 10, usual, hoarders),
    ];
    for (name, size, arguments, storm) in storms {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.starts_with(&**word)) {
            continue;
        }
        measure(name, size / part, STORM / part as u32, arguments, storm);
    }
    if wanted.is_empty() || wanted.iter().any(|word| "fair turns".starts_with(&**word)) {
        fair::measure(quick);
    }
}

fn measure(name: &str, size: usize, time: Duration, arguments: &[&str], storm: Storm) {
    let server = Process::start(arguments);
    let mut client = Partner::open(server.address).expect("a session");
    client.ask().expect("an answer");
    let before = server.memory("VmRSS:").unwrap_or_default();
    let over = AtomicBool::new(false);
    let (mut waits, what) = thread::scope(|scope| {
        let measuring = scope.spawn(|| {
            let mut waits = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                if let Err(error) = client.ask() {
                    println!("{name}: the client that behaves is not answered: {error}");
                    break;
                }
                waits.push(asked.elapsed());
                thread::sleep(Duration::from_millis(1));
            }
            waits
        });
        let what = storm(server.address, size, time);
        over.store(true, Ordering::Relaxed);
        (measuring.join().unwrap_or_default(), what)
    });
    waits.sort();
    let at = |part: usize| {
        let wait = waits.get((waits.len() * part / 100).min(waits.len().saturating_sub(1)));
        wait.map_or(f64::NAN, |wait| wait.as_secs_f64() * 1e3)
    };
    let memory = |row| server.memory(row).unwrap_or_default();
    println!(
        "{name:<24}{:>9}{:>9.2}{:>9.2}{:>9.2}{before:>10}{:>10}{:>10}  {what}",
        waits.len(),
        at(50),
        at(99),
        at(100),
        memory("VmRSS:"),
        memory("VmHWM:"),
    );
}

fn calm(_: SocketAddr, _: usize, time: Duration) -> String {
    thread::sleep(time);
    "nothing".to_owned()
}

/// Opens connections that send part of an Init and then nothing more. Their number is limited by the number of file descriptors.
fn half_open(address: SocketAddr, size: usize, time: Duration) -> String {
    let held = connections(address, size);
    let count = held.len();
    thread::sleep(time);
    // Before the server admits a new client, it counts the other connections. The waiting time of a newcomer is therefore
    // measured too.
    let asked = Instant::now();
    let newcomer = Partner::open(address);
    let newcomer = match newcomer {
        Ok(_) => format!("{:.2} ms", asked.elapsed().as_secs_f64() * 1e3),
        Err(error) => error.to_string(),
    };
    format!("{count} connections; a newcomer's session: {newcomer}")
}

fn connections(address: SocketAddr, size: usize) -> Vec<Partner> {
    let start = init();
    let mut held = Vec::new();
    while held.len() < size {
        match Partner::connect(address) {
            Ok(mut partner) => {
                // An error means that the server has already refused the connection.
                let _ = partner.send(&start[..held.len() % start.len()]);
                held.push(partner);
            }
            Err(error) => {
                println!("scaled down to {} of {size}: {error}", held.len());
                // Some connections are closed again, so that file descriptors are left for the client that measures.
                held.truncate(held.len().saturating_sub(16));
                break;
            }
        }
    }
    held
}

/// Opens connections that are reset before the answer to their Init is read.
fn reset(address: SocketAddr, size: usize, time: Duration) -> String {
    repeated(size, time, || {
        let mut partner = Partner::connect(address)?;
        partner.send(&init())?;
        partner.stream.peek(&mut [0]).map(drop)
    })
}

/// Runs clients that repeatedly send an Init at a rate of one octet every 10 ms.
fn slow_octets(address: SocketAddr, size: usize, time: Duration) -> String {
    let mut held = connections(address, size);
    let init = init();
    let begun = Instant::now();
    let (mut round, mut sent) = (0, 0_usize);
    while begun.elapsed() < time {
        for (number, partner) in held.iter_mut().enumerate() {
            let octet = init[(number + round) % init.len()];
            sent += usize::from(partner.send(&[octet]).is_ok());
        }
        round += 1;
        thread::sleep(Duration::from_millis(10));
    }
    format!("{} connections, {sent} octets", held.len())
}

/// Sends headers that announce APDUs of 2 GiB, in open sessions.
fn announcements(address: SocketAddr, size: usize, time: Duration) -> String {
    repeated(size, time, || {
        let mut partner = Partner::open(address)?;
        partner.send(&[0xb6, 0x84, 0x7f, 0xff, 0xff, 0xff])?;
        partner.heard_to_the_end().map(drop)
    })
}

/// Sends queries of 40,000 operators, which is as many as fit into the largest APDU, and queries of 900 operators, which are
/// answered.
fn deep_queries(address: SocketAddr, size: usize, time: Duration) -> String {
    let (refused, answered) = (deep_query(40_000), deep_query(900));
    repeated(size, time, || {
        let mut partner = Partner::open(address)?;
        partner.send(&answered)?;
        partner.send(&refused)?;
        partner.heard_to_the_end().map(drop)
    })
}

/// Runs clients that repeatedly send searches with the maximum number of regular expressions.
fn heavy_queries(address: SocketAddr, size: usize, time: Duration) -> String {
    let query = heavy_query();
    let clients = size.max(1);
    let one = || {
        let mut partner = Partner::open(address)?;
        partner.send(&query)?;
        partner.next().map(drop)
    };
    let told = thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|_| scope.spawn(|| repeated(usize::MAX, time, one)))
            .collect();
        let told = clients.into_iter().next().map(|client| client.join());
        told.and_then(Result::ok)
    });
    format!("{clients} clients, each {}", told.unwrap_or_default())
}

/// Sends searches whose result sets have names of 1 MB, in one session.
fn long_names(address: SocketAddr, size: usize, _: Duration) -> String {
    let Ok(Apdu::SearchRequest(mut request)) = decode(&search(&TERM)) else {
        panic!("a search")
    };
    let searches = (0..size).map(|number| {
        request.result_set_name = format!("{number}{}", "x".repeat(1_000_000)).as_str().into();
        encode(&Apdu::SearchRequest(request.clone())).expect("encodes")
    });
    let mut partner = Partner::open(address).expect("a session");
    let mut refused = 0;
    for search in searches {
        partner.send(&search).expect("taken");
        match partner.next() {
            Ok(Some(Apdu::SearchResponse(response))) => {
                refused += usize::from(!response.search_status);
            }
            other => return format!("{refused} refused, then {other:?}"),
        }
    }
    format!("{size} searches, {refused} refused")
}

/// Opens more and more sessions from some addresses, while sessions from other addresses come and go.
fn hoarders(address: SocketAddr, size: usize, time: Duration) -> String {
    let begun = Instant::now();
    let hosts = u8::try_from(size.max(1)).unwrap_or(u8::MAX);
    let from = |host| Partner::connect_from([127, 0, 0, host], address);
    let opened = |host| -> std::io::Result<Partner> {
        let mut partner = from(host)?;
        partner.send(&init())?;
        match partner.next()? {
            Some(Apdu::InitializeResponse(_)) => Ok(partner),
            other => Err(std::io::Error::other(format!("no session: {other:?}"))),
        }
    };
    thread::scope(|scope| {
        let greedy: Vec<_> = (1..=hosts)
            .map(|host| {
                scope.spawn(move || {
                    let mut held = Vec::new();
                    let mut refused = 0_usize;
                    while begun.elapsed() < time {
                        match opened(host) {
                            Ok(partner) => held.push(partner),
                            Err(_) => refused += 1,
                        }
                    }
                    (held.len(), refused)
                })
            })
            .collect();
        let (mut waits, mut failed) = (Vec::new(), 0);
        for host in (100..=200).cycle() {
            if begun.elapsed() >= time {
                break;
            }
            let asked = Instant::now();
            match opened(host).and_then(|mut partner| partner.ask()) {
                Ok(()) => waits.push(asked.elapsed().as_secs_f64() * 1e3),
                Err(_) => failed += 1,
            }
            thread::sleep(Duration::from_millis(5));
        }
        let greedy = greedy.into_iter().filter_map(|one| one.join().ok());
        let (held, refused) = greedy.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        waits.sort_by(f64::total_cmp);
        let at =
            |part: usize| waits.get((waits.len() * part / 100).min(waits.len().saturating_sub(1)));
        format!(
            "{held} sessions opened, {refused} refused; from other addresses {} (p50 {:.2}, max {:.2} ms), {failed} failed",
            waits.len(),
            at(50).unwrap_or(&f64::NAN),
            at(100).unwrap_or(&f64::NAN),
        )
    })
}

/// Returns a search with 2,048 regular expressions, each of which is compared with every word.
fn heavy_query() -> Vec<u8> {
    const LEVELS: usize = 11;
    let term = "@attr 5=102 .*o.*z.*".to_owned();
    let query = (0..LEVELS).fold(term, |half, _| format!("@or {half} {half}"));
    let Ok(Apdu::SearchRequest(mut request)) = decode(&search(&TERM)) else {
        panic!("a search")
    };
    request.query = Query::Type1(query.parse().expect("a query"));
    encode(&Apdu::SearchRequest(request)).expect("encodes")
}

/// Repeats an operation `size` times, or until the time limit expires.
fn repeated(size: usize, time: Duration, one: impl Fn() -> std::io::Result<()>) -> String {
    let begun = Instant::now();
    let (mut done, mut failed) = (0, 0);
    while done + failed < size && begun.elapsed() < time {
        match one() {
            Ok(()) => done += 1,
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => break,
            Err(_) => failed += 1,
        }
    }
    format!("{done} times, {failed} refused, in {:.1?}", begun.elapsed())
}
