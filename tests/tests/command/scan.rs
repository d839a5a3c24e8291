//! Tests of `z3950 scan --set` and `z3950 search --facets`, which list terms from the records that a search finds.

use serde_json::Value;
use z3950_tests::program::{Ran, z3950};

fn demo(arguments: &[&str]) -> Ran {
    z3950(["--demo"].iter().chain(arguments))
}

#[test]
fn a_scan_in_a_result_set_counts_only_its_records() {
    let hits = |ran: &Ran| -> Vec<u64> {
        let lines = ran.stdout.lines();
        lines
            .map(|line| {
                let line: Value = serde_json::from_str(line).expect("JSON");
                line["hits"].as_u64().unwrap_or_default()
            })
            .collect()
    };
    let scan = [
        "scan",
        "localhost/books",
        "@attr 1=1003 austen",
        "--size",
        "1",
        "--json",
    ];
    let all = hits(&demo(&scan));
    let ran = demo(&[&scan[..], &["--set", "@attr 1=4 pride"]].concat());
    let some = hits(&ran);
    assert_eq!(some, [1], "{ran:?}");
    assert!(all[0] > some[0], "{all:?}");
    let ran = demo(&[&scan[..], &["--set", "@attr 1=4"]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn wrong_queries_are_refused_before_a_password_command_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("ran");
    let command = format!("touch '{}'; echo sesame", trace.display());
    let identity = ["--user", "me", "--password-command", &command];
    for arguments in [
        &["scan", "localhost/books", "@attr 1=4"][..],
        &["scan", "localhost/books", "war", "--set", "@attr 1=4"],
        &["order", "localhost/books", "@attr 1=4"],
    ] {
        let ran = demo(&[arguments, &identity].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("@attr 1=4"), "{ran:?}");
        assert!(!trace.exists(), "{arguments:?}");
    }
    let ran = demo(&[&["scan", "localhost/books", "war"][..], &identity].concat());
    assert!(trace.exists(), "{ran:?}");
}

/// Runs a search that only shows facets; `options` are the arguments after `--facets`.
fn facets(options: &[&str]) -> Ran {
    let search = [
        "search",
        "localhost/books",
        "war",
        "--count",
        "0",
        "--facets",
    ];
    demo(&[&search[..], options].concat())
}

#[test]
fn facets_are_requested_and_shown() {
    let ran = facets(&["author:2"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.first(), Some(&"author:"), "{ran:?}");
    assert_eq!(lines.len(), 4, "{ran:?}");
    let ran = facets(&["author:2", "--facets", "subject", "--json"]);
    let line: Value =
        serde_json::from_str(ran.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(line["outcome"], "found");
    assert_eq!(line["facets"][0]["field"], "author");
    assert_eq!(
        line["facets"][0]["terms"].as_array().map(Vec::len),
        Some(2),
        "{line}"
    );
    assert_eq!(line["facets"].as_array().map(Vec::len), Some(2), "{line}");
    let ran = demo(&["search", "localhost/books", "war", "--facets", "author:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn misspelt_facets_are_refused() {
    let ran = facets(&["auhtor:5"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("did you mean author?"), "{ran:?}");
    let ran = facets(&["=auhtor:5"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("gives no facets by auhtor"), "{ran:?}");
}

#[test]
fn the_parts_of_a_query_are_shown() {
    let query = "@and war nonesuchword";
    let ran = demo(&["search", "localhost/books", query, "--count", "0"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("0  nonesuchword"), "{ran:?}");
    let ran = demo(&[
        "search",
        "localhost/books",
        "@and war peace",
        "--count",
        "0",
        "--parts",
        "--json",
    ]);
    let line: Value =
        serde_json::from_str(ran.stdout.lines().next().expect("a line")).expect("JSON");
    let parts = line["parts"].as_array().expect("a list");
    assert!(parts.iter().any(|part| part["part"] == "peace"), "{line}");
}
