//! Tests of `z3950 probe`, which prints one line for each test regardless of the server's reaction.

use std::collections::HashMap;

use serde_json::Value;
use z3950_asn1::apdu::{Apdu, Term};
use z3950_marc::iso2709;
use z3950_marc::mrk;
use z3950_server::testing::{TestServer, record};
use z3950_tests::peer;
use z3950_tests::program::{Daemon, z3950};

/// The names of the lines about Init.
const INIT: [&str; 7] = [
    "Init",
    "preferredMessageSize",
    "exceptionalRecordSize",
    "implementationId",
    "implementationName",
    "implementationVersion",
    "options",
];

#[test]
fn the_abilities_of_a_server_are_listed() {
    let ran = z3950([
        "--demo",
        "probe",
        "localhost/books",
        "--term",
        "war",
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
        ("Init", "ok"),
        ("option search", "ok"),
        ("search 1=4 4=1", "ok"),
        ("search 1=1032 4=104", "ok"),
        ("record syntax usmarc", "ok"),
        ("element set F", "ok"),
        ("element set B", "ok"),
        ("search 1=4 5=100", "ok"),
        ("scan 1=4", "ok"),
        ("sort 1=4", "ok"),
        ("two result sets", "ok"),
        ("delete a result set", "ok"),
        ("option resourceReport", "ok"),
        ("option triggerResourceCtrl", "ok"),
        ("option extendedServices", "ok"),
        ("option level-1Segmentation", "ok"),
        ("option level-2Segmentation", "ok"),
        ("option concurrentOperations", "ok"),
        ("option negotiationModel", "ok"),
        ("option queryType104", "ok"),
        ("option stringSchema", "ok"),
        ("option encapsulation", "not granted"),
    ] {
        assert_eq!(
            outcomes.get(tried).map(String::as_str),
            Some(outcome),
            "{tried}"
        );
    }
    assert!(outcomes.len() > 60, "{}", outcomes.len());
    // The note counts only tests, and not the seven lines about Init.
    let tests = format!("note: {} tests: ", outcomes.len() - 7);
    let of = |name: &str| {
        let names = outcomes
            .iter()
            .filter(|(tried, _)| !INIT.contains(&tried.as_str()));
        let count = names.filter(|(_, outcome)| *outcome == name).count();
        format!("{count} {name}")
    };
    assert!(ran.stderr.starts_with(&tests), "{ran:?}");
    for name in ["ok", "diagnostic", "not granted"] {
        assert!(ran.stderr.contains(&of(name)), "{}: {ran:?}", of(name));
    }
}

#[test]
fn yaz_ztest_is_probed() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let target = format!("127.0.0.1:{}/Default", server.port);
    let ran = z3950(["probe", &target, "--term", "computer"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for words in [
        "scan Title (1=4)",
        "sort Title (1=4)",
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
fn zebrasrv_is_probed() {
    let text = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=245  00$aWar and peace\n";
    let record = mrk::parse_all(text).expect("a record").remove(0);
    let octets = iso2709::encode(&record).expect("fits");
    let Some(server) = peer::zebrasrv(&[octets.into()]) else {
        return;
    };
    let target = format!("127.0.0.1:{}/Default", server.port);
    let ran = z3950(["probe", &target, "--term", "war"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for (words, verdict) in [
        ("search Title, Phrase (1=4 4=1) ", " ok "),
        ("record syntax usmarc", " ok "),
        ("option scan", " ok "),
        ("option extendedServices", " ok "),
        ("option duplicateDetection", " not granted "),
    ] {
        let line = ran.stdout.lines().find(|line| line.starts_with(words));
        assert!(
            line.is_some_and(|line| line.contains(verdict)),
            "{words}: {ran:?}"
        );
    }
}

/// Tests that a number index is not tested with a word, because strict servers refuse such a test with diagnostic 125.
#[test]
fn r_f5_indexes_of_numbers_are_tried_with_numbers() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let target = format!("{}/cat", server.addr());
    let ran = z3950(["probe", &target, "--term", "seven"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for title in [
        "search ISBN, Phrase (1=7 4=1)",
        "search ISSN, Word (1=8 4=2)",
    ] {
        assert!(ran.stdout.contains(title), "{title}: {ran:?}");
    }
    let terms = |index: i64| -> Vec<String> {
        let entries = server.transcript().into_iter();
        let searches = entries.filter_map(|entry| match entry.apdu {
            Some(Apdu::SearchRequest(search)) => Some(format!("{:?}", search.query)),
            _ => None,
        });
        let number = format!("Numeric({index})");
        searches.filter(|query| query.contains(&number)).collect()
    };
    for (index, term) in [
        (7, "9780306406157"),
        (8, "0028-0836"),
        (1007, "9780306406157"),
        (21, "seven"),
    ] {
        let queries = terms(index);
        assert!(!queries.is_empty(), "{index}");
        for query in queries {
            let octets = format!("{:?}", Term::General(term.into()));
            assert!(query.contains(&octets), "{index}: {query} has {octets}");
        }
    }
}

#[test]
fn a_server_that_hangs_up_costs_one_line() {
    let daemon = Daemon::start(["--demo", "--fault", "on sort: cut 0"]);
    let target = format!("{}/books", daemon.address());
    let ran = z3950(["probe", &target, "--term", "war"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let dropped: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.contains(" dropped "))
        .map(|line| line.split("  ").next().unwrap_or_default())
        .collect();
    assert_eq!(
        dropped,
        ["sort Title (1=4)", "option sort", "option resultCount"],
        "{ran:?}"
    );
}

#[test]
fn an_unreachable_server_ends_the_probe() {
    let ran = z3950(["probe", "127.0.0.1:1"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
}
