//! What a batch says at its end, and how its report names what came of each input.

use serde_json::Value;

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
    let sum = "note: 4 answers from 2 targets: 2 delivered, 2 without a match; 2 records written\n";
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
        "--force",
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
    // A report without targets can be continued.
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
