//! Tests of batches that can be resumed and of batches that cannot be resumed.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{demo, folder, rows, text};

/// Returns the arguments for looking up each line of standard input.
fn lookup<'a>(output: &'a str, report: &'a str) -> [&'a str; 8] {
    let (target, input) = ("localhost/books", "-");
    [
        "lookup", target, "--input", input, "--output", output, "--report", report,
    ]
}

#[test]
fn a_run_resumes_where_it_ended() {
    let folder = folder();
    let arguments = [&lookup("{}/out.xml", "{}/report.tsv")[..], &["--resume"]].concat();
    let inputs = "docid:pg1342\ndocid:nosuch\ndocid:pg2600\n";
    let ran = demo(folder.path(), &arguments, inputs);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let whole = (text(&folder, "out.xml"), text(&folder, "report.tsv"));
    // All inputs have been answered, so nothing is sent, and the exit code is still that of the whole batch.
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
    // The last line of the report is incomplete, and the output is longer than the report says.
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
    let base = lookup("{}/out.mrc", "{}/report.tsv");
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

/// If an input in the middle of a batch has no answer, only this input is requested again. The answers to later inputs are
/// restored from the output.
#[test]
fn inputs_without_an_answer_in_the_middle_are_asked_again() {
    let inputs = "docid:pg1342\ndocid:pg84\ndocid:nosuch\ndocid:pg2600\ndocid:pg11\n";
    for (output, report) in [
        ("{}/out.mrc", "{}/report.tsv"),
        ("{}/out.xml", "{}/report.json"),
        ("{}/out.csv", "{}/report.tsv"),
        ("{}/out/", "{}/report.json"),
    ] {
        for lost in [&[1][..], &[2], &[1, 4], &[2, 3]] {
            let folder = folder();
            let arguments = [&lookup(output, report)[..], &["--resume"]].concat();
            let ran = demo(folder.path(), &arguments, inputs);
            assert_eq!(ran.code, Some(3), "{ran:?}");
            let name = report.trim_start_matches("{}/");
            let whole = (text(&folder, name), files(&folder, output));
            let is_table = report.ends_with("tsv");
            let lines = (0..).zip(whole.0.lines()).map(|(number, line)| {
                let position = number + usize::from(!is_table);
                let (from, to) = if is_table {
                    ("\t0\t", "\t6\t")
                } else {
                    ("\"exit\":0", "\"exit\":6")
                };
                let words = line.replace("no match\t3", "no match\t0");
                let words = words.replace("\"exit\":3", "\"exit\":0");
                if lost.contains(&position) {
                    words
                        .replacen(from, to, 1)
                        .replace("delivered", "unavailable")
                        .replace("no match", "unavailable")
                } else {
                    line.to_owned()
                }
            });
            let torn: String = lines.map(|line| line + "\n").collect();
            assert_ne!(torn, whole.0);
            fs::write(folder.path().join(name), torn).expect("written");
            let ran = demo(folder.path(), &arguments, inputs);
            assert_eq!(ran.code, Some(3), "{output} {lost:?}: {ran:?}");
            let asked = match lost.len() {
                1 => "1 input had no answer and is asked again".to_owned(),
                count => format!("{count} inputs had no answer and are asked again"),
            };
            assert!(ran.stderr.contains(&asked), "{ran:?}");
            assert!(!ran.stderr.contains("moved"), "{ran:?}");
            assert_eq!(files(&folder, output), whole.1, "{output} {lost:?}");
            let now = text(&folder, name);
            assert_eq!(
                without_times(&now),
                without_times(&whole.0),
                "{output} {lost:?}"
            );
        }
    }
}

/// Returns the files of an output, with their contents.
fn files(folder: &TempDir, output: &str) -> Vec<(String, String)> {
    let name = output.trim_start_matches("{}/");
    if !name.ends_with('/') {
        return vec![(name.to_owned(), text(folder, name))];
    }
    let entries = fs::read_dir(folder.path().join(name)).expect("a folder");
    let mut files: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .map(|file| (file.clone(), text(folder, &format!("{name}{file}"))))
        .collect();
    files.sort();
    files
}

/// Returns the lines of a report with the number of milliseconds removed.
fn without_times(report: &str) -> Vec<String> {
    let lines = report.lines().map(|line| {
        if line.starts_with('{') {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            line["milliseconds"] = Value::Null;
            line.to_string()
        } else {
            let mut cells: Vec<&str> = line.split('\t').collect();
            let place = cells.len() - 2;
            cells[place] = "";
            cells.join("\t")
        }
    });
    lines.collect()
}

/// An `@` marks the end of a password only in a URL, so nothing is removed from other inputs in the report.
#[test]
fn reports_have_the_whole_input() {
    for (inputs, other, shown) in [
        ("local:alice@lib\n", "local:bob@lib\n", "local:alice@lib"),
        ("docid:a:b@c\n", "docid:a:d@c\n", "docid:a:b@c"),
    ] {
        let folder = folder();
        let arguments = [&lookup("{}/out.mrc", "{}/report.tsv")[..], &["--resume"]].concat();
        let ran = demo(folder.path(), &arguments, inputs);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let report = rows(&text(&folder, "report.tsv"), ["input"]).concat();
        assert_eq!(report, [shown]);
        let ran = demo(folder.path(), &arguments, other);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("line 2 is about input 1"), "{ran:?}");
    }
    let folder = folder();
    let query = "@or @attr 1=4 war @attr 1=4 peace";
    let url = "z39.50r://ann:pw@localhost/books?pg1342";
    for (command, input, shown) in [
        (&["search", "localhost/books"][..], query, query),
        (&["get"], url, "z39.50r://<redacted>@localhost/books?pg1342"),
    ] {
        let options = ["--input", "-", "--report", "{}/all.tsv", "--overwrite"];
        let arguments = [command, &options].concat();
        demo(folder.path(), &arguments, input);
        let report = rows(&text(&folder, "all.tsv"), ["input"]).concat();
        assert_eq!(report, [shown], "{command:?}");
    }
}

