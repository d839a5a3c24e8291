//! Pages: what is asked for them, and which records are at their positions.

use std::sync::Mutex;

use z3950_server::asn1::apdu::DatabaseName;
use z3950_server::asn1::query::parse_pqf;
use z3950_server::backend::{Composition, RecordId};

use super::super::hits::MOST_KEPT;
use super::super::pages::{MOST_POSITION, NEAR};
use super::fake::Holdings;
use super::*;
use crate::lock::lock;

/// An engine that holds what the mutex says at the time.
async fn engine(holdings: &Arc<Mutex<Holdings>>) -> FakeServer {
    let holdings = Arc::clone(holdings);
    FakeServer::start(move |request| ready(Some(lock(&holdings).answer(&request)))).await
}

async fn searched(database: &EngineDatabase) -> Hits {
    let names = [DatabaseName::from("books")];
    let query = parse_pqf("@attr 1=4 war").expect("a query");
    let found = database.search(Search::new(&names, &query)).await;
    found.expect("hits").hits
}

/// Presents records, whose positions are counted from 0; the identifier of each, or its condition.
async fn presented(
    database: &EngineDatabase,
    hits: &Hits,
    positions: &[u32],
) -> Result<Vec<Result<usize, i64>>, i64> {
    let records: Vec<RecordId> = positions.iter().map(|at| RecordId((*at).into())).collect();
    let composition = Composition::full(None);
    let prepared = database.prepare(RetrieveMany::new(hits, &records, &composition));
    let prepared = prepared.expect("records are elsewhere").await;
    prepared.map_err(|why| why.condition)?;
    let mut outcomes = Vec::new();
    for record in records {
        let retrieved = database.record(Retrieve::new(hits, record, &composition));
        let retrieved = retrieved.await.map_err(|why| why.condition)?;
        let id = retrieved.record.map(|record| {
            let text = String::from_utf8_lossy(record.octets()).into_owned();
            let id = text.split('\x1e').nth(1).expect("a field");
            id.parse().expect("a number")
        });
        outcomes.push(id.map_err(|why| why.condition));
    }
    Ok(outcomes)
}

/// What is selected by a request: columns and limit, or numbers.
fn selection(request: &str) -> String {
    let after = |start: &str, end: &str| {
        let rest = request.split_once(start).map(|(_, rest)| rest);
        let text = rest.and_then(|rest| Some(rest.split_once(end)?.0));
        text.unwrap_or_default().to_owned()
    };
    if request.contains(" IN (") {
        format!("records {}", after(" IN (", ")"))
    } else {
        format!("{} {}", after("SELECT ", " FROM"), after(" LIMIT ", " "))
    }
}

#[tokio::test]
async fn pages_are_fetched_by_runs_or_by_numbers() {
    let numbers = |numbers: std::ops::RangeInclusive<usize>| {
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        format!("records {}", numbers.join(","))
    };
    let large = 2 * MOST_POSITION;
    let near = NEAR as u32;
    let last = MOST_POSITION as u32;
    for (count, positions, expected) in [
        (large, (0..10).collect(), Ok(vec![])),
        (large, vec![0, 49], Ok(vec!["id, record 49,1".to_owned()])),
        (
            large,
            vec![40, 22, 20, 21],
            Ok(vec![
                "id, record 20,3".to_owned(),
                "id, record 40,1".to_owned(),
            ]),
        ),
        (
            large,
            vec![near, near + 1],
            Ok(vec!["id, record 100,2".to_owned()]),
        ),
        (
            large,
            vec![near + 1, near + 2],
            Ok(vec!["id 101,2".to_owned(), numbers(102..=103)]),
        ),
        (
            large,
            vec![0, 899_999],
            Ok(vec!["id 899999,1".to_owned(), numbers(900_000..=900_000)]),
        ),
        (
            large,
            vec![last - 1],
            Ok(vec![
                "id 999999,1".to_owned(),
                numbers(MOST_POSITION..=MOST_POSITION),
            ]),
        ),
        (large, vec![last], Err(31)),
        (
            large,
            (200..500).collect(),
            Ok(vec![
                "id 200,250".to_owned(),
                numbers(201..=450),
                "id 450,50".to_owned(),
                numbers(451..=500),
            ]),
        ),
        // A small set has the numbers of its records.
        (
            MOST_KEPT,
            vec![0, 49, 999],
            Ok(vec!["id 0,1000".to_owned(), "records 50,1000".to_owned()]),
        ),
        (
            MOST_KEPT + 1,
            vec![1000],
            Ok(vec!["id 1000,1".to_owned(), numbers(1001..=1001)]),
        ),
    ] {
        let holdings = Arc::new(Mutex::new(Holdings::whole(count)));
        let engine = engine(&holdings).await;
        let database = database(&[&engine], &[]);
        let hits = searched(&database).await;
        assert_eq!(hits.len(), count);
        let outcome = presented(&database, &hits, &positions).await;
        let ids: Vec<_> = positions.iter().map(|at| Ok(*at as usize + 1)).collect();
        let asked: Vec<String> = engine
            .asked()
            .iter()
            .skip(1)
            .map(|text| selection(text))
            .collect();
        match expected {
            Ok(expected) => assert_eq!((outcome, asked), (Ok(ids), expected), "{positions:?}"),
            Err(condition) => assert_eq!((outcome, asked), (Err(condition), vec![])),
        }
    }
}

