//! Tests of `z3950d --demo` with `zoomsh`, which ends sessions without a Close.

use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, run};
use z3950_tests::surroundings::command;

fn conversation(database: &str, commands: &[&str]) -> Option<Ran> {
    let program = peer::find("zoomsh")?;
    let daemon = Daemon::start(["--demo"]);
    let connect = format!("connect {}{database}", daemon.address());
    Some(run(
        command(program)
            .arg("-e")
            .arg(connect)
            .args(commands)
            .arg("quit"),
        "",
    ))
}

#[test]
fn a_record_is_found_and_shown() {
    for database in ["", "/books", "/BOOKS+serials"] {
        let commands = [
            "set preferredRecordSyntax usmarc",
            "search @attr 1=1032 pg1342",
            "show 0 1",
        ];
        let Some(ran) = conversation(database, &commands) else {
            return;
        };
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains("hits: 1") || ran.stdout.contains(": 1 hits"),
            "{}",
            ran.stdout
        );
        assert!(ran.stdout.contains("Pride and prejudice"), "{}", ran.stdout);
    }
}

#[test]
fn many_records_come_in_pieces() {
    let commands = [
        "set preferredRecordSyntax usmarc",
        "set presentChunk 2",
        "search @attr 1=4 war",
        "show 0 5",
    ];
    let Some(ran) = conversation("/books", &commands) else {
        return;
    };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.starts_with("001 "))
            .count(),
        5,
        "{}",
        ran.stdout
    );
}

#[test]
fn a_diagnostic_reaches_it() {
    let Some(ran) = conversation("/nosuch", &["search x"]) else {
        return;
    };
    let printed = ran.stdout + &ran.stderr;
    assert!(printed.contains("235"), "{printed}");
}
