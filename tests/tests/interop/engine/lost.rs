//! Tests of scans and sorts while a node is down: terms and records must not be lost without a message.

use std::sync::Arc;

use z3950::{Client, Error, Query, ScanSet, SortKey};
use z3950_asn1::apdu::{DatabaseName, MissingValueAction};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::{EngineDatabase, EngineLayout, EngineOptions, IndexUses};
use z3950_server::backend::{Backend, Hits, Search, Sort};
use z3950_server::memory::{AccessPoints, DocidField, Profile};
use z3950_tests::program::Daemon;
use z3950_tests::searchd::Engine;

use super::{EVERYTHING, Served, records, served, start};

async fn scanned(daemon: &Daemon) -> Result<ScanSet, Error> {
    let target = format!("{}/books", daemon.address());
    let connection = Client::new().connect(target).await.expect("a session");
    let query = Query::pqf("@attr 1=4 war").expect("a query");
    connection.scan(query).await
}

#[tokio::test]
async fn a_scan_names_a_node_that_is_gone() {
    let records = records(60);
    let Some(Served { mut engine, daemon }) = served(&records, "") else {
        return;
    };
    let whole = scanned(&daemon).await.expect("terms");
    assert!(whole.result().diagnostics.is_empty());
    engine.kill("node-2");
    let part = scanned(&daemon).await.expect("terms");
    let diagnostics = &part.result().diagnostics;
    assert_eq!(
        (diagnostics.0.len(), diagnostics.condition()),
        (1, Some(109))
    );
    let words = diagnostics.addinfo().expect("words");
    assert!(words.starts_with(&engine.nodes()[1]), "{words}");
    let count = |set: &ScanSet| set.terms()[0].count;
    assert!(count(&part) < count(&whole));
    drop(daemon);
    let strict = start(&engine, &records, "strict = true");
    let Err(Error::Refused { diagnostics, .. }) = scanned(&strict).await else {
        panic!("a node is gone");
    };
    assert_eq!(diagnostics.condition(), Some(109));
}

fn database(engine: &Engine) -> EngineDatabase {
    let layout = EngineLayout::new(
        AccessPoints::default(),
        Profile::default(),
        DocidField::default(),
        &IndexUses::default(),
    );
    let address = engine.url().parse().expect("an address");
    let options = EngineOptions::new("books", vec![address]);
    let database = EngineDatabase::new(options, Arc::new(layout.expect("indexes")));
    database.expect("a database")
}

async fn everything(database: &EngineDatabase) -> Hits {
    let names = [DatabaseName::from("books")];
    let query = parse_pqf(EVERYTHING).expect("a query");
    let found = database.search(Search::new(&names, &query)).await;
    found.expect("hits").hits
}

/// Sorts a set; returns its number of records, or the diagnostic if sorting fails.
async fn sorted(
    database: &EngineDatabase,
    inputs: &[Hits],
    missing: Option<MissingValueAction>,
) -> Result<usize, i64> {
    let key = SortKey::ascending("title").expect("an index");
    let mut key = key.as_spec().clone();
    key.missing_value_action = missing;
    let sorted = database.sort(Sort::new(inputs, &[key])).await;
    sorted.map(|hits| hits.len()).map_err(|why| why.condition)
}

#[tokio::test]
async fn a_sort_is_refused_if_records_are_gone() {
    let Some(Served { mut engine, .. }) = served(&records(60), "") else {
        return;
    };
    let database = database(&engine);
    let whole = everything(&database).await;
    let abort = || Some(MissingValueAction::Abort);
    let of_whole = std::slice::from_ref(&whole);
    assert_eq!(sorted(&database, of_whole, abort()).await, Ok(60));
    engine.kill("node-1");
    let part = everything(&database).await;
    let left = part.len();
    assert!((1..60).contains(&left), "{left}");
    let of_part = std::slice::from_ref(&part);
    assert_eq!(sorted(&database, of_whole, None).await, Err(109));
    assert_eq!(sorted(&database, of_part, None).await, Ok(left));
    // A missing record may lack a title, so a sort that aborts on a missing title is refused.
    assert_eq!(sorted(&database, of_part, abort()).await, Err(109));
    let both = [part, whole];
    assert_eq!(sorted(&database, &both, None).await, Err(109));
    engine.restart("node-1");
    assert_eq!(sorted(&database, &both, None).await, Ok(60));
}
