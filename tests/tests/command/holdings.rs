//! Copies and their availability, from OPAC records and from MARC, as a table and in JSON.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};
use z3950_tests::program::{Ran, path, run, z3950};

use super::every::documented;

/// The only record of the demo catalogue with holdings.
const EMMA: &str = "z39.50r://localhost/books?pg158";
const TABLE: &str = "Holdings:
  Library       Location  Call number  Volume  Available  Due         Item    Restrictions
  Demo Library  Main      PR4034 .E5   v.1     yes                    158001
  Demo Library  Main      PR4034 .E5   v.2     no         2026-12-01  158002
  Demo Library  Main      PR4034 .E5   v.3     yes                    158003  Building use only
";

fn demo(arguments: &[&str]) -> Ran {
    z3950(["--demo"].iter().chain(arguments))
}

#[test]
fn every_command_shows_holdings_as_a_table() {
    let opac = format!("{EMMA};rs=opac");
    let target = "localhost/books";
    let with_syntax = ["--syntax", "opac", target];
    for ran in [
        demo(&["get", &opac]),
        demo(&[&["lookup"], &with_syntax[..], &["docid:pg158"]].concat()),
        demo(&[&["search"], &with_syntax[..], &["@attr 1=12 pg158"]].concat()),
        run(
            Command::new(path("z3950")).args(["--demo", "open", target]),
            "format opac\nfind @attr 1=12 pg158\nshow 1\n",
        ),
    ] {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("245 10 $a Emma"), "{ran:?}");
        assert!(ran.stdout.contains(TABLE), "{}", ran.stdout);
    }
}

#[test]
fn holdings_are_beside_the_record_in_json() {
    for (syntax, status) in [
        ("opac", Value::Null),
        ("usmarc", json!("Checked out, due 2026-12-01")),
    ] {
        let url = format!("{EMMA};rs={syntax}");
        let ran = demo(&["get", "--json", &url]);
        let object: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
        let lent = json!({
            "library": "Demo Library",
            "location": "Main",
            "shelving_location": null,
            "temporary_location": null,
            "call_number": "PR4034 .E5",
            "volume": "v.2",
            "copy": null,
            "item_id": "158002",
            "available": false,
            "due": "2026-12-01",
            "on_hold": if syntax == "opac" { json!(false) } else { Value::Null },
            "holds": null,
            "status": status,
            "restrictions": null,
            "note": null,
        });
        assert_eq!(object["record"]["holdings"][1], lent, "{object:#}");
        let keys = lent.as_object().expect("an object").keys().cloned();
        assert_eq!(keys.collect::<BTreeSet<String>>(), documented("Holdings"));

        let ran = demo(&["get", "--format", "json", &url]);
        let record: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
        assert_eq!(
            record["holdings"], object["record"]["holdings"],
            "{record:#}"
        );
    }
}

#[test]
fn a_record_that_tells_of_no_copies_has_no_holdings() {
    for syntax in ["opac", "usmarc", "sutrs"] {
        let url = format!("z39.50r://localhost/books?pg1342;rs={syntax}");
        let ran = demo(&["get", &url]);
        assert!(!ran.stdout.contains("Holdings:"), "{ran:?}");
        let ran = demo(&["get", "--format", "json", &url]);
        let record: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
        assert_eq!(record.get("holdings"), Some(&Value::Null), "{record:#}");
    }
}

#[test]
fn records_with_holdings_are_read_back() {
    let found = demo(&["get", "--format", "json", EMMA]).stdout;
    let mut convert = Command::new(path("z3950"));
    let ran = run(convert.args(["convert", "--to", "line", "-"]), &found);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("245 10 $a Emma"), "{ran:?}");
}
