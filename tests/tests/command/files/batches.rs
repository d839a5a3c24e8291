//! Tests of the output files and reports of batches. They contain all records in order, and only one run at a time writes them.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use z3950_server::fault::{Fault, When};
use z3950_server::testing::TestServer;
use z3950_tests::program::{self, z3950, z3950_fed};
use z3950_tests::surroundings::command;

use super::{PATIENCE, catalogue, folder, names, records, text};

#[test]
fn audit_a2_an_output_has_all_records_by_default() {
    for count in [17_usize, 70] {
        let server = catalogue(count).start();
        let (_guard, folder) = folder();
        let place = format!("{}/books", server.addr());
        let (output, report) = (folder.join("w.mrc"), folder.join("w.tsv"));
        let run = |more: &[&str]| {
            let output = text(&output);
            let arguments = ["search", &place, "war", "--overwrite", "--output", &output];
            z3950(arguments.iter().chain(more))
        };
        let ran = run(&[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let words = format!("note: 1 input: 1 delivered; {count} records written\n");
        assert_eq!(ran.stderr, words);
        assert_eq!(records(&output), count);
        let words = format!("10 of {count} written (--count 10)");
        let ran = run(&["--count", "10"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(&words), "{ran:?}");
        assert_eq!(records(&output), 10);
        let ran = run(&["--count", "10", "--report", &text(&report)]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(records(&output), 10);
        let report = fs::read_to_string(&report).expect("read");
        assert!(
            report.contains(&format!("\tdelivered\t0\t{count}\t")),
            "{report}"
        );
        assert!(report.contains(&words), "{report}");
        let last = format!("{} of {count} written (--start 16)", count - 15);
        let ran = run(&["--start", "16"]);
        assert!(ran.stderr.contains(&last), "{ran:?}");
        // By default, ten records are written to standard output.
        let ran = z3950(["search", &place, "war", "--format", "marc"]);
        assert_eq!(ran.stdout.matches('\u{1d}').count(), 10);
    }
}

#[test]
fn audit_a2_many_queries_with_many_records_come_whole_and_in_order() {
    let server = catalogue(40).start();
    let (_guard, folder) = folder();
    let place = format!("{}/books", server.addr());
    let output = text(&folder.join("all.mrc"));
    let arguments = [
        "search", &place, "--input", "-", "--jobs", "4", "--output", &output,
    ];
    let ran = z3950_fed(
        arguments,
        "war\n@attr 1=12 id7\nwar\nwar\n@attr 1=12 id9\nwar\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(records(Path::new(&output)), 4 * 40 + 2);
}

/// Starts a batch that waits for its third answer.
fn waiting(server: &TestServer, output: &Path, report: Option<&Path>) -> Child {
    let place = format!("{}/books", server.addr());
    let mut command = command(program::path("z3950"));
    command.args([
        "lookup",
        &place,
        "--jobs",
        "1",
        "local:id1",
        "local:id2",
        "local:id3",
    ]);
    command.arg("--output").arg(output);
    command.args(
        report
            .iter()
            .flat_map(|report| [Path::new("--report"), report]),
    );
    let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.expect("it starts");
    let deadline = Instant::now() + PATIENCE;
    let searches = || {
        let names = server.names();
        names
            .iter()
            .filter(|name| **name == "searchRequest")
            .count()
    };
    while searches() < 3 {
        assert!(Instant::now() < deadline, "the third search comes");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn audit_a3_two_batches_on_one_output_or_report() {
    let slow = Fault::Delay(Duration::from_secs(6));
    for (has_report, resumes) in [(true, false), (true, true), (false, false)] {
        let server = catalogue(3)
            .fault(When::search().nth(3), slow.clone())
            .start();
        let other = catalogue(3).start();
        let (_guard, folder) = folder();
        let (output, report) = (folder.join("y.mrc"), folder.join("y.tsv"));
        let first = waiting(&server, &output, has_report.then_some(&report));
        let place = format!("{}/books", other.addr());
        let (free, free_report) = (folder.join("free.mrc"), folder.join("free.tsv"));
        let clashes = [(&output, &free_report, true), (&free, &report, has_report)];
        for (output, report, clashes) in clashes {
            let (output, report) = (text(output), text(report));
            let mut arguments = vec!["lookup", &place, "local:id1"];
            arguments.extend(["--output", &output]);
            if has_report {
                arguments.extend(["--report", &report]);
            }
            arguments.push(if resumes { "--resume" } else { "--overwrite" });
            let ran = z3950(&arguments);
            if !clashes {
                continue;
            }
            assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
            let words = " is being written by another run; wait for it, or choose another file";
            assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
        }
        let ended = first.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0));
        assert_eq!(records(&output), 3);
        if has_report {
            let report = fs::read_to_string(&report).expect("read");
            assert_eq!(report.lines().count(), 4, "{report}");
        }
        let left = names(&folder);
        assert!(left.iter().all(|name| !name.ends_with(".lock")), "{left:?}");
    }
}

#[test]
fn audit_a3_two_batches_in_one_folder() {
    let slow = Fault::Delay(Duration::from_secs(6));
    let server = catalogue(3).fault(When::search().nth(3), slow).start();
    let (_guard, folder) = folder();
    let records = folder.join("records/");
    let first = waiting(&server, &records, None);
    let arguments = [
        "lookup",
        "127.0.0.1:65535/books",
        "x",
        "--overwrite",
        "--output",
        &text(&records),
    ];
    let ran = z3950(arguments);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("is being written by another run"),
        "{ran:?}"
    );
    let ended = first.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(names(&records).len(), 3);
    // A folder that contains records from another run is refused in the same way as a file.
    let ran = z3950([
        "lookup",
        "127.0.0.1:65535/books",
        "x",
        "--output",
        &text(&records),
    ]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("000001-local-id1.txt already exists"),
        "{ran:?}"
    );
}
