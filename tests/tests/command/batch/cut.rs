//! Tests of batches that are killed at random times, and of batches whose files are truncated. No record may be lost or
//! duplicated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use z3950_server::testing::{TestServer, record};
use z3950_tests::program::{self, Ran};
use z3950_tests::random::Random;
use z3950_tests::surroundings::command;

use super::rows;

/// No record exists for one in this many inputs.
const MISSING: usize = 7;

const PATIENCE: Duration = Duration::from_secs(60);

/// The output files with their contents, and some columns of the report.
type State = (Vec<(String, Vec<u8>)>, Vec<[String; 6]>);

struct Batch {
    server: TestServer,
    folder: tempfile::TempDir,
    output: &'static str,
}

impl Batch {
    fn new(inputs: usize, output: &'static str) -> Self {
        let records = (1..=inputs)
            .filter(|number| !number.is_multiple_of(MISSING))
            .map(|number| record(&format!("id{number}"), "War"));
        let folder = tempfile::tempdir().expect("a folder");
        let ids: String = (1..=inputs)
            .map(|number| format!("local:id{number}\n"))
            .collect();
        fs::write(folder.path().join("ids"), ids).expect("the inputs are written");
        Self {
            server: TestServer::builder().database("books", records).start(),
            folder,
            output,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, report: &str) -> Command {
        let mut command = command(program::path("z3950"));
        command
            .arg("lookup")
            .arg(format!("{}/books", self.server.addr()))
            .args(["--jobs", "3", "--resume", "--input"])
            .arg(self.path("ids"))
            .arg("--output")
            .arg(self.path(self.output))
            .arg("--report")
            .arg(self.path(report));
        command
    }

    fn run(&self, report: &str) -> Ran {
        program::run(&mut self.command(report), "")
    }

    /// Returns the output files with their contents.
    fn state_of_output(&self) -> Vec<(String, Vec<u8>)> {
        let path = self.path(self.output);
        let paths: Vec<PathBuf> = if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder").flatten();
            entries.map(|entry| entry.path()).collect()
        } else {
            vec![path]
        };
        let mut files: Vec<_> = paths
            .into_iter()
            .map(|path| (path.display().to_string(), fs::read(&path).expect("read")))
            .collect();
        files.sort();
        files
    }

    /// Returns the part of the result that does not depend on the number of interruptions: the output, and the report without
    /// times.
    fn state(&self, report: &str) -> State {
        let files = self.state_of_output();
        let text = fs::read_to_string(self.path(report)).expect("a report");
        let columns = ["position", "input", "outcome", "exit", "hits", "length"];
        let lines = match Path::new(report).extension().and_then(|end| end.to_str()) {
            Some("tsv") => rows(&text, columns),
            _ => text
                .lines()
                .map(|line| {
                    let line: serde_json::Value = serde_json::from_str(line).expect("an object");
                    columns.map(|key| line[key].to_string())
                })
                .collect(),
        };
        (files, lines)
    }
}

#[test]
fn a_batch_killed_fifty_times_at_random_loses_and_duplicates_nothing() {
    let mut random = Random::new("fifty kills");
    let batch = Batch::new(400, "out.xml");
    let whole = batch.run("whole.tsv");
    assert_eq!(whole.code, Some(3), "{whole:?}");
    let expected = batch.state("whole.tsv");
    fs::remove_file(batch.path("out.xml")).expect("removed");
    let report = batch.path("report.tsv");
    let length = || fs::metadata(&report).map_or(0, |data| data.len());
    for kill in 0..50 {
        let mut child = batch
            .command("report.tsv")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        // Some runs are killed after they have written something, others soon after they have started.
        let more = u64::try_from(random.below(350)).expect("small");
        let (before, deadline) = (length(), Instant::now() + PATIENCE);
        let pause = Duration::from_micros(u64::try_from(random.below(9_000)).expect("small"));
        if kill % 2 == 0 {
            while length() < before + more && child.try_wait().expect("known").is_none() {
                assert!(Instant::now() < deadline, "the report grows");
                z3950_tests::pause();
            }
        } else {
            std::thread::sleep(pause);
        }
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
    }
    let ran = batch.run("report.tsv");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(batch.state("report.tsv") == expected);
}

#[test]
fn audit_a6_files_that_were_cut_back_or_lost_their_end_are_completed() {
    let mut random = Random::new("cut back");
    for (output, report) in [
        ("out.mrc", "report.tsv"),
        ("out.xml", "report.json"),
        ("records/", "report.tsv"),
    ] {
        let batch = Batch::new(20, output);
        let ran = batch.run(report);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let expected = batch.state(report);
        for round in 0..12 {
            let cut = |path: &Path, random: &mut Random, is_unwritten: bool| {
                let mut octets = fs::read(path).expect("read");
                let end = random.below(octets.len());
                if is_unwritten {
                    // This imitates a power cut, after which a file has its length but not its contents.
                    octets[end..].fill(0);
                } else {
                    octets.truncate(end);
                }
                fs::write(path, octets).expect("written");
            };
            if round % 3 != 1 {
                let (files, _) = &expected;
                let (path, _) = &files[random.below(files.len())];
                cut(Path::new(path), &mut random, false);
            }
            if round % 3 != 0 {
                cut(&batch.path(report), &mut random, round % 2 == 0);
            }
            // A report without its header is refused, so the batch starts again without report and output.
            let kept = fs::read(batch.path(report)).expect("read");
            if kept.first().is_none_or(|octet| *octet == 0) || !kept.contains(&b'\n') {
                fs::remove_file(batch.path(report)).expect("removed");
                match batch.path(output) {
                    folder if folder.is_dir() => fs::remove_dir_all(folder).expect("removed"),
                    file => fs::remove_file(file).expect("removed"),
                }
            }
            let ran = batch.run(report);
            assert_eq!(ran.code, Some(3), "{output} {round}: {ran:?}");
            assert!(batch.state(report) == expected, "{output} {round}: {ran:?}");
        }
    }
}

