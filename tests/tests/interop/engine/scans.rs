//! Tests of scans, which must return the same terms as in memory, even if thousands of terms begin with the same letters.

use std::fmt::Write;

use z3950::service::scan::ScanOptions;
use z3950::{Client, Connection, Error, Query, ScanSet};
use z3950_marc::mrk;
use z3950_tests::random::Random;

use super::served;

/// The number of records, which is slightly more than the engine reads for one side of a scan.
const RECORDS: usize = 5400;

/// Converts a number to three letters of an alphabet.
fn letters(alphabet: &str, number: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let places = [number / 400 % 20, number / 20 % 20, number % 20];
    places.map(|place| alphabet[place]).iter().collect()
}

const LATIN: &str = "abcdefghijklmnopqrst";
const CYRILLIC: &str = "абвгдежзиклмнопрстуф";

async fn scanned(
    connection: &Connection,
    query: &str,
    position: u64,
    step: u64,
) -> Result<ScanSet, Error> {
    let mut options = ScanOptions::default();
    options.number_of_terms = 5;
    options.preferred_position = Some(position);
    options.step_size = Some(step);
    let query = Query::pqf(query).expect("a query");
    connection.scan_with(query, options).await
}

#[tokio::test]
async fn terms_are_those_of_memory() {
    let mut text = String::new();
    for at in 0..RECORDS {
        let (word, other) = (letters(LATIN, at), letters(CYRILLIC, at));
        // Titles of the second kind differ only after as many octets as the engine compares.
        let title = match at % 2 {
            0 => format!("history of {word} воен{other}"),
            _ => format!("history of the people {word} воен{other}"),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "=LDR  00000nam a2200000 a 4500\n=001  id{at}\n=245  10$a{title}\n\n"
        );
    }
    let Some(served) = served(&mrk::parse_all(&text).expect("records"), "") else {
        return;
    };
    let connect = |database| {
        let target = format!("{}/{database}", served.daemon.address());
        async move { Client::new().connect(target).await.expect("a session") }
    };
    let (engine, memory) = (connect("books").await, connect("memory").await);
    let mut random = Random::new("scans");
    let mut starts = [
        "",
        "h",
        "history",
        "history of zz",
        "history of the people zz",
        "z",
    ]
    .map(|start| format!("@attr 1=4 @attr 4=1 \"{start}\""))
    .to_vec();
    starts.extend(["воеnу", "воеф", "воен", "воя", "а"].map(|word| format!("@attr 1=4 {word}")));
    for _ in 0..20 {
        let number = random.below(RECORDS);
        let (word, other) = (letters(LATIN, number), letters(CYRILLIC, number));
        let (entry, the) = (random.pick(&["", " x"]), random.pick(&["", "the people "]));
        starts.push(format!(
            "@attr 1=4 @attr 4=1 \"history of {the}{word}{entry}\""
        ));
        starts.push(format!("@attr 1=4 воен{other}"));
    }
    for start in &starts {
        for (position, step) in [(1, 0), (3, 0), (5, 2), (3, 20)] {
            let mut answers = Vec::new();
            for connection in [&engine, &memory] {
                let set = scanned(connection, start, position, step).await;
                let listed = set.map(|set| {
                    let terms = set.terms().iter();
                    let terms = terms.map(|term| (term.term.clone(), term.count));
                    (set.position(), terms.collect::<Vec<_>>())
                });
                answers.push(listed.map_err(|error| error.to_string()));
            }
            assert_eq!(answers[0], answers[1], "{start} at {position} by {step}");
        }
    }
    let refused = scanned(&engine, &starts[0], 1, 2000).await;
    let Err(Error::Refused { diagnostics, .. }) = refused else {
        panic!("too many terms: {refused:?}");
    };
    assert_eq!(diagnostics.condition(), Some(206));
}
