//! Tests of reloads that are killed at a certain request. The database returns either all old or all new records, what remains of
//! the reload is reported, and the same command can continue the reload or start it again.

use std::process::Stdio;
use std::sync::Mutex;

use serde_json::{Value, json};
use z3950_tests::opensearch::Cluster;
use z3950_tests::opensearch::gate::{Gate, Passage};

use super::{Home, assert_ran};

/// A request at which a reload is killed, and the results.
struct Phase {
    /// A part of the first line of the request. In these parts, `INDEX-2` is the new index.
    request: &'static str,
    /// The number of earlier requests that contain this part.
    turn: usize,
    passage: Passage,
    /// Whether searches find the new records.
    is_moved: bool,
    /// The output of `--check`.
    checked: &'static str,
    /// The exit code and the output of an update that follows.
    updated: (i32, &'static str),
    /// The output when the same command is run again.
    again: &'static str,
}

const FILLING: &str = "is being filled to replace";
const REFUSED: (i32, &str) = (2, "run it again first");
const DONE: &str = "3000 records in";

const PHASES: [Phase; 7] = [
    // The new index exists and is empty.
    Phase {
        request: "PUT /INDEX-2/_settings",
        turn: 0,
        passage: Passage::HeldBefore,
        is_moved: false,
        checked: FILLING,
        updated: (0, "100 records loaded"),
        again: DONE,
    },
    // The old index refuses changes, but the reload has not written its state file yet.
    Phase {
        request: "PUT /INDEX-1/_settings",
        turn: 0,
        passage: Passage::HeldAfter,
        is_moved: false,
        checked: FILLING,
        updated: REFUSED,
        again: DONE,
    },
    // The state file has been written, but the new index is still empty.
    Phase {
        request: "/_bulk",
        turn: 0,
        passage: Passage::HeldBefore,
        is_moved: false,
        checked: FILLING,
        updated: REFUSED,
        again: DONE,
    },
    // The new index contains some of the records, perhaps more than the state file says.
    Phase {
        request: "/_bulk",
        turn: 6,
        passage: Passage::HeldAfter,
        is_moved: false,
        checked: FILLING,
        updated: REFUSED,
        again: DONE,
    },
    // The new index contains all records.
    Phase {
        request: "POST /_aliases",
        turn: 0,
        passage: Passage::HeldBefore,
        is_moved: false,
        checked: FILLING,
        updated: REFUSED,
        again: DONE,
    },
    // The new index has replaced the old one, but the reload has not received the answer.
    Phase {
        request: "POST /_aliases",
        turn: 0,
        passage: Passage::HeldAfter,
        is_moved: true,
        checked: "was replaced by a reload",
        updated: (0, "-1 is deleted, which a reload had replaced"),
        again: "notes all of this as done",
    },
    // The old index still exists.
    Phase {
        request: "DELETE /INDEX-1",
        turn: 0,
        passage: Passage::HeldBefore,
        is_moved: true,
        checked: "was replaced by a reload",
        updated: (0, "-1 is deleted, which a reload had replaced"),
        again: "notes all of this as done",
    },
];

/// Settings with which reloads take little time.
const QUICK: &str = "answer-time = 3\nshards = 1\nreplicas = 0";

const FILES: [&str; 3] = ["1.mrc", "2.mrc", "3.mrc"];

/// Starts a reload behind a gate, and kills it when the gate holds the request of the phase.
fn killed(home: &Home<'_>, phase: &Phase) {
    let request = phase.request.replace("INDEX", &home.index);
    let (turn, passage) = (Mutex::new(phase.turn), phase.passage);
    let gate = Gate::open(home.cluster.ports()[0], move |head| {
        let line = head.lines().next().unwrap_or_default();
        if !line.contains(&request) {
            return Passage::Through;
        }
        let mut turn = turn.lock().expect("no panic");
        let before = turn.checked_sub(1);
        *turn = before.unwrap_or(0);
        before.map_or(passage, |_| Passage::Through)
    });
    home.set_gate(&gate, QUICK);
    let arguments = [&["load", "--reload", "--state", "state"], &FILES[..]].concat();
    let mut command = home.command(&arguments);
    let mut reload = command.stderr(Stdio::null()).spawn().expect("starts");
    gate.held();
    reload.kill().expect("killed");
    reload.wait().expect("ended");
    home.set(QUICK);
}

#[test]
fn audit_r_l1_a_reload_that_is_killed_in_any_phase_loses_nothing() {
    let Some(cluster) = Cluster::shared() else {
        return;
    };
    std::thread::scope(|scope| {
        for is_updated in [true, false] {
            let check =
                move || { PHASES.iter() }.for_each(|phase| check_phase(cluster, phase, is_updated));
            scope.spawn(check);
        }
    });
}

fn check_phase(cluster: &Cluster, phase: &Phase, is_updated: bool) {
    let home = Home::new(cluster, "phases");
    home.set(QUICK);
    home.write("old.mrc", "war", 1..=100);
    assert_ran(&home.run(&["load", "old.mrc"]), 0, &["100 records loaded"]);
    for (number, file) in FILES.iter().enumerate() {
        home.write(file, "peace", number * 1000 + 1..=number * 1000 + 1000);
    }
    killed(&home, phase);
    let counts = || [home.count("t_title:war"), home.count("t_title:peace")];
    let (old, new) = ([100, 0], [0, 3000]);
    let whole = if phase.is_moved { new } else { old };
    assert_eq!(counts(), whole, "{}", phase.request);
    assert_ran(&home.run(&["--check"]), 0, &[phase.checked]);
    if is_updated {
        let (code, words) = phase.updated;
        let updated = home.run(&["load", "--update", "old.mrc"]);
        assert_ran(&updated, code, &[words]);
    }
    let again = [&["load", "--reload", "--state", "state"], &FILES[..]].concat();
    assert_ran(&home.run(&again), 0, &[phase.again]);
    // Apart from the expected index, no index or alias remains.
    let expected = if phase.is_moved && is_updated {
        [100, 2900]
    } else {
        new
    };
    assert_eq!(counts(), expected, "{}", phase.request);
    let (name, settings) = home.state();
    assert_eq!(home.indexes(), [name]);
    assert_eq!(
        [&settings["blocks"], &settings["refresh_interval"]],
        [&Value::Null, &json!("1s")]
    );
    assert_ran(&home.run(&["--check"]), 0, &[]);
    assert_ran(&home.run(&["load", "--update", "old.mrc"]), 0, &[]);
}
