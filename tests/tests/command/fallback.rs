//! Tests of `--fallback`: the alternative searches that `get` and `plan` report in addition to the search that RFC 2056 §4
//! defines, and that `search` and `lookup` report in addition to the given search.

use serde_json::Value;
use z3950_asn1::apdu::{Apdu, Query};
use z3950_marc::{Field, MarcRecord};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::z3950;

const ISBN: &str = "z39.50r://localhost/books?0141439513";

#[test]
fn the_step_that_found_the_record_is_reported() {
    // No record has this docid, but one record has this ISBN.
    let strict = z3950(["--demo", "get", ISBN]);
    assert_eq!(
        (strict.code, strict.stdout.as_str()),
        (Some(3), ""),
        "{strict:?}"
    );
    let ran = z3950(["--demo", "get", "--fallback", ISBN]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("001 pg1342"), "{ran:?}");
    let words: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        words,
        [
            "note: 1=1032,4=104: no record matches; asked again: 1=1032",
            "note: 1=1032: no record matches; asked again: 1=12",
            "note: 1=12: no record matches; asked again: 1=1007",
            "note: found by 1=1007, which is not the search of RFC 2056",
        ]
    );
    for (flags, step) in [
        (&["--fallback"][..], Some("1=1007")),
        (&["--fallback=attributes"], Some("1=1007")),
        (&["--fallback", "syntax,databases"], None),
        (&[], None),
    ] {
        let ran = z3950(["--demo", "get", "--json", ISBN].iter().chain(flags));
        let envelope: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(envelope["step"].as_str(), step, "{flags:?}: {ran:?}");
        assert_eq!(envelope["v"], 2);
    }
    let usual = z3950([
        "--demo",
        "get",
        "--json",
        "z39.50r://localhost/books?pg1342",
    ]);
    let envelope: serde_json::Value = serde_json::from_str(&usual.stdout).expect("JSON");
    assert_eq!(envelope["step"], "1=1032,4=104");
}

