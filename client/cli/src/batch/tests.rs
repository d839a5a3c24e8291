//! Tests that a run can be killed after any octet it writes: after it is resumed, output and report are the same as
//! after an uninterrupted run.

use std::io::{self, Cursor, Write};
use std::iter::Peekable;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::inputs::{self, Inputs};
use super::report::form::{ReportForm, ReportLine};
use super::report::resume::{UnansweredLines, resume};
use super::sinks::{Cut, FileSink, Remains};
use crate::answer::{Answer, Ask};
use crate::console::output::Failure;
use crate::render::Format;

/// A disk with two files: the changes made to them in order, each with the index of the file.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Vec<(usize, Change)>>>);

#[derive(Clone, Copy)]
enum Change {
    Octet(u8),
    Cut(u64),
}

const OUTPUT: usize = 0;
const REPORT: usize = 1;

impl Disk {
    /// Creates a disk with the two files.
    fn with(files: &[Vec<u8>; 2]) -> Self {
        let disk = Self::default();
        for (which, octets) in files.iter().enumerate() {
            disk.file(which).write_all(octets).expect("in memory");
        }
        disk
    }

    fn file(&self, which: usize) -> Written {
        Written(self.clone(), which)
    }

    fn len(&self) -> usize {
        self.0.lock().expect("no panic").len()
    }

    /// Returns the two files after this number of changes.
    fn after(&self, changes: usize) -> [Vec<u8>; 2] {
        let mut files = [Vec::new(), Vec::new()];
        for (which, change) in &self.0.lock().expect("no panic")[..changes] {
            match change {
                Change::Octet(octet) => files[*which].push(*octet),
                Change::Cut(length) => {
                    files[*which].truncate(usize::try_from(*length).expect("small"))
                }
            }
        }
        files
    }
}

struct Written(Disk, usize);

impl Write for Written {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut log = self.0.0.lock().expect("no panic");
        log.extend(octets.iter().map(|octet| (self.1, Change::Octet(*octet))));
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Cut for Written {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        let mut log = self.0.0.lock().expect("no panic");
        log.push((self.1, Change::Cut(length)));
        Ok(())
    }
}

fn asks() -> Peekable<impl Iterator<Item = Result<Ask, Failure>>> {
    let mut inputs = Inputs::default();
    inputs.add("inputs", Cursor::new("a\nnone\nb\na\nnone\n"));
    inputs::asks(inputs, 1).peekable()
}

/// Resumes the run, and processes the remaining `Ask`s one after the other. Each `Ask` except `none` has two records.
fn go_on(disk: &Disk, format: Format, report_form: ReportForm) {
    let [_, report] = disk.after(disk.len());
    let mut asks = asks();
    let shown = |ask: &Ask| (String::new(), ask.to_string());
    let unanswered = UnansweredLines::of(&report[..], report_form).expect("in memory");
    let all = |_: &Ask, _: &str, _| true;
    let resumed = resume(
        &report[..],
        report_form,
        unanswered,
        &mut asks,
        shown,
        all,
        |_, _, _| {},
    );
    let resumed = resumed.expect("of these inputs");
    let mut file = disk.file(REPORT);
    file.cut(resumed.report_length).expect("in memory");
    let mut write = |text: String| file.write_all(text.as_bytes()).expect("in memory");
    if resumed.report_length == 0 {
        write(report_form.header());
    }
    let mut sink = FileSink::new(disk.file(OUTPUT), format);
    sink.go_on(resumed.output_length).expect("in memory");
    for ask in asks {
        let ask = ask.expect("in memory");
        if ask.to_string() != "none" {
            for record in [1, 2] {
                let record = format!("<{} {record} {ask}>", ask.position);
                sink.record(record.as_bytes()).expect("in memory");
            }
        }
        let entry = ReportLine {
            input_record: None,
            position: ask.position,
            target: String::new(),
            input: ask.to_string(),
            answer: Answer::default(),
            took: Duration::ZERO,
            length: sink.complete().expect("in memory"),
        };
        write(report_form.line(&entry));
    }
    sink.finish(Remains::Answers).expect("in memory");
}

#[test]
fn a_run_killed_at_any_octet_ends_like_an_uninterrupted_one() {
    for (format, report_form) in [
        (Format::Marc, ReportForm::Table),
        (Format::Marcxml, ReportForm::Json),
        (Format::Marcxml, ReportForm::Table),
        (Format::Mrk, ReportForm::Json),
        (Format::Csv, ReportForm::Table),
        (Format::Raw, ReportForm::Table),
    ] {
        let whole = Disk::default();
        go_on(&whole, format, report_form);
        let expected = whole.after(whole.len());
        assert!(expected.iter().all(|file| !file.is_empty()));
        for changes in 0..=whole.len() {
            let disk = Disk::with(&whole.after(changes));
            let before = disk.len();
            go_on(&disk, format, report_form);
            assert!(disk.after(disk.len()) == expected, "{format:?} {changes}");
            // The run is killed once more while it is resuming.
            for again in (before..disk.len()).step_by(101) {
                let disk = Disk::with(&disk.after(again));
                go_on(&disk, format, report_form);
                assert!(
                    disk.after(disk.len()) == expected,
                    "{format:?} {changes} {again}"
                );
            }
        }
    }
}
