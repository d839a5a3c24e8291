//! Tests of our client with yaz-ztest and zebrasrv.

use bytes::Bytes;
use z3950_marc::MarcRecord;
use z3950_marc::iso2709;
use z3950_marc::mrk;
use z3950_tests::peer;
use z3950_tests::program::{Ran, z3950, z3950_fed};

/// Returns the books in the demo catalogue in ISO 2709.
fn books() -> Vec<Bytes> {
    let text = include_str!("../../../server/src/memory/demo/books.mrk");
    let records: Vec<MarcRecord> = mrk::parse_all(text).expect("the demo catalogue");
    records
        .iter()
        .map(|record| iso2709::encode(record).expect("fits").into())
        .collect()
}

fn get(port: u16, rest: &str, flags: &[&str]) -> Ran {
    let url = format!("z39.50r://127.0.0.1:{port}/{rest}");
    z3950(["get", &url].iter().chain(flags))
}

#[test]
fn yaz_ztest_gives_a_record() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    // yaz-ztest interprets a numeric term as the number of hits to return.
    for strategy in ["piggyback", "present-only"] {
        let ran = get(
            server.port,
            "Default?1;rs=usmarc",
            &["--strategy", strategy],
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.lines().any(|line| line.starts_with("245 ")),
            "{}",
            ran.stdout
        );
    }
    let ran = get(server.port, "Default?1;rs=sutrs", &[]);
    assert!(
        ran.stdout.starts_with("This is dummy SUTRS record"),
        "{ran:?}"
    );
    let ran = get(server.port, "Default?1;rs=xml", &["--format", "raw"]);
    assert!(ran.stdout.contains("<record xmlns="), "{ran:?}");
}

#[test]
fn yaz_ztest_gives_the_other_outcomes() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    assert_eq!(get(server.port, "Default?0", &[]).code, Some(3));
    assert_eq!(get(server.port, "Default?2", &[]).code, Some(4));
    let ran = get(server.port, "nosuch?1", &[]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.stderr.contains("109") && ran.stderr.contains("nosuch"),
        "{}",
        ran.stderr
    );
    let ran = get(server.port, "Slow3?1", &["--timeout", "0.2"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
}

#[test]
fn a_session_with_yaz_ztest_works() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let url = format!("z39.50s://127.0.0.1:{}/Default", server.port);
    let ran = z3950_fed(
        ["open", &url],
        "find @attr 1=4 5\nshow 1\nshow\nformat sutrs\nshow 5\nshow 6\nclose\nquit\n",
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.starts_with("5 hits\n"), "{}", ran.stdout);
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.starts_with("001 "))
            .count(),
        2,
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("SUTRS record number 5"),
        "{}",
        ran.stdout
    );
    let wrong = "there is no record 6: the result set has 5 records";
    assert!(ran.stderr.contains(wrong), "{}", ran.stderr);
}

#[test]
fn zebra_gives_records_by_docid() {
    let Some(server) = peer::zebrasrv(&books()) else {
        return;
    };
    for (docid, title) in [
        ("pg1342", "Pride and prejudice"),
        ("demo-pushkin-onegin", "Евгений Онегин"),
    ] {
        let ran = get(server.port, &format!("Default?{docid};rs=usmarc"), &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.contains(&format!("001 {docid}")) && ran.stdout.contains(title),
            "{}",
            ran.stdout
        );
    }
    assert_eq!(get(server.port, "Default?nosuch", &[]).code, Some(3));
    assert_eq!(get(server.port, "Default?twice", &[]).code, Some(4));
    assert_eq!(get(server.port, "nosuch?pg1342", &[]).code, Some(5));
    let ran = get(server.port, "Default?pg1342;rs=opac", &[]);
    assert_eq!(ran.code, Some(5), "a syntax it does not have: {ran:?}");
    let ran = get(
        server.port,
        "Default?pg1342;rs=opac+usmarc",
        &["--fallback", "syntax"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// yaz-ztest's records do not contain the number with which they are found.
#[test]
fn lookups_in_turn_are_requested_once_from_yaz_ztest() {
    let Some(server) = peer::yaz_ztest() else {
        return;
    };
    let place = format!("127.0.0.1:{}/Default", server.port);
    let ran = z3950([
        "lookup", &place, "docid:1", "docid:1", "--syntax", "usmarc", "-vv",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let searches = ran.stderr.matches("sent apdu=\"searchRequest\"").count();
    assert_eq!(searches, 2, "{}", ran.stderr);
}
