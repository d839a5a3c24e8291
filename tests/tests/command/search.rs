//! Tests of `z3950 search` and `z3950 scan`: their targets, the records that they print, and searches of several servers at once.

mod queries;
mod requests;

use serde_json::Value;
use z3950_asn1::apdu::Apdu;
use z3950_server::testing::{TestServer, record};
use z3950_tests::peer;
use z3950_tests::program::{self, Daemon, Ran, z3950};
use z3950_tests::surroundings::command;

fn demo(arguments: &[&str]) -> Ran {
    z3950(["--demo"].iter().chain(arguments))
}

fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn records_come_in_every_format() {
    let ran = demo(&["search", "localhost/books", "ti:pride"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("001 pg1342"), "{ran:?}");
    assert_eq!(
        ran.stderr,
        "note: localhost/books (--demo): 1 record matches\n"
    );
    let query = "@attr 1=4 \"pride and prejudice\"";
    let ran = demo(&["search", "localhost/books", query, "--format", "marcxml"]);
    assert!(
        ran.stdout.contains("<collection") && ran.stdout.trim_end().ends_with("</collection>"),
        "{ran:?}"
    );
    let ran = demo(&["search", "localhost/books", "war", "--count", "0"]);
    let hits = ran.stdout.split(' ').next().map(str::parse::<u64>);
    assert!(matches!(hits, Some(Ok(2..))), "{ran:?}");
}

#[test]
fn r_f1_a_file_gets_all_records_and_a_pipe_a_note_of_their_number() {
    let search = ["--demo", "search", "localhost/books", "war"];
    let count = z3950(search.iter().chain(&["--count", "0"])).stdout;
    let count: usize = count
        .split(' ')
        .next()
        .expect("a word")
        .parse()
        .expect("hits");
    assert!(count > 10, "{count}");
    let rows = |text: &str| text.lines().count() - 1;
    for (options, to_file, to_pipe) in [
        (&[][..], count, 10),
        (&["--count", "all"], count, count),
        (&["--count", "ALL"], count, count),
        (&["--count", "3"], 3, 3),
        (&["--start", "5"], count - 4, 10),
    ] {
        let arguments = search.iter().chain(&["--format", "csv"]).chain(options);
        let file = tempfile::NamedTempFile::new().expect("a file");
        let output = command(program::path("z3950"))
            .args(arguments.clone())
            .stdout(file.reopen().expect("the file"))
            .output()
            .expect("z3950 starts");
        let written = std::fs::read_to_string(file.path()).expect("the file");
        assert_eq!(rows(&written), to_file, "{options:?}: {written}");
        let told = String::from_utf8(output.stderr).expect("text");
        assert!(told.contains(&format!("{count} records match")), "{told}");
        assert_eq!(told.contains("showing"), to_file < count, "{told}");
        let ran = z3950(arguments);
        assert_eq!(rows(&ran.stdout), to_pipe, "{options:?}: {ran:?}");
    }
    for (options, words) in [
        (
            &[][..],
            format!("{count} records match; showing 10 of {count} (--count all shows all)\n"),
        ),
        (
            &["--count", "1"],
            format!("{count} records match; showing 1 of {count}\n"),
        ),
        (
            &["--start", "2", "--count", "5"],
            format!("; showing 5 of {count}, from 2 on\n"),
        ),
        (&["--count", "all"], format!("{count} records match\n")),
    ] {
        let ran = z3950(search.iter().chain(options));
        assert!(ran.stderr.ends_with(&words), "{options:?}: {}", ran.stderr);
    }
    let ran = z3950(search.iter().chain(&["--count", "many"]));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("neither a number of records nor all"),
        "{ran:?}"
    );
}

