//! Tests of `z3950 lookup` for copy cataloging: it takes identifiers from records, chooses the best of several records found, and
//! searches several targets.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use z3950_marc::{Field, Form, MarcRecord, iso2709};
use z3950_server::testing::TestServer;
use z3950_tests::program::{Ran, z3950};

/// Returns a record with this control number, encoding level, cataloging source (with its language), and ISBN.
fn record(id: &str, level: u8, source: &[(&str, &str)], isbn: (&str, &str)) -> MarcRecord {
    let mut record = MarcRecord {
        fields: vec![
            Field::control(b"001", id.to_owned()),
            Field::data(b"020", "  ", [isbn]),
            Field::data(b"040", "  ", source.iter().copied()),
            Field::data(b"245", "00", [("a", "A title")]),
        ],
        ..MarcRecord::default()
    };
    record.leader.0[17] = level;
    record
}

const ISBN: &str = "0306406152";
const OTHER: &str = "0140449132";

/// Starts a server. Database `a` has three records with the first ISBN, the second of which is the best. Database `b` has a
/// better record with this ISBN, and the only record with the other ISBN.
fn server() -> TestServer {
    let valid = ("a", ISBN);
    TestServer::builder()
        .database(
            "a",
            [
                record("a1", b'7', &[("a", "DLC"), ("b", "eng")], valid),
                record("a2", b'4', &[("a", "XYZ"), ("b", "ger")], valid),
                record("a3", b'8', &[("a", "DLC"), ("b", "eng")], valid),
            ],
        )
        .database(
            "b",
            [
                record("b1", b' ', &[("a", "XYZ"), ("b", "eng")], valid),
                record("b2", b' ', &[("a", "XYZ"), ("b", "eng")], ("a", OTHER)),
            ],
        )
        .start()
}

/// Returns the input records: one for each ISBN, one with an unknown number, and one without any number.
fn old() -> Vec<MarcRecord> {
    let old = |id: &str, isbn| {
        let fields = vec![
            Field::control(b"001", id.to_owned()),
            Field::data(b"020", "  ", [("a", isbn)]),
        ];
        MarcRecord {
            fields,
            ..MarcRecord::default()
        }
    };
    let mut none = old("o4", ISBN);
    none.fields.pop();
    vec![
        old("o1", ISBN),
        old("o2", OTHER),
        old("o3", "9780131103627"),
        none,
    ]
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("text").to_owned()
}

/// Returns the given columns of a report.
fn rows<const N: usize>(report: &Path, columns: [&str; N]) -> Vec<[String; N]> {
    let report = fs::read_to_string(report).expect("a report");
    let mut lines = report.lines().map(|line| line.split('\t').collect());
    let header: Vec<&str> = lines.next().expect("a header");
    let place = |name| header.iter().position(|column| *column == name);
    lines
        .map(|cells: Vec<&str>| columns.map(|name| cells[place(name).expect(name)].to_owned()))
        .collect()
}

#[test]
fn records_in_any_form_are_inputs() {
    let server = server();
    let target = format!("{}/b", server.addr());
    let folder = tempfile::tempdir().expect("a folder");
    for form in Form::ALL.into_iter().take(5) {
        let name = form.name();
        let mut octets = form.begin().as_bytes().to_vec();
        for (number, record) in old().iter().enumerate() {
            if number > 0 {
                octets.extend_from_slice(form.between().as_bytes());
            }
            form.write(record, &mut octets).expect("fits");
        }
        octets.extend_from_slice(form.end().as_bytes());
        let input = path(folder.path(), name);
        fs::write(&input, octets).expect("written");
        let report = path(folder.path(), &format!("{name}.tsv"));
        let ran = z3950([
            "lookup", &target, "--input", &input, "--report", &report, "--format", "brief",
        ]);
        assert_eq!(ran.code, Some(3), "{name}: {ran:?}");
        let found = rows(
            &PathBuf::from(report),
            ["position", "input", "outcome", "message"],
        );
        let without = "001 o4: no identifier in 010, 020, 022 or 035; --by-title looks it up by title, author and year";
        let expected = [
            ["1", "isbn:9780306406157", "delivered", ""],
            ["2", "isbn:9780140449136", "delivered", ""],
            ["3", "isbn:9780131103627", "no match", "no record matches"],
            ["4", "001 o4", "not sent", without],
        ];
        assert_eq!(found, expected, "{name}");
    }
}

