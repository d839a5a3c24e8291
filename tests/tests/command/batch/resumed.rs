//! Batches that can be resumed, and those that cannot.

use std::fs;

use super::{demo, folder, rows, text};

#[test]
fn a_run_resumes_where_it_ended() {
    let folder = folder();
    let arguments = [
        "lookup",
        "localhost/books",
        "--input",
        "-",
        "--output",
        "{}/out.xml",
        "--report",
        "{}/report.tsv",
        "--resume",
    ];
    let inputs = "docid:pg1342\ndocid:nosuch\ndocid:pg2600\n";
    let ran = demo(folder.path(), &arguments, inputs);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let whole = (text(&folder, "out.xml"), text(&folder, "report.tsv"));
    // Everything is done: nothing is sent, and the exit code is that of the whole batch.
    let ran = demo(folder.path(), &arguments, inputs);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(
        (text(&folder, "out.xml"), text(&folder, "report.tsv")),
        whole
    );
    assert!(
        ran.stderr.contains("3 inputs were answered before"),
        "{ran:?}"
    );
    // The last line is incomplete, and the output is longer than the report says.
    let torn = &whole.1[..whole.1.len() - 5];
    fs::write(folder.path().join("report.tsv"), torn).expect("written");
    let ran = demo(folder.path(), &arguments, &format!("{inputs}docid:pg84\n"));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("2 inputs were answered before"),
        "{ran:?}"
    );
    let inputs = rows(&text(&folder, "report.tsv"), ["input"]).concat();
    assert_eq!(
        inputs,
        ["docid:pg1342", "docid:nosuch", "docid:pg2600", "docid:pg84"]
    );
    let output = text(&folder, "out.xml");
    let begin = whole
        .0
        .strip_suffix("</collection>\n")
        .expect("a collection");
    assert!(
        output.starts_with(begin) && output.ends_with("</collection>\n"),
        "{output}"
    );
    assert_eq!(output.matches("<record").count(), 3);
}

#[test]
fn an_impossible_resumption_is_refused_and_changes_nothing() {
    let folder = folder();
    let base = [
        "lookup",
        "localhost/books",
        "--input",
        "-",
        "--output",
        "{}/out.mrc",
        "--report",
        "{}/report.tsv",
    ];
    let inputs = "docid:pg1342\ndocid:pg84\n";
    let ran = demo(folder.path(), &base, inputs);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let files = || (text(&folder, "out.mrc"), text(&folder, "report.tsv"));
    let before = files();
    let resume = |output: &'static str, report: &'static str| {
        let mut arguments = base.to_vec();
        arguments[5] = output;
        arguments[7] = report;
        arguments.push("--resume");
        arguments
    };
    let same = resume("{}/out.mrc", "{}/report.tsv");
    let with = |option: &[&'static str]| [&base[..], option].concat();
    for (arguments, inputs, words) in [
        (
            base.to_vec(),
            inputs,
            "out.mrc already exists: --resume continues it",
        ),
        (
            same.clone(),
            "docid:pg84\ndocid:pg1342\n",
            "line 2 is about input 1, docid:pg1342 at localhost/books",
        ),
        (
            same.clone(),
            "docid:pg1342\n",
            "but the inputs end before it",
        ),
        (
            resume("{}/nosuch.mrc", "{}/report.tsv"),
            inputs,
            "nosuch.mrc does not exist, but line 2 of ",
        ),
        (
            resume("{}/out.mrc", "{}/other.tsv"),
            inputs,
            "out.mrc has records, but there is no report",
        ),
        (
            resume("{}/out.mrc", "{}/report.json"),
            inputs,
            "out.mrc has records, but there is no report",
        ),
        (
            resume("{}/records/", "{}/report.tsv"),
            inputs,
            "there is no folder",
        ),
        (
            resume("{}/all.json", "{}/./all.json"),
            inputs,
            "is given as more than one of input, output and report",
        ),
        (
            resume("{}/out.mrc", "{}/report.txt"),
            inputs,
            "must end in .tsv",
        ),
        (
            with(&["--input", "{}/out.mrc"]),
            inputs,
            "is given as more than one of input, output and report",
        ),
        (
            resume("{}/report", "{}/report.tsv"),
            inputs,
            "its name does not say which format",
        ),
        (with(&["--jobs", "0"]), inputs, "--jobs"),
        (with(&["--json"]), inputs, "--json"),
        (vec!["lookup", "h", "x", "--resume"], inputs, "--report"),
        (
            vec!["lookup", "h", "--input", "{}/nosuch"],
            inputs,
            "nosuch",
        ),
        (vec!["lookup", "h"], inputs, "ID"),
        (vec!["get"], inputs, "URL"),
        (vec!["search", "h"], inputs, "what to search for is missing"),
    ] {
        let ran = demo(folder.path(), &arguments, inputs);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
        assert_eq!(files(), before, "{arguments:?}");
    }
}

#[test]
fn a_full_disk_ends_the_run_with_a_message() {
    let folder = folder();
    let arguments = [
        "lookup",
        "localhost/books",
        "docid:pg1342",
        "docid:pg84",
        "--output",
        "/dev/full",
        "--format",
        "marc",
        "--report",
        "{}/report.tsv",
    ];
    let ran = demo(folder.path(), &arguments, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("cannot write /dev/full: "), "{ran:?}");
    assert_eq!(text(&folder, "report.tsv").lines().count(), 1);
}