#[test]
fn outcomes_are_exit_codes_and_plain_words() {
    for (arguments, code, words) in [
        (
            &["localhost/books", "nonesuchword"][..],
            3,
            "no record matches",
        ),
        (&["localhost/nosuch", "war"], 5, "diagnostic 235"),
        (&["localhost/books", "@attr 1=4"], 2, "missing"),
        (
            &["localhost/books", "ti:pride", "--start", "9"],
            2,
            "fewer than --start",
        ),
        (
            &["localhost/books", "war", "--sort", "titel"],
            2,
            "did you mean title?",
        ),
        (
            &["localhost/books", "war", "--json", "--format", "json"],
            2,
            "--json",
        ),
        (
            &["ftp://localhost/", "war"],
            2,
            "ftp: is not a scheme of targets",
        ),
        (
            &["localhost/books", "war", "--key", "x.pem"],
            2,
            "--key needs --cert",
        ),
        (
            &["localhost/books", "war", "--user", "u", "--anonymous"],
            2,
            "--anonymous",
        ),
    ] {
        let ran = demo(&[&["search"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains(words),
            "{arguments:?}: {ran:?}"
        );
    }
}

#[test]
fn connection_options_are_checked_before_anything_is_sent() {
    for (arguments, words) in [
        (["--ca-file", "/nonexistent.pem"], "/nonexistent.pem"),
        (["--proxy", "ftp://p.example"], "only http and socks5"),
        (["--targets", "/nonexistent.toml"], "/nonexistent.toml"),
        (
            ["--password-env", "Z3950_NO_SUCH_VARIABLE"],
            "Z3950_NO_SUCH_VARIABLE",
        ),
    ] {
        let ran = z3950(["search", "127.0.0.1:9/x", "war"].iter().chain(&arguments));
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn several_targets_do_not_disturb_each_other() {
    let daemon = Daemon::start(["--demo"]);
    let there = format!("{}/books", daemon.address());
    let wrong = format!("{}/nosuch", daemon.address());
    let nobody = "127.0.0.1:1/books";
    let ran = z3950([
        "search",
        nobody,
        &there,
        &wrong,
        &there,
        "@attr 1=1032 pg1342",
        "--json",
    ]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let outcomes: Vec<String> = lines(&ran)
        .iter()
        .map(|line| {
            assert_eq!(line["v"], 2, "{line}");
            format!("{} {}", line["outcome"], line["diagnostic"]["code"])
        })
        .collect();
    let expected = [
        "\"unavailable\" null",
        "\"delivered\" null",
        "\"search refused\" 235",
        "\"delivered\" null",
    ];
    assert_eq!(outcomes, expected);
}

/// Every key must be present, whatever the outcome.
#[test]
fn envelopes_have_the_same_keys() {
    const KEYS: [&str; 21] = [
        "v",
        "target",
        "outcome",
        "message",
        "host",
        "port",
        "databases",
        "query",
        "hits",
        "position",
        "is_estimate",
        "facets",
        "parts",
        "sources",
        "database",
        "syntax",
        "requested_syntax",
        "element_set",
        "step",
        "diagnostic",
        "record",
    ];
    for (target, query, outcome) in [
        ("localhost/books", "ti:pride", "delivered"),
        ("localhost/books", "nonesuchword", "no match"),
        ("localhost/nosuch", "war", "search refused"),
    ] {
        let ran = demo(&["search", target, query, "--json"]);
        for line in lines(&ran) {
            let object = line.as_object().expect("an object");
            assert_eq!(object.len(), KEYS.len(), "{line}");
            assert!(KEYS.iter().all(|key| object.contains_key(*key)), "{line}");
            assert_eq!(line["outcome"], outcome);
            assert_eq!(line["record"].is_null(), outcome != "delivered", "{line}");
        }
    }
    for (rest, outcome, hits) in [
        ("books?pg1342", "delivered", 1),
        ("books?nosuch", "no match", 0),
        ("books?twice", "ambiguous", 2),
    ] {
        let url = format!("z39.50r://localhost/{rest}");
        let ran = demo(&["get", &url, "--json"]);
        let line = &lines(&ran)[0];
        let object = line.as_object().expect("an object");
        // `get` has url and docid instead of the six keys that only `search` has.
        assert_eq!(object.len(), KEYS.len() - 4, "{line}");
        assert_eq!(
            (&line["outcome"], &line["hits"], &line["url"]),
            (&outcome.into(), &hits.into(), &url.into())
        );
        let found = (hits > 0).then_some("1=1032,4=104");
        assert_eq!(line["step"].as_str(), found);
    }
    let ran = demo(&["search", "localhost/books", "ti:pride", "--json"]);
    let line = &lines(&ran)[0];
    assert_eq!(
        (
            &line["host"],
            &line["port"],
            &line["hits"],
            &line["position"]
        ),
        (&"localhost".into(), &210.into(), &1.into(), &1.into())
    );
    assert_eq!(line["record"]["fields"][0]["001"], "pg1342");
    assert_eq!(line["requested_syntax"]["oid"], "1.2.840.10003.5.10");
}

#[test]
fn yaz_ztest_sorts_and_scans() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let target = format!("127.0.0.1:{}/Default", server.port);
    let ran = z3950([
        "search",
        &target,
        "computer",
        "--count",
        "2",
        "--sort",
        "title:desc",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.matches("\n001 ").count(), 2, "{ran:?}");
    let ran = z3950([
        "scan",
        &target,
        "@attr 1=4 war",
        "--size",
        "5",
        "--position",
        "2",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    assert_eq!(ran.stdout.matches('*').count(), 1, "{ran:?}");
    let ran = z3950(["scan", &target, "war", "--size", "3", "--json"]);
    let found = lines(&ran);
    assert_eq!(found.len(), 2, "{ran:?}");
    assert!(
        found[0]["term"].is_string() && found[0]["position"] == 1,
        "{ran:?}"
    );
}

#[test]
fn a_scan_begins_at_one_term() {
    let ran = demo(&["scan", "localhost/books", "@and a b"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("one term"), "{ran:?}");
}

#[test]
fn a_refused_scan_has_its_own_outcome() {
    let ran = demo(&["scan", "localhost/nosuch", "war", "--json"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let found = lines(&ran);
    assert_eq!(found[0]["outcome"], "scan refused", "{ran:?}");
    assert_eq!(found[0]["diagnostic"]["code"], 235, "{ran:?}");
}

/// Every command sends the credentials of a URL if this is allowed, and otherwise prints that they were not sent.
#[test]
fn credentials_of_urls_are_sent_or_named() {
    let server = TestServer::builder()
        .database("cat", [record("id7", "Seven")])
        .start();
    let url = |scheme: &str, docid: &str| format!("{scheme}://ann:pw@{}/cat{docid}", server.addr());
    let (target, record) = (url("z39.50s", ""), url("z39.50r", "?id7"));
    for (arguments, exit) in [
        (&["search", &target, "ti:seven"][..], 0),
        (&["lookup", &target, "docid:id7"], 0),
        (&["scan", &target, "ti:s"], 0),
        (&["get", &record], 0),
    ] {
        for is_allowed in [false, true] {
            let option = is_allowed.then_some("--allow-url-credentials");
            let before = server.transcript().len();
            let ran = z3950(arguments.iter().copied().chain(option));
            assert_eq!(ran.code, Some(exit), "{ran:?}");
            let is_named = ran.stderr.contains("--allow-url-credentials sends them");
            assert_eq!(is_named, !is_allowed, "{ran:?}");
            assert!(!ran.stderr.contains("pw@"), "{ran:?}");
            let sent = server.transcript().into_iter().skip(before);
            let who = sent
                .filter_map(|entry| entry.apdu)
                .find_map(|apdu| match apdu {
                    Apdu::InitializeRequest(init) => Some(init.id_authentication.is_some()),
                    _ => None,
                });
            assert_eq!(who, Some(is_allowed), "{arguments:?}");
        }
    }
}

/// If a batch cannot write any of its records, it must report the reason only once.
#[test]
fn the_same_reason_is_printed_once_and_counted() {
    for (target, words) in [
        (
            &["localhost/books", "--syntax", "sutrs"][..],
            "record syntax SUTRS is not MARC",
        ),
        (
            &["http://localhost/books", "--element-set", "dc"],
            "record syntax XML is not MARC",
        ),
    ] {
        let further = ["--format", "marc", "--count", "5", "ti:the"];
        let ran = demo(&[&["search"], target, &further].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stdout.is_empty());
        let errors = ran.stderr.lines().filter(|line| line.starts_with("error"));
        let errors: Vec<&str> = errors.collect();
        let [first, others] = errors.as_slice() else {
            panic!("{ran:?}");
        };
        assert!(first.contains(": record 1: ") && first.contains(words));
        assert!(others.contains(": 4 more records: ") && others.contains(words));
        let json = demo(&[&["search"], target, &further, &["--json"]].concat());
        assert!(json.code == Some(2) || lines(&json).len() == 5, "{json:?}");
    }
}

#[test]
fn audit_r_a11_rows_of_mods_and_dublin_core() {
    let rows = |further: &[&str]| {
        let search = [
            "search",
            "http://localhost/books",
            "--format",
            "csv",
            "--count",
            "3",
        ];
        let columns = ["--fields", "title,author,year,publisher", "ti:pride"];
        let ran = demo(&[&search[..], &columns, further].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    let expected = rows(&[]);
    assert!(expected.contains("Pride and"), "{expected}");
    for schema in ["dc", "oai_dc", "mods"] {
        assert_eq!(rows(&["--element-set", schema]), expected, "{schema}");
    }
}

#[test]
fn log_lines_of_apdus_have_the_time_since_the_start() {
    for level in ["-vv", "-vvv"] {
        let ran = demo(&["search", "localhost/books", "ti:pride", level]);
        let lines = ran
            .stderr
            .lines()
            .filter(|line| line.contains("connection{"));
        let lines: Vec<&str> = lines.collect();
        assert!(!lines.is_empty(), "{ran:?}");
        for line in lines {
            let first = line.split_whitespace().next().unwrap_or_default();
            assert!(first.parse::<f64>().is_ok(), "{line}");
        }
    }
}

#[test]
fn text_names_the_target_if_several_were_asked() {
    let targets = ["localhost/books", "localhost/serials"];
    let ran = demo(&["search", targets[0], targets[1], "war", "--count", "1"]);
    for target in targets {
        assert!(
            ran.stdout.contains(&format!("({target} (--demo): 1 of ")),
            "{target}: {ran:?}"
        );
    }
    let ran = demo(&["search", targets[0], "war", "--count", "1"]);
    assert!(!ran.stdout.contains("1 of "), "{ran:?}");
    let ran = demo(&["search", targets[0], targets[1], "war", "--format", "mrk"]);
    assert!(!ran.stdout.contains("(localhost/"), "{ran:?}");
}
