//! Measures the duration of updates of a saved database with few and many records, alone and concurrently. Then kills the server
//! at random times, which must not lose any confirmed update. Prints figures next to their targets, and fails only if updates are
//! lost.
//!
//! The load and the server are separate processes. A word after `--` selects the parts whose names begin with it.
//! `Z3950_BENCH=quick` reduces each part to a tenth of its size.

#[path = "../tests/hostile/partner.rs"]
#[expect(dead_code, reason = "the tests of hostile input need more of it")]
mod partner;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use partner::{Partner, Process, insert};
use z3950_asn1::apdu::Apdu;
use z3950_marc::iso2709;
use z3950_server::testing::record;
use z3950_tests::program::{path, run};
use z3950_tests::random::Random;
use z3950_tests::surroundings::command;

/// The number of sessions that update at the same time.
const AT_ONCE: usize = 20;

/// The number of records per update in the part that kills the server.
const TOGETHER: usize = 3;

fn main() {
    let quick = std::env::var("Z3950_BENCH").as_deref() == Ok("quick");
    let part = if quick { 10 } else { 1 };
    let words = std::env::args().skip(1);
    let wanted: Vec<String> = words.filter(|word| !word.starts_with('-')).collect();
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.starts_with(&**word));
    if is_wanted("updates") {
        println!(
            "aim: p50 of one at most 5 ms, independent of the records; {AT_ONCE} at once at most 3 times one"
        );
        println!(
            "{:<10}{:>10}{:>10}{:>10}{:>14}{:>14}{:>10}{:>8}",
            "records", "p50", "p99", "max", "1 in a round", "20 in a round", "max", "times"
        );
        for records in [1_000, 10_000, 100_000] {
            updates(records / part, 1_000 / part, 100 / part);
        }
    }
    if is_wanted("kills") {
        kills(500 / part);
    }
}

/// Writes a file of records.
fn file_of(records: usize, path: &Path) {
    let mut file = BufWriter::new(fs::File::create(path).expect("created"));
    for number in 0..records {
        let title = format!("Title {number} of {} and {}", number % 97, number % 1009);
        let record = record(&format!("old{number}"), &title.repeat(8));
        let octets = iso2709::encode(&record).expect("fits");
        file.write_all(&octets).expect("written");
    }
    file.flush().expect("written");
}

/// Sends an update and waits for its answer.
fn update(partner: &mut Partner, update: &[u8]) {
    partner.send(update).expect("taken");
    match partner.next() {
        Ok(Some(Apdu::ExtendedServicesResponse(response)))
            if response.operation_status.to_string() == "done" => {}
        other => panic!("not done: {other:?}"),
    }
}

fn updates(records: usize, alone: usize, rounds: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("books.mrc");
    file_of(records, &file);
    let save = format!("books={}", file.display());
    let server = Process::start(&["--save", &save]);
    let mut partner = Partner::open(server.address).expect("a session");
    // The first update creates the journal and is not measured.
    update(&mut partner, &insert(0, 1));
    let mut one = Vec::new();
    for number in 1..=alone {
        let request = insert(number, 1);
        let asked = Instant::now();
        update(&mut partner, &request);
        one.push(asked.elapsed());
    }
    let mut partners: Vec<_> = (0..AT_ONCE)
        .map(|_| Partner::open(server.address).expect("a session"))
        .collect();
    let (mut alone_in_round, mut together) = (Vec::new(), Vec::new());
    let mut next = alone + 1;
    for _ in 0..rounds {
        // The disk is slower after a pause, so single updates are timed in rounds too, for a fair comparison with twenty at once.
        alone_in_round.push(round(&mut partners[..1], next));
        together.push(round(&mut partners, next + 1));
        next += 1 + AT_ONCE;
    }
    for times in [&mut one, &mut alone_in_round, &mut together] {
        times.sort();
    }
    let (single, all) = (at(&alone_in_round, 50), at(&together, 50));
    println!(
        "{records:<10}{:>10.2}{:>10.2}{:>10.2}{single:>14.2}{all:>14.2}{:>10.2}{:>8.1}",
        at(&one, 50),
        at(&one, 99),
        at(&one, 100),
        at(&together, 100),
        all / single
    );
}

/// Sends one update in each session at the same time; returns the time until all are answered. `first` is the number of the first
/// record.
fn round(partners: &mut [Partner], first: usize) -> Duration {
    let barrier = Barrier::new(partners.len() + 1);
    thread::scope(|scope| {
        let tasks: Vec<_> = (first..)
            .zip(partners)
            .map(|(number, partner)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let request = insert(number, 1);
                    barrier.wait();
                    update(partner, &request);
                })
            })
            .collect();
        barrier.wait();
        let asked = Instant::now();
        for task in tasks {
            task.join().expect("done");
        }
        asked.elapsed()
    })
}

