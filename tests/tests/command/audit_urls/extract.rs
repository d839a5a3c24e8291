//! Tests for findings about `url extract`, `url resolve` and `url compare`.

use std::fs;

use serde_json::{Value, json};
use z3950_tests::program::{Ran, z3950, z3950_fed};

/// Returns the third column of each line, which contains a URL with its remarks.
fn urls(ran: &Ran) -> Vec<String> {
    let columns = ran.stdout.lines().map(|line| line.splitn(3, '\t').nth(2));
    columns.flatten().map(str::to_owned).collect()
}

/// RFC 1630, partial forms; MARC 21, 856 $u: relative links in records are resolved or reported in the same way as
/// relative links in pages.
#[test]
fn audit_r_e2_links_of_records_are_resolved_or_reported() {
    let fields = [
        "856  40$uwww.h.example/x",
        "856  40$u../rel",
        "856  40$uhttp://",
        "856  40$usee the catalogue",
        "856  40$unote: see below",
        "856  40$u<URL:http://open.example/",
        "856  40$u",
        "856  40$uhttp://good.example/",
        "024  7\\$a10.1000/182$2doi",
        "035  \\\\$a(OCoLC)123",
    ];
    let record = format!("=LDR  00000nam a2200000 a 4500\n={}\n", fields.join("\n="));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("records.mrk");
    fs::write(&file, record).expect("the file is written");
    let file = file.to_str().expect("text");

    let alone = z3950(["url", "extract", file]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    let place = "record 1, 856 $u";
    let found = urls(&alone);
    assert_eq!(found.len(), 3, "{alone:?}");
    assert!(
        found[0].starts_with(&format!("http://\t{place}; malformed: ")),
        "{alone:?}"
    );
    assert_eq!(
        found[1..],
        [
            format!("http://open.example/\t{place}; heuristic"),
            format!("http://good.example/\t{place}"),
        ]
    );
    for words in [
        "www.h.example/x is skipped: a URL without a scheme needs a base; give one with --base",
        "../rel is skipped: a URL without a scheme needs a base",
        "see the catalogue is skipped: a URL without a scheme needs a base",
        "note: see below is skipped: not a URL",
        "<URL:http://open.example/ is skipped: the wrapper has no end",
    ] {
        let words = format!("warning: {place}: {words}");
        assert!(alone.stderr.contains(&words), "{words}: {alone:?}");
    }
    assert_eq!(alone.stderr.lines().count(), 5, "{alone:?}");

    let based = z3950(["url", "extract", "--base", "http://b.example/a/c", file]);
    assert_eq!(
        urls(&based)[..2],
        [
            format!("http://b.example/a/www.h.example/x\t{place}; mended from: www.h.example/x"),
            format!("http://b.example/rel\t{place}; mended from: ../rel"),
        ],
        "{based:?}"
    );
    assert_eq!(based.stderr.lines().count(), 2, "{based:?}");

    let ran = z3950([
        "url",
        "extract",
        "--json",
        "--base",
        "http://b.example/a/c",
        file,
    ]);
    let objects = ran.stdout.lines().map(serde_json::from_str::<Value>);
    let objects: Vec<Value> = objects.map(|line| line.expect("JSON")).collect();
    assert_eq!(objects[1]["url"], json!("http://b.example/rel"));
    assert_eq!(objects[1]["written"], json!("../rel"));
    assert_eq!(objects[1]["error"], Value::Null);
    assert_eq!(objects[2]["error"], json!("MissingHost"), "{ran:?}");
    assert_eq!(objects[2]["offset"], json!(7));
}

/// A malformed URL that no URL parser would accept is listed with the error, in whatever context it was found.
#[test]
fn audit_r_e8_malformed_urls_are_marked() {
    for (text, url, words) in [
        (
            "<URL:http://h.dom/a%zz>",
            "http://h.dom/a%zz",
            "hexadecimal",
        ),
        (
            "see http://h.dom/a%zz now",
            "http://h.dom/a%zz",
            "hexadecimal",
        ),
        ("<URL:http://>", "http://", "host"),
        ("<URL:z39.50r://h.dom/?x>", "z39.50r://h.dom/?x", "database"),
        (
            "<html><a href='http://h.dom:99999/'>x</a>",
            "http://h.dom:99999/",
            "65535",
        ),
        ("<html><a href='http://'>x</a>", "http://", "host"),
    ] {
        let ran = z3950_fed(["url", "extract"], text);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let [line] = &urls(&ran)[..] else {
            panic!("{text}: {ran:?}");
        };
        assert!(line.starts_with(&format!("{url}\t")), "{line}");
        let (_, fault) = line.split_once("malformed: ").expect(line);
        assert!(fault.contains(words), "{line}");
        let ran = z3950_fed(["url", "extract", "--json"], text);
        let object: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert!(object["error"].is_string(), "{object}");
        assert_eq!(object["message"].as_str(), Some(fault), "{object}");
    }
    let ran = z3950_fed(["url", "extract"], "<URL:http://h.dom/a%20b>");
    assert!(!ran.stdout.contains("malformed"), "{ran:?}");
}

/// An option that has no effect on a file is refused.
#[test]
fn audit_r_e8_options_of_extract_are_refused_where_they_do_not_apply() {
    for (arguments, text, words) in [
        (
            &["--base", "http://h.example/"][..],
            "http://a.example/",
            "--base",
        ),
        (&["--wrapped"], "<html><p>x", "--wrapped"),
        (&["--wrapped", "--from", "marc"], "", "--wrapped"),
    ] {
        let ran = z3950_fed(["url", "extract"].iter().chain(arguments), text);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

/// RFC 1738 Appendix: the prefix `URL:` and the wrapper are not part of a URL.
#[test]
fn audit_r_e8_prefixes_of_base_and_reference_are_taken_off() {
    let check = |base: &str, reference: &str, code: i32, expected: &str| {
        let ran = z3950(["url", "resolve", "--json", base, reference]);
        let object: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let found = match object["uri"].as_str() {
            Some(uri) => uri.to_owned(),
            None => format!("{} {}@{}", object["in"], object["error"], object["offset"]),
        };
        let found = found.replace('"', "");
        assert_eq!(
            (ran.code, found.as_str()),
            (Some(code), expected),
            "{ran:?}"
        );
    };
    check("URL:http://h.dom/a/b", "c", 0, "http://h.dom/a/c");
    check("http://h.dom/a/b", "url:c", 0, "http://h.dom/a/c");
    check("<URL:http://h.dom/a/b>", "../c", 0, "http://h.dom/c");
    check(
        "http://h.dom/a/b",
        "<URL:ftp://g.dom/x>",
        0,
        "ftp://g.dom/x",
    );
    check(" http://h.dom/a/b\n", " c ", 0, "http://h.dom/a/c");
    check("URL:http://h.dom/a/b c", "d", 2, "base InvalidCharacter@20");
    check("URL:a/b", "c", 2, "base MissingScheme@4");
    check(
        "http://h.dom/a",
        "URL:b c",
        2,
        "reference InvalidCharacter@5",
    );
    check(
        "http://h.dom/a",
        "URL:///b",
        2,
        "reference NoMatchingSlashRun@4",
    );
}

/// RFC 1630: URLs are normalized to one level of escaping before they are compared.
#[test]
fn audit_r_e8_two_urls_are_compared() {
    for (one, other, code) in [
        (
            "z39.50r://lib.example/cat?id7",
            "URL:Z39.50R://LIB.example:210/c%61t?id%37#part",
            0,
        ),
        (
            "z39.50r://lib.example/cat?id7",
            "z39.50s://lib.example/cat?id7",
            3,
        ),
        (
            "z39.50r://lib.example/cat?id7",
            "z39.50r://lib.example/cat?ID7",
            3,
        ),
        ("http://h.example", "HTTP://h.example:80/", 0),
        ("http://h.example/a%2Fb", "http://h.example/a/b", 3),
        ("gopher://h.example/1", "gopher://h.example", 0),
        ("x-foo:%41", "x-foo:A", 0),
    ] {
        let ran = z3950(["url", "compare", one, other]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let lines: Vec<&str> = ran.stdout.lines().collect();
        let verdict = if code == 0 { "same" } else { "different" };
        assert_eq!(lines[0], verdict);
        assert_eq!(lines.len(), if code == 0 { 2 } else { 3 }, "{ran:?}");
        let canonical = z3950(["url", "canon", one]).stdout;
        assert_eq!(lines[1], canonical.trim());
        let ran = z3950(["url", "compare", "--json", other, one]);
        let object: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!((ran.code, &object["same"]), (Some(code), &json!(code == 0)));
        assert_eq!(object["canonical"][1].as_str(), Some(lines[1]));
    }
    for (one, other, place) in [
        ("http://h.example/", "http://", "second"),
        ("nothing", "http://", "first"),
    ] {
        let ran = z3950(["url", "compare", "--json", one, other]);
        let object: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!((ran.code, &object["in"]), (Some(2), &json!(place)));
        let ran = z3950(["url", "compare", one, other]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
    let strict = [
        "url",
        "compare",
        "--strict",
        "http://h.example/a~",
        "http://h.example/a~",
    ];
    assert_eq!(z3950(strict).code, Some(2));
    let ran = z3950([
        "url",
        "compare",
        "ftp://a:secret@h.example/",
        "ftp://a:other@h.example/",
    ]);
    assert!(
        ran.code == Some(3) && !ran.stdout.contains("secret"),
        "{ran:?}"
    );
}

/// RFC 2056 §4: `rs` can name any registered record syntax.
#[test]
fn audit_r_e8_every_registered_record_syntax_has_a_name() {
    for (name, oid) in [
        ("pdf", "109.1"),
        ("postscript", "109.2"),
        ("html", "109.3"),
        ("tiff", "109.4"),
        ("gif", "109.5"),
        ("JPEG", "109.6"),
        ("png", "109.7"),
        ("mpeg", "109.8"),
        ("sgml", "109.9"),
        ("xml", "109.10"),
        ("tiff-b", "110.1"),
        ("wav", "110.2"),
        ("sql-rs", "111"),
    ] {
        let url = format!("z39.50r://lib.example/cat?x;rs={name}");
        let ran = z3950(["plan", "--strict", &url]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let oid = format!("1.2.840.10003.5.{oid} (");
        assert!(ran.stdout.contains(&oid), "{ran:?}");
    }
}
