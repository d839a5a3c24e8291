//! Tests of batches, and of their options `--input`, `--jobs`, `--output`, `--report` and `--resume`.

mod broken;
mod cut;
mod killed;
mod repeats;
mod resumed;
mod summary;

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use z3950_tests::program::{Daemon, Ran, z3950, z3950_fed};

/// Runs the program with its built-in catalogue. `{}` in the arguments is replaced with the path of the folder.
fn demo(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let folder = folder.to_str().expect("text");
    let arguments = arguments
        .iter()
        .map(|argument| argument.replace("{}", folder));
    z3950_fed(["--demo".to_owned()].into_iter().chain(arguments), input)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the given columns of each row of a TSV report, without its header.
fn rows<const N: usize>(report: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let mut lines = report.lines();
    let header: Vec<&str> = lines.next().expect("a header").split('\t').collect();
    let place = |name| header.iter().position(|column| *column == name);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), header.len(), "{line}");
            columns.map(|name| cells[place(name).expect(name)].to_owned())
        })
        .collect()
}

const IDS: &str = "# two that are there, one that is not, and nonsense\n\
                   docid:pg1342\n\n  docid:nosuch\r\nisbn:\ndocid:pg2600\ndocid:pg1342\n";

#[test]
fn lookups_of_a_file_are_reported_line_by_line() {
    let folder = folder();
    fs::write(folder.path().join("ids"), IDS).expect("written");
    let ran = demo(
        folder.path(),
        &[
            "lookup",
            "localhost/books",
            "docid:pg84",
            "--input",
            "{}/ids",
            "--jobs",
            "3",
            "--output",
            "{}/out.mrc",
            "--report",
            "{}/report.tsv",
        ],
        "",
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        "note: 6 inputs: 4 delivered, 1 not sent, 1 no match; 1 repeats an earlier one; 3 records written\n"
    );
    let report = text(&folder, "report.tsv");
    let columns = [
        "position", "target", "input", "outcome", "exit", "hits", "step",
    ];
    let expected = [
        [
            "1",
            "localhost/books",
            "docid:pg84",
            "delivered",
            "0",
            "1",
            "docid with structure URx",
        ],
        [
            "2",
            "localhost/books",
            "docid:pg1342",
            "delivered",
            "0",
            "1",
            "docid with structure URx",
        ],
        [
            "3",
            "localhost/books",
            "docid:nosuch",
            "no match",
            "3",
            "0",
            "",
        ],
        ["4", "localhost/books", "isbn:", "not sent", "2", "", ""],
        [
            "5",
            "localhost/books",
            "docid:pg2600",
            "delivered",
            "0",
            "1",
            "docid with structure URx",
        ],
        [
            "6",
            "localhost/books",
            "docid:pg1342",
            "delivered",
            "0",
            "1",
            "docid with structure URx",
        ],
    ];
    assert_eq!(
        rows(&report, columns),
        expected.map(|row| row.map(str::to_owned))
    );
    let said = rows(&report, ["message"]);
    assert_eq!(said[2], ["no record matches"]);
    assert_eq!(said[3], ["nothing follows isbn:"]);
    // The output grows with each record until it has its final length.
    let lengths: Vec<u64> = rows(&report, ["length"])
        .iter()
        .map(|[length]| length.parse().expect("a number"))
        .collect();
    assert!(
        lengths.is_sorted() && lengths[1] == lengths[3],
        "{lengths:?}"
    );
    let output = fs::read(folder.path().join("out.mrc")).expect("read");
    assert_eq!(lengths[5], output.len() as u64);
    assert_eq!(output.iter().filter(|octet| **octet == 0x1D).count(), 3);
}

