//! Tests of changes that other programs make to an index. They delete it, add records to it, or give its name to another index.

use std::sync::Once;

use serde_json::json;
use tokio::runtime::Runtime;
use z3950_asn1::query::parse_pqf;
use z3950_front::engine::opensearch::ClusterDatabase;
use z3950_server::backend::{Backend, Composition, DatabaseName, Retrieve, RetrieveMany, Search};
use z3950_server::backend::{Update, UpdateAction};
use z3950_tests::opensearch::Cluster;
use z3950_tests::opensearch::gate::{Gate, Passage};

use super::served::{database_at, found, opened, record};
use super::{Home, assert_ran};

/// Opens a gate that deletes an index when the first request with changes arrives.
fn deleting(cluster: &'static Cluster, index: &str) -> Gate {
    let (once, path) = (Once::new(), format!("/{index}"));
    Gate::open(cluster.ports()[0], move |head| {
        if head.contains("/_bulk") {
            once.call_once(|| assert_eq!(cluster.ask("DELETE", &path, "").0, 200));
        }
        Passage::Through
    })
}

/// Creates an index that has the name in the settings itself, instead of an alias with this name.
fn create_by_hand(home: &Home<'_>) {
    let shown = home.run(&["engine-create", "--dry-run"]);
    let path = format!("/{}", home.index);
    let (status, answer) = home.cluster.ask("PUT", &path, &shown.stdout);
    assert_eq!(status, 200, "{answer}");
}

/// If an index is deleted during a load or an update, the engine must not create it again with fields that it has guessed.
#[test]
fn audit_r_l1_an_index_that_is_deleted_does_not_come_back() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let runtime = Runtime::new().expect("a runtime");
    for is_alias in [true, false] {
        let prepared = || {
            let home = Home::new(cluster, "deleted");
            if !is_alias {
                create_by_hand(&home);
            }
            home.write("all.mrc", "war", 1..=100);
            assert_ran(&home.run(&["load", "all.mrc"]), 0, &["100 records loaded"]);
            let gate = deleting(cluster, &home.state().0);
            home.set_gate(&gate, "");
            (home, gate)
        };
        let (loaded, _gate) = prepared();
        let ended = loaded.run(&["load", "all.mrc"]);
        assert_ran(&ended, 1, &["the index was changed meanwhile"]);
        let (updated, gate) = prepared();
        let database = database_at(&[gate.port], &updated.index, false);
        let name = DatabaseName::from("books");
        let records = [record("new", "peace")];
        let update = Update::new(&name, UpdateAction::Insert, &records);
        let why = runtime.block_on(database.update(update));
        let why = why.expect_err("no index");
        let words = why.addinfo.to_string_lossy();
        assert!(words.contains("changes made: 0 of 1"), "{words}");
        // The same update is sent again after the index has been deleted.
        let update = Update::new(&name, UpdateAction::Insert, &records);
        let why = runtime.block_on(database.update(update));
        assert_eq!(why.expect_err("no index").condition, 109);
        let search = found(&database, "@attr 1=4 war");
        assert_eq!(runtime.block_on(search), Err(109));
        for home in [&loaded, &updated] {
            let (_, left) = cluster.ask("GET", &format!("/{}*", home.index), "");
            assert_eq!(left, json!({}), "{is_alias}");
        }
    }
}

/// Returns the result for each record that a query finds: the octets of the record, or the condition of a diagnostic.
fn presented(
    runtime: &Runtime,
    database: &ClusterDatabase,
    pqf: &str,
) -> Vec<Result<Vec<u8>, i64>> {
    let names = [DatabaseName::from("books")];
    let query = parse_pqf(pqf).expect("a query");
    let found = runtime.block_on(database.search(Search::new(&names, &query)));
    let hits = found.expect("found").hits;
    let composition = Composition::full(None);
    let ids = hits.ids(0..hits.len());
    if let Some(prepared) = database.prepare(RetrieveMany::new(&hits, &ids, &composition)) {
        runtime.block_on(prepared).expect("prepared");
    }
    let records = ids.into_iter().map(|id| {
        let retrieved = runtime.block_on(database.record(Retrieve::new(&hits, id, &composition)));
        let record = retrieved.expect("retrieved").record;
        record
            .map(|record| record.octets().to_vec())
            .map_err(|why| why.condition)
    });
    records.collect()
}

/// Each record that another program has added is replaced with a diagnostic, and no other record is affected.
#[test]
fn audit_r_l1_documents_of_other_programs_are_reported_and_hide_nothing() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let runtime = Runtime::new().expect("a runtime");
    let home = Home::new(cluster, "foreign");
    home.write("all.mrc", "war", 1..=20);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["20 records loaded"]);
    let documents = [
        json!({}),
        json!({ "number": 7 }),
        json!({ "number": -5, "record": "AAAA" }),
        json!({ "number": i64::MAX, "record": "" }),
        json!({ "record": "MDAwNjNuYW0=", "t_title": "_ \u{f800}war\u{f801} _", "y_title": ["war"] }),
        json!({ "record": ["AAAA", "AAAA"], "number": [1, 2] }),
    ];
    for (place, document) in documents.iter().enumerate() {
        let path = format!("/{}/_doc/foreign-{place}?refresh=true", home.index);
        let (status, answer) = cluster.ask("PUT", &path, &document.to_string());
        assert_eq!(status, 201, "{answer}");
    }
    let database = opened(&home, false);
    for (pqf, own, foreign) in [
        ("@attr 1=1016 @attr 2=103 x", 20, documents.len()),
        ("@attr 1=4 war", 20, 1),
        ("@attr 1=1032 foreign-0", 0, 1),
    ] {
        let outcomes = presented(&runtime, &database, pqf);
        let wrong = outcomes.iter().filter(|outcome| **outcome == Err(14));
        assert_eq!(
            (outcomes.len(), wrong.count()),
            (own + foreign, foreign),
            "{pqf}"
        );
    }
    // Records from other programs can be replaced and deleted like all other records.
    let name = DatabaseName::from("books");
    let records = [record("1", "peace")];
    let update = Update::new(&name, UpdateAction::Replace, &records);
    let replaced = runtime.block_on(database.update(update));
    assert!(replaced.expect("done").iter().all(Result::is_ok));
    assert_ran(&home.run(&["--check"]), 0, &[]);
}

