//! Measures how many records per second are parsed from ISO 2709 without copying, and converted to UTF-8. Compares the CPU time
//! of `z3950 convert` with that of yaz-marcdump, and the time for editing a file with that of pymarc. The arguments `forms` and
//! `editing` select a part. Prints figures without asserting anything.
//!
//! Needs `../shared/data/marc`, bash for measuring CPU times, and pymarc, either in the Python environment that
//! `Z3950_SRU_PYTHON` names or for `python3`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;
use z3950_marc::charset::{Options, to_utf8};
use z3950_marc::stream::{InputForm, RecordReader, RecordWriter};
use z3950_marc::{Form, iso2709};
use z3950_tests::program::path;
use z3950_tests::surroundings::command;

/// The minimum number of records to measure.
const RECORDS: usize = 100_000;
/// The number of rounds; each round measures every program once.
const RUNS: usize = 5;

fn main() {
    let samples = samples();
    if samples.is_empty() {
        println!("skipped: no records in ../shared/data/marc");
        return;
    }
    let words = std::env::args().skip(1);
    let wanted: Vec<String> = words.filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    println!("medians of {RUNS} runs (least to most)");
    if is_wanted("forms") {
        forms(&samples);
    }
    if is_wanted("editing") {
        let sample = samples.iter().find(|sample| sample.name == EDITED);
        match sample {
            Some(sample) => editing(&sample.octets),
            None => println!("skipped: {EDITED} not found"),
        }
    }
}

/// Measures reading and converting the records of all files.
fn forms(samples: &[Sample]) {
    let once: usize = samples.iter().map(Sample::records).sum();
    let times = RECORDS.div_ceil(once);
    let records = once * times;
    let all: Vec<Bytes> = samples
        .iter()
        .map(|sample| Bytes::from(sample.octets.repeat(times)))
        .collect();
    let octets: usize = all.iter().map(Bytes::len).sum();
    println!("{records} records, {octets} octets");

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
    /// yaz-marcdump's name for the character set.
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

/// The file whose records are edited.
const EDITED: &str = "loc-utf8.mrc";
/// The number of records that are edited.
const EDITS: usize = 10_000;
/// The title that replaces the title of each record.
const TITLE: &str = "Emma : étude /";

/// A Python program that edits the records with pymarc in the same way as [`edit`], and prints the CPU time in seconds without
/// the time for starting Python.
const PYMARC: &str = r#"
import sys, time, pymarc
begin = time.process_time()
with open(sys.argv[1], "rb") as file, open(sys.argv[2], "wb") as out:
    for record in pymarc.MARCReader(file):
        record["245"]["a"] = sys.argv[3]
        out.write(record.as_marc())
print(time.process_time() - begin)
"#;

/// Measures reading a file, replacing the title of each record and writing another file, alternately with this project and with
/// pymarc.
fn editing(octets: &Bytes) {
    let folder = tempfile::tempdir().expect("a directory");
    let [input, ours, theirs] =
        ["input", "ours", "theirs"].map(|name| folder.path().join(format!("{name}.mrc")));
    let records: Vec<Bytes> = iso2709::split(octets.clone()).collect();
    let mut all = Vec::new();
    for record in records.iter().cycle().take(EDITS) {
        all.extend_from_slice(record);
    }
    std::fs::write(&input, all).expect("the file is written");
    let python = std::env::var_os("Z3950_SRU_PYTHON");
    let python = python.map_or("python3".into(), |path| {
        PathBuf::from(path).join("bin/python")
    });
    let mut seconds = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let begin = Instant::now();
        edit(&input, &ours).expect("the file is read and written");
        seconds.0.push(begin.elapsed().as_secs_f64());
        let mut script = command(&python);
        script
            .args(["-c", PYMARC])
            .args([&input, &theirs])
            .arg(TITLE);
        let output = script
            .output()
            .ok()
            .filter(|output| output.status.success());
        let printed = output.and_then(|output| String::from_utf8(output.stdout).ok());
        seconds
            .1
            .extend(printed.and_then(|text| text.trim().parse::<f64>().ok()));
    }
    let ours_measured = Measured::new(seconds.0);
    ours_measured.print("read, one field edited, written", EDITS);
    if seconds.1.len() < RUNS {
        println!("skipped: pymarc not found");
        return;
    }
    let pymarc = Measured::new(seconds.1);
    pymarc.print("the same by pymarc, CPU", EDITS);
    println!("  ratio {:.1}", pymarc.median() / ours_measured.median());
    let fields = |path: &Path| -> Vec<_> {
        let octets = Bytes::from(std::fs::read(path).expect("it was written"));
        parsed(&[octets]).map(|record| record.fields).collect()
    };
    if fields(&ours) != fields(&theirs) {
        println!("  the records differ");
    }
}

fn edit(input: &Path, output: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = RecordWriter::new(BufWriter::new(File::create(output)?), Form::Marc);
    for found in RecordReader::new(File::open(input)?, InputForm::Marc) {
        let mut record = found?.record?;
        record.field_mut("245")?.set("a", TITLE)?;
        writer.write(&record)?;
    }
    writer.finish()?;
    Ok(())
}

/// Measures the conversion of every file with both programs, discarding the output. The character set of each file is passed to
/// yaz-marcdump as an option.
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

/// Returns the CPU time (user and system) of commands in seconds, discarding their output, or `None` if any command fails.
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
