//! Compares conversions of real records with the output of yaz-marcdump, record by record. The tags, their order, the indicators
//! and the text must be the same.

use std::collections::BTreeMap;

use z3950_marc::MarcRecord;
use z3950_marc::charset::{Charset, NormalForm, Options, to_utf8};
use z3950_marc::crosswalk::is_unimarc;
use z3950_marc::iso2709;
use z3950_marc::marcline;
use z3950_tests::peer::find;
use z3950_tests::program::z3950_fed;
use z3950_tests::surroundings::command;

use crate::convert::{files, nfc, records};

/// The records that differ from the output of yaz-marcdump, each with its file, its position in the file (counting from 1), and
/// the reason.
const DIFFERENT: &[(&str, usize, &str)] = &[(
    "loc-original-charsets.mrc",
    192,
    "unpaired halves of a ligature and a double tilde: U+FE20 to U+FE23, where YAZ writes a whole one",
)];

#[test]
fn text_is_that_of_yaz_marcdump() {
    let Some(program) = find("yaz-marcdump") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a directory");
    let mut compared = 0;
    let mut different = Vec::new();
    for file in files() {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // yaz-marcdump accepts only one character set per file, so the records of each character set are converted separately.
        let mut sets: BTreeMap<&str, (Vec<u8>, Numbered)> = BTreeMap::new();
        for (index, octets) in records(&file).iter().enumerate() {
            let record = iso2709::parse(octets).expect("a record").record;
            let mut options = Options::default();
            options.form = Some(NormalForm::Nfc);
            let converted = to_utf8(&record, &options);
            let set = match converted.choice.charset {
                Charset::Marc8 => "marc-8",
                Charset::Iso5426 => "iso5426",
                Charset::Utf8 => "utf-8",
                other => panic!("{name}: {other}"),
            };
            let (input, expected) = sets.entry(set).or_default();
            input.extend_from_slice(octets);
            expected.push((index + 1, converted.record));
        }
        for (set, (input, expected)) in sets {
            let input_file = folder.path().join("input.mrc");
            std::fs::write(&input_file, input).expect("the file is written");
            let theirs = command(&program)
                .args(["-f", set, "-t", "utf-8", "-o", "line"])
                .arg(&input_file)
                .output()
                .expect("it runs");
            let theirs = nfc(&theirs.stdout);
            let theirs = String::from_utf8_lossy(&theirs);
            let theirs: Vec<&str> = theirs.split_terminator("\n\n").collect();
            assert_eq!(theirs.len(), expected.len(), "{name} in {set}");
            for (theirs, (number, record)) in theirs.iter().zip(expected) {
                let ours = String::from_utf8(marcline::to_lines(&record)).expect("UTF-8");
                if comparable(&ours, &record) != comparable(theirs, &record) {
                    different.push((name.clone(), number));
                }
                compared += 1;
            }
        }
    }
    if !files().is_empty() {
        assert_eq!(compared, 588, "every record is compared");
        different.sort();
        let known = DIFFERENT
            .iter()
            .map(|(name, number, _)| ((*name).to_owned(), *number));
        assert_eq!(different, known.collect::<Vec<_>>());
    }
}

#[test]
fn yaz_marcdump_reads_and_writes_the_same_marcxchange() {
    let Some(program) = find("yaz-marcdump") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a directory");
    let marcdump = |from: &str, to: &str, input: &str| {
        let path = folder.path().join("input");
        std::fs::write(&path, input).expect("written");
        let ended = command(&program)
            .args(["-f", "utf-8", "-t", "utf-8", "-i", from, "-o", to])
            .arg(&path)
            .output()
            .expect("it runs");
        String::from_utf8(ended.stdout).expect("UTF-8")
    };
    let convert = |to: &str, input: &str| {
        let ran = z3950_fed(["convert", "--to", to], input);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{to}");
        ran.stdout
    };
    let record =
        "=LDR  00000nam a2200000   4500\n=001  id1\n=245  10$aВойна & мир\n=500  \\\\$aÉ\n";
    let lines = convert("line", record);
    let (_, fields) = lines.split_once('\n').expect("a leader");
    let ours = convert("marcxchange", record);
    let (_, read) = marcdump("marcxchange", "line", &ours)
        .split_once('\n')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("a leader");
    assert_eq!(read.trim_end(), fields.trim_end());
    let theirs = marcdump("marcxml", "marcxchange", &ours);
    assert!(theirs.contains("info:lc/xmlns/marcxchange-v1"), "{theirs}");
    let (_, read) = convert("line", &theirs)
        .split_once('\n')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("a leader");
    assert_eq!(read.trim_end(), fields.trim_end());
}

/// Returns the lines of a record without the leader and, in UNIMARC, field 100, because these contain lengths and the character
/// set.
fn comparable<'a>(lines: &'a str, record: &MarcRecord) -> Vec<&'a str> {
    let unimarc = is_unimarc(record);
    lines
        .lines()
        .skip(1)
        .filter(|line| !(unimarc && line.starts_with("100 ")))
        .collect()
}

/// Records with their positions in the file.
type Numbered = Vec<(usize, MarcRecord)>;