/// An alias for two indexes is refused.
#[test]
fn audit_r_l1_an_alias_of_two_indexes_is_refused() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let runtime = Runtime::new().expect("a runtime");
    let homes = ["twofold", "second"].map(|name| {
        let home = Home::new(cluster, name);
        home.write("all.mrc", "war", 1..=20);
        assert_ran(&home.run(&["load", "all.mrc"]), 0, &["20 records loaded"]);
        home
    });
    let [home, second] = &homes;
    let database = opened(home, false);
    let search = || runtime.block_on(found(&database, "@attr 1=4 war"));
    assert_eq!(search(), Ok((20, 0)));
    let add = json!({ "add": { "index": second.state().0, "alias": &home.index } });
    let actions = json!({ "actions": [add] }).to_string();
    assert_eq!(cluster.ask("POST", "/_aliases", &actions).0, 200);
    assert_eq!(search(), Err(109));
    let several = format!("{} stands for several indexes", home.index);
    for arguments in [
        &["--check"][..],
        &["load", "all.mrc"],
        &["load", "--reload", "all.mrc"],
    ] {
        assert_ran(&home.run(arguments), 2, &[&several]);
    }
    let removed = json!({ "remove": { "index": second.state().0, "alias": &home.index } });
    let actions = json!({ "actions": [removed] }).to_string();
    assert_eq!(cluster.ask("POST", "/_aliases", &actions).0, 200);
    assert_eq!(search(), Ok((20, 0)));
    assert_ran(&home.run(&["--check"]), 0, &[]);
}

/// Changes would be made in another index, or would be refused one by one, so no request with changes is sent.
#[test]
fn audit_r_l1_an_alias_for_changes_of_another_index_is_refused() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let second = Home::new(cluster, "second");
    assert_ran(&second.run(&["engine-create"]), 0, &["created"]);
    let second = second.state().0;
    for is_alone in [true, false] {
        let home = Home::new(cluster, "astray");
        if is_alone {
            create_by_hand(&home);
        } else {
            assert_ran(&home.run(&["engine-create"]), 0, &["created"]);
        }
        home.write("all.mrc", "war", 1..=20);
        let alias = format!("{}-write", home.state().0);
        let change = |action: &str| {
            let actions = json!({ "actions": [{ action: { "index": second, "alias": alias } }] });
            let (status, answer) = cluster.ask("POST", "/_aliases", &actions.to_string());
            assert_eq!(status, 200, "{answer}");
        };
        change("add");
        let words = [&*format!("{alias} must be an alias of"), &second];
        for arguments in [&["load", "all.mrc"][..], &["load", "--delete", "all.mrc"]] {
            let refused = home.run(arguments);
            assert_ran(&refused, 1, &words);
            assert!(!refused.stderr.contains("left out"), "{refused:?}");
        }
        assert_ran(&home.run(&["--check"]), 0, &words);
        assert_eq!(home.count("*:*"), 0);
        change("remove");
        assert_ran(&home.run(&["--check"]), 0, &[]);
        assert_ran(&home.run(&["load", "all.mrc"]), 0, &["20 records loaded"]);
    }
    // The alias through which a reload would fill its new index already points to a different index.
    let home = Home::new(cluster, "astray");
    home.set("answer-time = 3");
    home.write("all.mrc", "war", 1..=20);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["20 records loaded"]);
    let alias = format!("{}-2-write", home.index);
    let add = json!({ "actions": [{ "add": { "index": second, "alias": alias } }] });
    assert_eq!(cluster.ask("POST", "/_aliases", &add.to_string()).0, 200);
    let words = format!("{alias} must be an alias of");
    let reload = ["load", "--reload", "all.mrc"];
    assert_ran(&home.run(&reload), 1, &[&words]);
    assert!(!home.indexes().contains(&format!("{}-2", home.index)));
    assert_eq!(home.state().1["blocks"], json!(null));
    let remove = json!({ "actions": [{ "remove": { "index": second, "alias": alias } }] });
    assert_eq!(cluster.ask("POST", "/_aliases", &remove.to_string()).0, 200);
    assert_ran(&home.run(&reload), 0, &["20 records in"]);
}

#[test]
fn audit_r_l1_nodes_of_another_cluster_are_refused() {
    let (Some(cluster), Some(other)) = (Cluster::shared(), Cluster::to_damage()) else {
        return;
    };
    let home = Home::new(cluster, "clusters");
    home.write("all.mrc", "war", 1..=1);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["1 record loaded"]);
    let mut urls = cluster.urls(&home.index);
    urls.extend(other.urls(&home.index));
    let text = format!("[[database]]\nname = \"books\"\nengine = {urls:?}\n");
    std::fs::write(home.settings(), text).expect("written");
    for arguments in [
        &["--check"][..],
        &["load", "all.mrc"],
        &["load", "--reload", "all.mrc"],
    ] {
        assert_ran(
            &home.run(arguments),
            2,
            &["are nodes of different clusters"],
        );
    }
    assert_eq!(
        other.ask("GET", &format!("/{}*", home.index), "").1,
        json!({})
    );
    home.set("");
    assert_eq!(home.count("*:*"), 1);
}
