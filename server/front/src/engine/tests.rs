//! Engines that answer what no engine should: each answer is a diagnostic, or a result within limits.

mod checks;
mod fake;
mod loads;
mod pages;
mod replicas;
mod searches;
mod updates;

use std::future::ready;

use z3950::{Client, Error, Query, ResultSet};
use z3950_server::memory::{AccessPoints, DocidField, Profile};
use z3950_server::testing::TestServer;

use self::fake::FakeServer;
use super::mysql::tests::{OK, packet, result};
use super::*;

const RECORD: &[u8] =
    b"00063nam a2200049   4500001000400000245000900004\x1eid1\x1e10\x1faWars\x1e\x1d";

/// A database at these distributors and nodes.
fn database(replicas: &[&FakeServer], nodes: &[&FakeServer]) -> EngineDatabase {
    let replicas = replicas.iter().map(|server| {
        let address = format!("sphinxql://{}/books", server.place());
        address.parse().expect("an address")
    });
    let mut options = EngineOptions::new("books", replicas.collect());
    options.nodes = nodes.iter().map(|server| server.place()).collect();
    EngineDatabase::new(options, Arc::new(layout())).expect("a database")
}

fn layout() -> EngineLayout {
    let layout = EngineLayout::new(
        AccessPoints::default(),
        Profile::default(),
        DocidField::default(),
        &IndexUses::default(),
    );
    layout.expect("indexes")
}

/// Rows, totals, and warnings.
fn answer(rows: &[&[Option<&[u8]>]], meta: &[&[Option<&[u8]>]]) -> Vec<u8> {
    let columns = rows.first().map_or(2, |row| row.len());
    let warning: &[Option<&[u8]>] = &[None, None, None];
    [
        result(columns, rows, true),
        result(2, meta, true),
        result(3, &[warning], false),
    ]
    .concat()
}

#[tokio::test]
async fn hostile_answers_are_diagnostics() {
    let total = |count: &'static str| [Some(&b"total_found"[..]), Some(count.as_bytes())];
    let one = total("1");
    let id = Some(&b"7"[..]);
    let row = [id, Some(RECORD)];
    let huge = total("18446744073709551615");
    // What the search finds, or its condition; and the condition of the record at a position.
    for (answer, found, (position, refusal)) in [
        (answer(&[&row], &[&one]), Ok(1), (1, None)),
        (
            answer(&[&[id, Some(b"no MARC")]], &[&one]),
            Ok(1),
            (1, Some(14)),
        ),
        (answer(&[&[id, Some(b"")]], &[&one]), Ok(1), (1, Some(14))),
        (answer(&[], &[&one]), Ok(1), (1, Some(14))),
        (answer(&[&row], &[&huge]), Err(31), (1, None)),
        (
            answer(&[&row, &row, &row], &[&total("2")]),
            Ok(2),
            (2, None),
        ),
        (
            answer(&[&[None, Some(RECORD)]], &[&one]),
            Err(109),
            (1, None),
        ),
        (answer(&[&[id, None]], &[&one]), Err(109), (1, None)),
        (answer(&[&[id]], &[&one]), Err(109), (1, None)),
        (
            answer(&[&[Some(b"-1"), Some(RECORD)]], &[&one]),
            Err(109),
            (1, None),
        ),
        (
            answer(&[&[Some(b"\xff"), Some(RECORD)]], &[&one]),
            Err(109),
            (1, None),
        ),
        (answer(&[&row], &[]), Err(109), (1, None)),
        (answer(&[&row], &[&total("-1")]), Err(109), (1, None)),
        (answer(&[&row], &[&[one[0], None]]), Err(109), (1, None)),
        (result(2, &[&row], false), Err(109), (1, None)),
        (packet(OK), Err(109), (1, None)),
        (packet(b"\xff\x28\x04#42000syntax error"), Err(3), (1, None)),
        (vec![1, 0, 0, 0], Err(109), (1, None)),
        (Vec::new(), Err(109), (1, None)),
    ] {
        let octets = answer.clone();
        let engine = FakeServer::start(move |_| ready(Some(octets.clone()))).await;
        let mut database = database(&[&engine], &[]);
        // Less than a packet: the server hangs.
        if answer.len() <= 4 {
            let options = EngineOptions {
                answer_time: Duration::from_millis(1),
                ..database.options.clone()
            };
            database = EngineDatabase::new(options, Arc::new(layout())).expect("a database");
        }
        let server = TestServer::builder().backend(Arc::new(database)).start();
        let target = format!("{}/books", server.addr());
        let connection = Client::new().connect(target).await.expect("a session");
        let searched = connection.search(Query::title("war")).await;
        let what = String::from_utf8_lossy(&answer);
        let counted = searched.as_ref().map(ResultSet::count);
        assert_eq!(counted.map_err(condition), found.map_err(Some), "{what}");
        if let Ok(hits) = searched {
            let record = hits.record(position).await;
            assert_eq!(
                record.as_ref().err().and_then(condition),
                refusal,
                "{what}: {record:?}"
            );
        }
    }
}

fn condition(error: &Error) -> Option<i64> {
    match error {
        Error::Refused { diagnostics, .. } => diagnostics.condition(),
        _ => None,
    }
}

/// What a reload asks: whether a database can stay.
#[test]
fn databases_are_the_same_by_their_options_and_layout() {
    let options = || {
        let address = "sphinxql://127.0.0.1:9306/books".parse();
        EngineOptions::new("books", vec![address.expect("an address")])
    };
    let layout = |points, profile, docid: &str, uses: &IndexUses| {
        let docid = docid.parse().expect("a field");
        EngineLayout::new(points, profile, docid, uses).expect("indexes")
    };
    let uses = IndexUses::default();
    let usual = |docid| layout(AccessPoints::default(), Profile::default(), docid, &uses);
    let database = EngineDatabase::new(options(), Arc::new(usual("001"))).expect("a database");
    assert!(database.is_same(&options(), &usual("001")));
    assert!(!database.is_same(&options(), &usual("035$a")));
    let fewer = IndexUses {
        sort: Vec::new(),
        ..IndexUses::default()
    };
    let unsorted = layout(AccessPoints::default(), Profile::default(), "001", &fewer);
    assert!(!database.is_same(&options(), &unsorted));
    let zebra = Profile::by_name("zebra").expect("a profile");
    let restricted = layout(AccessPoints::default(), zebra, "001", &uses);
    assert!(!database.is_same(&options(), &restricted));
    let mut strict = options();
    strict.strict = true;
    assert!(!database.is_same(&strict, &usual("001")));
}
