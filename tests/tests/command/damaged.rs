//! Tests of damaged records. Everything that can be read is delivered, and damage is always reported.

use std::fs;

use z3950_tests::program::{Daemon, Ran, z3950, z3950_fed};

fn server(fault: &str) -> Daemon {
    let fault = format!("on present: damage {fault}");
    Daemon::start([
        "--demo",
        "--fault",
        &fault,
        "--fault",
        "on search: no-piggyback",
    ])
}

/// Runs every command that writes records on one record, and returns the results with their messages.
fn every_way(server: &Daemon, option: &[&str]) -> Vec<Ran> {
    let place = format!("{}/books", server.address());
    let url = format!("z39.50r://{place}?pg1342");
    [
        vec!["get", &url],
        vec!["lookup", &place, "docid:pg1342"],
        vec!["search", &place, "prejudice", "--count", "1"],
    ]
    .iter()
    .map(|arguments| z3950(arguments.iter().chain(option)))
    .collect()
}

#[test]
fn audit_a5_a_record_cut_off_by_the_server_is_delivered_with_exit_code_8() {
    let server = server("truncated");
    let folder = tempfile::tempdir().expect("a directory");
    let output = folder.path().join("d.mrc").to_string_lossy().into_owned();
    for option in [
        &[][..],
        &["--format", "raw"],
        &["--output", &output, "--overwrite"],
    ] {
        for ran in every_way(&server, option) {
            assert_eq!(ran.code, Some(8), "{option:?}: {ran:?}");
            let mut lines = ran.stderr.lines();
            let named = |line: &str| line.contains("terminator") && line.contains("1342: ");
            let searched = |line: &str| line.contains("record 1: ");
            assert!(
                lines.any(|line| line.starts_with("warning: ") && (named(line) || searched(line))),
                "{option:?}: {ran:?}"
            );
        }
    }
    for ran in every_way(&server, &["--json"]) {
        assert_eq!(ran.code, Some(8), "{ran:?}");
        assert!(ran.stdout.contains("\"outcome\":\"delivered\""), "{ran:?}");
        assert!(!ran.stdout.contains("\"message\":null"), "{ran:?}");
    }
    let place = format!("{}/books", server.address());
    let report = folder.path().join("d.jsonl");
    let report_path = report.to_string_lossy().into_owned();
    let ran = z3950([
        "lookup",
        &place,
        "docid:pg1342",
        "docid:pg73",
        "--output",
        &output,
        "--report",
        &report_path,
        "--overwrite",
    ]);
    assert_eq!(ran.code, Some(8), "{ran:?}");
    let words = "2 inputs: 2 delivered with damage";
    assert!(ran.stderr.contains(words), "{ran:?}");
    for line in fs::read_to_string(&report).expect("read").lines() {
        assert!(
            line.contains("\"outcome\":\"delivered\",\"exit\":8"),
            "{line}"
        );
        assert!(!line.contains("\"message\":null"), "{line}");
    }
    let commands = format!("find prejudice\nsave --overwrite {output} 1\n");
    let url = format!("z39.50s://{place}");
    let ran = z3950_fed(["open", "--stop-on-error", &url], &commands);
    assert_eq!(ran.code, Some(8), "{ran:?}");
    assert!(ran.stderr.contains("warning: record 1: "), "{ran:?}");
}

#[test]
fn audit_a5_an_empty_record_gives_exit_code_8_in_every_format() {
    let server = server("empty");
    let formats = [
        "text", "marc", "marcxml", "json", "mrk", "dc", "brief", "raw",
    ];
    let formats = formats.map(|format| vec!["--format", format]);
    for option in formats.into_iter().chain([vec!["--json"]]) {
        // Unless the user asks for MARC, z3950 requests MARC first and then XML, in which the record is complete.
        for ran in every_way(&server, &option) {
            assert_eq!(ran.code, Some(0), "{option:?}: {ran:?}");
            assert!(ran.stderr.contains("xml"), "{option:?}: {ran:?}");
        }
        let url = format!("z39.50r://{}/books?pg1342;rs=usmarc", server.address());
        let ran = z3950(["get", &url].iter().chain(&option));
        assert_eq!(ran.code, Some(8), "{option:?}: {ran:?}");
        let place = format!("{}/books", server.address());
        for arguments in [
            ["lookup", &place, "docid:pg1342"],
            ["search", &place, "prejudice"],
        ] {
            let arguments = arguments.iter().chain(&["--syntax", "usmarc"]);
            let ran = z3950(arguments.chain(&option));
            assert_eq!(ran.code, Some(8), "{option:?}: {ran:?}");
        }
    }
}

#[test]
fn audit_a5_repairs_without_a_loss_are_notes() {
    let server = server("length");
    for ran in every_way(&server, &[]) {
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(": record repaired: "), "{ran:?}");
        assert!(!ran.stderr.contains("warning: "), "{ran:?}");
    }
}
