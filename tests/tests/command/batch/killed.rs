//! Runs a batch against zebrasrv, killing and resuming it repeatedly. Every input must be in the report exactly once, and every
//! record that was delivered must be in the output exactly once.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use z3950_marc::stream::{InputForm, RecordReader};
use z3950_tests::catalogue;
use z3950_tests::peer::{self, Server};
use z3950_tests::program;
use z3950_tests::random::Random;
use z3950_tests::surroundings::command;

use super::rows;

/// No record exists for one in this many inputs.
const MISSING: usize = 20;

/// Starts zebrasrv with a catalogue of generated records. If a program is missing, prints a message and returns `None`.
fn zebra(records: usize) -> Option<Server> {
    peer::zebrasrv(&catalogue::generated(records)?)
}

/// Returns the docid of an input, and whether a record with it exists.
fn id(position: usize) -> (String, bool) {
    let is_there = !position.is_multiple_of(MISSING);
    let prefix = if is_there { "rec" } else { "none" };
    (format!("{prefix}{position:07}"), is_there)
}

/// A batch that is killed repeatedly.
struct Batch {
    server: u16,
    folder: tempfile::TempDir,
    inputs: usize,
    output: PathBuf,
    report: PathBuf,
}

impl Batch {
    fn of(server: &Server, inputs: usize, output: &str, report: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ids: String = (1..=inputs)
            .map(|position| format!("local:{}\n", id(position).0))
            .collect();
        fs::write(folder.path().join("ids"), ids).expect("the inputs are written");
        Self {
            server: server.port,
            inputs,
            output: folder.path().join(output),
            report: folder.path().join(report),
            folder,
        }
    }

    fn command(&self) -> Command {
        let mut command = command(program::path("z3950"));
        command
            .arg("lookup")
            .arg(format!("127.0.0.1:{}/Default", self.server))
            .args(["--jobs", "4", "--resume", "--input"])
            .arg(self.folder.path().join("ids"))
            .arg("--output")
            .arg(&self.output)
            .arg("--report")
            .arg(&self.report);
        command
    }

    /// Starts the batch, and kills it when its report is `length` octets long.
    fn kill_at(&self, length: u64) {
        let mut child = self
            .command()
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        while fs::metadata(&self.report).map_or(0, |data| data.len()) < length {
            let ended = child.try_wait().expect("it is known");
            assert!(ended.is_none(), "it ended before it was killed: {ended:?}");
            z3950_tests::pause();
        }
        child.kill().expect("it is killed");
        child.wait().expect("it has ended");
    }

    /// Kills the batch this many times at random moments, and then runs it to its end.
    fn killed(&self, times: usize, random: &mut Random) {
        let per_run = self.inputs / (times + 1);
        // The approximate length of a report line, in octets.
        let line = 75;
        let mut length = 0;
        for _ in 0..times {
            let lines = random.below(per_run).max(1);
            length += u64::try_from(lines * line).expect("small");
            self.kill_at(length);
            length = length.max(fs::metadata(&self.report).expect("present").len());
        }
        let ran = program::run(&mut self.command(), "");
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stderr.contains("were answered before"), "{ran:?}");
        assert!(
            ran.stderr.contains(&format!("{} inputs: ", self.inputs)),
            "{ran:?}"
        );
    }

    /// Returns the inputs in the report with their outcomes.
    fn reported(&self) -> Vec<[String; 2]> {
        let text = fs::read_to_string(&self.report).expect("a report");
        if self
            .report
            .extension()
            .is_some_and(|extension| extension == "tsv")
        {
            return rows(&text, ["input", "outcome"]);
        }
        let lines = text.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("an object");
            ["input", "outcome"].map(|key| line[key].as_str().expect(key).to_owned())
        });
        lines.collect()
    }

    /// Returns the control numbers of the records in a file.
    fn delivered(path: &Path, form: InputForm) -> Vec<String> {
        let file = fs::File::open(path).expect("an output");
        let records = RecordReader::new(file, form);
        records
            .map(|found| {
                let record = found
                    .expect("it is read")
                    .record
                    .expect("a complete record");
                let control = record.control_number().expect("001");
                String::from_utf8_lossy(control).into_owned()
            })
            .collect()
    }

    fn check(&self, delivered: &[String]) {
        let reported = self.reported();
        assert_eq!(reported.len(), self.inputs);
        let mut expected = Vec::new();
        for (position, [input, outcome]) in (1..).zip(&reported) {
            let (id, is_there) = id(position);
            assert_eq!(*input, format!("local:{id}"));
            assert_eq!(
                outcome,
                if is_there { "delivered" } else { "no match" },
                "{id}"
            );
            expected.extend(is_there.then_some(id));
        }
        assert_eq!(delivered.len(), expected.len());
        assert!(delivered == expected, "each record once, in order");
        assert_eq!(
            delivered.iter().collect::<HashSet<_>>().len(),
            expected.len()
        );
    }
}

#[test]
fn every_input_is_reported_once_and_every_record_is_there_once() {
    let Some(server) = zebra(5000) else {
        return;
    };
    let mut random = Random::new("batch");
    for (inputs, times, output, report, form) in [
        (5000, 10, "out.mrc", "report.tsv", InputForm::Marc),
        (800, 4, "out.xml", "report.json", InputForm::MarcXml),
        (800, 4, "out.jsonl", "report.tsv", InputForm::Json),
    ] {
        let batch = Batch::of(&server, inputs, output, report);
        batch.killed(times, &mut random);
        batch.check(&Batch::delivered(&batch.output, form));
    }
    let batch = Batch::of(&server, 500, "records", "report.tsv");
    fs::create_dir(&batch.output).expect("a folder");
    batch.killed(3, &mut random);
    let files = fs::read_dir(&batch.output).expect("a folder");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let delivered: Vec<String> = files
        .iter()
        .flat_map(|file| Batch::delivered(file, InputForm::Line))
        .collect();
    batch.check(&delivered);
}
