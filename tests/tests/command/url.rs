//! `z3950 url`: parse, canon, build, check.

use serde_json::{Value, json};
use z3950_tests::program::{z3950, z3950_fed};

const FULL: &str = "z39.50r://cnidr.org:2100/tmf?bkirch_rules__a1;esn=f;rs=marc+sutrs;lang=fr";

#[test]
fn parse_gives_every_part() {
    let ran = z3950(["url", "parse", "--json", FULL]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let expected = json!({
        "scheme": "z39.50r", "kind": "retrieval", "host": "cnidr.org", "port": 2100, "databases": ["tmf"],
        "docid": "bkirch_rules__a1", "docid_hex": "626b697263685f72756c65735f5f6131", "element_set": "f",
        "record_syntaxes": ["marc", "sutrs"], "extensions": [["lang", "fr"]], "fragment": null,
        "warnings": ["UnknownParameter:lang"], "canonical": FULL,
    });
    assert_eq!(value, expected);
    let ran = z3950(["url", "parse", "--json", "z39.50s://[::1]/"]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (&value["host"], &value["docid"], &value["port"]),
        (&json!("[::1]"), &Value::Null, &json!(210))
    );
    assert_eq!(
        value.as_object().map(|object| object.len()),
        expected.as_object().map(|object| object.len())
    );
    let ran = z3950(["url", "parse", "z39.50r://h/d?M%FCller"]);
    assert!(
        ran.code == Some(0) && ran.stdout.contains("M\\xFCller"),
        "{ran:?}"
    );
}

#[test]
fn a_refusal_names_kind_and_octet() {
    for (arguments, kind, offset) in [
        (
            &["z39.50r://lib.example/cat?a b"][..],
            "InvalidCharacter",
            27,
        ),
        (
            &["z39.50r://lib.example/cat?a/b", "--strict"],
            "ReservedCharacter",
            27,
        ),
        (&["z39.50s://:210/cat"], "MissingHost", 10),
        (&["http://lib.example/"], "UnsupportedScheme", 0),
        (&[""], "EmptyInput", 0),
    ] {
        let ran = z3950(["url", "parse", "--json"].iter().chain(arguments));
        let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(
            (ran.code, &value["error"], &value["offset"]),
            (Some(2), &json!(kind), &json!(offset)),
            "{ran:?}"
        );
        assert!(
            value["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty())
        );
        let ran = z3950(["url", "parse"].iter().chain(arguments));
        assert!(
            ran.code == Some(2) && ran.stdout.is_empty() && !ran.stderr.is_empty(),
            "{ran:?}"
        );
    }
}

#[test]
fn octets_that_are_no_text_are_refused_not_changed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let url = OsStr::from_bytes(b"z39.50r://h/d?M\xfcller");
    let ran = z3950([
        OsStr::new("url"),
        OsStr::new("parse"),
        OsStr::new("--json"),
        url,
    ]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (&value["error"], &value["offset"]),
        (&json!("InvalidCharacter"), &json!(15))
    );
}

#[test]
fn canon_and_build() {
    let ran = z3950([
        "url",
        "canon",
        "Z39.50R://Lib.Example:210/c%61t?%7e%2a+x;RS=marc;esn=%46",
    ]);
    assert_eq!(
        ran.stdout,
        "z39.50r://lib.example/cat?%7E*%2Bx;esn=F;rs=marc\n"
    );
    let ran = z3950([
        "url",
        "build",
        "--kind",
        "retrieval",
        "--host",
        "lib.example",
        "--database",
        "a+b",
        "--database",
        "c/d",
        "--docid",
        ";?#% ",
        "--element-set",
        "f",
        "--record-syntax",
        "grs-1",
    ]);
    assert_eq!(
        ran.stdout,
        "z39.50r://lib.example/a%2Bb+c%2Fd?%3B%3F%23%25%20;esn=f;rs=grs-1\n"
    );
    let ran = z3950([
        "url",
        "build",
        "--kind",
        "r",
        "--host",
        "h",
        "--database",
        "d",
        "--docid-hex",
        "E9 00",
    ]);
    assert_eq!(ran.stdout, "z39.50r://h/d?%E9%00\n");
    let ran = z3950([
        "url", "build", "--kind", "session", "--host", "h", "--docid", "x",
    ]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("database"),
        "{ran:?}"
    );
}

#[test]
fn check_tells_good_from_bad() {
    let ran = z3950([
        "url",
        "check",
        FULL,
        "z39.50r://lib.example/cat",
        "z39.50r://lib.example:25/cat?x",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[1].contains("no record") && lines[2].contains("25"),
        "{lines:?}"
    );
    let ran = z3950_fed(
        ["url", "check", "--json", "--input", "-"],
        "z39.50s://lib.example/\r\n\nnonsense\n",
    );
    assert_eq!(ran.code, Some(8), "{ran:?}");
    let values: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        (values.len(), &values[0]["ok"], &values[1]["ok"]),
        (2, &json!(true), &json!(false))
    );
    let ran = z3950(["url", "check", "--input", "/nonexistent"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("/nonexistent"),
        "{ran:?}"
    );
}