#[test]
fn audit_r_c5_a_query_in_cql_is_widened_too() {
    let query = "cql:dc.title = tolstoy";
    let without = z3950(["--demo", "search", "http://localhost/books", query]);
    assert_eq!(without.code, Some(3), "{without:?}");
    let ran = z3950([
        "--demo",
        "search",
        "http://localhost/books",
        query,
        "--fallback",
        "--count",
        "1",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = ran
        .stderr
        .lines()
        .filter(|line| line.contains("asked again"));
    assert_eq!(told.count(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("asked again: @attr 1=1016 tolstoy"),
        "{ran:?}"
    );
}

#[test]
fn several_records_are_ambiguous() {
    let ran = z3950([
        "--demo",
        "get",
        "--fallback",
        "z39.50r://localhost/books?twice",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{ran:?}");
}

#[test]
fn a_plan_shows_the_other_searches() {
    let url = "z39.50r://lib.example/cat?0378-5955";
    let ran = z3950(["plan", url]);
    assert!(!ran.stdout.contains("1=1007"), "{}", ran.stdout);
    let ran = z3950(["plan", "--fallback", url]);
    assert!(
        ran.stdout
            .contains("finds nothing: 1=1032, then 1=12, then 1=1007, then 1=8"),
        "{}",
        ran.stdout
    );
}

#[test]
fn searches_and_lookups_are_made_in_other_ways() {
    let structure = "@attr 1=1003 @attr 4=999 austen";
    for (line, without, step) in [
        (&["search", structure][..], 5, Some("@attr 1=1003 austen")),
        (&["search", "ti:tolstoy"], 3, Some("@attr 1=1016 tolstoy")),
        (&["search", "au:austen"], 0, None),
        (
            &["search", "--element-set", "X", "au:austen"],
            5,
            Some("esn=none"),
        ),
        (
            &["search", "--syntax", "1.2.840.10003.5.999", "au:austen"],
            5,
            None,
        ),
        (
            &["lookup", "--element-set", "X", "isbn:0141439513"],
            5,
            Some("1=7;esn=none"),
        ),
        (&["lookup", "isbn:0141439513"], 0, Some("1=7")),
    ] {
        let (last, options) = line.split_last().expect("words");
        let line = [&["--demo"], options, &["--json", "localhost/books", last]].concat();
        let ran = z3950(&line);
        assert_eq!(ran.code, Some(without), "{line:?}: {}", ran.stderr);
        let ran = z3950([&line[..], &["--fallback"]].concat());
        assert_eq!(ran.code, Some(0), "{line:?}: {}{}", ran.stderr, ran.stdout);
        let first = ran.stdout.lines().next().expect("an object");
        let envelope: Value = serde_json::from_str(first).expect("JSON");
        assert_eq!(envelope["outcome"], "delivered", "{envelope}");
        assert_eq!(envelope["step"].as_str(), step, "{line:?}: {}", ran.stderr);
        let is_told = ran.stderr.contains("; asked again: ");
        let is_other = step.is_some_and(|step| step != "1=7");
        assert_eq!(is_told, is_other, "{line:?}: {}", ran.stderr);
    }
    let line = ["--demo", "search", "localhost/books", structure];
    let ran = z3950([&line[..], &["--fallback=databases"]].concat());
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
}

/// Returns the queries of all searches that a server received, in order.
fn queries(server: &TestServer) -> Vec<String> {
    let entries = server.transcript().into_iter();
    let queries = entries.filter_map(|entry| match entry.apdu.as_ref()? {
        Apdu::SearchRequest(search) => match &search.query {
            Query::Type1(query) => Some(query.to_string()),
            other => Some(format!("{other:?}")),
        },
        _ => None,
    });
    queries.collect()
}

/// The exact searches for an ISBN are sent to every target before the broader ones, and no search is sent twice to the same
/// target.
#[test]
fn r_b7_targets_in_turn_get_each_search_once() {
    let serving = |records: Vec<MarcRecord>| TestServer::builder().database("cat", records).start();
    let exact = [
        "@or @attr 1=7 9780306406157 @attr 1=7 0306406152",
        "@or @attr 1=1007 9780306406157 @attr 1=1007 0306406152",
    ];
    let broader = [
        "@or @attr 5=1 @attr 1=7 9780306406157 @attr 5=1 @attr 1=7 0306406152",
        "@or @attr 1=1016 9780306406157 @attr 1=1016 0306406152",
    ];
    // The number occurs in a note of the second record, where only a search in all indexes finds it.
    let in_note = || {
        let mut made = record("noted", "Seven");
        made.fields
            .push(Field::data(b"500", "  ", [("a", "ISBN 0306406152")]));
        made
    };
    let all = [exact, broader].concat();
    for (first, second, code, of_first, of_second) in [
        (vec![], vec![in_note()], 0, &all[..], &all[..]),
        (vec![in_note()], vec![], 0, &all, &exact[..]),
        (vec![], vec![], 3, &all, &all),
    ] {
        let (one, two) = (serving(first), serving(second));
        let [a, b] = [&one, &two].map(|server| format!("{}/cat", server.addr()));
        let ran = z3950([
            "lookup",
            "--target",
            &a,
            "--target",
            &b,
            "--fallback",
            "isbn:0306406152",
        ]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert_eq!(queries(&one), of_first, "{ran:?}");
        assert_eq!(queries(&two), of_second, "{ran:?}");
    }
    // The fallback does not include a broader search for a control number.
    let (one, two) = (serving(vec![]), serving(vec![]));
    let [a, b] = [&one, &two].map(|server| format!("{}/cat", server.addr()));
    let ran = z3950([
        "lookup",
        "--target",
        &a,
        "--target",
        &b,
        "--fallback",
        "local:7",
    ]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for server in [&one, &two] {
        assert_eq!(
            queries(server),
            ["@attr 1=12 7", "@attr 1=1007 7"],
            "{ran:?}"
        );
    }
}
