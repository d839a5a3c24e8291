//! `z3950 probe`: a line for each thing tried, whatever the server does.

use std::collections::HashMap;

use serde_json::Value;
use z3950_tests::peer;
use z3950_tests::program::z3950;

#[test]
fn what_a_server_does_is_listed() {
    let ran = z3950([
        "--demo",
        "probe",
        "localhost/books",
        "--term",
        "war",
        "--pause",
        "0",
        "--json",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let outcomes: HashMap<String, String> = ran
        .stdout
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let text = |key: &str| line[key].as_str().expect(key).to_owned();
            (text("tried"), text("outcome"))
        })
        .collect();
    for (tried, outcome) in [
        ("Init", "Ok"),
        ("option search", "Ok"),
        ("search 1=4 4=1", "Ok"),
        ("search 1=1032 4=104", "Ok"),
        ("record syntax usmarc", "Ok"),
        ("element set F", "Ok"),
    ] {
        assert_eq!(
            outcomes.get(tried).map(String::as_str),
            Some(outcome),
            "{tried}"
        );
    }
    assert!(outcomes.len() > 60, "{}", outcomes.len());
}

#[test]
fn yaz_ztest_is_gone_through() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let target = format!("127.0.0.1:{}/Default", server.port);
    let ran = z3950(["probe", &target, "--term", "computer", "--pause", "0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in [
        "scan 1=4",
        "sort 1=4",
        "two result sets",
        "delete a result set",
    ] {
        let line = ran.stdout.lines().find(|line| line.starts_with(words));
        assert!(
            line.is_some_and(|line| line.contains(" ok ")),
            "{words}: {ran:?}"
        );
    }
}

#[test]
fn a_server_that_is_not_there_ends_it() {
    let ran = z3950(["probe", "127.0.0.1:1"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
}
