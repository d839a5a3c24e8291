//! Tests of `z3950d` and the database in front of real nodes: clients, updates, and nodes that are killed.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Runtime;
use z3950::{Client, Query, Record, SortKey};
use z3950_asn1::apdu::External;
use z3950_asn1::oid::USMARC;
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::opensearch::{ClusterDatabase, ClusterOptions};
use z3950_front::engine::{EngineLayout, IndexUses};
use z3950_marc::{Field, MarcRecord, iso2709};
use z3950_server::backend::{Backend, DatabaseName, Search, Update, UpdateAction, UpdateRecord};
use z3950_server::memory::{AccessPoints, DocidField, Profile};
use z3950_tests::opensearch::Cluster;
use z3950_tests::program::Daemon;

use super::{Home, assert_ran};

/// Opens the database for a test.
pub(super) fn opened(home: &Home<'_>, is_strict: bool) -> ClusterDatabase {
    database_at(&home.cluster.ports(), &home.index, is_strict)
}

/// Opens the database in an index of the nodes, or gates, at these ports.
pub(super) fn database_at(ports: &[u16], index: &str, is_strict: bool) -> ClusterDatabase {
    let (points, uses) = (AccessPoints::default(), IndexUses::default());
    let layout = EngineLayout::new(points, Profile::default(), DocidField::default(), &uses);
    let urls = ports
        .iter()
        .map(|port| format!("http://127.0.0.1:{port}/{index}"));
    let addresses = urls.map(|url| url.parse().expect("an address"));
    let mut options = ClusterOptions::new("books", addresses.collect());
    options.strict = is_strict;
    let database = ClusterDatabase::new(options, Arc::new(layout.expect("indexes")));
    database.expect("no certificates")
}

/// Returns the number of records that a query finds and the number of sources that failed, or the condition of the diagnostic.
pub(super) async fn found(database: &ClusterDatabase, pqf: &str) -> Result<(usize, usize), i64> {
    let names = [DatabaseName::from("books")];
    let query = parse_pqf(pqf).expect("a query");
    let found = database.search(Search::new(&names, &query)).await;
    let found = found.map_err(|why| why.condition)?;
    let failed = found
        .sources
        .iter()
        .filter(|source| source.failure.is_some());
    Ok((found.hits.len(), failed.count()))
}

#[tokio::test]
async fn a_client_searches_presents_and_sorts() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "served");
    home.write("all.mrc", "war", 1..=40);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["40 records loaded"]);
    let settings = home.settings();
    let daemon = Daemon::start(["--config", settings.to_str().expect("text")]);
    let target = format!("{}/books", daemon.address());
    let connection = Client::new().connect(&target).await.expect("a session");
    let mut hits = connection.search(Query::title("war")).await.expect("hits");
    assert_eq!(hits.count(), 40);
    let ids = async |hits: &z3950::ResultSet| {
        let records = hits.range(..).collect().await.expect("records");
        let ids = records.iter().map(Record::marc).map(|record| {
            let record = record.expect("MARC");
            let id = record.control_number().expect("an identifier");
            String::from_utf8_lossy(id)
                .parse::<usize>()
                .expect("a number")
        });
        ids.collect::<Vec<usize>>()
    };
    let mut all = ids(&hits).await;
    all.sort_unstable();
    assert!(all.into_iter().eq(1..=40));
    let key = SortKey::descending("title").expect("an index");
    hits.sort(&[key]).await.expect("sorted");
    let sorted = ids(&hits).await;
    let mut expected: Vec<usize> = (1..=40).collect();
    expected.sort_by_key(|number| std::cmp::Reverse(number.to_string()));
    assert_eq!(sorted, expected);
    connection.close().await.expect("closed");
}

pub(super) fn record(id: &str, title: &str) -> UpdateRecord {
    let mut record = MarcRecord::default();
    record.fields.push(Field::control(b"001", id.to_owned()));
    record
        .fields
        .push(Field::data(b"245", "10", [("a", title)]));
    let octets = iso2709::encode(&record).expect("octets");
    UpdateRecord::new(None, Some(External::octet_aligned(USMARC, octets)))
}

/// Returns the result of an update for each record: its identifier, or the message with which it was refused.
async fn updated(
    database: &ClusterDatabase,
    action: UpdateAction,
    records: &[UpdateRecord],
) -> Vec<Result<Bytes, String>> {
    let name = DatabaseName::from("books");
    let outcomes = database.update(Update::new(&name, action, records)).await;
    let outcomes = outcomes.expect("outcomes").into_iter();
    let words =
        outcomes.map(|outcome| outcome.map_err(|why| why.addinfo.to_string_lossy().into_owned()));
    words.collect()
}

