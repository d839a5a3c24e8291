//! Tests of `z3950 lookup`: identifiers in every spelling, and the parts of a record in which they are found.

use serde_json::Value;
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_marc::Field;
use z3950_marc::iso2709;
use z3950_marc::mrk;
use z3950_server::diagnostic;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::peer;
use z3950_tests::program::{Ran, z3950};

/// Two records. The ISBN of the first one is a cancelled number in the second one.
const RECORDS: &str = "=LDR  00000nam a2200000 a 4500\n=001  b1\n=020  \\\\$a0306406152 (pbk.)\n=245  00$aOne\n\n\
                       =LDR  00000nam a2200000 a 4500\n=001  b2\n=020  \\\\$a0140449132$z9791090636071\n=245  00$aTwo\n";

#[test]
fn the_matching_field_is_reported() {
    let records = mrk::parse_all(RECORDS).expect("two records");
    let records: Vec<_> = records
        .iter()
        .map(|record| iso2709::encode(record).expect("fits").into())
        .collect();
    let Some(server) = peer::zebrasrv(&records) else {
        return;
    };
    let target = format!("127.0.0.1:{}/Default", server.port);
    for (identifier, code, step, id) in [
        ("isbn:9780306406157", 0, "1=7", "b1"),
        ("0-306-40615-2", 0, "1=7", "b1"),
        ("local:b2", 0, "1=12", "b2"),
        ("docid:b2", 0, "1=1032,4=104", "b2"),
        ("isbn:9780131103627", 3, "", ""),
    ] {
        let ran = z3950(["lookup", &target, identifier, "--json"]);
        assert_eq!(ran.code, Some(code), "{identifier}: {ran:?}");
        let line: Value = serde_json::from_str(&ran.stdout).expect("one object");
        if code == 0 {
            assert_eq!(line["step"], step, "{line}");
            assert_eq!(line["record"]["fields"][0]["001"], id, "{line}");
            assert_eq!(line["matched"]["cancelled"], false, "{line}");
        } else {
            assert_eq!(line["outcome"], "no match", "{line}");
        }
    }
    let ran = z3950(["lookup", &target, "isbn:0306406152", "isbn:0140449132"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("1 record matches ISBN") && ran.stderr.contains("in 020$a"),
        "{ran:?}"
    );
    let ran = z3950(["lookup", &target, "isbn:0306406153"]);
    assert!(ran.stderr.contains("check digit"), "{ran:?}");
}

#[test]
fn a_prefix_without_a_number_is_wrong_usage() {
    let ran = z3950(["--demo", "lookup", "localhost/books", "isbn:"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = z3950(["--demo", "lookup", "localhost/books", "docid:pg1342"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("001 pg1342"), "{ran:?}");
}

#[test]
fn audit_a1_a_broken_off_answer_is_continued() {
    let broken = When::present().session(1).nth(2);
    let (ran, _folder, written) = six_records(&[(broken, Fault::ResetAfter(0))]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(written, [("l.mrc".to_owned(), 6)], "{ran:?}");
    let named = "warning: ";
    let several = "isbn:0306406152: 6 records match ISBN";
    assert!(
        ran.stderr.contains(named) && ran.stderr.contains(several),
        "{ran:?}"
    );
    let sum = "1 input: 1 ambiguous; 6 records written";
    assert!(ran.stderr.contains(sum), "{ran:?}");
}

#[test]
fn records_before_a_second_break_are_kept() {
    let broken = [
        (When::present().session(1).nth(3), Fault::ResetAfter(0)),
        (When::present().session(2), Fault::ResetAfter(0)),
    ];
    let (ran, _folder, written) = six_records(&broken);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert_eq!(written, [("l.mrc.part".to_owned(), 2)], "{ran:?}");
    assert!(ran.stderr.contains("during Present"), "{ran:?}");
    assert!(ran.stderr.contains("l.mrc.part"), "{ran:?}");
}

/// Looks up an ISBN that six records have, on a server with these faults that sends one record at a time. Returns the output
/// files, each with its number of records.
fn six_records(faults: &[(When, Fault)]) -> (Ran, tempfile::TempDir, Vec<(String, usize)>) {
    let six = (0..6).map(|number| {
        let mut record = record(&format!("id{number}"), "Seven");
        record
            .fields
            .insert(1, Field::data(b"020", "  ", [("a", "0306406152")]));
        record
    });
    let mut server = TestServer::builder()
        .database("cat", six)
        .fault(When::search(), Fault::NeverPiggyback);
    for (when, fault) in faults {
        server = server.fault(when.clone(), fault.clone());
    }
    let server = server
        .fault(When::present(), Fault::FewerRecords(1))
        .start();
    let target = format!("{}/cat", server.addr());
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("l.mrc");
    let output = output.to_str().expect("text");
    let identifier = "isbn:0306406152";
    let options = ["--count", "6", "--output", output];
    let ran = z3950([&["lookup", &target, identifier][..], &options].concat());
    let files = std::fs::read_dir(&folder).expect("a folder");
    let files = files.map(|entry| {
        let path = entry.expect("an entry").path();
        let octets = std::fs::read(&path).expect("a file");
        let records = octets.iter().filter(|octet| **octet == 0x1d).count();
        let name = path.file_name().expect("a name").to_string_lossy();
        (name.into_owned(), records)
    });
    let files = files.filter(|(name, _)| !name.starts_with('.')).collect();
    (ran, folder, files)
}

#[test]
fn an_empty_input_is_named() {
    let ran = z3950([
        "--demo",
        "lookup",
        "localhost/books",
        "--input",
        "/dev/null",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "note: there are no inputs\n");
}

#[test]
fn a_target_among_identifiers_is_hinted_at() {
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    let ran = z3950(["lookup", &target, &target, "pg1342"]);
    let words = format!(
        "note: {target} is looked up as an identifier; --target names each of several targets\n"
    );
    assert!(ran.stderr.contains(&words), "{ran:?}");
    for identifiers in [&["pg1342"][..], &["isbn:9780141439518", "10.1000/182"]] {
        let ran = z3950([&["lookup", &*target], identifiers].concat());
        assert!(!ran.stderr.contains("--target"), "{ran:?}");
    }
}

#[test]
fn a_record_that_comes_only_in_brief_form_is_named() {
    let too_large = || Fault::Surrogate(diagnostic(Condition::RECORD_EXCEEDS_EXCEPTIONAL_SIZE, ""));
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("r.tsv");
    let report = report.to_str().expect("text");
    for (command, query) in [("search", "ti:seven"), ("lookup", "local:id1"), ("get", "")] {
        // A record that is too large is requested in the usual form, then in the full form (F), and then in the brief form (B).
        for (refused, form, code) in [(2, "full form (F)", 0), (3, "brief form (B)", 8)] {
            let run = |options: &[&str]| {
                let mut server = TestServer::builder()
                    .database("cat", [record("id1", "Seven")])
                    .fault(When::search(), Fault::NeverPiggyback);
                for nth in 1..refused {
                    server = server.fault(When::present().nth(nth), too_large());
                }
                let server = server.start();
                let target = format!("{}/cat", server.addr());
                let url = server.url("cat?id1");
                let asked = match query {
                    "" => &[command, &url][..],
                    query => &[command, &target, query],
                };
                (z3950([asked, options].concat()), target)
            };
            let (ran, target) = run(&[]);
            assert_eq!(ran.code, Some(code), "{refused}: {ran:?}");
            let words = format!("came only in {form}\n");
            assert!(ran.stderr.contains(&words), "{ran:?}");
            assert!(
                ran.stderr.contains(&target) && !ran.stderr.contains("WARN"),
                "{ran:?}"
            );
            let (ran, _) = run(&["--json"]);
            let line: Value = serde_json::from_str(&ran.stdout).expect("an object");
            let set = form.get(form.len() - 2..form.len() - 1).expect("a letter");
            assert_eq!(line["element_set"], set, "{line}");
            let message = line["message"].as_str().expect("a message");
            assert!(message.ends_with(words.trim_end()), "{line}");
            let (ran, _) = run(&["--report", report, "--overwrite"]);
            assert_eq!(ran.code, Some(code), "{ran:?}");
            let written = std::fs::read_to_string(report).expect("a report");
            assert!(written.contains(words.trim_end()), "{written}");
        }
    }
}