#[test]
fn r_f15_a_report_for_spreadsheets_is_continued_after_one_has_saved_it() {
    let folder = folder();
    let arguments = [&lookup("{}/out.mrc", "{}/report.csv")[..], &["--resume"]].concat();
    let inputs = "0141439513\n0306406152\n";
    let ran = demo(folder.path(), &arguments, inputs);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let report = text(&folder, "report.csv");
    let output = text(&folder, "out.mrc");
    assert!(
        report.starts_with("\u{feff}position,target,input,")
            && report.contains("\n1,localhost/books,\"=\"\"0141439513\"\"\",delivered,0,"),
        "{report}"
    );
    // The report is used in the form in which a spreadsheet program displays it, and in the form in which the program saves it in
    // a locale with decimal commas.
    let shown = report
        .trim_start_matches('\u{feff}')
        .replace("\"=\"\"", "")
        .replace("\"\"\"", "");
    let saved = shown.replace(',', ";").replace('\n', "\r\n");
    assert_ne!(saved, report);
    let more = format!("{inputs}docid:pg84\n");
    for (saved, is_told) in [(&saved, true), (&report, false), (&shown, true)] {
        fs::write(folder.path().join("report.csv"), saved).expect("written");
        fs::write(folder.path().join("out.mrc"), &output).expect("written");
        let ran = demo(folder.path(), &arguments, &more);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(
            ran.stderr.contains("2 inputs were answered before"),
            "{ran:?}"
        );
        let told = "report.csv was saved by another program; it is written anew\n";
        assert_eq!(ran.stderr.contains(told), is_told, "{ran:?}");
        let now = text(&folder, "report.csv");
        let added = now
            .strip_prefix(&report)
            .expect("the lines before are the same");
        assert!(
            added.starts_with("3,localhost/books,docid:pg84,delivered,0,"),
            "{now}"
        );
        assert_eq!(added.lines().count(), 1, "{now}");
    }
    // A report whose rows were sorted or truncated is not accepted as a report of these inputs.
    let lines: Vec<&str> = saved.lines().collect();
    for damaged in [
        [lines[0], lines[2], lines[1]].join("\r\n") + "\r\n",
        [lines[0], &lines[1][..20], lines[2]].join("\r\n") + "\r\n",
    ] {
        fs::write(folder.path().join("report.csv"), &damaged).expect("written");
        let ran = demo(folder.path(), &arguments, &more);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("cannot resume from "), "{ran:?}");
    }
}
