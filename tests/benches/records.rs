//! Measures records per second: ISO 2709 parsed without copying, and converted to UTF-8; and compares the CPU time of `z3950
//! convert` with that of yaz-marcdump. Prints figures without asserting anything. Needs `../shared/data/marc`, and bash for
//! measuring the times of programs.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;
use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::iso2709;
use z3950_tests::program::path;
use z3950_tests::surroundings::command;

/// The minimum number of records to measure.
const RECORDS: usize = 100_000;
/// The number of rounds; in each, all programs are measured in turn.
const RUNS: usize = 5;

fn main() {
    let samples = samples();
    let once: usize = samples.iter().map(Sample::records).sum();
    if once == 0 {
        println!("skipped: no records in ../shared/data/marc");
        return;
    }
    let times = RECORDS.div_ceil(once);
    let records = once * times;
    let all: Vec<Bytes> = samples
        .iter()
        .map(|sample| Bytes::from(sample.octets.repeat(times)))
        .collect();
    let octets: usize = all.iter().map(Bytes::len).sum();
    println!("{records} records, {octets} octets, medians of {RUNS} runs (least to most)");

    in_memory("parse without copying", records, || {
        parsed(&all).map(|record| record.fields.len()).sum()
    });
    in_memory("parse and convert to UTF-8", records, || {
        parsed(&all)
            .map(|record| to_utf8(&record, &Options::default()))
            .map(|converted| converted.record.fields.len())
            .sum()
    });

    if command("yaz-marcdump").arg("-V").output().is_err() {
        println!("skipped: yaz-marcdump not found");
        return;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let mut files = Vec::new();
    for (sample, octets) in samples.iter().zip(&all) {
        let file = folder.path().join(&sample.name);
        std::fs::write(&file, octets).expect("the file is written");
        files.push((file.to_string_lossy().into_owned(), sample.charset));
    }
    for form in ["marc", "line"] {
        beside_yaz(form, &files, records);
    }
}

/// A file of records.
struct Sample {
    name: String,
    octets: Bytes,
    /// The character set, as named by yaz-marcdump.
    charset: &'static str,
}

impl Sample {
    fn records(&self) -> usize {
        iso2709::split(self.octets.clone()).count()
    }
}

fn samples() -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/marc");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "mrc"));
    files.sort();
    let sample = |path: &PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let charset = match name.as_str() {
            "loc-original-charsets.mrc" => "marc8",
            "bnf-unimarc-iso5426-60.mrc" => "iso5426",
            _ => "utf-8",
        };
        let octets = std::fs::read(path).ok()?.into();
        Some(Sample {
            name,
            octets,
            charset,
        })
    };
    files.iter().filter_map(sample).collect()
}

fn parsed(files: &[Bytes]) -> impl Iterator<Item = z3950_marc::MarcRecord> {
    files
        .iter()
        .flat_map(|octets| iso2709::split(octets.clone()))
        .filter_map(|record| iso2709::parse(&record).ok())
        .map(|parsed| parsed.record)
}

fn in_memory(what: &str, records: usize, work: impl Fn() -> usize) {
    let seconds = (0..RUNS).map(|_| {
        let begin = Instant::now();
        std::hint::black_box(work());
        begin.elapsed().as_secs_f64()
    });
    Measured::new(seconds.collect()).print(what, records);
}

/// Converts every file with both programs, discarding the output; yaz-marcdump gets the character set of each file as an option.
fn beside_yaz(form: &str, files: &[(String, &str)], records: usize) {
    let ours = path("z3950").to_string_lossy().into_owned();
    let ours = files
        .iter()
        .map(|(file, _)| format!("'{ours}' convert --format {form} '{file}'"));
    let ours: Vec<String> = ours.collect();
    let yaz = files.iter().map(|(file, charset)| {
        format!("yaz-marcdump -f {charset} -t utf-8 -i marc -o {form} '{file}'")
    });
    let yaz: Vec<String> = yaz.collect();
    let mut seconds = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (Some(of_ours), Some(of_yaz)) = (cpu_time(&ours), cpu_time(&yaz)) else {
            println!("skipped: {form}: a program failed, or bash cannot tell the times");
            return;
        };
        seconds.0.push(of_ours);
        seconds.1.push(of_yaz);
    }
    let (ours, yaz) = (Measured::new(seconds.0), Measured::new(seconds.1));
    ours.print(&format!("z3950 convert --format {form}, CPU"), records);
    yaz.print(&format!("yaz-marcdump -o {form}, CPU"), records);
    println!("  ratio {:.2}", yaz.median() / ours.median());
}

/// Returns the CPU seconds (user and system) of commands whose output is discarded; `None` if any command fails.
fn cpu_time(commands: &[String]) -> Option<f64> {
    let all = commands.join(" && ");
    let script = format!("TIMEFORMAT='%U %S'; time {{ {all}; }} > /dev/null 2>&1");
    let output = command("bash").args(["-c", &script]).output().ok()?;
    let text = String::from_utf8(output.stderr)
        .ok()
        .filter(|_| output.status.success())?;
    let parts = text.split_whitespace().map(|part| part.parse::<f64>().ok());
    parts.sum()
}

/// The duration of each run in seconds, in ascending order.
struct Measured(Vec<f64>);

impl Measured {
    fn new(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        Self(seconds)
    }

    fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    fn print(&self, what: &str, records: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = records as f64 / self.median();
        let (least, most) = (self.0[0], self.0[self.0.len() - 1]);
        let median = self.median();
        println!("{what}: {median:.3} s ({least:.3} to {most:.3}), {rate:.0} records/s");
    }
}
