//! Tests of copies and their availability, taken from OPAC records and from MARC records, as a table and in JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use z3950_tests::program::{Ran, path, run, z3950};
use z3950_tests::surroundings::command;

use super::every::documented;

/// The only record in the demo catalogue that has holdings.
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
            command(path("z3950")).args(["--demo", "open", target]),
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
fn a_record_without_copies_has_no_holdings() {
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
    let mut convert = command(path("z3950"));
    let ran = run(convert.args(["convert", "--to", "line", "-"]), &found);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("245 10 $a Emma"), "{ran:?}");
}

/// Runs `get` with a format, and returns its output for the OPAC record of Emma.
fn opac_as(format: &str) -> Ran {
    demo(&["get", "--format", format, &format!("{EMMA};rs=opac")])
}

#[test]
fn opac_records_are_written_in_every_format_of_their_marc_record() {
    let card = opac_as("brief").stdout;
    assert_eq!(card, demo(&["get", "--format", "brief", EMMA]).stdout);
    for (format, text) in [
        ("marc", "\u{1e}10\u{1f}aEmma"),
        ("marcxml", "<datafield tag=\"245\""),
        ("marcxchange", "tag=\"245\""),
        ("mrk", "=245  10$aEmma"),
        ("dc", "<dc:title>Emma"),
        ("brief", "Emma"),
    ] {
        let ran = opac_as(format);
        assert_eq!(ran.code, Some(0), "{format}: {ran:?}");
        assert!(ran.stdout.contains(text), "{format}: {ran:?}");
        assert!(!ran.stdout.contains("Holdings:"), "{format}: {ran:?}");
    }
    // JSON has the same structure in every syntax.
    let of = |text: &str| -> Value { serde_json::from_str(text).expect("one JSON object") };
    let opac = of(&opac_as("json").stdout);
    let marc = of(&demo(&["get", "--format", "json", EMMA]).stdout);
    let fields = |record: &Value| record["fields"].as_array().map(Vec::len);
    assert!(
        fields(&opac).is_some() && opac["leader"].is_string(),
        "{opac:#}"
    );
    assert_eq!(opac["title"], marc["title"]);
    assert_eq!(opac["syntax"]["name"], "opac");
    let raw = &opac["record"];
    assert!(raw["holdingsData"].is_array() && raw.get("bibliographicRecord").is_none());
    let mut convert = command(path("z3950"));
    let ran = run(
        convert.args(["convert", "--to", "mrk", "-"]),
        opac.to_string(),
    );
    assert!(ran.stdout.contains("=245  10$aEmma"), "{ran:?}");
}

#[test]
fn fields_of_copies_are_a_table_in_text_too() {
    let shown = demo(&["get", EMMA]).stdout;
    let (record, table) = shown.split_once("Holdings:\n").expect("a table");
    assert!(
        record.ends_with('\n') && table.contains("  v.2     no         2026-12-01"),
        "{shown}"
    );
    // When the line format is read back, the table of holdings is skipped.
    let mut convert = command(path("z3950"));
    let ran = run(
        convert.args(["convert", "--from", "line", "--to", "line", "-"]),
        &shown,
    );
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), record),
        "{ran:?}"
    );
}

#[test]
fn copies_are_columns_and_rows_of_tables() {
    let columns = "001,call_number,available,due,holdings";
    for syntax in ["opac", "usmarc"] {
        let url = format!("{EMMA};rs={syntax}");
        let get = ["get", "--format", "tsv", "--fields", columns];
        let ran = demo(&[&get[..], &[&url]].concat());
        let row = ran.stdout.lines().nth(1).expect("a row");
        assert_eq!(
            row.split('\t').take(4).collect::<Vec<_>>(),
            [
                "pg158",
                "PR4034 .E5 | PR4034 .E5 | PR4034 .E5",
                "yes | no | yes",
                "- | 2026-12-01 | -"
            ],
            "{ran:?}"
        );
        let ran = demo(&[&get[..], &["--row-per-copy", &url]].concat());
        let rows: Vec<&str> = ran.stdout.lines().skip(1).collect();
        assert_eq!(
            rows,
            [
                "pg158\tPR4034 .E5\tyes\t\tDemo Library, Main, PR4034 .E5, v.1: available",
                "pg158\tPR4034 .E5\tno\t2026-12-01\tDemo Library, Main, PR4034 .E5, v.2: due 2026-12-01",
                "pg158\tPR4034 .E5\tyes\t\tDemo Library, Main, PR4034 .E5, v.3: available",
            ],
            "{ran:?}"
        );
    }
    let ran = demo(&["get", "--row-per-copy", EMMA]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("--row-per-copy is for tables"),
        "{ran:?}"
    );
}

#[test]
fn the_prompt_shows_the_copies_of_a_record() {
    let script = "find @attr 1=12 pg158\nholdings\nholdings 1\nholdings 2\nfind @attr 1=12 pg1342\nholdings 1\n";
    let mut open = command(path("z3950"));
    let ran = run(open.args(["--demo", "open", "localhost/books"]), script);
    let table = TABLE.strip_prefix("Holdings:\n").expect("a heading");
    assert_eq!(ran.stdout.matches(table).count(), 2, "{ran:?}");
    for words in [
        "there is no record 2: the result set has 1 record",
        "record 1 lists no copies",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
}
