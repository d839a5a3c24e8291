//! Measures the retrieval of records from a large set in batches.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use z3950::service::ResultRecord;
use z3950::service::present::PresentOptions;
use z3950::{Client, SearchOptions, Session};
use z3950_asn1::apdu::Query;
use z3950_asn1::oid::USMARC;
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::catalogue::CatalogueDatabase;
use z3950_tests::program::Daemon;

use crate::books;
use crate::direct::{Direct, percentiles, ratio};
use crate::filled::Filled;
use crate::records::QuerySample;

/// The number of records in a Present, and in a request to the engine.
const PRESENTED: usize = 250;
/// The last position at which Koha's index returns a record.
const LAST: usize = 10_000;

/// Measures how many records of a set arrive per second with Presents, and with requests to the engine for the same
/// positions. The Presents and the requests alternate.
pub(crate) async fn measure(
    index: &Filled,
    daemon: &Daemon,
    database: &CatalogueDatabase,
    path: &str,
    samples: &[QuerySample],
    rounds: usize,
) {
    let query = parse_pqf(&format!("@attr 1=4 {}", most_frequent(samples))).expect("a query");
    let statement = database.statement(&query, PRESENTED).expect("a search");
    let statement: Value = serde_json::from_str(&statement).expect("JSON");
    let connection = Client::new().connect(&books(daemon)).await;
    let connection = connection.expect("a session");
    let session = connection.as_z3950().await.expect("a session");
    let mut options = SearchOptions::default();
    options.databases = vec!["books".into()];
    let found = session
        .search(Query::Type1(query), &options)
        .await
        .expect("found");
    let count = usize::try_from(found.hits).expect("few").min(LAST);
    let mut direct = Direct::connect(index.port).await;
    let (mut own_times, mut direct_times) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let (mut own_time, mut direct_time) = (Duration::ZERO, Duration::ZERO);
        for (page, start) in (0..count).step_by(PRESENTED).enumerate() {
            let expected = PRESENTED.min(count - start);
            let mut body = statement.clone();
            body[index.kind.first] = start.into();
            body[index.kind.rows] = expected.into();
            let body = body.to_string();
            for turn in 0..2 {
                let begun = Instant::now();
                if (round + page + turn).is_multiple_of(2) {
                    let answer = direct.ask(path, body.as_bytes()).await;
                    direct_time += begun.elapsed();
                    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
                    let records = answer.pointer(index.kind.records).and_then(Value::as_array);
                    assert_eq!(records.map(Vec::len), Some(expected), "from {start}");
                } else {
                    let records = present(&session, start, expected).await;
                    own_time += begun.elapsed();
                    assert_eq!(records, expected, "from {start}");
                }
            }
        }
        own_times.push(own_time);
        direct_times.push(direct_time);
    }
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    let (own, _) = percentiles(own_times);
    let (direct, _) = percentiles(direct_times);
    println!(
        "{}: {count} records in Presents of {PRESENTED}: {:.0}/s, {:.0}/s directly: {:.2} times (at least 0.8)",
        index.kind.title,
        rate(own),
        rate(direct),
        ratio(direct, own),
    );
}

/// Presents records from the session's result set; returns the number of records received.
async fn present(session: &Session, start: usize, count: usize) -> usize {
    let mut options = PresentOptions::default();
    options.record_syntax = Some(USMARC);
    let presented = session
        .present(start as u64 + 1, count as u64, &options)
        .await;
    let records = presented.expect("records").records;
    let is_record = |record: &&ResultRecord| matches!(record, ResultRecord::Record { .. });
    records.iter().filter(is_record).count()
}

/// Returns the word that occurs in the most titles.
fn most_frequent(samples: &[QuerySample]) -> &str {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for QuerySample {
        words: (one, two), ..
    } in samples
    {
        for word in [one, two] {
            *counts.entry(word).or_default() += 1;
        }
    }
    let most = counts
        .into_iter()
        .max_by_key(|(word, count)| (*count, *word));
    most.expect("samples").0
}
