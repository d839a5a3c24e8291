//! Tests of inputs that occur more than once in a batch. They are requested only once, but each of them has a line in the report.

use std::fs;

use serde_json::Value;
use z3950_server::fault::{Fault, When};
use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{Ran, z3950, z3950_fed};

use super::{folder, rows, text};

const INPUTS: &str = "docid:pg84\n0141439513\ndocid:nosuch\nisbn:978-0-14-143951-8\n=\"0141439513\"\nisbn:\n\
                      docid:nosuch\nisbn:\n0141439513 (pbk.)\n";

/// Returns the number of searches that a server received.
fn searches(server: &TestServer) -> usize {
    let names = server.names();
    names
        .iter()
        .filter(|name| **name == "searchRequest")
        .count()
}

const COLUMNS: [&str; 7] = [
    "position", "outcome", "exit", "hits", "step", "record", "message",
];

/// The lines of the report about [`INPUTS`].
const EXPECTED: [&str; 9] = [
    "1|delivered|0|1|docid with structure URx|pg84|",
    "2|delivered|0|1|ISBN|pg1342|",
    "3|no match|3|0|||no record matches",
    "4|delivered|0|1|ISBN|pg1342|same as input 2",
    "5|delivered|0|1|ISBN|pg1342|same as input 2",
    "6|not sent|2||||nothing follows isbn:",
    "7|no match|3|0|||same as input 3",
    "8|not sent|2||||nothing follows isbn:",
    "9|delivered|0|1|ISBN|pg1342|same as input 2",
];

fn lines(report: &str) -> Vec<String> {
    let rows = rows(report, COLUMNS).into_iter();
    rows.map(|row| row.join("|")).collect()
}

#[test]
fn r_b8_a_repeated_number_is_asked_once() {
    for jobs in ["1", "8"] {
        let server = TestServer::demo();
        let target = format!("{}/books", server.addr());
        let folder = folder();
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let (output, report) = (path("out.mrc"), path("report.tsv"));
        let ran = z3950_fed(
            [
                "lookup", &target, "--input", "-", "--jobs", jobs, "--output", &output, "--report",
                &report,
            ],
            INPUTS,
        );
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert_eq!(
            ran.stderr,
            "note: 9 inputs: 5 delivered, 2 not sent, 2 no match; 4 repeat earlier ones; 2 records written\n"
        );
        assert_eq!(lines(&text(&folder, "report.tsv")), EXPECTED);
        let written = fs::read(&output).expect("an output");
        assert_eq!(written.iter().filter(|octet| **octet == 0x1D).count(), 2);
        // The server receives one search for each of the two numbers that are found, and four searches for the docid that is not
        // found.
        assert_eq!(searches(&server), 6);
    }
}

#[test]
fn r_b8_each_target_is_asked_once() {
    let server = TestServer::demo();
    let targets = ["books", "serials"].map(|name| format!("{}/{name}", server.addr()));
    let [books, serials] = &targets;
    let folder = folder();
    let report = folder.path().join("report.tsv");
    let report = report.to_str().expect("text");
    for (options, inputs, searched) in [
        (&["--all-targets"][..], "docid:pg84\ndocid:pg84\n", 5),
        (&[], "docid:pg84\ndocid:pg84\n", 5),
    ] {
        let before = searches(&server);
        let line = [
            "lookup",
            "--target",
            serials,
            "--target",
            books,
            "--input",
            "-",
            "--report",
            report,
            "--overwrite",
            "--format",
            "brief",
        ];
        let ran = z3950_fed([&line[..], options].concat(), inputs);
        assert_eq!(ran.stdout.matches("Frankenstein").count(), 1, "{ran:?}");
        let found = rows(
            &text(&folder, "report.tsv"),
            ["position", "target", "outcome", "message"],
        );
        let found: Vec<String> = found.iter().map(|row| row.join(" ")).collect();
        let expected = if options.is_empty() {
            vec![
                format!("1 {books} delivered "),
                format!("2 {books} delivered same as input 1"),
            ]
        } else {
            vec![
                format!("1 {serials} no match no record matches"),
                format!("1 {books} delivered "),
                format!("2 {serials} no match same as input 1"),
                format!("2 {books} delivered same as input 1"),
            ]
        };
        assert_eq!(found, expected, "{ran:?}");
        assert_eq!(searches(&server) - before, searched, "{ran:?}");
    }
}

