//! Tests of loads and reloads that are killed or interrupted, and continued.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use z3950_tests::opensearch::Cluster;
use z3950_tests::surroundings::command;

use super::{Home, assert_ran};

/// The names of files that contain 1,000 records each.
const FILES: [&str; 6] = ["1.mrc", "2.mrc", "3.mrc", "4.mrc", "5.mrc", "6.mrc"];

fn write_files(home: &Home<'_>, word: &str) {
    for (number, file) in FILES.iter().enumerate() {
        home.write(file, word, number * 1000 + 1..=number * 1000 + 1000);
    }
}

/// Starts a load, and waits until its state file says that one of the files is complete.
fn begun(home: &Home<'_>, options: &[&str]) -> Child {
    let arguments = [&["load"], options, &["--state", "state"], &FILES].concat();
    let mut load = home
        .command(&arguments)
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let begun = Instant::now();
    let state = home.file("state");
    while !std::fs::read_to_string(&state).is_ok_and(|text| text.contains("\nall ")) {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "{:?}",
            load.try_wait()
        );
        z3950_tests::pause();
    }
    load
}

#[test]
fn a_killed_load_continues_where_it_was() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "killed");
    write_files(&home, "war");
    let mut load = begun(&home, &[]);
    load.kill().expect("killed");
    load.wait().expect("ended");
    let arguments = [&["load", "--state", "state"], &FILES[..]].concat();
    assert_ran(&home.run(&arguments), 0, &["loaded"]);
    assert_eq!(home.count("*:*"), 6000);
    let (_, settings) = home.state();
    let restored = (
        &settings["refresh_interval"],
        &settings["number_of_replicas"],
    );
    assert_eq!(restored, (&json!("1s"), &json!("1")));
    assert_ran(
        &home.run(&arguments),
        0,
        &["0 records loaded", "notes all of this as done"],
    );
    // The state file does not apply to a different index, even if that index has the same name.
    let (name, _) = home.state();
    cluster.ask("DELETE", &format!("/{name}"), "");
    assert_ran(
        &home.run(&arguments),
        2,
        &["it is not of a load of these files", "begin anew"],
    );
}

#[test]
fn a_load_that_gets_a_signal_leaves_the_index_as_it_should_be() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "signalled");
    write_files(&home, "war");
    let mut load = begun(&home, &[]);
    interrupt(&load);
    let code = load.wait().expect("ended").code();
    // The load may have ended before the signal arrived.
    assert!([Some(130), Some(0)].contains(&code), "{code:?}");
    let (_, settings) = home.state();
    let restored = (
        &settings["refresh_interval"],
        &settings["number_of_replicas"],
    );
    assert_eq!(restored, (&json!("1s"), &json!("1")));
    let arguments = [&["load", "--state", "state"], &FILES[..]].concat();
    assert_ran(&home.run(&arguments), 0, &["loaded"]);
    assert_eq!(home.count("*:*"), 6000);
}

fn interrupt(load: &Child) {
    let sent = command("sh")
        .args(["-c", "kill -s INT \"$0\"", &load.id().to_string()])
        .status();
    assert!(sent.expect("sh starts").success());
}

/// Tests what remains of a reload that was killed, and that no records are lost.
#[test]
fn a_killed_reload_continues_or_starts_again() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    for is_resumed in [true, false] {
        let home = Home::new(cluster, "reloaded");
        home.write("old.mrc", "war", 1..=100);
        assert_ran(&home.run(&["load", "old.mrc"]), 0, &["100 records loaded"]);
        write_files(&home, "peace");
        let mut reload = begun(&home, &["--reload"]);
        reload.kill().expect("killed");
        reload.wait().expect("ended");
        if home.state().0.ends_with("-2") {
            // The reload was finished before it could be killed.
            continue;
        }
        assert_eq!(home.count("t_title:war"), 100);
        let checked = home.run(&["--check"]);
        assert_ran(
            &checked,
            0,
            &["is being filled to replace", "are refused or lost"],
        );
        let update = home.run(&["load", "--update", "old.mrc"]);
        assert_ran(&update, 2, &["is being filled", "run it again first"]);
        let without = home.run(&[&["load", "--reload"], &FILES[..]].concat());
        assert_ran(&without, 2, &["is being filled", "--overwrite begins anew"]);
        let options: &[&str] = if is_resumed {
            &["load", "--reload", "--state", "state"]
        } else {
            &["load", "--reload", "--overwrite"]
        };
        let done = home.run(&[options, &FILES].concat());
        assert_ran(&done, 0, &["6000 records in reloaded-"]);
        assert_eq!(
            [home.count("t_title:war"), home.count("t_title:peace")],
            [0, 6000]
        );
        let (name, settings) = home.state();
        assert!(
            name.ends_with(if is_resumed { "-2" } else { "-3" }),
            "{name}"
        );
        assert_eq!(settings["blocks"], Value::Null);
        let (_, others) = cluster.ask("GET", &format!("/{}-*", home.index), "");
        assert_eq!(
            others.as_object().map(serde_json::Map::len),
            Some(1),
            "{others}"
        );
        home.write("more.mrc", "more", 1..=10);
        assert_ran(
            &home.run(&["load", "--update", "more.mrc"]),
            0,
            &["10 records loaded"],
        );
    }
}

#[test]
fn a_reload_that_fails_changes_nothing() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    let home = Home::new(cluster, "failed");
    home.write("old.mrc", "war", 1..=10);
    assert_ran(&home.run(&["load", "old.mrc"]), 0, &["10 records loaded"]);
    std::fs::write(home.file("empty.mrc"), "").expect("written");
    let empty = home.run(&["load", "--reload", "empty.mrc"]);
    assert_ran(&empty, 2, &["nothing was loaded, so nothing is replaced"]);
    write_files(&home, "peace");
    let arguments = [&["load", "--reload"], &FILES[..]].concat();
    let mut reload = home
        .command(&arguments)
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    interrupt(&reload);
    reload.wait().expect("ended");
    let (name, settings) = home.state();
    assert_eq!(
        (name, &settings["blocks"]),
        (format!("{}-1", home.index), &Value::Null)
    );
    let (_, others) = cluster.ask("GET", &format!("/{}-*", home.index), "");
    assert_eq!(
        others.as_object().map(serde_json::Map::len),
        Some(1),
        "{others}"
    );
    assert_eq!(home.count("t_title:war"), 10);
    assert_ran(
        &home.run(&["load", "--update", "old.mrc"]),
        0,
        &["10 records loaded"],
    );
}
