//! Simulates a retrospective conversion. `z3950 lookup --input` completes 500 brief or damaged records from a `z3950d` that
//! serves the full records, and the control numbers of the records found are compared with the expected ones.
//!
//! ```text
//! cargo run -p z3950-tests --example retrospective [FOLDER]
//! ```
//!
//! The folder contains MARC records; the default is `../shared/data/marc`. Each record with a number in 010, 020, 022 or 035 is
//! used in several states, always without its control number in 001.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use z3950::lookup::identifiers;
use z3950_marc::stream::{InputForm, RecordReader};
use z3950_marc::{Field, MarcRecord, RECORD_TERMINATOR, iso2709};
use z3950_tests::program::{Daemon, z3950};
use z3950_tests::random::Random;

/// The number of records to complete.
const COUNT: usize = 500;

/// The states of old records, each with the share of its octets that are damaged, in thousandths.
const STATES: [(&str, usize); 4] = [
    ("brief: numbers and title", 0),
    ("damaged: leader and directory", 0),
    ("damaged: 1 octet in 100", 10),
    ("damaged: cut in the middle", 0),
];

/// The results for the records in a state.
#[derive(Default)]
struct Outcomes {
    records: usize,
    right: usize,
    wrong: usize,
    /// The number of records for which `--best` had to choose between several records found.
    chosen: usize,
    no_match: usize,
    not_sent: usize,
    other: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/marc");
    let folder = std::env::args_os().nth(1).map_or(here, PathBuf::from);
    let full = records(&folder)?;
    let mut catalogue = Vec::new();
    let mut seen = HashSet::new();
    for record in &full {
        if seen.insert(control_number(record)) {
            catalogue.extend(iso2709::encode(record)?);
        }
    }
    let known: Vec<&MarcRecord> = full
        .iter()
        .filter(|one| !identifiers(one).is_empty())
        .collect();
    if known.is_empty() {
        return Err(format!("{}: no records with a number", folder.display()).into());
    }
    let mut old = Vec::new();
    let mut expected = Vec::new();
    let mut random = Random::new("retrospective");
    for (index, record) in known.iter().cycle().take(COUNT).enumerate() {
        let state = (index / known.len() + index) % STATES.len();
        old.extend(aged(record, state, &mut random)?);
        expected.push((state, control_number(record)));
    }
    let here = tempfile::tempdir()?;
    let (books, input) = (here.path().join("full.mrc"), here.path().join("old.mrc"));
    let report = here.path().join("report.json");
    fs::write(&books, catalogue)?;
    fs::write(&input, old)?;
    let daemon = Daemon::start([
        "--database".to_owned(),
        format!("books={}", books.display()),
    ]);
    let target = format!("{}/books", daemon.address());
    let begin = Instant::now();
    let ran = z3950([
        "lookup".as_ref(),
        target.as_ref(),
        "--input".as_ref(),
        input.as_os_str(),
        "--best".as_ref(),
        "--json".as_ref(),
        "--report".as_ref(),
        report.as_os_str(),
    ]);
    let took = begin.elapsed();
    let mut answers = ran.stdout.lines();
    let mut states: BTreeMap<usize, Outcomes> = BTreeMap::new();
    let report = fs::read_to_string(&report)?;
    let lines: Vec<&str> = report.lines().collect();
    if lines.len() != COUNT {
        return Err(format!("{} lines in the report: {}", lines.len(), ran.stderr).into());
    }
    for (line, (state, expected)) in lines.into_iter().zip(expected) {
        let line: Value = serde_json::from_str(line)?;
        let outcomes = states.entry(state).or_default();
        outcomes.records += 1;
        outcomes.chosen += usize::from(!line["choice"].is_null());
        if line["outcome"] == "not sent" {
            outcomes.not_sent += 1;
            continue;
        }
        let answer: Value = serde_json::from_str(answers.next().ok_or("an answer is missing")?)?;
        let found = answer["record"]["fields"][0]["001"]
            .as_str()
            .unwrap_or_default();
        match line["outcome"].as_str() {
            Some("delivered") if found.trim() == expected => outcomes.right += 1,
            Some("delivered") => {
                println!("{}: {found} where {expected} is right", line["input"]);
                outcomes.wrong += 1;
            }
            Some("no match") => outcomes.no_match += 1,
            _ => outcomes.other += 1,
        }
    }
    println!(
        "{COUNT} old records from {} with a number, {} in the catalogue; {:.1} s",
        known.len(),
        seen.len(),
        took.as_secs_f64()
    );
    println!(
        "{:32}{:>8}{:>8}{:>8}{:>8}{:>10}{:>10}{:>7}",
        "state", "records", "right", "wrong", "chosen", "no match", "not sent", "other"
    );
    let mut sum = Outcomes::default();
    for (state, outcomes) in &states {
        print(STATES[*state].0, outcomes);
        sum.records += outcomes.records;
        sum.right += outcomes.right;
        sum.wrong += outcomes.wrong;
        sum.chosen += outcomes.chosen;
        sum.no_match += outcomes.no_match;
        sum.not_sent += outcomes.not_sent;
        sum.other += outcomes.other;
    }
    print("all", &sum);
    Ok(())
}

