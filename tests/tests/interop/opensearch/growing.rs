//! Tests of a cluster to which nodes are added and from which they are removed while clients search. No records have to be loaded
//! again, and missing records are always reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::runtime::Runtime;
use z3950_asn1::apdu::{
    CaseSensitivity, Operand, RpnStructure, SortElement, SortKey, SortRelation,
};
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::opensearch::ClusterDatabase;
use z3950_server::backend::{Backend, DatabaseName, Scan, Search, Sort, SortKeySpec};
use z3950_tests::opensearch::Cluster;

use super::served::{database_at, found};
use super::{Home, assert_ran};

const CLIENTS: usize = 10;

#[test]
fn audit_r_l1_a_cluster_grows_and_shrinks_under_clients() {
    let Some(mut cluster) = Cluster::to_damage() else {
        return;
    };
    let (database, index) = {
        let home = Home::new(&cluster, "growing");
        home.write("all.mrc", "war", 1..=300);
        assert_ran(&home.run(&["load", "all.mrc"]), 0, &["300 records loaded"]);
        // Lost replicas are replaced at once instead of after a minute.
        home.change("{\"index.unassigned.node_left.delayed_timeout\":\"0\"}");
        (
            Arc::new(database_at(&cluster.ports(), &home.index, false)),
            home.index,
        )
    };
    cluster.wait_for_green();
    let runtime = Runtime::new().expect("a runtime");
    let is_done = Arc::new(AtomicBool::new(false));
    let answers: Arc<AtomicUsize> = Arc::default();
    let clients = (0..CLIENTS).map(|_| {
        let (database, is_done) = (Arc::clone(&database), Arc::clone(&is_done));
        let answers = Arc::clone(&answers);
        runtime.spawn(async move {
            while !is_done.load(Ordering::Relaxed) {
                assert_eq!(found(&database, "@attr 1=4 war").await, Ok((300, 0)));
                answers.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    cluster.add();
    let relocated = |cluster: &Cluster| {
        cluster.wait_for_green();
        let path = format!("/_cat/shards/{index}?format=json");
        let (_, shards) = cluster.ask("GET", &path, "");
        let shards = shards.as_array().expect("shards").iter();
        let nodes = shards.map(|shard| shard["node"].as_str().expect("a node").to_owned());
        nodes.collect::<std::collections::BTreeSet<_>>()
    };
    assert!(relocated(&cluster).len() >= 3);
    for (node, others) in [(1, 1), (2, 2)].map(|(node, gone)| (node, cluster.ports().len() - gone))
    {
        cluster.kill(node);
        cluster.wait_for_count(others);
        let killed = format!("n{}", node + 1);
        assert!(!relocated(&cluster).contains(&killed));
        assert_eq!(
            runtime.block_on(found(&database, "@attr 1=4 war")),
            Ok((300, 0))
        );
    }
    is_done.store(true, Ordering::Relaxed);
    for client in clients {
        runtime.block_on(client).expect("no panic");
    }
    let answers = answers.load(Ordering::Relaxed);
    println!("{CLIENTS} clients: {answers} answers, none without a record");
    assert!(answers > CLIENTS);
}

/// Scans the titles. Returns the number of terms, and whether some are missing.
async fn scanned(database: &ClusterDatabase) -> (usize, bool) {
    let query = parse_pqf("@attr 1=4 0").expect("a query");
    let RpnStructure::Op(Operand::AttributesPlusTerm(start)) = &query.rpn else {
        panic!("one operand");
    };
    let names = [DatabaseName::from("books")];
    let mut scan = Scan::new(&names, query.attribute_set, start);
    (scan.before, scan.after) = (0, 1_000);
    let scanned = database.scan(scan).await.expect("terms");
    (scanned.after.len(), !scanned.failures.is_empty())
}

/// If a part of the index is not available on any node, scans report that terms are missing, and sorts of all records are
/// refused.
#[test]
fn audit_r_l1_scans_and_sorts_report_a_missing_part() {
    let Some(mut cluster) = Cluster::to_damage() else {
        return;
    };
    let database = {
        let home = Home::new(&cluster, "gone");
        home.set("replicas = 0");
        home.write("all.mrc", "war", 1..=300);
        assert_ran(&home.run(&["load", "all.mrc"]), 0, &["300 records loaded"]);
        database_at(&cluster.ports(), &home.index, false)
    };
    let runtime = Runtime::new().expect("a runtime");
    let names = [DatabaseName::from("books")];
    let query = parse_pqf("@attr 1=4 war").expect("a query");
    let hits = runtime.block_on(database.search(Search::new(&names, &query)));
    let hits = [hits.expect("found").hits];
    let keys = [SortKeySpec {
        sort_element: SortElement::Generic(SortKey::SortField("title".into())),
        sort_relation: SortRelation::ASCENDING,
        case_sensitivity: CaseSensitivity::CASE_INSENSITIVE,
        missing_value_action: None,
    }];
    let sorted = || {
        let sorted = runtime.block_on(database.sort(Sort::new(&hits, &keys)));
        sorted.map(|hits| hits.len()).map_err(|why| why.condition)
    };
    // The terms are the 300 numbers in the titles, and one word.
    assert_eq!(runtime.block_on(scanned(&database)), (301, false));
    assert_eq!(sorted(), Ok(300));
    cluster.kill(1);
    let (terms, is_told) = runtime.block_on(scanned(&database));
    assert!(terms < 301 && is_told, "{terms} {is_told}");
    assert_eq!(sorted(), Err(109));
    cluster.recover(&[1]);
    assert_eq!(runtime.block_on(scanned(&database)), (301, false));
    assert_eq!(sorted(), Ok(300));
}