#[test]
fn output_has_the_form_that_its_name_says() {
    for (name, format, begin, end) in [
        ("out.mrc", None, "0", "\u{1d}"),
        ("out.xml", None, "<?xml", "</collection>\n"),
        ("out.jsonl", None, "{\"title\"", "}\n"),
        ("out.json", None, "{\"title\"", "}\n"),
        ("out.mrk", None, "=LDR", "\n"),
        ("out.txt", None, "", "\n"),
        ("out.mrc", Some("marcxml"), "<?xml", "</collection>\n"),
        ("out", Some("json"), "{\"title\"", "}\n"),
    ] {
        let folder = folder();
        let output = format!("{{}}/{name}");
        let mut arguments = vec![
            "search",
            "localhost/books",
            "--input",
            "-",
            "--output",
            &output,
        ];
        arguments.extend(format.iter().flat_map(|format| ["--format", format]));
        let ran = demo(folder.path(), &arguments, "ti:pride\nti:frankenstein\n");
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        let written = text(&folder, name);
        assert!(
            written.starts_with(begin) && written.ends_with(end),
            "{name}: {written}"
        );
        assert!(
            written.contains("Pride") && written.contains("Frankenstein"),
            "{name}"
        );
    }
}

#[test]
fn a_folder_has_a_file_for_each_input_with_records() {
    let folder = folder();
    let arguments = [
        "lookup",
        "localhost/books",
        "--input",
        "-",
        "--format",
        "marcxml",
        "--output",
        "{}/records/",
        "--report",
        "{}/report.json",
    ];
    let ran = demo(
        folder.path(),
        &arguments,
        "docid:pg1342\ndocid:nosuch\npg84\n",
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let files = fs::read_dir(folder.path().join("records")).expect("a folder");
    let mut names: Vec<String> = files
        .map(|file| {
            file.expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names, ["000001-docid-pg1342.xml", "000003-pg84.xml"]);
    let report = text(&folder, "report.json");
    for (line, name) in report.lines().zip([&names[0], "", &names[1]]) {
        let line: Value = serde_json::from_str(line).expect("an object");
        let length = fs::metadata(folder.path().join("records").join(name));
        let length = length
            .ok()
            .filter(|data| data.is_file())
            .map_or(0, |data| data.len());
        assert_eq!(line["length"], length, "{line}");
        assert_eq!(line["diagnostic"], Value::Null, "{line}");
    }
}

#[test]
fn without_output_records_go_to_standard_output_in_order() {
    let folder = folder();
    let inputs = "docid:pg2600\ndocid:nosuch\ndocid:pg1342\n";
    for (form, found) in [
        ("text", "001 pg"),
        ("marcxml", "<controlfield tag=\"001\">pg"),
        ("mrk", "=001  pg"),
    ] {
        let arguments = [
            "lookup",
            "localhost/books",
            "--input",
            "-",
            "--jobs",
            "3",
            "--format",
            form,
        ];
        let ran = demo(folder.path(), &arguments, inputs);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let ids: Vec<&str> = ran
            .stdout
            .split(found)
            .skip(1)
            .map(|rest| &rest[..4])
            .collect();
        assert_eq!(ids, ["2600", "1342"], "{ran:?}");
        assert_eq!(
            ran.stderr,
            "error: localhost/books (--demo): docid:nosuch: no record matches\n\
             note: 3 inputs: 2 delivered, 1 no match\n"
        );
    }
    let ran = demo(
        folder.path(),
        &["lookup", "localhost/books", "--input", "-", "--json"],
        inputs,
    );
    let outcomes: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let outcomes: Vec<_> = outcomes
        .iter()
        .map(|line| (&line["identifier"], &line["outcome"]))
        .collect();
    assert_eq!(outcomes.len(), 3, "{ran:?}");
    assert_eq!(outcomes[1], (&"docid:nosuch".into(), &"no match".into()));
}

#[test]
fn queries_go_to_every_target() {
    let folder = folder();
    let arguments = [
        "search",
        "localhost/books",
        "localhost/nosuch",
        "--input",
        "-",
        "--count",
        "2",
        "--jobs",
        "4",
        "--output",
        "{}/out.jsonl",
        "--report",
        "{}/report.tsv",
    ];
    let ran = demo(
        folder.path(),
        &arguments,
        "war\n@attr 1=4\n@attr 1=4 pride\n",
    );
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let report = text(&folder, "report.tsv");
    let found = rows(&report, ["position", "target", "outcome"]);
    let found: Vec<String> = found.iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        found,
        [
            "1 localhost/books delivered",
            "1 localhost/nosuch search refused",
            "2 localhost/books not sent",
            "2 localhost/nosuch not sent",
            "3 localhost/books delivered",
            "3 localhost/nosuch search refused",
        ]
    );
    let said = rows(&report, ["diagnostic"]);
    assert!(said[1][0].starts_with("235 "), "{said:?}");
    assert_eq!(text(&folder, "out.jsonl").lines().count(), 3);
}

#[test]
fn urls_of_a_file_are_retrieved_in_few_sessions() {
    let daemon = Daemon::start(["--demo"]);
    let folder = folder();
    let urls: String = (0..40)
        .map(|number| {
            let docid = ["pg1342", "pg84", "nosuch", "pg2600"][number % 4];
            format!(
                "z39.50r://127.0.0.1:{}/books?{docid};rs=marc\n",
                daemon.port()
            )
        })
        .collect();
    let urls =
        format!("{urls}z39.50s://127.0.0.1/books\ngopher://h/0x\nz39.50r://u:secret@h/d?x;esn=\n");
    fs::write(folder.path().join("urls"), urls).expect("written");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let ran = z3950([
        "get",
        "-v",
        "--input",
        &path("urls"),
        "--jobs",
        "2",
        "--output",
        &path("out.xml"),
        "--report",
        &path("report.tsv"),
        "--allow-reserved-port",
    ]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let report = text(&folder, "report.tsv");
    let outcomes = rows(&report, ["outcome", "input"]);
    for (number, [outcome, input]) in outcomes.iter().enumerate() {
        let expected = match number {
            40.. => "not sent",
            number if number % 4 == 2 => "no match",
            _ => "delivered",
        };
        assert_eq!(outcome, expected, "{number} {input}");
        assert!(!input.contains("secret"), "{input}");
    }
    assert_eq!(outcomes.len(), 43);
    assert_eq!(text(&folder, "out.xml").matches("</record>").count(), 30);
}

#[test]
fn records_that_a_format_cannot_hold_are_reported() {
    let folder = folder();
    let arguments = [
        "lookup",
        "localhost/books",
        "docid:pg1342",
        "--syntax",
        "sutrs",
        "--output",
        "{}/out.mrc",
        "--report",
        "{}/report.tsv",
    ];
    let ran = demo(folder.path(), &arguments, "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let row = rows(&text(&folder, "report.tsv"), ["outcome", "hits", "message"]).concat();
    assert_eq!(row[..2], ["not written", "1"]);
    assert!(row[2].contains("is not MARC"), "{row:?}");
    assert!(!folder.path().join("out.mrc").exists());
}

#[test]
fn a_line_that_is_too_long_is_refused() {
    let folder = folder();
    let inputs = format!("docid:pg84\n{}\ndocid:pg1342\n", "9".repeat(70_000));
    let arguments = [
        "search",
        "localhost/books",
        "--lang",
        "pqf",
        "--input",
        "-",
        "--count",
        "0",
    ];
    let ran = demo(
        folder.path(),
        &arguments,
        &inputs.replace("docid:", "@attr 1=1032 "),
    );
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let lines = "1 localhost/books (--demo): @attr 1=1032 pg84\n1 localhost/books (--demo): @attr 1=1032 pg1342\n";
    assert_eq!(ran.stdout, lines);
    assert!(
        ran.stderr.contains("input 2 has more than 65536 octets"),
        "{ran:?}"
    );
}
