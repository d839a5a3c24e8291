//! Tests of the commands `parse`, `canon`, `build` and `check` of `z3950 url`.

use serde_json::{Value, json};
use z3950_tests::program::{z3950, z3950_fed};

const FULL: &str = "z39.50r://cnidr.org:2100/tmf?bkirch_rules__a1;esn=f;rs=marc+sutrs;lang=fr";

#[test]
fn parse_gives_every_part() {
    let ran = z3950(["url", "parse", "--json", FULL]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let expected = json!({
        "v": 2, "scheme": "z39.50r", "kind": "retrieval", "host": "cnidr.org", "port": 2100, "databases": ["tmf"],
        "docid": "bkirch_rules__a1", "docid_hex": "626b697263685f72756c65735f5f6131", "element_set": "f",
        "record_syntaxes": [
            { "name": "usmarc", "oid": "1.2.840.10003.5.10" }, { "name": "sutrs", "oid": "1.2.840.10003.5.101" },
        ],
        "extensions": [["lang", "fr"]], "fragment": null,
        "warnings": ["UnknownParameter:lang"], "canonical": FULL,
        "error": null, "offset": null, "message": null,
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
        (&["http://lib.example:http/"], "InvalidPort", 19),
        (&["URL:URL:z39.50s://h/"], "UnsupportedScheme", 4),
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
fn octets_that_are_not_text_are_refused_not_changed() {
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
fn urls_of_other_schemes_show_their_parts() {
    let check = |url: &str, mut expected: Value| {
        expected["v"] = 2.into();
        for key in ["error", "offset", "message"] {
            expected[key] = Value::Null;
        }
        let ran = z3950(["url", "parse", "--json", url]);
        let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!((ran.code, value), (Some(0), expected), "{url}");
        let ran = z3950(["url", "parse", url]);
        assert!(
            ran.code == Some(0) && !ran.stdout.contains("sesame"),
            "{ran:?}"
        );
    };
    check(
        "FTP://me:sesame@Lib.Example:2121/pub/a%2Fb;type=D#x",
        json!({
            "scheme": "ftp", "kind": "other", "host": "lib.example", "port": 2121, "user": "me",
            "password": "***", "directories": ["pub"], "name": "a/b", "type": "d", "fragment": "x",
            "warnings": ["CredentialsInUrl", "NonDefaultPort:2121"],
            "canonical": "ftp://me:***@lib.example:2121/pub/a%2Fb;type=d",
        }),
    );
    check(
        "http://h/a?b",
        json!({
            "scheme": "http", "kind": "other", "host": "h", "port": 80, "path": "a", "search": "b",
            "fragment": null, "warnings": ["RelativeHostName"], "canonical": "http://h/a?b",
        }),
    );
    check(
        "gopher://gopher.example/7/find%09cats%09+",
        json!({
            "scheme": "gopher", "kind": "other", "host": "gopher.example", "port": 70, "type": "7",
            "selector": "/find", "search": "cats", "gopher_plus": "+", "fragment": null,
            "warnings": [], "canonical": "gopher://gopher.example/7/find%09cats%09+",
        }),
    );
    check(
        "urn:isbn:0306406152",
        json!({
            "scheme": "urn", "kind": "name", "host": null, "port": null, "part": "isbn:0306406152",
            "fragment": null, "warnings": [], "canonical": "urn:isbn:0306406152",
        }),
    );
    check(
        "prospero://h.example/a;b=c",
        json!({
            "scheme": "prospero", "kind": "other", "host": "h.example", "port": 1525, "hsoname": "a",
            "version": null, "fields": [["b", "c"]], "fragment": null, "warnings": [],
            "canonical": "prospero://h.example/a;b=c",
        }),
    );
    for (url, key, value) in [
        ("mailto:a%25b@h.example", "address", json!("a%b@h.example")),
        ("news:*", "group", json!("*")),
        ("news:1@h.example", "article", json!("1@h.example")),
        ("nntp://h.example/a/7", "number", json!(7)),
        ("telnet://me:sesame@h.example", "password", json!("***")),
        ("wais://h.example/d/T/%01", "wpath", json!("\\x01")),
        ("file:///a/b", "path", json!(["a", "b"])),
        ("file:///a/b", "local", json!(true)),
        ("cid:a@h.example", "id", json!("a@h.example")),
        ("x-a://me:sesame@h/b", "part", json!("//me:***@h/b")),
    ] {
        let ran = z3950(["url", "parse", "--json", url]);
        let object: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(object[key], value, "{url}");
        assert!(!ran.stdout.contains("sesame"), "{ran:?}");
    }
    let ran = z3950([
        "url",
        "canon",
        "HTTP://H.example:80",
        "news:a.b",
        "ftp://u:sesame@h/",
    ]);
    assert_eq!(
        ran.stdout,
        "http://h.example/\nnews:a.b\nftp://u:sesame@h/\n"
    );
}

#[test]
fn partial_forms_are_resolved() {
    let check = |arguments: &[&str], code: i32, stdout: &str, stderr: &str| {
        let ran = z3950(["url", "resolve"].iter().chain(arguments));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), stdout),
            "{ran:?}"
        );
        assert_eq!(ran.stderr.is_empty(), stderr.is_empty(), "{ran:?}");
        assert!(ran.stderr.contains(stderr), "{ran:?}");
    };
    let base = "magic://a/b/c//d/e/f";
    check(&[base, "/g"], 0, "magic://a/g\n", "");
    check(
        &[base, "/g", "--profile", "prose"],
        0,
        "magic://a/b/c//d/g\n",
        "",
    );
    check(
        &[base, "../g", "--json"],
        0,
        "{\"v\":2,\"uri\":\"magic://a/b/c//d/g\",\"in\":null,\"error\":null,\"offset\":null,\"message\":null}\n",
        "",
    );
    check(&[base, "-g"], 0, "magic://a/b/c//d/e/-g\n", "");
    check(&[base, "///g"], 2, "", "slashes");
    check(&["a/b", "c"], 2, "", "base");
    check(
        &["gopher://h.example/0a", "b"],
        0,
        "gopher://h.example/b\n",
        "",
    );
    check(&["http://h.example/a", "//"], 0, "http://\n", "malformed");
    check(
        &["z39.50r://h.example/a?b", "c?d"],
        0,
        "z39.50r://h.example/c?d\n",
        "RFC 2056",
    );
    let ran = z3950(["url", "resolve", "--json", base, "a b"]);
    let value: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (ran.code, &value["error"], &value["in"], &value["offset"]),
        (
            Some(2),
            &json!("InvalidCharacter"),
            &json!("reference"),
            &json!(1)
        )
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
fn check_distinguishes_good_from_bad() {
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