/// Records are where the search found them, or the client is told that they cannot be.
#[tokio::test]
async fn positions_do_not_shift_with_nodes() {
    let (part, whole) = (Holdings::part, Holdings::whole);
    for (then, now, expected) in [
        (whole(2000), part(1500), Err(109)),
        (whole(2000), part(2000), Ok(21)),
        (part(1500), whole(2000), Err(109)),
        (part(1500), part(1500), Ok(21)),
        (part(1500), part(1400), Err(109)),
        // Records that come and go shift a large set, but not a small one.
        (whole(2000), whole(1999), Ok(21)),
        (whole(1000), whole(1000), Ok(21)),
        (whole(1000), whole(999), Err(27)),
        (whole(1000), whole(1001), Err(27)),
        (whole(1000), whole(1000).from(2), Err(27)),
        (whole(1000), part(900), Err(109)),
        (part(900), whole(1000), Err(109)),
        (part(900), part(900), Ok(21)),
    ] {
        let holdings = Arc::new(Mutex::new(then));
        let engine = engine(&holdings).await;
        let database = database(&[&engine], &[]);
        let hits = searched(&database).await;
        *lock(&holdings) = now;
        let outcome = presented(&database, &hits, &[0, 20]).await;
        let expected = expected.map(|id| vec![Ok(1), Ok(id)]);
        assert_eq!(outcome, expected, "{then:?} {now:?}");
        // Those that came with the search stay.
        let first = presented(&database, &hits, &[9]).await;
        assert_eq!(first, Ok(vec![Ok(10)]));
    }
}

/// A record that does not come is a diagnostic in its place, and may come later.
#[tokio::test]
async fn records_that_do_not_come_are_asked_for_again() {
    let holdings = Arc::new(Mutex::new(Holdings::whole(30)));
    let engine = engine(&holdings).await;
    let database = database(&[&engine], &[]);
    let hits = searched(&database).await;
    assert_eq!(presented(&database, &hits, &[20]).await, Ok(vec![Ok(21)]));
    // From here on, the positions are known.
    *lock(&holdings) = Holdings::part(25);
    let outcome = presented(&database, &hits, &[9, 24, 25, 29]).await;
    assert_eq!(outcome, Ok(vec![Ok(10), Ok(25), Err(14), Err(14)]));
    assert_eq!(engine.asked().len(), 4);
    *lock(&holdings) = Holdings::whole(40);
    let outcome = presented(&database, &hits, &[9, 24, 25, 29]).await;
    assert_eq!(outcome, Ok(vec![Ok(10), Ok(25), Ok(26), Ok(30)]));
    assert_eq!(selection(&engine.asked()[4]), "records 25,26,30");
}

/// Of long records, no more are fetched together than most responses have room for.
#[tokio::test]
async fn long_records_are_fetched_as_they_are_retrieved() {
    let holdings = Holdings {
        octets: 40_000,
        ..Holdings::whole(600)
    };
    let engine = engine(&Arc::new(Mutex::new(holdings))).await;
    let database = database(&[&engine], &[]);
    let hits = searched(&database).await;
    let positions: Vec<u32> = (10..600).collect();
    let outcome = presented(&database, &hits, &positions).await;
    // They are no MARC.
    assert_eq!(outcome, Ok(vec![Err(14); 590]));
    let asked = engine.asked();
    let sizes: Vec<usize> = asked[2..]
        .iter()
        .map(|text| text.matches(',').count())
        .collect();
    // Commas between columns and numbers.
    assert_eq!(sizes, [&[250][..], &[1; 340]].concat());
}
