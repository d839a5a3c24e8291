//! Measures two clients while many others send expensive queries. One of the two searches for words that contain a letter, the
//! other for single records.

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use z3950_asn1::apdu::{Apdu, DatabaseName, Query};
use z3950_asn1::codec::{decode, encode};
use z3950_marc::{Field, MarcRecord, iso2709};
use z3950_tests::random::Random;

use crate::partner::{Partner, Process, TERM, search};

const RECORDS: usize = 100_000;
const CLIENTS: usize = 20;

/// A query for all words that contain a letter. It takes about 50 ms on an idle machine.
const TRUNCATION: &str = "@attr 1=4 @attr 5=3 e";
const KNOWN_ITEM: &str = "@attr 1=12 rec0004711";

/// Measures both clients alone and together with the other clients, and finally a query with 999 proximity operators.
pub(crate) fn measure(quick: bool) {
    let (records, time) = if quick {
        (RECORDS / 10, Duration::from_secs(2))
    } else {
        (RECORDS, Duration::from_secs(20))
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("records.mrc");
    fs::write(&file, catalogue(records)).expect("a file");
    let database = format!("Default={}", file.display());
    let server = Process::start(&["--database", &database]);
    let address = server.address;
    println!("{records} records; times in ms");
    println!(
        "{:<44}{:>9}{:>9}{:>9}{:>9}",
        "fair turns", "searches", "p50", "p99", "max"
    );
    println!("alone");
    beside(address, time / 2, &[]);
    for (name, queries) in [
        ("proximity", vec![proximity()]),
        ("OR chains", vec![or_chain()]),
        ("both", vec![proximity(), or_chain()]),
    ] {
        println!("{CLIENTS} clients with {name}, {} octets", queries[0].len());
        beside(address, time, &queries);
    }
    let mut client = patient(address);
    let (wait, outcome) = asked(
        &mut client,
        &query(&nested("@prox 0 9 0 2 k 2", "the", 999)),
    );
    println!(
        "999 proximity operators alone: {outcome} after {:.1} ms",
        wait * 1e3
    );
    let memory = server.memory("VmHWM:").unwrap_or_default();
    println!("memory at most: {memory} KiB");
}

/// Runs both clients while the other clients send these queries.
fn beside(address: SocketAddr, time: Duration, queries: &[Vec<u8>]) {
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let clients = if queries.is_empty() { 0 } else { CLIENTS };
        let others: Vec<_> = (0..clients)
            .map(|number| {
                let query = &queries[number % queries.len()];
                scope.spawn(move || {
                    let mut client = patient(address);
                    let mut outcomes = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        outcomes.push(asked(&mut client, query));
                    }
                    outcomes
                })
            })
            .collect();
        let both = [
            ("both-sided truncation", TRUNCATION),
            ("known item", KNOWN_ITEM),
        ];
        let both = both.map(|(name, text)| {
            let waits = scope.spawn(move || {
                let (mut client, query) = (patient(address), query(text));
                let mut waits = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let (wait, outcome) = asked(&mut client, &query);
                    assert_eq!(outcome, "found", "{text}");
                    waits.push(wait);
                    thread::sleep(Duration::from_millis(5));
                }
                waits
            });
            (name, waits)
        });
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        for (name, waits) in both {
            row(name, waits.join().unwrap_or_default());
        }
        let outcomes: Vec<_> = others
            .into_iter()
            .flat_map(|other| other.join().unwrap_or_default())
            .collect();
        for outcome in ["found", "31", "another diagnostic"] {
            let waits = outcomes.iter().filter(|(_, known)| *known == outcome);
            let waits: Vec<f64> = waits.map(|(wait, _)| *wait).collect();
            if !waits.is_empty() {
                row(&format!("  the others: {outcome}"), waits);
            }
        }
    });
}

fn row(name: &str, mut waits: Vec<f64>) {
    waits.sort_by(f64::total_cmp);
    let at = |part: usize| {
        let wait = waits.get((waits.len() * part / 100).min(waits.len().saturating_sub(1)));
        wait.map_or(f64::NAN, |wait| wait * 1e3)
    };
    let (p50, p99, most) = (at(50), at(99), at(100));
    println!(
        "{name:<44}{:>9}{p50:>9.2}{p99:>9.2}{most:>9.2}",
        waits.len()
    );
}

/// Connects a client whose read timeout is longer than any operation may take.
fn patient(address: SocketAddr) -> Partner {
    let client = Partner::open(address).expect("a session");
    let most = Some(Duration::from_secs(120));
    client.stream.set_read_timeout(most).expect("a time");
    client
}

/// Sends a query. Returns the time until the answer in seconds, and the kind of answer.
fn asked(client: &mut Partner, query: &[u8]) -> (f64, &'static str) {
    let begun = Instant::now();
    client.send(query).expect("sent");
    let outcome = match client.next() {
        Ok(Some(Apdu::SearchResponse(response))) if response.search_status => "found",
        Ok(Some(Apdu::SearchResponse(response))) => {
            if format!("{:?}", response.records).contains("condition: 31") {
                "31"
            } else {
                "another diagnostic"
            }
        }
        other => panic!("{other:?}"),
    };
    (begun.elapsed().as_secs_f64(), outcome)
}

/// Returns a Search for this query in PQF.
fn query(text: &str) -> Vec<u8> {
    let Ok(Apdu::SearchRequest(mut request)) = decode(&search(&TERM)) else {
        panic!("a search")
    };
    request.database_names = vec![DatabaseName::from("Default")];
    request.query = Query::Type1(text.parse().expect("a query"));
    encode(&Apdu::SearchRequest(request)).expect("encodes")
}

/// Returns a query with this many operators, each nested in the first operand of the one before.
fn nested(operator: &str, term: &str, operators: usize) -> String {
    let terms = vec![term; operators + 1].join(" ");
    format!("{} {terms}", vec![operator; operators].join(" "))
}

/// Returns a query of about 45 kB for frequent words near each other.
fn proximity() -> Vec<u8> {
    query(&nested("@prox 0 9 0 2 k 2", "@attr 1=4 the", 999))
}

/// Returns a query that combines several hundred different truncations with "or". Most of the truncations find every record.
fn or_chain() -> Vec<u8> {
    let letters = || (b'a'..=b'z').map(char::from);
    let pairs = letters().flat_map(|one| letters().map(move |other| format!("{one}{other}")));
    let terms: Vec<_> = pairs
        .map(|pair| format!("@attr 1=4 @attr 5=3 {pair}"))
        .collect();
    let operators = vec!["@or"; terms.len() - 1].join(" ");
    query(&format!("{operators} {}", terms.join(" ")))
}

/// Returns records whose titles contain frequent words and words that are almost unique.
fn catalogue(records: usize) -> Vec<u8> {
    let mut random = Random::new("fair");
    let mut file = Vec::new();
    for number in 0..records {
        let mut title = String::new();
        for place in 0..10 {
            let length = 4 + random.below(6);
            title.extend((0..length).map(|_| *random.pick(&LETTERS)));
            title.push_str(if place % 2 == 0 { " the " } else { " of " });
        }
        let record = MarcRecord {
            fields: vec![
                Field::control(b"001", format!("rec{number:07}")),
                Field::data(b"245", "00", [("a", title)]),
            ],
            ..MarcRecord::default()
        };
        file.extend(iso2709::encode(&record).expect("a valid record"));
    }
    file
}

const LETTERS: [char; 26] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's',
    't', 'u', 'v', 'w', 'x', 'y', 'z',
];