/// A run can be resumed after any line of its report, and the final report is the same.
#[test]
fn r_b8_a_resumed_run_agrees() {
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    for report in ["report.tsv", "report.csv", "report.jsonl"] {
        let folder = folder();
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let run = |output: &str| -> Ran {
            let (output, report) = (path(output), path(report));
            let files = ["--output", &output, "--report", &report, "--resume"];
            z3950_fed(
                [&["lookup", &*target, "--input", "-"][..], &files].concat(),
                INPUTS,
            )
        };
        let ran = run("out.mrc");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let whole = text(&folder, report);
        let output = fs::read(path("out.mrc")).expect("an output");
        let without_times = |report: &str| {
            let lines = report.lines().map(|line| {
                let line: String = line
                    .split(['\t', ','])
                    .enumerate()
                    .filter(|(place, cell)| *place != 12 && !cell.contains("milliseconds"))
                    .map(|(_, cell)| format!("{cell}|"))
                    .collect();
                line
            });
            lines.collect::<Vec<_>>()
        };
        let ends = whole.match_indices('\n').map(|(end, _)| end + 1);
        for end in ends {
            fs::write(path(report), &whole[..end]).expect("written");
            let before = searches(&server);
            let ran = run("out.mrc");
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert_eq!(
                without_times(&text(&folder, report)),
                without_times(&whole),
                "{end}"
            );
            assert_eq!(
                fs::read(path("out.mrc")).expect("an output"),
                output,
                "{end}"
            );
            assert!(ran.stderr.contains("; 4 repeat earlier ones; "), "{ran:?}");
            assert!(searches(&server) - before <= 6);
        }
        // All inputs have been answered, so nothing is sent.
        let before = searches(&server);
        let ran = run("out.mrc");
        assert!(
            ran.stderr.contains("9 inputs were answered before"),
            "{ran:?}"
        );
        assert_eq!(searches(&server), before);
    }
}

/// If an identifier was not answered, its repetitions are not answered either, and `--resume` sends one request for
/// all of them.
#[test]
fn r_b8_repeats_of_an_unanswered_number_are_resumed() {
    let server = TestServer::builder()
        .database("cat", [record("id1", "Seven"), record("id2", "Nine")])
        .fault(When::search().session(1), Fault::ResetAfter(0))
        .fault(When::search().session(2), Fault::ResetAfter(0))
        .fault(When::search().session(3), Fault::ResetAfter(0))
        .fault(When::search().session(4), Fault::ResetAfter(0))
        .start();
    let target = format!("{}/cat", server.addr());
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (output, report) = (path("out.mrc"), path("report.tsv"));
    let run = || {
        let files = ["--output", &output, "--report", &report, "--resume"];
        z3950_fed(
            [
                &["lookup", &*target, "--jobs", "1", "--input", "-"][..],
                &files,
            ]
            .concat(),
            "local:id1\nlocal:id1\nlocal:id2\nlocal:id1\n",
        )
    };
    let mut ran = run();
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let found = rows(&text(&folder, "report.tsv"), ["exit", "message"]);
    assert_eq!((&*found[0][0], &*found[1][0]), ("6", "6"), "{found:?}");
    assert_eq!(found[1][1], "same as input 1", "{found:?}");
    for _ in 0..8 {
        if ran.code == Some(0) {
            break;
        }
        ran = run();
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = rows(
        &text(&folder, "report.tsv"),
        ["outcome", "record", "message"],
    );
    let found: Vec<String> = found.iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        found,
        [
            "delivered id1 ",
            "delivered id1 same as input 1",
            "delivered id2 ",
            "delivered id1 same as input 1"
        ]
    );
    let written = fs::read(&output).expect("an output");
    assert_eq!(written.iter().filter(|octet| **octet == 0x1D).count(), 2);
}

#[test]
fn r_b8_thousands_of_equal_inputs_are_one_search() {
    let server = TestServer::demo();
    let target = format!("{}/books", server.addr());
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (input, report) = (path("ids"), path("report.jsonl"));
    fs::write(&input, "0141439513\n".repeat(5_000)).expect("written");
    let folder_of_records = path("records/");
    let ran = z3950([
        "lookup",
        &target,
        "--input",
        &input,
        "--jobs",
        "4",
        "--report",
        &report,
        "--output",
        &folder_of_records,
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stderr,
        "note: 5000 inputs: 5000 delivered; 4999 repeat earlier ones; 1 record written\n"
    );
    assert_eq!(searches(&server), 1);
    let report = text(&folder, "report.jsonl");
    let last: Value = serde_json::from_str(report.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["message"], "same as input 1");
    assert_eq!(
        (&last["record"], &last["length"]),
        (&"pg1342".into(), &0.into())
    );
    assert_eq!(
        fs::read_dir(&folder_of_records)
            .expect("a folder")
            .flatten()
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .count(),
        1
    );
    // Repeated queries and URLs are sent as often as they occur.
    let ran = z3950_fed(
        ["search", &target, "--input", "-", "--count", "0"],
        "emma\nemma\n",
    );
    assert!(!ran.stderr.contains("repeat"), "{ran:?}");
    assert_eq!(searches(&server), 3);
}