#[test]
fn audit_a6_another_file_is_not_cut() {
    for output in ["all.mrc", "all.xml", "all.jsonl", "all.mrk"] {
        let batch = Batch::new(20, output);
        let report = "report.tsv";
        assert_eq!(batch.run(report).code, Some(3));
        let expected = batch.state(report);
        // This file is long enough, but was not written by this batch.
        let precious = b"precious ".repeat(20_000);
        fs::write(batch.path(output), &precious).expect("written");
        let reported = fs::read(batch.path(report)).expect("read");
        let ran = batch.run(report);
        assert_eq!(ran.code, Some(2), "{output}: {ran:?}");
        assert!(
            ran.stderr.contains(output) && ran.stderr.contains("is --output the file of that run?"),
            "{ran:?}"
        );
        assert!(fs::read(batch.path(output)).expect("read") == precious);
        assert_eq!(fs::read(batch.path(report)).expect("read"), reported);
        // Octets added by another program are preserved in a separate file, no matter how few there are.
        for (times, part) in [(1, "part"), (20_000, "part.2")] {
            let added = b"added ".repeat(times);
            let whole = [&expected.0[0].1[..], &added].concat();
            fs::write(batch.path(output), &whole).expect("written");
            let ran = batch.run(report);
            assert_eq!(ran.code, Some(3), "{output}: {ran:?}");
            let part = batch.path(&format!("{output}.{part}"));
            assert!(
                ran.stderr.contains(&*part.to_string_lossy()),
                "{output}: {ran:?}"
            );
            assert!(fs::read(part).expect("kept").ends_with(&added), "{output}");
            assert!(batch.state(report) == expected, "{output}: {ran:?}");
        }
        // This run cuts off only the end of the document, which is not preserved in a separate file.
        assert_eq!(batch.run(report).code, Some(3));
        assert!(!batch.path(&format!("{output}.part.3")).exists());
        // After a power cut, a file may have its length but not its contents. The inputs of the lost records are looked up again.
        let (files, _) = &expected;
        let mut zeros = files[0].1.clone();
        let half = zeros.len() / 2;
        zeros[half..].fill(0);
        fs::write(batch.path(output), &zeros).expect("written");
        let ran = batch.run(report);
        assert_eq!(ran.code, Some(3), "{output}: {ran:?}");
        assert!(batch.state(report) == expected, "{output}: {ran:?}");
    }
}

#[test]
fn audit_a6_a_run_killed_before_the_first_line_of_its_report_is_continued() {
    for report in ["report.tsv", "report.jsonl"] {
        let batch = Batch::new(20, "all.mrc");
        assert_eq!(batch.run(report).code, Some(3));
        let expected = batch.state(report);
        // The report is empty, although the output contains records.
        fs::write(batch.path(report), "").expect("cut");
        let ran = batch.run(report);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(batch.state(report) == expected, "{ran:?}");
        // The records are kept, because they might belong to another program.
        let part = fs::read(batch.path("all.mrc.part")).expect("kept");
        assert!(
            expected.0.iter().any(|(_, octets)| *octets == part),
            "{ran:?}"
        );
        fs::remove_file(batch.path("all.mrc.part")).expect("removed");
        // The report is missing, so the run must have used another report.
        fs::remove_file(batch.path(report)).expect("removed");
        let ran = batch.run(report);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("there is no report"), "{ran:?}");
        assert!(batch.state_of_output() == expected.0);
    }
}

#[test]
fn a_file_that_force_spared_is_kept_when_the_run_is_continued() {
    let batch = Batch::new(1, "all.mrc");
    fs::write(batch.path("ids"), "local:nosuch\n").expect("written");
    let old = b"precious\x1D";
    fs::write(batch.path("all.mrc"), old).expect("written");
    let mut forced = command(program::path("z3950"));
    let arguments = batch.command("report.tsv");
    let forced = forced
        .args(
            arguments
                .get_args()
                .filter(|argument| *argument != "--resume"),
        )
        .arg("--overwrite");
    let ran = program::run(forced, "");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(fs::read(batch.path("all.mrc")).expect("read"), old);
    let ran = batch.run("report.tsv");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("all.mrc.part"), "{ran:?}");
    assert_eq!(fs::read(batch.path("all.mrc.part")).expect("kept"), old);
}