#[tokio::test]
async fn updates_are_found_at_once_and_are_all_or_none() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "updated");
    home.write("all.mrc", "war", 1..=3);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &[]);
    let database = opened(&home, false);
    let is_refused = |outcomes: &[Result<Bytes, String>], words: &str| {
        let mut refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        refused.any(|why| why.contains(words))
    };
    let done = updated(&database, UpdateAction::Insert, &[record("new", "peace")]).await;
    assert_eq!(done, [Ok(Bytes::from("new"))]);
    assert_eq!(found(&database, "@attr 1=4 peace").await, Ok((1, 0)));
    // The second record exists already, so the first record is not added either.
    let both = [record("newer", "peace"), record("new", "peace")];
    let refused = updated(&database, UpdateAction::Insert, &both).await;
    assert!(is_refused(&refused, "already exists"), "{refused:?}");
    assert_eq!(found(&database, "@attr 1=4 peace").await, Ok((1, 0)));
    let replaced = updated(&database, UpdateAction::Replace, &[record("1", "love")]).await;
    assert!(replaced.iter().all(Result::is_ok), "{replaced:?}");
    assert_eq!(found(&database, "@attr 1=4 love").await, Ok((1, 0)));
    assert_eq!(found(&database, "@attr 1=4 war").await, Ok((2, 0)));
    let refused = updated(&database, UpdateAction::Replace, &[record("9", "love")]).await;
    assert!(is_refused(&refused, "no such record"), "{refused:?}");
    // An update takes its own earlier changes into account.
    let twice = [record("a", "first"), record("a", "second")];
    let done = updated(&database, UpdateAction::Special, &twice).await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(found(&database, "@attr 1=4 second").await, Ok((1, 0)));
    assert_eq!(found(&database, "@attr 1=4 first").await, Ok((0, 0)));
    let done = updated(&database, UpdateAction::Delete, &[record("a", "any")]).await;
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    assert_eq!(found(&database, "@attr 1=1032 a").await, Ok((0, 0)));
}

/// If each part of the index has a copy, nothing is missing while a node is down. Without copies, the parts on the node are
/// missing, and the answer says so.
#[test]
fn a_node_that_is_killed_costs_at_most_its_own_records() {
    let Some(mut cluster) = Cluster::to_damage() else {
        return;
    };
    let runtime = Runtime::new().expect("a runtime");
    let found = |database: &ClusterDatabase| runtime.block_on(found(database, "@attr 1=4 war"));
    let prepare = |name: &str, lines: &str| {
        let home = Home::new(&cluster, name);
        home.set(lines);
        home.write("all.mrc", "war", 1..=300);
        assert_ran(&home.run(&["load", "all.mrc"]), 0, &[]);
        [false, true].map(|is_strict| opened(&home, is_strict))
    };
    let copied = prepare("copied", "replicas = 1");
    let single = prepare("single", "replicas = 0");
    cluster.wait_for_green();
    for database in copied.iter().chain(&single) {
        assert_eq!(found(database), Ok((300, 0)));
    }
    cluster.kill(2);
    for _ in 0..6 {
        for database in &copied {
            assert_eq!(found(database), Ok((300, 0)));
        }
        let [lenient, strict] = &single;
        let (records, failed) = found(lenient).expect("a part");
        assert!(records < 300 && failed == 1, "{records} {failed}");
        assert_eq!(found(strict), Err(109));
    }
    cluster.recover(&[2]);
    for database in copied.iter().chain(&single) {
        assert_eq!(found(database), Ok((300, 0)));
    }
}

/// A cluster that has lost the majority of its nodes answers searches from the remaining parts, and refuses changes.
#[test]
fn audit_r_l1_a_cluster_without_a_majority_says_so() {
    let Some(mut cluster) = Cluster::to_damage() else {
        return;
    };
    let runtime = Runtime::new().expect("a runtime");
    let home = Home::new(&cluster, "minority");
    home.set("replicas = 2");
    home.write("all.mrc", "war", 1..=300);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["300 records loaded"]);
    cluster.wait_for_green();
    let database = opened(&home, false);
    let Home { index, folder, .. } = home;
    cluster.kill(1);
    cluster.kill(2);
    while cluster.ask("GET", "/_cluster/health?timeout=1s", "").0 == 200 {
        z3950_tests::pause();
    }
    let home = Home {
        cluster: &cluster,
        index,
        folder,
    };
    home.set("answer-time = 2");
    // The remaining node has a copy of each shard.
    let search = found(&database, "@attr 1=4 war");
    assert_eq!(runtime.block_on(search), Ok((300, 0)));
    for (arguments, code) in [
        (&["--check"][..], 2),
        (&["load", "all.mrc"], 1),
        (&["load", "--reload", "all.mrc"], 1),
    ] {
        assert_ran(&home.run(arguments), code, &["no answer within 2 s"]);
    }
    cluster.recover(&[1, 2]);
}
