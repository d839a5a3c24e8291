//! Tests of the nodes themselves, of creating indexes, and of indexes that do not match the settings.

use serde_json::{Value, json};
use z3950_tests::opensearch::Cluster;

use super::{Home, assert_ran};

#[test]
fn an_index_is_created_in_each_version() {
    if let Some(cluster) = Cluster::shared() {
        assert_eq!(major(cluster), "2");
        creates(cluster);
    }
    if let Some(cluster) = Cluster::of_three() {
        assert_eq!(major(cluster), "3");
        creates(cluster);
    }
}

fn major(cluster: &Cluster) -> String {
    let (_, about) = cluster.ask("GET", "/", "");
    let version = about["version"]["number"].as_str().expect("a version");
    version
        .split('.')
        .next()
        .map(str::to_owned)
        .expect("a number")
}

/// Creates an index, loads records, and replaces it.
fn creates(cluster: &Cluster) {
    let home = Home::new(cluster, "created");
    let absent = home.run(&["--check"]);
    assert_ran(
        &absent,
        2,
        &["z3950d.toml:3: database books: there is no index created-"],
    );
    let dry = home.run(&["engine-create", "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let shown: Value = serde_json::from_str(&dry.stdout).expect("JSON");
    assert_eq!(shown["settings"]["index"]["number_of_shards"], 3);
    assert_eq!(shown["mappings"]["dynamic"], "strict");
    assert_eq!(cluster.ask("GET", &format!("/{}", home.index), "").0, 404);
    home.set("shards = 2\nreplicas = 0\nanswer-time = 3");
    assert_ran(
        &home.run(&["engine-create"]),
        0,
        &["created: ", "-1, with the alias created-"],
    );
    assert_ran(&home.run(&["engine-create"]), 0, &["nothing to do"]);
    assert_ran(&home.run(&["--check"]), 0, &[]);
    let (_, settings) = home.state();
    assert_eq!(
        (
            &settings["number_of_shards"],
            &settings["number_of_replicas"]
        ),
        (&json!("2"), &json!("0"))
    );
    home.write("records.mrc", "war", 1..=30);
    assert_ran(
        &home.run(&["load", "records.mrc"]),
        0,
        &["30 records loaded"],
    );
    assert_eq!(home.count("t_title:war"), 30);
    let checked = format!(
        "OpenSearch {}.",
        cluster.ask("GET", "/", "").1["version"]["number"]
            .as_str()
            .and_then(|version| version.rsplit_once('.'))
            .map(|(version, _)| version)
            .expect("a version")
    );
    let index = format!(
        ", index {}-1: 30 records, 2 shards, 0 replicas; green: ",
        home.index
    );
    assert_ran(&home.run(&["--check"]), 0, &[&checked, &index]);
    // The cluster has fewer nodes than the index has replicas.
    home.change("{\"index.number_of_replicas\":7}");
    let yellow = ["7 replicas; yellow: all records are found", "missing"];
    assert_ran(&home.run(&["--check"]), 0, &yellow);
    home.write("others.mrc", "peace", 1..=20);
    let reloaded = home.run(&["load", "--reload", "others.mrc"]);
    assert_ran(&reloaded, 0, &["20 records in ", "20 records loaded"]);
    assert_eq!(
        [home.count("t_title:war"), home.count("t_title:peace")],
        [0, 20]
    );
    assert_ran(&home.run(&["--check"]), 0, &[]);
}

#[test]
fn an_index_that_does_not_match_the_settings_is_refused_with_the_line() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let put = |path: &str, body: &str| {
        let (status, answer) = cluster.ask("PUT", path, body);
        assert_eq!(status, 200, "{path} {answer}");
    };
    let create = |home: &Home<'_>| assert_ran(&home.run(&["engine-create"]), 0, &["created"]);
    let refused = |home: &Home<'_>, expected: &str| {
        let line = "z3950d.toml:3: database books: ";
        assert_ran(&home.run(&["--check"]), 2, &[line, expected]);
        home.write("one.mrc", "war", 1..=1);
        assert_ran(&home.run(&["load", "one.mrc"]), 2, &[expected]);
    };
    let home = Home::new(cluster, "foreign");
    put(&format!("/{}", home.index), "{}");
    refused(&home, "z3950d did not make the index");
    let home = Home::new(cluster, "outdated");
    create(&home);
    home.set("docid = \"035$a\"");
    refused(&home, "was made with other settings of docid");
    home.set("scan = [\"title\"]");
    refused(&home, "was made with other settings of docid");
    home.set("");
    assert_ran(&home.run(&["--check"]), 0, &[]);
    let home = Home::new(cluster, "changed");
    create(&home);
    put(&format!("/{}/_mapping", home.index), "{\"dynamic\":true}");
    refused(&home, "was changed by hand: dynamic of the mapping");
    let home = Home::new(cluster, "twofold");
    create(&home);
    put(
        &format!("/{}-other", home.index),
        &json!({ "aliases": { &*home.index: {} } }).to_string(),
    );
    refused(&home, "stands for several indexes: twofold-");
    // This index was created by hand with the mark of z3950d, but one of its fields has a different type.
    let home = Home::new(cluster, "typed");
    let dry = home.run(&["engine-create", "--dry-run"]);
    let mut shown: Value = serde_json::from_str(&dry.stdout).expect("JSON");
    put(&format!("/{}", home.index), &shown.to_string());
    assert_ran(&home.run(&["--check"]), 0, &[]);
    cluster.ask("DELETE", &format!("/{}", home.index), "");
    shown["mappings"]["properties"]["k_docid"]["type"] = json!("text");
    if let Some(field) = shown["mappings"]["properties"]["k_docid"].as_object_mut() {
        field.remove("doc_values");
    }
    put(&format!("/{}", home.index), &shown.to_string());
    refused(
        &home,
        "the field k_docid has type \"text\" instead of \"keyword\"",
    );
}

#[test]
fn a_node_is_killed_stopped_and_restarted() {
    let Some(mut cluster) = Cluster::to_damage() else {
        return;
    };
    cluster.kill(1);
    cluster.restart(1);
    cluster.signal(2, "STOP");
    cluster.signal(2, "CONT");
    cluster.recover(&[]);
}
