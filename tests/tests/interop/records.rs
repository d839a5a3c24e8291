//! Tests of record syntaxes defined in ASN.1. Our client prints yaz-ztest's records, and yaz-client prints ours.

use z3950_tests::peer;
use z3950_tests::program::{Daemon, run, z3950};
use z3950_tests::surroundings::command;

/// Fetches yaz-ztest's first record with our client in a syntax, and returns the output in a format, or `None` if yaz-ztest is
/// not installed.
fn fetched(syntax: &str, format: &str) -> Option<String> {
    let server = peer::yaz_ztest()?;
    let url = format!("z39.50r://127.0.0.1:{}/Default?1;rs={syntax}", server.port);
    let ran = z3950(["get", &url, "--format", format]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    Some(ran.stdout)
}

#[test]
fn holdings_of_yaz_ztest_are_shown() {
    let (Some(text), Some(json)) = (fetched("opac", "text"), fetched("opac", "json")) else {
        return;
    };
    let (record, holdings) = text.split_once("Holdings:\n").expect("holdings");
    assert!(record.contains("\n245 "), "{record}");
    let (heading, copies) = holdings.split_once('\n').expect("a heading");
    for name in [
        "Library",
        "Location",
        "Call number",
        "Copy",
        "Available",
        "Item",
    ] {
        assert!(heading.contains(name), "{name} is in {heading}");
    }
    assert!(copies.contains("  Copy 1  yes  "), "{copies}");
    let json: serde_json::Value = serde_json::from_str(&json).expect("one JSON object");
    assert_eq!(
        json.pointer("/syntax/oid"),
        Some(&"1.2.840.10003.5.102".into())
    );
    for pointer in [
        "/leader",
        "/record/holdingsData/0/holdingsAndCirc/callNumber",
        "/record/holdingsData/0/holdingsAndCirc/circulationData/0/availableNow",
        "/holdings/0/call_number",
    ] {
        assert!(json.pointer(pointer).is_some(), "{pointer} of {json:#}");
    }
}

#[test]
fn a_tree_of_yaz_ztest_is_shown() {
    let (Some(text), Some(json)) = (fetched("grs-1", "text"), fetched("grs-1", "json")) else {
        return;
    };
    assert_eq!(
        text,
        "title: War and peace\n(4,70):\n  (4,90):\n    name: Inner\n"
    );
    let json: serde_json::Value = serde_json::from_str(&json).expect("one JSON object");
    let inner = json.pointer("/record/1/content/subtree/0/content/subtree/0/content/string");
    assert_eq!(inner, Some(&"Inner".into()), "{json:#}");
}

/// Checks that the texts appear in this order in yaz-client's output for the commands.
fn check(commands: &str, expected: &[&str]) {
    let Some(program) = peer::find("yaz-client") else {
        return;
    };
    let daemon = Daemon::start(["--demo"]);
    let find = "base books\nfind @attr 1=1032 pg1342";
    let input = format!("open {}\n{find}\n{commands}\nquit\n", daemon.address());
    let printed = run(&mut command(program), &input).stdout;
    let mut rest = printed.as_str();
    for text in expected {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is not in\n{rest}\nof\n{printed}")
        };
        rest = after;
    }
}

#[test]
fn yaz_client_shows_our_opac_record() {
    check(
        "format opac\nshow 1",
        &["Record type: OPAC", "001 pg1342", "$a Pride and prejudice"],
    );
}

#[test]
fn yaz_client_shows_our_grs_1_record() {
    let title = "(2,1) Pride and prejudice";
    check(
        "format grs-1\nshow 1",
        &["Record type: GRS-1", "(1,14) pg1342", title],
    );
    check(
        "format grs-1\nelements B\nshow 1",
        &["Record type: GRS-1", "(1,14) pg1342", title],
    );
}

#[test]
fn yaz_client_shows_our_xml_records() {
    check(
        "format xml\nelements F\nshow 1",
        &[
            "Record type: XML",
            "<record",
            "tag=\"245\"",
            "Pride and prejudice",
        ],
    );
    check(
        "format xml\nelements dc\nshow 1",
        &[
            "Record type: XML",
            "oai_dc:dc",
            "<dc:title>Pride and prejudice",
        ],
    );
    check("format xml\nelements zz\nshow 1", &["[25]"]);
}
