//! Records per second: ISO 2709 parsed without copying, converted to UTF-8, and `z3950 convert` beside yaz-marcdump by CPU time.
//! Prints figures and asserts nothing; needs `../shared/data/marc`, and bash for the times of programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use bytes::Bytes;
use z3950_asn1::charset::{Options, to_utf8};
use z3950_asn1::record::iso2709;
use z3950_tests::program::path;

/// The least records that are measured.
const RECORDS: usize = 100_000;

fn main() {
    let octets = sample();
    if octets.is_empty() {
        println!("skipped: ../shared/data/marc not found");
        return;
    }
    let once = iso2709::split(octets.clone()).count();
    let times = RECORDS.div_ceil(once);
    let records = once * times;
    let all = Bytes::from(octets.repeat(times));
    println!("{records} records, {} octets", all.len());

    rate("parse without copying", records, || {
        iso2709::split(all.clone())
            .filter_map(|record| iso2709::parse(&record).ok())
            .map(|parsed| parsed.record.fields.len())
            .sum()
    });
    rate("parse and convert to UTF-8", records, || {
        iso2709::split(all.clone())
            .filter_map(|record| iso2709::parse(&record).ok())
            .map(|parsed| to_utf8(&parsed.record, &Options::default()))
            .map(|converted| converted.record.fields.len())
            .sum()
    });

    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("records.mrc");
    std::fs::write(&file, &all).expect("the file is written");
    let file = file.to_string_lossy().into_owned();
    let ours = path("z3950").to_string_lossy().into_owned();
    for form in ["line", "marc", "marcxml", "json"] {
        cpu_time(&format!("'{ours}' convert --to {form} '{file}'"));
        cpu_time(&format!(
            "yaz-marcdump -f marc-8 -t utf-8 -o {form} '{file}'"
        ));
    }
}

/// The five files, one behind the other.
fn sample() -> Bytes {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/marc");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "mrc"));
    files.sort();
    let octets = files.iter().filter_map(|file| std::fs::read(file).ok());
    octets.flatten().collect::<Vec<u8>>().into()
}

fn rate(what: &str, records: usize, work: impl Fn() -> usize) {
    let begin = Instant::now();
    let fields = work();
    let seconds = begin.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = records as f64 / seconds;
    println!("{what}: {rate:.0} records/s ({fields} fields, {seconds:.3} s)");
}

/// Prints the CPU seconds of a command whose output goes nowhere.
fn cpu_time(command: &str) {
    let script = format!("TIMEFORMAT='%U s user, %S s system'; time {command} > /dev/null");
    match Command::new("bash").args(["-c", &script]).output() {
        Ok(output) => println!(
            "{command}\n  {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
        Err(error) => println!("skipped: bash: {error}"),
    }
}
