//! Tests of loads: updates, deletions, refused records, concurrent loads, and an index that refuses changes.

use std::process::Stdio;

use serde_json::json;
use z3950_tests::opensearch::Cluster;

use super::{Home, assert_ran};

#[test]
fn records_are_loaded_replaced_and_deleted() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "loaded");
    home.write("all.mrc", "war", 1..=3000);
    let created = format!("index {}-1 created: 3 shards, 1 replica", home.index);
    let loaded = home.run(&["load", "all.mrc"]);
    assert_ran(&loaded, 0, &[&created, "3000 records loaded\n"]);
    assert_eq!(home.count("t_title:war"), 3000);
    let (name, settings) = home.state();
    assert_eq!(name, format!("{}-1", home.index));
    let restored = (
        &settings["refresh_interval"],
        &settings["number_of_replicas"],
    );
    assert_eq!(restored, (&json!("1s"), &json!("1")));
    // If several records have the same identifier, the last one replaces the others, even if they are sent in different requests.
    // Two thousand records fill several requests.
    let text = |number: usize, word: &str| {
        format!("=LDR  00000nam a2200000 a 4500\n=001  {number}\n=245  10$a{word}\n\n")
    };
    let nameless = "=LDR  00000nam a2200000 a 4500\n=245  10$aNobody\n\n".to_owned();
    let first = (1..=1000).map(|number| text(number, "lost"));
    let second = (1..=1000).map(|number| text(number, "peace"));
    let all: String = [nameless].into_iter().chain(first).chain(second).collect();
    home.write_mrk("changed.mrc", &all);
    let updated = home.run(&["load", "--update", "changed.mrc"]);
    let words = "changed.mrc: record 1 at octet 0 left out: it has no identifier in 001";
    assert_ran(
        &updated,
        8,
        &[
            words,
            "1 record left out",
            "2000 records loaded, 2000 of them replaced earlier ones",
        ],
    );
    assert!(!updated.stderr.contains("created"), "{updated:?}");
    let counts = ["t_title:lost", "t_title:peace", "t_title:war"].map(|query| home.count(query));
    assert_eq!(counts, [0, 1000, 2000]);
    home.write("withdrawn.mrc", "any", (5..=3000).step_by(5));
    assert_ran(
        &home.run(&["load", "--delete", "withdrawn.mrc"]),
        0,
        &["600 records deleted"],
    );
    let again = home.run(&["load", "--delete", "withdrawn.mrc"]);
    assert_ran(
        &again,
        0,
        &["0 records deleted", "600 records not in the engine"],
    );
    assert_eq!(home.count("*:*"), 2400);
    // A record without an identifier is not duplicated if its file is loaded again.
    home.write_mrk(
        "nameless.mrc",
        "=LDR  00000nam a2200000 a 4500\n=245  10$aNobody\n\n",
    );
    for words in [
        "1 record loaded\n",
        "1 record loaded, 1 of them replaced an earlier one\n",
    ] {
        assert_ran(&home.run(&["load", "nameless.mrc"]), 0, &[words]);
    }
    assert_eq!(home.count("*:*"), 2401);
}

#[test]
fn hostile_records_are_loaded_or_named() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "hostile");
    let long = "x".repeat(9_000);
    let record = |id: &str, title: &str| {
        format!("=LDR  00000nam a2200000 a 4500\n=001  {id}\n=245  10$a{title}\n\n")
    };
    let identifier = "i".repeat(600);
    let quotes = "{\"delete\":{\"_id\":\"a\"}}";
    let text = [
        record("a", &long),
        record(&identifier, "long"),
        record("#1", "hash"),
        record(quotes, "\u{f800}edges\u{f801} {\"k_docid\":1}"),
        record("_all", "_ under ⟨score⟩"),
    ];
    home.write_mrk("hostile.mrc", &text.concat());
    assert_ran(
        &home.run(&["load", "hostile.mrc"]),
        0,
        &["5 records loaded"],
    );
    assert_eq!(home.count("*:*"), 5);
    assert_ran(
        &home.run(&["load", "--delete", "hostile.mrc"]),
        0,
        &["5 records deleted"],
    );
}

#[test]
fn two_loads_at_once_lose_nothing() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "twice");
    home.write("one.mrc", "war", 1..=2500);
    home.write("two.mrc", "peace", 2001..=4000);
    let start = |file: &str| {
        let mut command = home.command(&["load", file]);
        command.stderr(Stdio::piped()).spawn().expect("starts")
    };
    let loads = ["one.mrc", "two.mrc"].map(start);
    for load in loads {
        let ended = load.wait_with_output().expect("ended");
        let words = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{words}");
    }
    assert_eq!(home.count("*:*"), 4000);
    let (_, settings) = home.state();
    let restored = (
        &settings["refresh_interval"],
        &settings["number_of_replicas"],
    );
    assert_eq!(restored, (&json!("1s"), &json!("1")));
}

/// If the disk of a node is nearly full, its indexes refuse changes.
#[test]
fn an_index_that_takes_no_changes_is_named() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "blocked");
    home.write("all.mrc", "war", 1..=100);
    assert_ran(&home.run(&["load", "all.mrc"]), 0, &["100 records loaded"]);
    home.write("more.mrc", "war", 101..=200);
    home.change("{\"index.blocks.read_only_allow_delete\":true}");
    let blocked = home.run(&["load", "more.mrc"]);
    assert_ran(
        &blocked,
        1,
        &[
            "takes no changes: index.blocks.read_only_allow_delete",
            "free space",
        ],
    );
    home.change("{\"index.blocks.read_only_allow_delete\":null}");
    home.change("{\"index.blocks.write\":true}");
    assert_ran(
        &home.run(&["load", "more.mrc"]),
        1,
        &["takes no changes: index.blocks.write is set", "--reload"],
    );
    let checked = home.run(&["--check"]);
    assert_ran(&checked, 0, &["takes no changes: index.blocks.write"]);
    home.change("{\"index.blocks.write\":null}");
    assert_ran(&home.run(&["load", "more.mrc"]), 0, &["100 records loaded"]);
    assert_eq!(home.count("*:*"), 200);
}
