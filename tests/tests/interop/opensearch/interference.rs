//! Tests of events that interfere with loads: other loads and reloads, a disk that becomes full, and a node that hangs.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, Once, PoisonError};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use z3950_server::backend::{Backend, DatabaseName, Update, UpdateAction};
use z3950_tests::opensearch::Cluster;
use z3950_tests::opensearch::gate::{Gate, Passage};
use z3950_tests::program::Ran;

use super::served::{opened, record};
use super::{Home, assert_ran};

const FILES: [&str; 3] = ["1.mrc", "2.mrc", "3.mrc"];

fn write_files(home: &Home<'_>, word: &str) {
    for (number, file) in FILES.iter().enumerate() {
        home.write(file, word, number * 1000 + 1..=number * 1000 + 1000);
    }
}

/// A gate that holds back one of a load's requests with changes, until the test releases the load.
struct HeldRequest {
    gate: Gate,
    reached: Receiver<()>,
    go_on: Sender<()>,
}

impl HeldRequest {
    /// Holds the request with this number, counted from 0. The first request contains the first records.
    fn at(cluster: &Cluster, number: usize) -> Self {
        let (tell, reached) = channel();
        let (go_on, told) = channel();
        let state = Mutex::new((number, tell, told));
        let gate = Gate::open(cluster.ports()[0], move |head| {
            if head.contains("/_bulk") {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                let (left, tell, told) = &mut *state;
                if let Some(fewer) = left.checked_sub(1) {
                    *left = fewer;
                } else if tell.send(()).is_ok() {
                    // This waits until the test drops the sender. The error that results is expected.
                    let _ = told.recv();
                }
            }
            Passage::Through
        });
        Self {
            gate,
            reached,
            go_on,
        }
    }

    /// Starts a program behind the gate, and waits until it sends the request that is held.
    fn start(&self, home: &Home<'_>, arguments: &[&str]) -> Child {
        home.set_gate(&self.gate, LINES);
        let child = started(&mut home.command(arguments));
        self.reached.recv().expect("reached");
        home.set(LINES);
        child
    }

    /// Releases the program, and waits for its end.
    fn end(self, child: Child) -> Ran {
        // Dropping the channels lets all later requests pass too.
        drop((self.go_on, self.reached));
        child.wait_with_output().expect("ended").into()
    }
}

/// Settings with which the old index is deleted soon after a reload.
const LINES: &str = "answer-time = 3";

fn started(command: &mut Command) -> Child {
    command.stderr(Stdio::piped()).spawn().expect("starts")
}

/// Returns the numbers of records whose titles contain `war`, `peace` and `love`.
fn counts(home: &Home<'_>) -> [u64; 3] {
    ["t_title:war", "t_title:peace", "t_title:love"].map(|query| home.count(query))
}

/// If a reload has replaced the index for which a load was begun, the load makes no changes in the new index.
#[test]
fn audit_r_l1_a_load_overtaken_by_a_reload_is_reported() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    for options in [&["load"][..], &["load", "--update"], &["load", "--delete"]] {
        let home = Home::new(cluster, "overtaken");
        home.write("old.mrc", "war", 1..=100);
        assert_ran(&home.run(&["load", "old.mrc"]), 0, &["100 records loaded"]);
        write_files(&home, "peace");
        home.write("new.mrc", "love", 1..=500);
        let held_request = HeldRequest::at(cluster, 5);
        let load = held_request.start(&home, &[options, &FILES].concat());
        let reload = home.run(&["load", "--reload", "new.mrc"]);
        assert_ran(&reload, 0, &["500 records in"]);
        assert_ran(
            &held_request.end(load),
            1,
            &["the index was changed meanwhile"],
        );
        assert_eq!(counts(&home), [0, 0, 500], "{options:?}");
        assert_eq!(home.indexes(), [home.state().0]);
        assert_eq!(home.state().1["blocks"], Value::Null);
    }
}

