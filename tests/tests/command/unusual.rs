//! Tests of unusual servers: negative hit counts, and records in a syntax other than the requested one.

use serde_json::Value;
use z3950_marc::MarcRecord;
use z3950_marc::mrk;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{z3950, z3950_fed};

/// Starts a server with three records that reports `count` as the number of hits.
fn counting(count: i64) -> TestServer {
    TestServer::builder()
        .database(
            "cat",
            [
                record("id7", "Seven wars"),
                record("id8", "Eight wars"),
                record("id9", "Nine wars"),
            ],
        )
        .fault(When::search(), Fault::ResultCount(count))
        .start()
}

#[test]
fn audit_c8_a_search_with_a_count_below_zero_shows_the_existing_records() {
    let server = counting(-1);
    let target = format!("{}/cat", server.addr());
    let ran = z3950(["search", &target, "wars"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.matches("wars").count(), 3, "{ran:?}");
    assert!(ran.stderr.contains("a negative number of hits"), "{ran:?}");
    let ran = z3950(["search", &target, "wars", "--json"]);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3, "{ran:?}");
    assert!(lines.iter().all(|line| line["hits"].is_null()), "{ran:?}");
    let ran = z3950(["search", &target, "wars", "--count", "0"]);
    assert_eq!(
        (ran.code, ran.stdout),
        (Some(0), format!("unknown {target}\n"))
    );
    let ran = z3950(["search", &target, "nonesuchword"]);
    assert!(
        ran.code == Some(3) && ran.stderr.contains("no record matches"),
        "{ran:?}"
    );
}

#[test]
fn audit_c8_the_prompt_works_with_a_count_below_zero() {
    let server = counting(-5);
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("saved.txt");
    let commands = format!(
        "find wars\nsessions\nshow\nshow all\nsave {} all\n",
        saved.display()
    );
    for target in [
        format!("{}/cat", server.addr()),
        server.session_url("/cat?id7"),
    ] {
        let ran = z3950_fed(["open", &target], &commands);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains("unknown number of hits\n")
                && ran.stderr.contains("a negative number of hits"),
            "{ran:?}"
        );
        assert_eq!(ran.stdout.matches("wars").count(), 4, "{ran:?}");
        assert!(ran.stderr.contains("3 records in"), "{ran:?}");
        std::fs::remove_file(&saved).expect("removed");
    }
}

/// Retrievals (RFC 2056 §4) and lookups require exactly one hit, so they refuse a negative hit count.
#[test]
fn audit_c8_retrievals_and_lookups_do_not_take_a_count_below_zero() {
    let server = counting(-1);
    let target = format!("{}/cat", server.addr());
    for arguments in [
        &["get", &server.url("/cat?id7")][..],
        &["lookup", &target, "docid:id7"],
        &["order", &target, "@attr 1=1032 id7"],
    ] {
        let ran = z3950(arguments);
        assert_eq!(ran.code, Some(6), "{arguments:?}: {ran:?}");
        assert!(
            ran.stderr.contains("resultCount is -1"),
            "{arguments:?}: {ran:?}"
        );
    }
}

/// Returns records in UNIMARC and in MARC 21.
fn mixed() -> [MarcRecord; 4] {
    let unimarc = |id: &str| {
        let text = format!(
            "=LDR  00000nam0 2200000   450 \n=001  {id}\n=100  \\\\$a20010101d2001    m  y0frey50      ba\n\
             =200  1\\$aGuerre et wars\n=700  \\1$aTolstoi$bLev\n"
        );
        mrk::parse_all(&text).expect("a record").remove(0)
    };
    [
        unimarc("u1"),
        unimarc("u2"),
        record("id7", "Seven wars"),
        unimarc("u3"),
    ]
}

#[test]
fn audit_d6_the_syntaxes_that_a_server_has_are_tried_in_turn() {
    let records = mixed();
    let unimarc = records.iter().take(2).cloned();
    let server = TestServer::builder()
        .database("uni", unimarc)
        .database("mixed", records.clone())
        .start();
    let target = format!("{}/uni", server.addr());
    let find = "@attr 1=1016 wars";
    let ran = z3950(["search", &target, find]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.matches("Guerre").count(), 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("(usmarc); requested them in 1.2.840.10003.5.1 (unimarc)"),
        "{ran:?}"
    );
    // The search response already shows that usmarc is not available, so the only Present asks for unimarc.
    server.wait_for_end();
    let presents = server
        .names()
        .iter()
        .filter(|name| **name == "presentRequest")
        .count();
    assert_eq!(presents, 1);
    let ran = z3950(["search", &target, find, "--syntax", "usmarc"]);
    assert!(ran.code == Some(5) && ran.stderr.contains("238"), "{ran:?}");
    let ran = z3950(["lookup", &target, "docid:u1"]);
    assert!(
        ran.code == Some(0) && ran.stdout.contains("Guerre"),
        "{ran:?}"
    );
    let target = format!("{}/mixed", server.addr());
    let ran = z3950(["search", &target, find]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.matches("wars").count(), 4, "{ran:?}");
    let ran = z3950_fed(
        ["open", &format!("{}/uni", server.addr())],
        format!("find {find}\nshow all\nmakeurl 1\n"),
    );
    assert!(
        ran.code == Some(0) && ran.stdout.contains("z39.50r://"),
        "{ran:?}"
    );
    // A retrieval requests only one syntax, but the message suggests the syntax that the server has.
    let ran = z3950(["get", &server.url("/uni?u1;rs=usmarc")]);
    assert!(
        ran.code == Some(5) && ran.stderr.contains("such as ;rs=unimarc"),
        "{ran:?}"
    );
    let ran = z3950(["get", "--fallback", &server.url("/uni?u1;rs=usmarc")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