/// Returns a percentile of sorted durations, in milliseconds.
fn at(sorted: &[Duration], part: usize) -> f64 {
    let wait = sorted.get((sorted.len() * part / 100).min(sorted.len().saturating_sub(1)));
    wait.map_or(f64::NAN, |wait| wait.as_secs_f64() * 1e3)
}

/// Kills a server at random times while three sessions update, and checks that confirmed updates were kept.
fn kills(times: usize) {
    const SESSIONS: usize = 3;
    const UPDATES: usize = 8;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("books.mrc");
    let save = format!("books={}", file.display());
    let mut random = Random::new("killed at random");
    let (mut confirmed, mut sent) = (BTreeSet::new(), 0);
    let (mut lost, mut torn, mut unconfirmed, mut folded) = (0, 0, 0, 0);
    let begun = Instant::now();
    for _ in 0..times {
        // The limit is small, so that journals are folded continually.
        let settings = folder.path().join("z3950d.toml");
        fs::write(&settings, "[limits]\njournal-octets = \"20KiB\"\n").expect("written");
        let settings = settings.to_str().expect("text").to_owned();
        let mut server = Process::start(&["--save", &save, "--config", &settings]);
        let address = server.address;
        let first = sent;
        let patience = Duration::from_micros(random.below(150_000) as u64);
        let done: Vec<usize> = thread::scope(|scope| {
            let tasks: Vec<_> = (0..SESSIONS)
                .map(|session| {
                    scope.spawn(move || {
                        let mut done = Vec::new();
                        let Ok(mut partner) = Partner::open(address) else {
                            return done;
                        };
                        let steps = (0..UPDATES).map(|step| first + session * UPDATES + step);
                        for step in steps.clone() {
                            if partner.send(&insert(step * TOGETHER, TOGETHER)).is_err() {
                                return done;
                            }
                        }
                        for step in steps {
                            match partner.next() {
                                Ok(Some(Apdu::ExtendedServicesResponse(response))) => {
                                    let status = response.operation_status.to_string();
                                    assert_eq!(status, "done", "{response:?}");
                                    done.push(step);
                                }
                                _ => break,
                            }
                        }
                        done
                    })
                })
                .collect();
            thread::sleep(patience);
            server.kill();
            let tasks = tasks.into_iter();
            tasks
                .flat_map(|task| task.join().expect("no refusal"))
                .collect()
        });
        sent += SESSIONS * UPDATES;
        confirmed.extend(done);
        let is_whole = file.exists();
        let ran = run(command(path("z3950d")).arg("--fold").arg(&file), "");
        assert!(ran.code == Some(0) || !is_whole, "{ran:?}");
        folded += usize::from(ran.stderr.contains("changes of"));
        let there = steps(&file, &mut torn);
        lost += confirmed.difference(&there).count();
        unconfirmed = there.difference(&confirmed).count();
        assert!(lost == 0 && torn == 0, "{lost} lost, {torn} torn: {ran:?}");
    }
    println!(
        "killed {times} times in {:.0?}: {} updates of {TOGETHER} records sent, {} confirmed, {lost} of these lost, {torn} torn; \
         {unconfirmed} were saved and not confirmed; {folded} journals had changes",
        begun.elapsed(),
        sent,
        confirmed.len(),
    );
}

/// Returns the numbers of the updates whose records are in a file; counts in `torn` the updates of which only some records are
/// there.
fn steps(file: &Path, torn: &mut usize) -> BTreeSet<usize> {
    let octets = fs::read(file).unwrap_or_default();
    let mut rest = &octets[..];
    let mut numbers = BTreeSet::new();
    while let Some(length) = rest.get(..5) {
        let length = std::str::from_utf8(length)
            .ok()
            .and_then(|text| text.parse().ok());
        let (one, after) = rest
            .split_at_checked(length.expect("a length"))
            .expect("a complete record");
        let record = iso2709::parse_strict(&one.to_vec().into()).expect("a valid record");
        let docid = record.fields_by_tag("001").next().expect("a docid");
        let docid = std::str::from_utf8(docid.body.trim_ascii()).expect("text");
        let number = docid
            .strip_prefix("id")
            .and_then(|number| number.parse().ok());
        let number: usize = number.expect("one of those sent");
        assert!(numbers.insert(number), "{docid} is there twice");
        rest = after;
    }
    assert!(rest.is_empty(), "octets after the last record");
    let steps: BTreeSet<usize> = numbers.iter().map(|number| number / TOGETHER).collect();
    let is_torn =
        |step: &&usize| (0..TOGETHER).any(|part| !numbers.contains(&(*step * TOGETHER + part)));
    *torn += steps.iter().filter(is_torn).count();
    steps
}