/// Changes are refused during a reload, so a load that was begun earlier ends with an error.
#[test]
fn audit_r_l1_loads_and_reloads_do_not_mix() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "mixed");
    home.set(LINES);
    home.write("old.mrc", "war", 1..=100);
    assert_ran(&home.run(&["load", "old.mrc"]), 0, &["100 records loaded"]);
    write_files(&home, "peace");
    home.write("new.mrc", "love", 1..=500);
    let held_load = HeldRequest::at(cluster, 3);
    let load = held_load.start(&home, &["load", "--update", "1.mrc"]);
    let held_request = HeldRequest::at(cluster, 5);
    let reload = held_request.start(&home, &[&["load", "--reload"], &FILES[..]].concat());
    assert_ran(
        &held_load.end(load),
        1,
        &["takes no changes", "a reload that is running"],
    );
    let load = home.run(&["load", "new.mrc"]);
    assert_ran(&load, 2, &["is being filled to replace"]);
    // The client learns why its update is refused, and what to do about it.
    let (name, records) = (DatabaseName::from("books"), [record("new", "peace")]);
    let database = opened(&home, false);
    let update = database.update(Update::new(&name, UpdateAction::Insert, &records));
    let why = Runtime::new().expect("a runtime").block_on(update);
    let why = why.expect_err("it takes no changes");
    assert_eq!(
        (why.condition, &*why.addinfo.to_string_lossy()),
        (
            2,
            "all records are being loaded anew: try again later: changes made: 0 of 1"
        )
    );
    let second = home.run(&["load", "--reload", "new.mrc"]);
    assert_ran(
        &second,
        2,
        &["is being filled to replace", "--overwrite begins anew"],
    );
    // A second reload with --overwrite starts again and ends the first reload, whose records do not enter the new index.
    let second = home.run(&["load", "--reload", "--overwrite", "new.mrc"]);
    assert_ran(&second, 0, &["500 records in"]);
    assert_ran(
        &held_request.end(reload),
        1,
        &["the index was changed meanwhile"],
    );
    assert_eq!(counts(&home), [0, 0, 500]);
    assert_eq!(home.indexes(), [home.state().0]);
    assert_ran(&home.run(&["--check"]), 0, &[]);
    assert_ran(
        &home.run(&["load", "--update", "1.mrc"]),
        0,
        &["1000 records loaded"],
    );
}

/// If the disk of a node becomes full during a load, the load ends and reports the reason. It can be continued when there is
/// space again.
#[test]
fn audit_r_l1_a_full_disk_ends_a_load_that_continues_later() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "full");
    write_files(&home, "war");
    let arguments = [&["load", "--state", "state"], &FILES[..]].concat();
    let held_request = HeldRequest::at(cluster, 6);
    let load = held_request.start(&home, &arguments);
    home.change("{\"index.blocks.read_only_allow_delete\":true}");
    let ended = held_request.end(load);
    assert_ran(
        &ended,
        1,
        &[
            "the index takes no changes",
            "free space",
            "state notes: run the same command again",
        ],
    );
    assert!(!ended.stderr.contains("denies access"), "{ended:?}");
    assert!(home.count("*:*") < 3000);
    assert_ran(
        &home.run(&arguments),
        1,
        &["takes no changes", "free space"],
    );
    home.change("{\"index.blocks.read_only_allow_delete\":null}");
    assert_ran(&home.run(&arguments), 0, &["records loaded"]);
    assert_eq!(home.count("*:*"), 3000);
    let (_, settings) = home.state();
    let restored = [
        &settings["refresh_interval"],
        &settings["number_of_replicas"],
    ];
    assert_eq!(restored, [&json!("1s"), &json!("1")]);
    // During a reload, searches are answered from the old index.
    write_files(&home, "peace");
    std::fs::remove_file(home.file("state")).expect("removed");
    let arguments = [&["load", "--reload", "--state", "state"], &FILES[..]].concat();
    let held_request = HeldRequest::at(cluster, 6);
    let reload = held_request.start(&home, &arguments);
    let block = "{\"index.blocks.read_only_allow_delete\":true}";
    let path = format!("/{}-filling/_settings", home.index);
    assert_eq!(cluster.ask("PUT", &path, block).0, 200);
    assert_ran(
        &held_request.end(reload),
        1,
        &["takes no changes", "is kept to go on"],
    );
    assert_eq!(counts(&home), [3000, 0, 0]);
    let free = "{\"index.blocks.read_only_allow_delete\":null}";
    assert_eq!(cluster.ask("PUT", &path, free).0, 200);
    assert_ran(&home.run(&arguments), 0, &["3000 records in"]);
    assert_eq!(counts(&home), [0, 3000, 0]);
}