fn print(state: &str, outcomes: &Outcomes) {
    println!(
        "{state:32}{:>8}{:>8}{:>8}{:>8}{:>10}{:>10}{:>7}",
        outcomes.records,
        outcomes.right,
        outcomes.wrong,
        outcomes.chosen,
        outcomes.no_match,
        outcomes.not_sent,
        outcomes.other
    );
}

/// Returns the records that have a control number from all files in a folder.
fn records(folder: &Path) -> Result<Vec<MarcRecord>, Box<dyn Error>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "mrc"));
    paths.sort();
    let mut records = Vec::new();
    for path in paths {
        let file = BufReader::new(File::open(path)?);
        for found in RecordReader::new(file, InputForm::Marc) {
            let found = found?.record;
            records.extend(
                found
                    .ok()
                    .filter(|record| record.control_number().is_some()),
            );
        }
    }
    Ok(records)
}

fn control_number(record: &MarcRecord) -> String {
    String::from_utf8_lossy(record.control_number().unwrap_or_default()).into_owned()
}

/// Returns a record in one of the states of [`STATES`], in ISO 2709.
fn aged(record: &MarcRecord, state: usize, random: &mut Random) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut old = record.clone();
    old.fields.retain(|field| field.tag.0 != *b"001");
    if state == 0 {
        let kept = [
            &b"010"[..],
            b"011",
            b"020",
            b"022",
            b"035",
            b"100",
            b"200",
            b"245",
        ];
        old.fields.retain(|field| kept.contains(&&field.tag.0[..]));
        old.leader.0[17] = b'7';
    }
    old.fields.insert(0, Field::control(b"001", "old"));
    let mut octets = iso2709::encode(&old)?;
    let last = octets.len() - 1;
    let directory = octets
        .iter()
        .position(|octet| *octet == 0x1E)
        .unwrap_or(last);
    match state {
        1 => {
            for _ in 0..=directory / 20 {
                let at = random.below(directory);
                octets[at] = letter(random);
            }
        }
        2 => {
            for _ in 0..=last * STATES[state].1 / 1000 {
                let at = random.below(last);
                octets[at] = letter(random);
            }
        }
        3 => {
            let end = directory + (last - directory) / 2;
            octets.truncate(end);
            octets.push(RECORD_TERMINATOR);
        }
        _ => {}
    }
    Ok(octets)
}

/// Returns a random octet that is not a terminator of a record or field.
fn letter(random: &mut Random) -> u8 {
    b' ' + u8::try_from(random.below(95)).unwrap_or(0)
}