const CHOICE: &str =
    "a2 is the best of 3 records: its encoding level is core, that of a1 is minimal";
const OF_ENGLISH: &str =
    "a1 is the best of 3 records: its encoding level is minimal, that of a3 is prepublication";

#[test]
fn the_best_record_is_taken_and_the_choice_reported() {
    let server = server();
    let target = format!("{}/a", server.addr());
    for (options, id, position, choice) in [
        (&[][..], "a2", 2, CHOICE),
        (
            &["--count", "1"],
            "a1",
            1,
            "a1 is the only one of 3 records that was compared (--count 1)",
        ),
        (&["--best-language", "eng"], "a1", 1, OF_ENGLISH),
    ] {
        let line = ["lookup", &target, ISBN, "--best", "--json"];
        let ran = z3950([&line[..], options].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line: Value = serde_json::from_str(&ran.stdout).expect("one object");
        assert_eq!(line["record"]["fields"][0]["001"], id, "{line}");
        assert_eq!(
            line["choice"].as_str().unwrap_or_default(),
            choice,
            "{line}"
        );
        assert_eq!(
            (&line["position"], &line["hits"]),
            (&position.into(), &3.into())
        );
    }
    let ran = z3950(["lookup", &target, ISBN, "--best"]);
    assert!(ran.stderr.contains(CHOICE), "{ran:?}");
    assert_eq!(ran.stdout.matches("001 a").count(), 1, "{ran:?}");
    let ran = z3950(["lookup", &target, ISBN]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(ran.stdout.matches("001 a").count(), 3, "{ran:?}");
}

#[test]
fn targets_are_asked_in_order_until_one_has_the_record() {
    let server = server();
    let (a, b) = (
        format!("{}/a", server.addr()),
        format!("{}/b", server.addr()),
    );
    let closed = "127.0.0.1:1/x";
    let isbns = [ISBN, OTHER];
    for (targets, options, code, lines) in [
        (&[&a, &b][..], &["--best"][..], 0, &["a a2", "b b2"][..]),
        (&[&b, &a], &["--best"], 0, &["b b1", "b b2"]),
        (
            &[&a, &b],
            &["--best", "--all-targets"],
            0,
            &["b b1", "b b2"],
        ),
        (
            &[&a, &b],
            &["--all-targets"],
            4,
            &["a a1", "a a2", "a a3", "b b1", "a -", "b b2"],
        ),
        (&[&closed.to_owned(), &b], &[], 0, &["b b1", "b b2"]),
        (&[&b, &closed.to_owned()], &[], 0, &["b b1", "b b2"]),
        (&[&a], &["--best"], 3, &["a a2", "a -"]),
        (&[&closed.to_owned(), &a], &["--best"], 6, &["a a2", "? -"]),
    ] {
        let mut line = vec!["lookup", "--json", "--jobs", "1", "--timeout", "10"];
        for target in targets {
            line.extend(["--target", target]);
        }
        line.extend(options);
        line.extend(isbns);
        let ran = z3950(&line);
        assert_eq!(ran.code, Some(code), "{line:?}: {ran:?}");
        let found: Vec<String> = ran
            .stdout
            .lines()
            .map(|line| {
                let line: Value = serde_json::from_str(line).expect("JSON");
                let id = line["record"]["fields"][0]["001"].as_str().unwrap_or("-");
                let target = match line["target"].as_str().expect("a target") {
                    target if target == a => "a",
                    target if target == b => "b",
                    _ => "?",
                };
                format!("{target} {id}")
            })
            .collect();
        assert_eq!(found, lines, "{line:?}: {ran:?}");
        let is_closed = targets.first().is_some_and(|target| *target == closed);
        assert_eq!(
            ran.stderr.contains("warning: 127.0.0.1:1/x"),
            is_closed,
            "{ran:?}"
        );
    }
}

#[test]
fn the_report_says_where_a_record_was_found_and_is_continued() {
    let server = server();
    let (a, b) = (
        format!("{}/a", server.addr()),
        format!("{}/b", server.addr()),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let input = path(folder.path(), "old.mrc");
    let octets: Vec<u8> = old()
        .iter()
        .flat_map(|record| iso2709::encode(record).expect("fits"))
        .collect();
    let (report, output) = (path(folder.path(), "r.tsv"), path(folder.path(), "o.mrc"));
    let run = |octets: &[u8]| -> Ran {
        fs::write(&input, octets).expect("written");
        z3950([
            "lookup", "--target", &a, "--target", &b, "--best", "--input", &input, "--report",
            &report, "--output", &output, "--resume",
        ])
    };
    let first = iso2709::encode(&old()[0]).expect("fits").len();
    let ran = run(&octets[..first]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = run(&octets);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("1 input was answered before"),
        "{ran:?}"
    );
    let columns = ["target", "outcome", "choice", "input_record", "record"];
    let found = rows(&PathBuf::from(&report), columns);
    let both = format!("{a} or {b}");
    let expected = [
        [a.as_str(), "delivered", CHOICE, "o1", "a2"],
        [&b, "delivered", "b2 is the only record", "o2", "b2"],
        [&both, "no match", "", "o3", ""],
        [&both, "not sent", "", "o4", ""],
    ];
    assert_eq!(found, expected);
    let written = fs::read(&output).expect("an output");
    assert_eq!(written.iter().filter(|octet| **octet == 0x1D).count(), 2);
}

#[test]
fn a_target_that_fails_is_named_although_another_answers() {
    let server = server();
    let b = format!("{}/b", server.addr());
    let folder = tempfile::tempdir().expect("a folder");
    let input = path(folder.path(), "isbns.txt");
    fs::write(&input, format!("{ISBN}\n9780131103627\n")).expect("written");
    let report = path(folder.path(), "r.tsv");
    let line = ["lookup", "--target", "127.0.0.1:1/x", "--target", &b];
    let files = ["--input", &input, "--report", &report, "--format", "brief"];
    for options in [&[][..], &["--all-targets", "--best"]] {
        let ran = z3950([&line[..], &files, &["--overwrite"], options].concat());
        assert_eq!(ran.code, Some(6), "{ran:?}");
        let failed = "warning: 127.0.0.1:1/x failed for 2 inputs: ";
        assert!(ran.stderr.contains(failed), "{ran:?}");
        let found = rows(&PathBuf::from(&report), ["outcome", "record", "message"]);
        let [first, second] = found.as_slice() else {
            panic!("two lines: {found:?}");
        };
        assert_eq!((&*first[0], &*first[1]), ("delivered", "b1"));
        assert!(first[2].starts_with("127.0.0.1:1/x: "), "{first:?}");
        assert_eq!(&*second[0], "unavailable");
        assert!(second[2].starts_with("127.0.0.1:1/x: "), "{second:?}");
        let other = format!("; {b}: no record matches");
        assert!(second[2].ends_with(&other), "{second:?}");
    }
}

#[test]
fn doubtful_numbers_are_looked_up_with_a_warning() {
    let server = server();
    let target = format!("{}/b", server.addr());
    let folder = tempfile::tempdir().expect("a folder");
    let input = path(folder.path(), "old.mrk");
    let of = |id: &str, field: &str| {
        format!("=LDR  00000nam a2200000   4500\n=001  {id}\n=020  \\\\{field}\n\n")
    };
    let records = of("o1", &format!("$z{ISBN}"))
        + &of("o2", &format!("$aISBN: {OTHER} : $25.00"))
        + &of("o3", "$a0306406153");
    fs::write(&input, records).expect("written");
    let report = path(folder.path(), "r.csv");
    let ran = z3950([
        "lookup",
        &target,
        "--input",
        &input,
        "--report",
        &report,
        "--format",
        "csv",
        "--fields",
        "input_record,input,001",
    ]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let table =
        "input_record,input,001\r\no1,isbn:9780306406157,b1\r\no2,isbn:9780140449136,b2\r\n";
    assert_eq!(ran.stdout, table);
    let report = fs::read_to_string(&report).expect("a report");
    for words in [
        "the record has isbn:9780306406157 only as a cancelled or invalid number",
        "no record matches; the ISBN 0306406153 has a wrong check digit (2 expected)",
    ] {
        assert!(report.contains(words), "{report}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for (line, words) in [
        (
            &["lookup"][..],
            "the target is missing: z3950 lookup TARGET ID",
        ),
        (&["lookup", "lib.example"], "what to look up is missing"),
        (
            &["lookup", "--target", "lib.example"],
            "what to look up is missing",
        ),
        (&["lookup", "lib.example", "1", "--all-targets"], "--target"),
        (
            &["lookup", "lib.example", "1", "--best", "--count", "0"],
            "--best chooses among the records of --count, which is 0",
        ),
        (
            &["lookup", "lib.example", "1", "--best-source", "DLC"],
            "--best",
        ),
        (
            &[
                "lookup",
                "lib.example",
                "1",
                "--best",
                "--best-language",
                "french",
            ],
            "the MARC code of this language is fre",
        ),
        (
            &[
                "lookup",
                "lib.example",
                "1",
                "--best",
                "--best-language",
                "xxx",
            ],
            "it is not a MARC language code",
        ),
        (
            &["lookup", "lib.example", "1", "--kind", "ismn"],
            "must be isbn, issn, lccn, oclc, local, docid",
        ),
    ] {
        let ran = z3950(line);
        assert_eq!(ran.code, Some(2), "{line:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{line:?}: {ran:?}");
    }
}

/// If a target sends a diagnostic instead of its record, the search continues at the next target.
#[test]
fn a_record_that_a_target_cannot_send_is_looked_for_at_the_next() {
    let valid = ("a", ISBN);
    let one = |id: &str| record(id, b' ', &[("a", "DLC")], valid);
    let failing = TestServer::builder()
        .database("a", [one("a1")])
        .rule("on search: surrogate 14")
        .rule("on present: surrogate 14")
        .start();
    let able = TestServer::builder().database("b", [one("b1")]).start();
    let (a, b) = (
        format!("{}/a", failing.addr()),
        format!("{}/b", able.addr()),
    );
    for (targets, options, code, id) in [
        (&[&a, &b][..], &[][..], 0, Some("b1")),
        (&[&a, &b], &["--best"], 0, Some("b1")),
        (&[&b, &a], &["--best", "--all-targets"], 0, Some("b1")),
        (&[&a], &[], 5, None),
        (&[&a, &a], &[], 5, None),
    ] {
        let mut line = vec!["lookup", "--json", ISBN];
        for target in targets {
            line.extend(["--target", target]);
        }
        line.extend(options);
        let ran = z3950(&line);
        assert_eq!(ran.code, Some(code), "{line:?}: {ran:?}");
        let is_it = |id: &str| ran.stdout.contains(&format!("{{\"001\":\"{id}\"}}"));
        assert_eq!(is_it("b1"), id.is_some(), "{line:?}: {ran:?}");
        let is_warned = ran.stderr.contains(&format!("warning: {a}: "));
        assert_eq!(is_warned, id.is_some(), "{line:?}: {ran:?}");
    }
}