/// If the disks become full during a reload, the reload ends, and the old index still answers. The same command succeeds when
/// there is space again.
#[test]
fn audit_r_l1_a_reload_that_meets_a_block_is_given_up() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    for (request, blocked) in [
        ("PUT /INDEX-1/_settings", &["-1"][..]),
        ("/_bulk", &["-2"]),
        ("/_bulk", &["-1", "-2"]),
        ("GET /INDEX-2/_count", &["-2"]),
        ("POST /_aliases", &["-1"]),
        ("POST /_aliases", &["-1", "-2"]),
    ] {
        let home = Home::new(cluster, "blocked");
        home.set(LINES);
        home.write("old.mrc", "war", 1..=100);
        assert_ran(&home.run(&["load", "old.mrc"]), 0, &["100 records loaded"]);
        write_files(&home, "peace");
        let (once, held) = (Once::new(), request.replace("INDEX", &home.index));
        let paths = blocked
            .iter()
            .map(|index| format!("/{}{index}/_settings", home.index));
        let paths: Vec<String> = paths.collect();
        let gate = Gate::open(cluster.ports()[0], move |head| {
            if head.lines().next().is_some_and(|line| line.contains(&held)) {
                let block = "{\"index.blocks.read_only_allow_delete\":true}";
                once.call_once(|| {
                    for path in &paths {
                        assert_eq!(cluster.ask("PUT", path, block).0, 200);
                    }
                });
            }
            Passage::Through
        });
        home.set_gate(&gate, LINES);
        let reload = [&["load", "--reload"], &FILES[..]].concat();
        let ended = home.run(&reload);
        let described = format!("{request} {blocked:?} {ended:?}");
        assert_ran(&ended, 1, &["takes no changes", "free space"]);
        assert!(!ended.stderr.contains("denies access"), "{described}");
        assert_eq!(counts(&home), [100, 0, 0], "{described}");
        assert_eq!(home.indexes(), [home.state().0], "{described}");
        home.set(LINES);
        home.change("{\"index.blocks.read_only_allow_delete\":null}");
        let is_stuck = home.state().1["blocks"]["write"] == json!("true");
        assert_eq!(
            is_stuck,
            ended.stderr.contains("until a reload is done"),
            "{described}"
        );
        if !is_stuck {
            assert_ran(&home.run(&["load", "old.mrc"]), 0, &["100 records loaded"]);
        }
        assert_ran(&home.run(&reload), 0, &["3000 records in"]);
        assert_eq!(counts(&home), [0, 3000, 0]);
        assert_eq!(home.state().1["blocks"], Value::Null);
    }
}

/// If a node hangs, the load waits until the other nodes exclude it from the cluster.
#[test]
fn audit_r_l1_a_load_outlives_a_node_that_hangs() {
    let Some(cluster) = Cluster::to_damage() else {
        return;
    };
    let home = Home::new(&cluster, "hung");
    write_files(&home, "war");
    assert_ran(&home.run(&["engine-create"]), 0, &["created"]);
    let held_request = HeldRequest::at(&cluster, 2);
    let load = held_request.start(&home, &[&["load"], &FILES[..]].concat());
    cluster.signal(1, "STOP");
    drop((held_request.go_on, held_request.reached));
    let others = cluster.ports().len() - 1;
    cluster.wait_for_count(others);
    cluster.signal(1, "CONT");
    let ended: Ran = load.wait_with_output().expect("ended").into();
    assert_ran(&ended, 0, &["3000 records loaded"]);
    assert_eq!(home.count("*:*"), 3000);
}
