//! Tests of the summary of a batch, and of the outcome of each input in its report.

use serde_json::Value;

use z3950_tests::program::{Daemon, z3950};

use super::{demo, folder, text};

#[test]
fn answers_of_several_targets_are_not_called_inputs() {
    let folder = folder();
    let target = ["search", "localhost/books", "localhost:210/books"];
    let inputs = ["--input", "-", "--output", "{}/out.mrc", "--count", "1"];
    let ran = demo(
        folder.path(),
        &[&target[..], &inputs].concat(),
        "war\nnosuchword\n",
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let sum = "note: 4 searches at 2 targets: 2 delivered, 2 no match; 2 records written\n";
    assert!(ran.stderr.ends_with(sum), "{ran:?}");
}

#[test]
fn reports_say_found_where_records_were_only_counted_and_null_where_there_is_no_target() {
    let folder = folder();
    let files = [
        "--output",
        "{}/out.mrc",
        "--report",
        "{}/report.json",
        "--overwrite",
    ];
    for (command, outcome, target) in [
        (
            &["lookup", "localhost/books", "docid:pg84", "--count", "0"][..],
            "found",
            "localhost/books".into(),
        ),
        (
            &["get", "z39.50r://localhost/books?pg84"],
            "delivered",
            Value::Null,
        ),
    ] {
        let ran = demo(folder.path(), &[command, &files].concat(), "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let report: Value = serde_json::from_str(&text(&folder, "report.json")).expect("an object");
        assert_eq!(
            (&report["outcome"], &report["target"]),
            (&outcome.into(), &target),
            "{report}"
        );
    }
    // A run can continue a report even if its rows do not name a target.
    let url = [
        "get",
        "z39.50r://localhost/books?pg84",
        "z39.50r://localhost/books?pg1342",
    ];
    let files = [
        "--output",
        "{}/out.mrc",
        "--report",
        "{}/report.json",
        "--resume",
    ];
    let ran = demo(folder.path(), &[&url[..], &files].concat(), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("1 input was answered before"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("2 delivered; 1 record written by this run"),
        "{ran:?}"
    );
}

#[test]
fn summaries_use_the_words_of_the_report() {
    let folder = folder();
    let files = ["--output", "{}/out.xml", "--overwrite"];
    for (command, sum) in [
        (
            &[
                "lookup",
                "localhost/books",
                "docid:pg84",
                "--syntax",
                "sutrs",
            ][..],
            "1 input: 1 not written; 0 of 1 record written",
        ),
        (
            &["lookup", "localhost/books", "docid:pg84", "--count", "0"],
            "1 input: 1 found; 0 records written",
        ),
    ] {
        let ran = demo(folder.path(), &[command, &files].concat(), "");
        assert!(ran.stderr.ends_with(&format!("note: {sum}\n")), "{ran:?}");
    }
}

#[test]
fn repaired_records_are_counted_and_reported() {
    let server = Daemon::start(["--demo", "--fault", "on any: damage length"]);
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let place = format!("{}/books", server.address());
    let (output, report) = (path("out.mrc"), path("report.json"));
    let search = ["search", &place, "prejudice", "--output", &output];
    for more in [&[][..], &["--report", &report, "--overwrite"]] {
        let ran = z3950(search.iter().chain(more));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let count = std::fs::read(&output)
            .expect("read")
            .iter()
            .filter(|octet| **octet == 0x1D)
            .count();
        let sum = format!("{count} records written, {count} of them repaired\n");
        assert!(count > 1 && ran.stderr.ends_with(&sum), "{ran:?}");
        if !more.is_empty() {
            let words = format!("\"message\":\"{count} records repaired\"");
            assert!(text(&folder, "report.json").contains(&words));
        }
    }
}

#[test]
fn a_wrong_line_is_reported_with_its_number() {
    let folder = folder();
    let inputs = b"# queries\n\nti:pride\n\xFF\n";
    std::fs::write(folder.path().join("q.txt"), inputs).expect("written");
    let search = ["search", "localhost/books", "--input", "{}/q.txt"];
    let ran = demo(folder.path(), &search, "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let words = "q.txt, line 4: octet 1 of the query is not UTF-8\n";
    assert!(ran.stderr.contains(words), "{ran:?}");
    let lookup = ["lookup", "localhost/books", "--input", "-"];
    let ran = demo(folder.path(), &lookup, "pg84\nisbn:\n");
    let words = "error: standard input, line 2: nothing follows isbn:\n";
    assert!(ran.stderr.contains(words), "{ran:?}");
}
